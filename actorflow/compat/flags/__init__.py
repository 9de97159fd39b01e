"""What the flags of `tf.flags` are made of; the functions that declare them are in `actorflow.compat.v1.flags`.

errors.py   the errors of flags
flag.py     `Flag` and its kinds: a flag with its parser, its default, and its value
parsers.py  what reads a flag's text into a value, and what writes a value as text
texts.py    help texts, and flags as words of a command line
values.py   `FlagValues`: all declared flags, their command line, and their values
"""
