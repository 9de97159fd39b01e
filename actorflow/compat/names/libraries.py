"""`tf.load_op_library` and its like: libraries in C++ can't be loaded, and these functions say so."""

from __future__ import annotations

from typing import NoReturn

from actorflow.public import public

_SAID = (
    "{name} is a library of TensorFlow ops in C++, which actorflow can't load. Write the op in Python with af.op, or call "
    "a function with tf.py_func."
)


@public("tf", "tf:load_file_system_library")
def load_op_library(library_filename: str) -> NoReturn:
    """Raises NotImplementedError: libraries in C++ can't be loaded (`tf.load_op_library`)."""
    raise NotImplementedError(_SAID.format(name=library_filename))


@public("tf")
def load_library(library_location: str) -> NoReturn:
    """Raises NotImplementedError: libraries in C++ can't be loaded (`tf.load_library`)."""
    raise NotImplementedError(_SAID.format(name=library_location))
