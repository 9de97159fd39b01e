"""`einsum`: sums of products that an equation spells."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from actorflow.dtypes import NUMERIC
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.ops.declare import op
from actorflow.ops.math.cast import conj
from actorflow.ops.math.reduction import unreduce
from actorflow.public import public
from actorflow.registry.opdef import Inference
from actorflow.shapes import Shape, show

_EQUATION = re.compile(r"([A-Za-z]*(?:,[A-Za-z]*)*)->([A-Za-z]*)")


def parse(equation: str) -> tuple[list[str], str]:
    """The labels of each input, and of the output, of an equation in full such as "ij,jk->ik"."""
    inputs, _, output = equation.partition("->")
    return inputs.split(","), output


def _sizes(c: Inference) -> dict[str, int | None]:
    """The size of each label."""
    labels, _ = parse(c.attrs["equation"])
    if len(labels) != len(c.shapes):
        raise ValueError(
            f"The equation {c.attrs['equation']!r} is of {len(labels)} inputs, but there are {len(c.shapes)}."
        )
    sizes: dict[str, int | None] = {label: None for label in "".join(labels)}
    for names, shape in zip(labels, c.shapes):
        if shape is None:
            continue
        if len(shape) != len(names):
            raise ValueError(f"{names!r} has {len(names)} labels, but its input has the shape {show(shape)}.")
        for label, size in zip(names, shape):
            if None not in (size, sizes[label]) and size != sizes[label]:
                raise ValueError(
                    f"The label {label!r} of {c.attrs['equation']!r} has the sizes {sizes[label]} and {size}."
                )
            sizes[label] = sizes[label] if size is None else size
    return sizes


def _shape(c: Inference) -> Shape:
    sizes = _sizes(c)
    return tuple(sizes[label] for label in parse(c.attrs["equation"])[1])


def _work(c: Inference) -> float:
    """One multiplication and one addition an input for each combination of labels, as no order of products is known."""
    sizes = _sizes(c).values()
    return 1e6 if None in sizes else float(len(c.shapes)) * math.prod(size or 0 for size in sizes)


@op("Einsum", shape=_shape, dtypes=NUMERIC, work=_work)
def einsum_op(inputs: Sequence[TensorLike], *, equation: str, name: str | None = None) -> Tensor:
    """The sum of products of `inputs` that `equation` spells in full. See `einsum`."""


@einsum_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    from actorflow.ops.array.shape import shape

    labels, output = parse(node.get_attr("equation"))
    gradients: list[Any] = []
    for i, (source, names) in enumerate(zip(node.inputs, labels)):
        others = [conj(t) for j, t in enumerate(node.inputs) if j != i]
        parts = [output, *(names for j, names in enumerate(labels) if j != i)]
        # A label that only this input has was summed away: its gradient is the same all along it.
        kept = "".join(label for label in names if label in "".join(parts))
        gradient = einsum_op([dy, *others], equation=f"{','.join(parts)}->{kept}")
        if kept != names:
            gradient = unreduce(gradient, shape(source), [at for at, label in enumerate(names) if label not in kept])
        gradients.append(gradient)
    return gradients


@public("af", "af.linalg")
def einsum(equation: str, *inputs: TensorLike, name: str | None = None) -> Tensor:
    """The sum of products over labelled dimensions (`tf.einsum`): "ij,jk->ik" is a product of matrices.

    Args:
        equation: a label (a letter) for each dimension of each input, then those of the output; other labels are summed
            over. Without `->` the output has the labels that come once, in alphabetic order.
        inputs: tensors of one type.

    Raises:
        ValueError: the equation is none, a label comes twice in one input, or sizes of a label differ.
    """
    spelled = equation.replace(" ", "")
    if "->" not in spelled:
        once = sorted(label for label in set(spelled) - {","} if spelled.count(label) == 1)
        spelled += "->" + "".join(once)
    if not _EQUATION.fullmatch(spelled):
        raise ValueError(f"{equation!r} is no equation of letters such as 'ij,jk->ik'.")
    labels, output = parse(spelled)
    if any(len(set(names)) < len(names) for names in (*labels, output)):
        raise ValueError(f"A label comes twice in one part of {equation!r}.")
    if missing := set(output) - set("".join(labels)):
        raise ValueError(f"The output of {equation!r} has the labels {sorted(missing)}, which no input has.")
    return einsum_op(list(inputs), equation=spelled, name=name)
