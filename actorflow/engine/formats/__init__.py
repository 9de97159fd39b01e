"""Checkpoint formats: the interface that the core asks of them, and how they are found.

base.py        `Format`: how checkpoints are kept; `FormatReader`: an open checkpoint; and the records that both are given
compare.py     what a program wants of a checkpoint, and what that has: all differences at once
installed.py   the formats that are installed: by name, and by what is at a path
merging.py     what a commit makes of the parts that tasks have written: each tensor once, and all of it
regions.py     parts of tensors: a variable that is kept in slices is saved slice by slice, and may be read in other slices
"""
