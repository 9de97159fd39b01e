"""Files as ops: read, write, and list them on the worker (paper section 4.5).

If the process confines its nodes to some roots, a path outside of them raises PermissionDeniedError in the run.
"""

from __future__ import annotations

from actorflow.base.dtypes import string
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, show
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.shape_rules import require_rank
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


def _one_path(c: Inference) -> Shape:
    return require_rank(c, 0, 0)


def _write_shapes(c: Inference) -> list[Shape]:
    require_rank(c, 0, 0)
    require_rank(c, 1, 0)
    return []


def _paths(c: Inference) -> Shape:
    shape = c.shapes[0]
    if shape is not None and len(shape) > 1:
        raise ValueError(f"A pattern is a scalar or a vector of strings, but its shape is {show(shape)}.")
    return (None,)


@public("af", "af.io")
@op(
    "ReadFile",
    shape=_one_path,
    types={"filename": string},
    result=string,
    gradient=None,
    stateful=True,
    asynchronous=True,
)
def read_file(filename: TensorLike, *, name: str | None = None) -> Tensor:
    """The content of a file, as a scalar string (`tf.read_file`). It is read on a thread.

    Raises NotFoundError in the run for a missing file, FailedPreconditionError for a directory, and PermissionDeniedError
    for a file that nodes may not read.

    Example:
        >>> name = af.placeholder(af.string, [])
        >>> content = af.read_file(name)
        >>> with open("greeting.txt", "w") as file:
        ...     _ = file.write("hello")
        >>> await session.run(content, {name: "greeting.txt"})
        b'hello'
    """


@public("af", "af.io")
@op(
    "WriteFile",
    shape=_write_shapes,
    types={"filename": string, "contents": string},
    result=None,
    gradient=None,
    stateful=True,
    asynchronous=True,
)
def write_file(filename: TensorLike, contents: TensorLike, *, name: str | None = None) -> Operation:
    """Writes a file, and makes the missing folders above it (`tf.write_file`). An existing file is written again.

    A step that is stopped meanwhile still waits for the write. Raises in the run what `read_file` does.

    Example:
        >>> await session.run(af.write_file("logs/greeting.txt", "hello"))
        >>> await session.run(af.read_file("logs/greeting.txt"))
        b'hello'
    """


@public("af", "af.io")
@op(
    "MatchingFiles",
    shape=_paths,
    types={"pattern": string},
    result=string,
    gradient=None,
    stateful=True,
    asynchronous=True,
)
def matching_files(pattern: TensorLike, *, name: str | None = None) -> Tensor:
    """The paths that match one of the patterns, sorted (`tf.matching_files`): `*`, `?` and `[...]`, within one folder each.

    A path that matches several patterns is given several times. Paths that lead outside of the roots are left out.

    Example:
        >>> for name in ["a.txt", "b.txt", "c.csv"]:
        ...     open(name, "w").close()
        >>> await session.run(af.matching_files("*.txt"))
        [b'./a.txt' b'./b.txt']
    """
