"""`TensorHandle`: what a run gives for a tensor that the session keeps (`af.get_session_handle`)."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType
from actorflow.graph.ops.state.session_handles import delete_session_tensor, get_session_tensor
from actorflow.graph.tensor import Operation, Tensor

_MOST_DEAD = 10


class TensorHandle:
    """A tensor that stays in its session, on its device. It is fed where its text is.

    Args:
        text: `node;number;device`.
        dtype: the element type of the tensor.
        keeper: the session's `HandleNodes`.
        session: the session, blocking or not.
    """

    __slots__ = ("_dtype", "_keeper", "_session", "_text", "persistent")

    def __init__(self, text: bytes, dtype: DType, keeper: HandleNodes, session: Any) -> None:
        self._text, self._dtype, self._keeper, self._session = text, dtype, keeper, session
        self.persistent = False

    @property
    def handle(self) -> str:
        """Its text."""
        return self._text.decode()

    @property
    def dtype(self) -> DType:
        """The element type of the tensor."""
        return self._dtype

    def get_raw_handle(self) -> str:
        """Its text; the tensor is kept after this object is gone."""
        self.persistent = True
        return self.handle

    def eval(self) -> Any:
        """The tensor's value; with an asynchronous session to be awaited."""
        holder, value = self._keeper.reader(self.handle, self._dtype)
        return self._session.run(value, {holder: self._text})

    def delete(self) -> Any:
        """Forgets the tensor; with an asynchronous session to be awaited."""
        holder, deleter = self._keeper.deleter(self.handle)
        self.persistent = True
        return self._session.run(deleter, {holder: self._text})

    def to_numpy_array(self) -> Any:
        """The text as an array."""
        return np.asarray(self)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        boxed = np.empty((), object)
        boxed[()] = self._text
        return boxed

    def __del__(self) -> None:
        if not self.persistent:
            self._keeper.dead.append(self._text)

    def __str__(self) -> str:
        return self.handle

    def __repr__(self) -> str:
        return f"<TensorHandle {self.handle} {self._dtype}>"


class HandleNodes:
    """The nodes by which a session reads and forgets the tensors that it keeps, and those whose handles are gone."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self._readers: dict[tuple[str, DType], tuple[Tensor, Tensor]] = {}
        self._deleters: dict[str, tuple[Tensor, Operation]] = {}
        self.dead: list[bytes] = []

    def reader(self, handle: str, dtype: DType) -> tuple[Tensor, Tensor]:
        """The placeholder and the tensor that read from the handle's device."""
        key = handle.rpartition(";")[2], dtype
        if key not in self._readers:
            with self._graph.as_default(), self._graph.control_dependencies(None):
                self._readers[key] = get_session_tensor(handle, dtype)
        return self._readers[key]

    def deleter(self, handle: str) -> tuple[Tensor, Operation]:
        """The placeholder and the operation that forget on the handle's device."""
        device = handle.rpartition(";")[2]
        if device not in self._deleters:
            with self._graph.as_default(), self._graph.control_dependencies(None):
                self._deleters[device] = delete_session_tensor(handle)
        return self._deleters[device]

    def forgotten(self) -> list[tuple[Operation, dict[Tensor, list[bytes]]]]:
        """The ops that have to run, so that the tensors are forgotten whose handles are gone, once there are some."""
        if len(self.dead) < _MOST_DEAD:
            return []
        dead, self.dead = self.dead, []
        by_device: defaultdict[str, list[bytes]] = defaultdict(list)
        for text in dead:
            by_device[text.decode().rpartition(";")[2]].append(text)
        runs = []
        for texts in by_device.values():
            holder, deleter = self.deleter(texts[0].decode())
            runs.append((deleter, {holder: texts}))
        return runs
