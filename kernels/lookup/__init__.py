"""Kernels of lookup tables.

content.py      `ContentTable`: keys and values, and how they are asked for and changed
tables.py       the kernels
text_files.py   keys and values from the lines of a file
"""
