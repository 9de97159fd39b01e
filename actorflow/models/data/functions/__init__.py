"""Functions of elements: traced into graphs, or awaited.

callers.py     how stages call functions, one element at a time or a block
conversion.py  results of functions and generators of Python as elements of stated types
function.py    `DatasetFunction`: a traced function, a graph that runs as a compiled plan
rowwise.py     functions of blocks of elements, made of those of one element
several.py     functions of several elements: their nodes once for each of them, in one plan
tracing.py     how a function of Python becomes a graph
"""
