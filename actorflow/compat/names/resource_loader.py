"""`tf.resource_loader`: files beside the module that asks for them."""

from __future__ import annotations

import os
import sys

from actorflow.public import public

public("tf:resource_loader")


def _folder() -> str:
    frame = sys._getframe(2)
    return os.path.dirname(os.path.realpath(frame.f_code.co_filename))


def load_resource(path: str) -> bytes:
    """The content of a file; `path` goes from the folder of the module that calls. Raises OSError without such a file."""
    with open(os.path.join(_folder(), path), "rb") as file:
        return file.read()


def get_data_files_path() -> str:
    """The folder of the module that calls."""
    return _folder()


def get_root_dir_with_all_resources() -> str:
    """The folder of the module that calls."""
    return _folder()


def get_path_to_datafile(path: str) -> str:
    """The path of a file beside the module that calls."""
    return os.path.join(_folder(), path)


def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """`path` itself."""
    return path
