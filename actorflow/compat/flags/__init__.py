"""The parts of the flags of `tf.flags`; `actorflow.compat.v1.flags` has the functions that declare flags.

errors.py   the errors of flags
flag.py     `Flag` and its kinds: a flag with its parser, its default, and its value
parsers.py  what reads a flag's text into a value, and what writes a value as text
texts.py    help texts, and flags as words of a command line
values.py   `FlagValues`: all declared flags, their command line, and their values
"""
