"""`actorflow tf script.py`: runs a program of TensorFlow 1 as it is, with nothing installed for it."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from pathlib import Path
from types import TracebackType

from actorflow.compat.door.finder import open_door
from actorflow.compat.training.server import FILES
from actorflow.errors import InvalidArgumentError
from actorflow.frontends.cli.main import Command

_OURS = ("actorflow.frontends.cli.", "actorflow.compat.door.command", "runpy", "importlib._bootstrap")


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "actorflow tf [--files FOLDER] [-m MODULE | SCRIPT] ..."
    parser.add_argument(
        "--files",
        action="append",
        default=[],
        metavar="FOLDER",
        help="a folder in which nodes on the program's servers may read and write files, such as that of its checkpoints; may be "
        "given several times",
    )
    parser.add_argument(
        "-m", dest="module", nargs=argparse.REMAINDER, help="a module to run in place of a script, and its arguments"
    )
    parser.add_argument("script", nargs=argparse.REMAINDER, help="the Python file to run, and its arguments")


def _run(arguments: argparse.Namespace) -> int:
    words = arguments.module or arguments.script
    if not words:
        raise InvalidArgumentError(
            "There is no script.", hint="actorflow tf script.py, or actorflow tf -m package.module"
        )
    open_door()
    if arguments.files:
        os.environ[FILES] = os.pathsep.join(map(os.path.abspath, arguments.files))
    _have_children_inherit()
    if arguments.module:
        return _program(words, os.getcwd(), module=True)
    if not os.path.exists(words[0]):
        print(f"actorflow tf: can't open file {words[0]!r}: there is no such file", file=sys.stderr)
        return 2
    folder = words[0] if os.path.isdir(words[0]) else os.path.dirname(os.path.realpath(words[0]))
    return _program(words, folder, module=False)


def _have_children_inherit() -> None:
    """Puts a package `tensorflow` on the path of processes that the program starts; those of multiprocessing get `sys.path`."""
    folder = str(Path(__file__).with_name("children"))
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path.insert(1, folder)  # before the packages: TensorFlow may be installed
    if folder not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([folder, *filter(None, paths)])


def _program(words: list[str], folder: str, module: bool) -> int:
    """Runs it as Python itself would: its arguments, its folder first on the path, and the status with which it ends."""
    sys.argv[:] = words
    if sys.path and sys.path[0] in ("", os.path.dirname(os.path.abspath(sys.orig_argv[0]))):
        sys.path[0] = folder
    else:
        sys.path.insert(0, folder)
    try:
        if module:
            runpy.run_module(words[0], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(words[0], run_name="__main__")
    except Exception as error:
        sys.excepthook(type(error), error.with_traceback(_theirs(error.__traceback__)), error.__traceback__)
        return 1
    return 0


def _theirs(trace: TracebackType | None) -> TracebackType | None:
    """The traceback from the program's first frame on; None where the program has none, such as for its syntax."""
    while trace is not None and str(trace.tb_frame.f_globals.get("__name__", "")).startswith(_OURS):
        trace = trace.tb_next
    return trace


COMMAND = Command("run a program of TensorFlow 1 as it is: `import tensorflow` gives actorflow", _arguments, _run)
