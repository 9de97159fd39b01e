"""What a device with memory of its own does with the inputs of each op: which ones its kernels take from host memory.

A kernel of such a device computes with arrays of its memory. Some inputs it has to look at before it can launch anything, such
as the shape that a tensor gets; those are host inputs. Some ops only hand their inputs on, or look at their shape, and take
them wherever they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_HOST: dict[str, dict[str, tuple[int, ...]]] = {}
_ANYWHERE: dict[str, set[str]] = {}
_FOLLOWS: dict[str, set[str]] = {}
_RECORDED: dict[str, set[str]] = {}
_APART: dict[str, set[str]] = {}


def host_memory(device: str, positions: Mapping[str, Sequence[int]]) -> None:
    """Declares, for a device type, the positions of each op's host inputs; negative ones count from the last input."""
    _HOST.setdefault(device, {}).update({op: tuple(places) for op, places in positions.items()})


def anywhere(device: str, *ops: str) -> None:
    """Declares ops whose inputs may be in either memory."""
    _ANYWHERE.setdefault(device, set()).update(ops)


def host_inputs(op: str, device: str, count: int) -> frozenset[int]:
    """The positions of the host inputs of an op with `count` inputs."""
    return frozenset(p % count for p in _HOST.get(device, {}).get(op, ()) if count)


def takes_either(op: str, device: str) -> bool:
    """Whether an op takes its inputs in whatever memory they are."""
    return op in _ANYWHERE.get(device, ())


def follow(device: str, *ops: str) -> None:
    """Declares ops that the host computes where all their inputs are small and in its memory, as shapes are."""
    _FOLLOWS.setdefault(device, set()).update(ops)


def follows(op: str, device: str) -> bool:
    """Whether the host computes an op whose inputs are small and in its memory."""
    return op in _FOLLOWS.get(device, ())


def record(device: str, *ops: str) -> None:
    """Declares ops whose kernels launch the same for inputs of the same types and shapes, and look at nothing else: their
    launches may be recorded and replayed. They make no array of values of the host."""
    _RECORDED.setdefault(device, set()).update(ops)


def may_be_recorded(op: str, device: str) -> bool:
    """Whether an op's launches may be replayed."""
    return op in _RECORDED.get(device, ()) or stands_apart(op, device)


def apart(device: str, *ops: str) -> None:
    """Declares ops of one output at most that call a library which can't be recorded; their launches may be repeated."""
    _APART.setdefault(device, set()).update(ops)


def stands_apart(op: str, device: str) -> bool:
    """Whether an op calls a library which can't be recorded."""
    return op in _APART.get(device, ())
