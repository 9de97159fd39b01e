"""Feeds, fetches and modules: from a program's structures to tensors and variables, and back.

composites.py   things of several tensors that a run fetches and feeds as a unit: tuples, and such as `SparseTensor`
feeds.py        feeds: from what a program passes to the values that enter a step
fetches.py      the structure of fetches: from nested lists, tuples and dicts to flat tensors and back (paper section 4.2)
handles.py      `TensorHandle`: what a run gives for a tensor that the session keeps
module.py       `Module`: an object that tells the variables and the modules in its attributes
"""
