"""`shared_planning`: seeds of one process share what planning gives.

Decoding, placing, dividing and finishing are functions of graphs that do not change, and give the same for the same, in every
seed. Each is done once here for what it is given; what a seed proves, the moments at which parts are asked for, sent, registered
and lost, is as it was, event by event.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import msgpack

from actorflow.cluster.master import session as master
from actorflow.cluster.worker import task_partition
from actorflow.engine.placement import placer
from actorflow.engine.placement.cost_model import UNMEASURED
from actorflow.engine.session.planning import builder, planner
from actorflow.graph import codec

_MOST = 4000
"""So much is kept; then all is forgotten."""


class _Memory:
    """The results of functions, by their arguments. It keeps both, so that an object's `id` stays its own."""

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[Any, Any]] = {}

    def recall(self, key: Hashable, held: Any, work: Callable[[], Any]) -> Any:
        """The result of `work()` for this key before, or now. `held` is what the key takes the `id` of."""
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _MOST:
                self._known.clear()
            found = self._known[key] = held, work()
        return found[1]


_memory = _Memory()


def _decode_nodes(data: bytes) -> list[Any]:
    return list(_memory.recall(("nodes", data), None, lambda: codec_decode_nodes(data)))


def _encode_nodes(nodes: Any) -> bytes:
    found: bytes = _memory.recall(("bytes", *map(id, nodes)), list(nodes), lambda: codec_encode_nodes(nodes))
    return found


def _decode_graph(found: Mapping[str, Any]) -> Any:
    return _memory.recall(("graph", msgpack.packb(found)), None, lambda: parts_decode_graph(found))


def _check_graph(graph: Any, device: str, feeds: Any) -> None:
    _memory.recall(("check", id(graph), device, feeds), graph, lambda: parts_check_graph(graph, device, feeds))


def _place(nodes: Any, devices: Any, known: Any, refused: Any, *, reasons: Any, **options: Any) -> Any:
    def work() -> tuple[Any, Any]:
        why = dict(reasons)
        return placer_place(nodes, devices, known, refused, reasons=why, **options), why

    if options.get("held") or options.get("measured", UNMEASURED) is not UNMEASURED:
        placed, why = work()
    else:
        ids = tuple(map(id, nodes.values()))
        key = "place", ids, tuple(devices), tuple(known.items()), options["soft"], id(options["links"])
        placed, why = _memory.recall(key, (dict(nodes), options["links"]), work)
    reasons.update(why)
    return dict(placed)


def _divide(
    nodes: Any, placed: Any, signature: Any, options: Any, evaluate: Any, first_device: str, refused: Any
) -> Any:
    def work() -> Any:
        return planner_divide(nodes, placed, signature, options, evaluate, first_device, refused)

    if refused:
        return work()
    asked = tuple(signature.feeds.items()), signature.fetches, signature.targets, signature.partial
    ids = tuple(map(id, nodes.values()))
    found, places = _memory.recall(
        ("divide", ids, tuple(placed.items()), asked, options, first_device), dict(nodes), work
    )
    return dict(found), places


def _finish(part: Any, options: Any, mergeable: Any, partial: Any, loopable: Any, memory: Any, launched: bool) -> Any:
    return _memory.recall(
        ("finish", id(part), options, partial, memory, launched),
        part,
        lambda: builder_finish(part, options, mergeable, partial, loopable, memory, launched),
    )


codec_encode_nodes, codec_decode_nodes = codec.encode_nodes, codec.decode_nodes
parts_decode_graph, parts_check_graph = task_partition._decode_graph, task_partition._check_graph
placer_place, planner_divide, builder_finish = placer.place, planner.divide, builder.finish

_SHARED = (
    (codec, "encode_nodes", _encode_nodes),
    (master, "encode_nodes", _encode_nodes),
    (task_partition, "encode_nodes", _encode_nodes),
    (codec, "decode_nodes", _decode_nodes),
    (master, "decode_nodes", _decode_nodes),
    (task_partition, "decode_nodes", _decode_nodes),
    (task_partition, "_decode_graph", _decode_graph),
    (task_partition, "_check_graph", _check_graph),
    (placer, "place", _place),
    (planner, "divide", _divide),
    (builder, "finish", _finish),
)


@contextmanager
def shared_planning() -> Iterator[None]:
    """Runs in this block share what planning gives, also with those of other blocks of this process."""
    with ExitStack() as patches:
        for module, name, function in _SHARED:
            patches.enter_context(mock.patch.object(module, name, function))
        yield
