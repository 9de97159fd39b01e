"""TensorFlow 1.15's names, so that a TensorFlow 1 script runs with one changed import.

    import actorflow.compat.v1 as tf

Spelling only: each name is actorflow's own function or class, and sessions block. A name that is missing raises an
AttributeError that says so. In modules that import it the sizes of a `TensorShape` are `Dimension`s, as TensorFlow 1's are; to
other modules they stay ints and None.

app.py          `tf.app`: the entry of a script with flags
behavior.py     the version, and the switches of TensorFlow's behaviour: there is only that of version 1
compat.py       `tf.compat`: text as bytes and back, and `tf.compat.v1`
dimensions.py   `Dimension`: a size of a `TensorShape` as TensorFlow 1 gives it, with `.value`
error_codes.py  the numbers of errors, such as `tf.errors.NOT_FOUND`
flags.py        `tf.flags` (`tf.app.flags`): command line flags
index.py        where TensorFlow's names are that actorflow does not have so: `make names` writes this file from the marks in
                the sources
logs.py         `tf.logging`: messages of a script, over Python's logger `actorflow.compat.v1`
nest.py         `tf.nest`: nested structures, with TensorFlow's names of parameters
namespaces.py   TensorFlow's namespaces, such as `tf.math`, over actorflow's functions
options.py      `ConfigProto` and its parts: options of a session under TensorFlow's names, as messages
sessions.py     `tf.Session` and `tf.InteractiveSession`: blocking sessions that can be the default session
testing/        `tf.test`: test cases with sessions, and what tests ask of the machine
"""

import sys as _sys

from actorflow.compat.v1 import behavior as _behavior
from actorflow.compat.v1 import dimensions as _dimensions
from actorflow.compat.v1.namespaces import Namespace as _Namespace
from actorflow.compat.v1.namespaces import namespace as _namespace
from actorflow.compat.v1.namespaces import register as _register

__version__ = "1.15.5"

__getattr__, __dir__, __all__ = _namespace("tf", __name__)
_sys.modules[__name__].__class__ = _Namespace

_register()
_dimensions.by_caller()
_behavior.by_caller()
