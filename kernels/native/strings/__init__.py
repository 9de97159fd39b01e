"""Kernels in C of strings, over arrays of Python's bytes. No bytecode runs for an element.

parts.py     parts, joints, letters and lengths of strings
numbers.py   hashes, numbers and strings that spell them, records of CSV
"""
