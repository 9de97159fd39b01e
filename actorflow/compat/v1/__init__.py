"""TensorFlow 1.15's names, so that a TensorFlow 1 script runs with one changed import.

    import actorflow.compat.v1 as tf

Spelling only: each name is actorflow's own function or class, and sessions are blocking ones. A name that is missing raises
an AttributeError that says so. In modules that import it the sizes of a `TensorShape` are `Dimension`s, as TensorFlow 1's
are; to other modules they stay ints and None.
"""

from actorflow.compat.v1 import dimensions as _dimensions
from actorflow.compat.v1.namespaces import namespace as _namespace
from actorflow.compat.v1.namespaces import register as _register

__version__ = "1.15.0"

__getattr__, __dir__, __all__ = _namespace("tf", __name__)

_register()
_dimensions.by_caller()
