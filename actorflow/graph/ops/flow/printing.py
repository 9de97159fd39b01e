"""`print_` and `Print`: tensors printed as a step computes them (`tf.print`, `tf.Print`)."""

from __future__ import annotations

import pprint
import re
import sys
from collections.abc import Sequence
from typing import Any

from actorflow.base import dtypes as dt
from actorflow.base import nest
from actorflow.graph.convert import is_symbolic
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.flow.control import identity
from actorflow.graph.ops.shape_rules import no_output, unchanged
from actorflow.graph.ops.strings.split import string_format
from actorflow.graph.sparse_tensor import SparseTensor
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

LEVELS = ("debug", "info", "warning", "error")


@op("PrintV2", shape=no_output, types={"input": dt.string}, result=None, gradient=None, stateful=True, work=50)
def print_op(
    input: TensorLike, *, output_stream: str = "stderr", end: str = "\n", name: str | None = None
) -> Operation:
    """Prints a scalar string to a stream of the process that runs it. See `print_`."""


@public("af", "tf:print")
def print_(
    *inputs: Any,
    output_stream: Any = None,
    summarize: int = 3,
    sep: str = " ",
    end: str = "\n",
    name: str | None = None,
) -> Operation:
    """An operation that prints `inputs`: texts, tensors, and whatever has tensors in it (`tf.print`).

    Example:
        >>> import sys
        >>> af.print_("loss:", af.constant(0.25), af.range_(10), output_stream=sys.stdout)
        loss: 0.25 [0 1 2 ... 7 8 9]
        <actorflow.Operation 'print' type=PrintV2 that has run>
        >>> x = af.constant(2.0)
        >>> with af.control_dependencies([af.print_("x:", x)]):  # in a graph: whenever y is computed
        ...     y = x * 2.0

    Args:
        *inputs: texts, tensors, other Python values, and nested structures of them.
        output_stream: `sys.stderr` (by default), `sys.stdout`, or "log(info)", with one of the levels debug, info, warning and
            error. They are those of the process in which the node runs. There are no files (TensorFlow's "file://").
        summarize: how many elements are shown at both ends of each dimension; -1 shows all elements.
        sep: stands between the inputs.
        end: stands behind the last input, except in logs.

    Raises:
        ValueError: there is no such stream.
    """
    stream = _stream(output_stream)
    tensors: list[Any] = []
    texts = [_text(value, tensors) for value in inputs]
    template, place = sep.join(texts), "{}"
    while place in template:
        place = f"{{{place}}}"
    tensors = [tensors[int(number)] for number in _MARK.findall(template)]
    with composite(name, "print", tensors) as scope:
        if _MARK.fullmatch(template) and tensors[0].dtype is dt.string and tensors[0].static_shape == ():
            text = identity(tensors[0])
        else:
            text = string_format(_MARK.sub(lambda mark: place, template), tensors, place, summarize, name="format")
        return print_op(text, output_stream=stream, end=end, name=scope)


_MARK = re.compile("\0(\\d+)\0")


"""Stands for the tensor of a number in a text, until there is a placeholder that is not in it."""


class _TensorPlace(str):
    """A tensor's place, which a list shows without quotes."""

    def __repr__(self) -> str:
        return str(self)


def _text(value: Any, tensors: list[Any]) -> str:
    """How an input is shown, with a mark for each tensor, which is put among `tensors`."""

    def mark(tensor: Any) -> str:
        tensors.append(tensor)
        return f"\0{len(tensors) - 1}\0"

    def shown(part: Any) -> Any:
        if isinstance(part, SparseTensor):
            fields = (mark(field) for field in (part.indices, part.values, part.dense_shape))
            return _TensorPlace("SparseTensor(indices={}, values={}, shape={})".format(*fields))
        return _TensorPlace(mark(part)) if is_symbolic(part) else part

    structure = nest.map_structure(shown, value) if nest.is_nested(value) else shown(value)
    return structure if isinstance(structure, str) else pprint.pformat(structure)


def _stream(stream: Any) -> str:
    if stream is None or stream is sys.stderr:
        return "stderr"
    if stream is sys.stdout:
        return "stdout"
    for level in LEVELS:
        if stream == f"log({level})" or getattr(stream, "__name__", "") == level:  # tf.logging.info, say
            return f"log({level})"
    raise ValueError(
        f"{stream!r:.60} is no stream to print to; there are sys.stdout, sys.stderr, and 'log(LEVEL)' with one of the "
        f"levels {', '.join(LEVELS)}."
    )


@op("Print", shape=unchanged, stateful=True, view=True)
def print_v1_op(
    input: TensorLike,
    data: Sequence[Any],
    *,
    message: str = "",
    first_n: int = -1,
    summarize: int = 3,
    name: str | None = None,
) -> Tensor:
    """`input` itself; writes `message` and `data` to standard error as a side effect. See `Print`."""


@print_v1_op.gradient
def _(node: Operation, dy: Tensor) -> list[Tensor | None]:
    return [dy] + [None] * (len(node.inputs) - 1)


@public("af")
def Print(
    input_: TensorLike,
    data: Sequence[Any],
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """`input_` itself, and prints `data` each time it is computed (`tf.Print`).

    Example:
        >>> x = af.Print(af.constant(3.0), [af.constant([1, 2])], "The sizes are ")  # to the standard error stream
        >>> x + 1.0
        4.0

    Args:
        input_: a tensor of any type, which is the result.
        data: a list of tensors to print.
        message: a text before them; none by default.
        first_n: how many times it prints at most; always by default.
        summarize: how many entries of each tensor are shown; 3 by default, -1 for all.
    """
    return print_v1_op(
        input_,
        list(data),
        message=message or "",
        first_n=-1 if first_n is None else first_n,
        summarize=3 if summarize is None else summarize,
        name=name,
    )
