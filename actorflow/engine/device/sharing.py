"""Tensors that another process of this host reads in place, in a device's memory: what devices and channels say of them.

The sender's device says where a tensor lies (`SharedTensor`): a description, which only the receiver's device understands, and an
offset. The channel carries both, and holds the tensor until the receiver gives it back. At the receiver the token is a
`PeerTensor`, which its device copies from; when that is gone, the tensor is given back. The channel's `PeerMemory` has what
devices keep for a peer.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np

from actorflow.engine.device.base import AsynchronousDevice, Device


class PeerMemory:
    """The memory that the devices of this process and of one peer share, over one channel."""

    def __init__(self) -> None:
        self.outward: set[tuple[str, str]] = set()
        """A device here, and one of the peer's that can read its memory."""
        self.inward = False
        """Whether some device here can read memory of the peer's."""
        self.kept: dict[Hashable, Any] = {}
        """The arrays that have to stay as they are while the peer may look at them."""
        self.ended = False
        self._ends: list[Callable[[], object]] = []

    def on_end(self, callback: Callable[[], object]) -> None:
        """Calls `callback` when nothing comes from the peer any more; at once where that is so."""
        if self.ended:
            callback()
        else:
            self._ends.append(callback)

    def end(self) -> None:
        """The channel has ended. Memory that has come may still be in use."""
        self.ended = True
        ends, self._ends = self._ends, []
        for callback in ends:
            callback()

    def part(self) -> None:
        """The peer looks at nothing of this process any more."""
        self.kept.clear()


@dataclass(frozen=True, slots=True)
class SharedTensor:
    """A tensor that the peer is to copy for itself. `keep` is held until it has done so."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    nbytes: int
    description: bytes
    offset: int
    keep: Any


@dataclass(slots=True, weakref_slot=True, eq=False)
class PeerTensor:
    """A tensor in the memory of a peer's device, to be given back: it is the peer's again when this object is gone."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    nbytes: int
    description: bytes
    offset: int
    peer_memory: PeerMemory


class SharingDevice(AsynchronousDevice, Protocol):
    """A device whose tensors other processes of the host may read in place. Its attribute `shares` is true.

    `bring` of such a device takes a `PeerTensor` too.
    """

    shares: bool

    def offer(self) -> bytes | None:
        """The description of some memory, for a peer to try; None where this device can show none."""

    def opens(self, description: bytes) -> str:
        """Why memory of another process can't be read here; empty if this device can read it."""

    def refused(self, peer: str, reason: str) -> None:
        """The peer's device `peer` can't read what is here: its tokens go by the host."""

    def share(self, value: Any, peer_memory: PeerMemory) -> SharedTensor | None:
        """A tensor for the peer to copy; None if the tensor has to go by the host."""


def as_sharing(device: Device) -> SharingDevice | None:
    """The device, if other processes may read its tensors in place."""
    return cast(SharingDevice, device) if getattr(device, "shares", False) else None
