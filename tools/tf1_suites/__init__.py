"""Runs the tests of libraries that were written for TensorFlow 1 over actorflow, beside TensorFlow 1.15 where it is given.

__main__.py   looks the libraries up, runs each test file in a process of its own, and counts
one_module.py  runs the tests of one module; a Python of 2018 runs it too
"""
