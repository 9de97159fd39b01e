"""Which members of a region are steps of one series, and where their tensors lie.

Kernels that are prepared may have steps (`actorflow.base.registry.series`). Neighbouring members with such kernels are done in
one call. Tensors that no other node reads share one array: each has a place there from the step that makes it to the last that
reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from actorflow.base.registry import roles
from actorflow.base.registry.series import SeriesPlace, SeriesStep
from actorflow.base.shapes import Shape, is_static, num_elements
from actorflow.engine.runtime.codegen.jit_groups import FusedLoop
from actorflow.graph.node import Node, TensorId

_LINE = 16
"""Elements of a line of the cache. Each tensor begins with a line."""


@dataclass(frozen=True, slots=True)
class Series:
    """Members that one call computes.

    Args:
        members: in the order of the steps.
        inputs: the tensors that they read from others.
        outputs: those that others read.
        room: the elements of the array in which all other tensors lie; 0 without other tensors.
        function: takes the inputs, the outputs and that array.
    """

    members: tuple[Node, ...]
    inputs: tuple[TensorId, ...]
    outputs: tuple[TensorId, ...]
    room: int
    function: Callable[..., None]


Piece = Node | FusedLoop | Series


def in_series(
    pieces: Sequence[Node | FusedLoop],
    step_of: Callable[[Node], SeriesStep | None],
    shape_of: Callable[[TensorId], Shape],
    kept: AbstractSet[TensorId],
) -> Iterator[Piece]:
    """The pieces of a region's code, with series in the place of members whose kernels have steps.

    Args:
        pieces: in the order of their lines.
        step_of: the step of a member.
        shape_of: the static shape of a tensor.
        kept: tensors that are needed after all of them.
    """
    last_use: dict[TensorId, int] = {}
    for at, piece in enumerate(pieces):
        last_use.update(dict.fromkeys(piece.inputs, at))
    run: list[tuple[Node, SeriesStep]] = []
    for at, piece in enumerate(pieces):
        if isinstance(piece, Node) and piece.role is roles.CONSTANT:
            yield piece  # it takes no line, so it may go before the members of a series
            continue
        step = step_of(piece) if isinstance(piece, Node) else None
        if step is not None and isinstance(piece, Node) and len(piece.shapes) == 1 and is_static(piece.shapes[0]):
            run.append((piece, step))
            continue
        if run:
            yield from _joined(run, shape_of, {e for e, use in last_use.items() if use >= at} | kept)
        run = []
        yield piece
    yield from _joined(run, shape_of, kept)


def _joined(
    run: Sequence[tuple[Node, SeriesStep]], shape_of: Callable[[TensorId], Shape], used: AbstractSet[TensorId]
) -> Sequence[Piece]:
    """The series of these members; the members themselves if they are no series."""
    members, steps = tuple(member for member, _ in run), [step for _, step in run]
    if len(members) < 2:
        return members
    outputs_of = [TensorId(member.name, 0) for member in members]
    read = [[member.inputs[i] for i in step.reads] for member, step in run]
    inputs = tuple(dict.fromkeys(e for own in read for e in own if e not in outputs_of))
    outputs = tuple(e for e in outputs_of if e in used)
    last = {e: i for i, own in enumerate(read) for e in own}
    inside = [(e, _elements(shape_of(e)), i, last.get(e, i)) for i, e in enumerate(outputs_of) if e not in outputs]
    begins, room = _laid_out(inside)
    places = {e: SeriesPlace(i, 0) for i, e in enumerate((*inputs, *outputs))}
    places.update({e: SeriesPlace(len(inputs) + len(outputs), begin) for e, begin in begins.items()})
    sizes = [*(_elements(shape_of(e)) for e in (*inputs, *outputs)), *([room] if room else [])]
    where = [[places[e] for e in (*own, result)] for own, result in zip(read, outputs_of)]
    function = steps[0].join(steps, where, len(inputs), sizes)
    return members if function is None else [Series(members, inputs, outputs, room, function)]


def _elements(shape: Shape) -> int:
    count = num_elements(shape)
    assert count is not None
    return count


def _laid_out(tensors: Sequence[tuple[TensorId, int, int, int]]) -> tuple[dict[TensorId, int], int]:
    """The first element of each tensor in one array, and that array's size. A tensor is told by its elements and by the first and
    the last step that needs it; two that are needed by one step do not overlap."""
    placed: list[tuple[int, int, int]] = []
    begins: dict[TensorId, int] = {}
    for name, elements, first, last in tensors:
        begin, size = 0, -(-elements // _LINE) * _LINE
        for low, high, until in sorted(placed):
            if until >= first and low < begin + size and begin < high:
                begin = high
        placed.append((begin, begin + size, last))
        begins[name] = begin
    return begins, max((high for _, high, _ in placed), default=0)
