"""Models as one module of Python and an `.npz`, which need numpy and nothing else.

A frozen graph is laid out as a straight line of calls. The functions that it calls are those of the CPU's kernels in Python.
Their sources are taken over, with everything in their modules that they reach.

module.py      `standalone`: the module and its arrays
sources.py     `ModuleSources`: functions, classes and constants, with all that they reach, as the source of one module
substitutes.py pieces of the package that the module does without
"""
