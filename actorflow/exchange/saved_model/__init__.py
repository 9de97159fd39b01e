"""Models with their signatures in a folder (`tf.saved_model`): what a training leaves, and a server takes up.

A folder holds graphs, each for a set of tags, with their variables, files and signatures: the names of inputs and outputs that
clients use. There are two forms, and a loader reads both. TensorFlow's own (`saved_model.pb`) passes between TensorFlow and us.
The standard one keeps the graph (`graph-0.pb`), safetensors shards with their manifest, and a description that can be read and
checked (`saved_model.json`). The file with the description is written last, so a folder is whole or no model.

builder.py               `Builder` and `simple_save`: a session's values and graph go into a folder
constants.py             the names of files and folders
description.py           signatures and files as JSON, in the standard form
folder.py                `SavedFolder`: the two forms on the disk
loader.py                `load`: a folder's graph and values go into a session
main_op.py               the operation that runs after a load
needed.py                `Needed`: what signatures need of a graph
restoring.py             which variable takes which tensor of a checkpoint, as a graph says it
signature_constants.py   the names of signatures, their methods, inputs and outputs
signature_def_utils.py   signatures for prediction, classification and regression
tag_constants.py         the names of tags
utils.py                 tensors as messages, and back
"""

from actorflow.public import namespace as _namespace

__getattr__, __dir__, __all__ = _namespace("af.saved_model", __name__)
