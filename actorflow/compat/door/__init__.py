"""The door for programs that say `import tensorflow`: which of TensorFlow 1.15's modules are answered, and by what.

`open_door()` has every later `import tensorflow` of this process give the module `actorflow.compat.v1`, and every module below
give an alias of a module of ours. Two things call it: the distribution `actorflow-tensorflow`, and the command `actorflow tf`.

calculations.py  functions of inner modules that compute tensors
cells.py         helpers of recurrent cells that programs take from inner modules
children/        a folder for the path of processes that a program starts
command.py       `actorflow tf`: runs a script with the door open
finder.py        `open_door`, and the finder that Python's imports ask
linear.py        functions of `linear_operator_util`
modules.py       the table of the modules below `tensorflow.python`: the public namespaces that have their names
private.py       the table of names that only inner modules have
protos.py        the table of the messages below `tensorflow.core`
refused.py       modules that are refused, each with the reason
second.py        `tensorflow.compat.v2`: names of version 1 with version 2's arguments
standins.py      functions of inner modules that have little to do here: fixed answers, decorators, names, shapes
structures.py    nested structures of different depths, and their paths
timeline.py      `Timeline`: the trace of a step as the text that chrome://tracing reads
"""

from actorflow.compat.door.finder import open_door as open_door
