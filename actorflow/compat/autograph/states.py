"""The values of names before and behind a statement on tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

import actorflow as af
from actorflow.graph.tensor import Tensor


class Undefined:
    """The value of a name that a branch or a loop has not given a value that all ways have."""

    def __init__(self, name: str, reason: str = "") -> None:
        self.__dict__.update(name=name, reason=reason or "it has no value yet", is_unset=not reason)

    def refuse(self, *_: Any, **__: Any) -> NoReturn:
        """Raises UnboundLocalError, as a name without a value does."""
        raise UnboundLocalError(f"The name {self.__dict__['name']!r} is read, but {self.__dict__['reason']}.")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__array__":
            raise AttributeError(name)
        self.refuse()

    __call__ = __getitem__ = __iter__ = __bool__ = __len__ = refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = refuse
    __lt__ = __gt__ = __le__ = __ge__ = __neg__ = __mod__ = __pow__ = refuse


def staged(value: Any) -> bool:
    """Whether a value is a tensor of a graph, or a variable in a graph, so that Python can't decide by it."""
    if isinstance(value, Tensor):
        return not getattr(value.graph, "eager", False)
    return isinstance(value, af.Variable) and not af.executing_eagerly()


def carried(value: Any) -> bool:
    """Whether a value may go through a graph: tensors, numbers, and structures of such."""
    if isinstance(value, Undefined) or value is None:
        return False
    leaves = flattened(value)
    return bool(leaves) and all(_numeric(leaf) for leaf in leaves)


def flattened(value: Any) -> list[Any]:
    """The leaves of a structure; a sparse tensor or an array of tensors is a leaf."""
    leaves: list[Any] = af.nest.flatten(value, expand_composites=False)
    return leaves


def _numeric(leaf: Any) -> bool:
    return isinstance(
        leaf,
        (
            Tensor,
            af.Variable,
            af.TensorArray,
            af.SparseTensor,
            bool,
            int,
            float,
            complex,
            np.ndarray,
            np.generic,
            str,
            bytes,
        ),
    )


def same(first: Any, second: Any) -> bool:
    """Whether two values of Python are the same, so that no graph has to choose."""
    if first is second:
        return True
    plain = (bool, int, float, complex, str, bytes)
    return isinstance(first, plain) and type(first) is type(second) and first == second


def tensors(value: Any, like: Sequence[Any] | None = None) -> list[Any]:
    """The leaves of a value as tensors, numbers with the types of `like`."""
    leaves = flattened(value)
    kinds = [None] * len(leaves) if like is None or len(like) != len(leaves) else [_kind(each) for each in like]
    return [_tensor(leaf, kind) for leaf, kind in zip(leaves, kinds)]


def _kind(tensor: Any) -> Any:
    return None if isinstance(tensor, (af.TensorArray, af.SparseTensor)) else tensor.dtype.base_dtype


def _tensor(leaf: Any, kind: Any) -> Any:
    if isinstance(leaf, (af.TensorArray, af.SparseTensor)):
        return leaf
    if isinstance(leaf, (Tensor, af.Variable)):
        return af.convert_to_tensor(leaf)
    return af.convert_to_tensor(leaf, preferred_dtype=kind)


@dataclass
class Branch:
    """The values of all names behind a branch."""

    values: Sequence[Any]

    def carried(self) -> list[bool]:
        """For each name, whether its value may go through a graph."""
        return [carried(value) for value in self.values]


def packed(structure: Any, leaves: Sequence[Any]) -> Any:
    """Leaves in the form of a structure."""
    return af.nest.pack_sequence_as(structure, list(leaves), expand_composites=False)
