"""The first record of each side: who it is, which versions it speaks, what it takes; and the verdict on it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import IntEnum

from actorflow.base.process import machine
from actorflow.engine.transport.base import PeerLimits, ProcessIdentity
from actorflow.engine.transport.errors import ProtocolError

from .frames import VERSIONS, FrameRecord, RecordKind, pack, unpack

_LEAST_WINDOW = 64 * 1024
_MOST = 1 << 62
_TEXT = 1024
_SEALS = 8


class CloseReason(IntEnum):
    """Why a connection ends."""

    NORMAL = 1
    VERSION = 2
    CLUSTER = 3
    INCARNATION = 4
    PROTOCOL = 5
    ORDER = 6
    GONE = 7
    REFUSED = 8


@dataclass(frozen=True, slots=True)
class PeerFacts:
    """The facts that a side tells of itself."""

    identity: ProcessIdentity
    epoch: int
    versions: tuple[int, int]
    data_window: int
    control_window: int
    order: str
    build: str
    expects: int | None = None
    """The incarnation that this side wants to talk to."""
    clock: str = ""
    """Names its monotonic clock, as `Machine.clock_id`."""
    seals: tuple[str, ...] = ()
    """The ways in which its transport can seal a bulk lane of its own."""
    sealed_port: int = 0
    """The port at which it listens for such a lane; 0 for none."""
    takes_enclosed: bool = False
    """Whether it takes handles within messages."""


def make_hello(
    identity: ProcessIdentity,
    epoch: int,
    limits: PeerLimits,
    expects: int | None = None,
    seals: tuple[str, ...] = (),
    sealed_port: int = 0,
    takes_enclosed: bool = False,
) -> PeerFacts:
    """The hello of this process."""
    return PeerFacts(
        identity=identity,
        epoch=epoch,
        versions=VERSIONS,
        data_window=limits.data_window,
        control_window=limits.control_window,
        order=sys.byteorder,
        build="actorflow",
        expects=expects,
        clock=machine.current().clock_id,
        seals=seals,
        sealed_port=sealed_port,
        takes_enclosed=takes_enclosed,
    )


def hello_record(hello: PeerFacts) -> FrameRecord:
    """`hello` for the wire."""
    meta: dict[str, object] = {
        "versions": list(hello.versions),
        "cluster": hello.identity.cluster,
        "task": hello.identity.task,
        "data_window": hello.data_window,
        "control_window": hello.control_window,
        "order": hello.order,
        "build": hello.build,
        "expects": hello.expects,
        "clock": hello.clock,
    }
    if hello.seals:
        meta |= {"seals": list(hello.seals), "sealed_port": hello.sealed_port}
    if hello.takes_enclosed:
        meta["handles"] = True
    return FrameRecord(RecordKind.HELLO, epoch=hello.epoch, incarnation=hello.identity.incarnation, meta=pack(meta))


def read_hello(record: FrameRecord) -> PeerFacts:
    """The hello in `record`. Keys that are not known are left alone, for later versions. Raises ProtocolError."""
    meta = unpack(record.meta)
    if type(meta) is not dict:
        raise ProtocolError("The metadata of a HELLO is no map.")

    def text(name: str) -> str:
        value = meta.get(name)
        if type(value) is not str or len(value) > _TEXT:
            raise ProtocolError(f"A HELLO has no text of at most {_TEXT} characters under {name!r}.")
        return value

    def window(name: str) -> int:
        value = meta.get(name)
        if type(value) is not int or not _LEAST_WINDOW <= value <= _MOST:
            raise ProtocolError(f"A HELLO has no number of at least {_LEAST_WINDOW} under {name!r}.")
        return value

    versions, expects = meta.get("versions"), meta.get("expects")
    seals, port = meta.get("seals", []), meta.get("sealed_port", 0)
    if type(seals) is not list or len(seals) > _SEALS or not all(type(seal) is str for seal in seals):
        raise ProtocolError(f"A HELLO has no list of at most {_SEALS} texts under 'seals'.")
    if type(port) is not int or not 0 <= port <= 65535:
        raise ProtocolError("A HELLO has no port under 'sealed_port'.")
    if type(versions) is not list or len(versions) != 2 or not all(type(version) is int for version in versions):
        raise ProtocolError("A HELLO has no pair of numbers under 'versions'.")
    if expects is not None and type(expects) is not int:
        raise ProtocolError("A HELLO has something other than a number under 'expects'.")
    return PeerFacts(
        identity=ProcessIdentity(text("cluster"), text("task"), record.incarnation),
        epoch=record.epoch,
        versions=(versions[0], versions[1]),
        data_window=window("data_window"),
        control_window=window("control_window"),
        order=text("order"),
        build=text("build"),
        expects=expects,
        clock=text("clock") if "clock" in meta else "",
        seals=tuple(seals),
        sealed_port=port,
        takes_enclosed=meta.get("handles") is True,
    )


def judge(mine: PeerFacts, theirs: PeerFacts) -> tuple[CloseReason, str] | None:
    """Why the two can't talk, in a sentence with both sides' values; None if they can."""
    me, peer = mine.identity, theirs.identity
    if min(mine.versions[1], theirs.versions[1]) < max(mine.versions[0], theirs.versions[0]):
        return CloseReason.VERSION, (
            f"{me.task} speaks versions {mine.versions[0]} to {mine.versions[1]} of the protocol, "
            f"{peer.task} versions {theirs.versions[0]} to {theirs.versions[1]}."
        )
    if me.cluster != peer.cluster and me.cluster and peer.cluster:
        return CloseReason.CLUSTER, f"{me.task} belongs to cluster {me.cluster!r}, {peer.task} to {peer.cluster!r}."
    if mine.order != theirs.order:
        return (
            CloseReason.ORDER,
            f"{me.task} is a {mine.order}-endian machine, {peer.task} a {theirs.order}-endian one.",
        )
    for own, other in ((mine, theirs), (theirs, mine)):
        if own.expects is not None and own.expects != other.identity.incarnation:
            return CloseReason.INCARNATION, (
                f"{own.identity.task} expects incarnation {own.expects:#x} of {other.identity.task}, "
                f"but this is {other.identity.incarnation:#x}: it was started again."
            )
    return None


def chosen_version(mine: PeerFacts, theirs: PeerFacts) -> int:
    """The newest version that both speak."""
    return min(mine.versions[1], theirs.versions[1])
