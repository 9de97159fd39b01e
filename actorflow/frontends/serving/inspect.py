"""`actorflow inspect`: inputs, outputs, ops, parameters of a model file, and the memory and time of a run by node."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence

import anyio
import numpy as np

from actorflow.base import dtypes
from actorflow.base.reports import markup
from actorflow.engine.passes.options import PlanOptions
from actorflow.engine.runtime.diagnostics.trace import Trace
from actorflow.engine.session.session import Session
from actorflow.errors import InvalidArgumentError, NotFoundError, OpError
from actorflow.exchange.sources.inspection import SourceInspection, inspected
from actorflow.exchange.sources.signature import Port, Signature
from actorflow.exchange.sources.source import Source, read
from actorflow.frontends.cli.main import Command

_RUNS = 5


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="an ONNX file, a folder with a saved model, a frozen graph, or a checkpoint")
    parser.add_argument("--signature", metavar="NAME", help="one signature alone; default: all")
    parser.add_argument(
        "--size", type=int, default=1, metavar="N", help="what open sizes of inputs are in the timed run; default: 1"
    )
    parser.add_argument("--top", type=int, default=10, metavar="N", help="how many lines of each list; default: 10")
    parser.add_argument("--no-run", action="store_true", help="run nothing: without memory and time")


def _run(arguments: argparse.Namespace) -> int:
    if arguments.size < 1 or arguments.top < 1:
        raise InvalidArgumentError("--size and --top are 1 or more.")
    source = read(arguments.model)
    names = sorted(source.signatures) if arguments.signature is None else [arguments.signature]
    for name in names:
        if name not in source.signatures:
            there = ", ".join(map(repr, sorted(source.signatures))) or "none"
            raise NotFoundError(f"The model {arguments.model!r} has no signature {name!r}; it has {there}.")
    for name in names:
        signature = source.signatures[name]
        print("\n".join(_described(signature, inspected(source.graph, signature), arguments.top)))
        if not arguments.no_run:
            print("\n".join(anyio.run(_measured, source, signature, arguments.size, arguments.top)))
    return 0


def _described(signature: Signature, inspection: SourceInspection, top: int) -> Iterator[str]:
    yield f"signature {signature.name}"
    for title, ports in (("inputs", signature.inputs), ("outputs", signature.outputs)):
        yield f"  {title}"
        yield from _table([(name, port.dtype.name, _sizes(port.shape)) for name, port in ports.items()])
    ops = sorted(inspection.ops.items(), key=lambda item: (-item[1], item[0]))
    yield f"  {inspection.nodes:,} nodes of {len(ops)} ops"
    yield from _table([(op, f"{count:,}") for op, count in ops[:top]], len(ops))
    rows = inspection.parameters
    elements, nbytes = sum(row.elements for row in rows), sum(row.nbytes for row in rows)
    yield f"  {elements:,} parameters in {len(rows):,} tensors, {markup.size(nbytes)}"
    lines = [(row.name, row.dtype, _sizes(row.shape), markup.size(row.nbytes)) for row in rows[:top]]
    yield from _table(lines, len(rows))


async def _measured(source: Source, signature: Signature, size: int, top: int) -> list[str]:
    """The lines about a run of zeros."""
    feeds = {port.tensor: _zeros(port, size) for port in signature.inputs.values()}
    fetches = [port.tensor for port in signature.outputs.values()]
    trace = Trace()
    try:
        async with Session(graph=source.graph) as session:
            await source.start(session)
            await session.run(fetches, feeds)
            seconds = min([await _seconds(session, fetches, feeds) for _ in range(_RUNS)])
            peak = sum(device.memory.peak_bytes for device in session.statistics().devices.values())
        async with Session(graph=source.graph, options=PlanOptions(coalesce=False, fuse=False)) as session:
            await source.start(session)
            await session.run(fetches, feeds)
            await session.run(fetches, feeds, trace=trace)
    except OpError as error:
        return [f"  It does not run with zeros of size {size}: {error.message}", "  Try --size, or --no-run."]
    spent: dict[tuple[str, str], int] = {}
    for event in trace.events:
        spent[event.node, event.op] = spent.get((event.node, event.op), 0) + event.running
    whole = sum(spent.values()) or 1
    rows = sorted(spent.items(), key=lambda item: -item[1])
    lines = [f"  {seconds * 1e3:,.3f} ms for a run with open sizes of {size}, the least of {_RUNS}"]
    if peak:
        lines.append(f"  at most {markup.size(peak)} in memory for tensors and variables")
    lines.append("  time by node, unfused")
    shown = [(node, op, f"{took / 1e6:,.3f} ms", f"{took / whole:.1%}") for (node, op), took in rows[:top]]
    return [*lines, *_table(shown, len(rows))]


async def _seconds(session: Session, fetches: list[str], feeds: dict[str, object]) -> float:
    begun = time.perf_counter()
    await session.run(fetches, feeds)
    return time.perf_counter() - begun


def _zeros(port: Port, size: int) -> object:
    shape = [size if extent is None else extent for extent in port.shape or ()]
    if port.dtype is dtypes.string:
        return np.full(shape, b"", object)
    return np.zeros(shape, port.dtype.numpy_dtype)


def _table(rows: Sequence[tuple[str, ...]], count: int | None = None) -> Iterator[str]:
    """Rows with their columns under each other, and how many are left out."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        yield ("    " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths))).rstrip()
    if count is not None and count > len(rows):
        yield f"    and {count - len(rows):,} more"


def _sizes(shape: Sequence[int | None] | None) -> str:
    return "of any shape" if shape is None else "[" + ", ".join("?" if n is None else str(n) for n in shape) + "]"


COMMAND = Command(
    "show a model file: inputs, outputs, ops, parameters, and the memory and time of a run by node", _arguments, _run
)
