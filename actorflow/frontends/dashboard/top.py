"""`actorflow top`: what the live page shows, in a terminal; and `--metrics`, once, for Prometheus."""

from __future__ import annotations

import argparse
import shutil
import sys
from typing import Any

import anyio

from actorflow.cluster.processes.metrics import render
from actorflow.cluster.processes.startup import columns
from actorflow.frontends.cli import queries
from actorflow.frontends.cli.main import Command
from actorflow.frontends.dashboard.sampler import ClusterSource, Sampler

_CLEAR = "\x1b[H\x1b[2J"


def _arguments(parser: argparse.ArgumentParser) -> None:
    queries.add_arguments(parser)
    parser.add_argument("--period", type=float, default=1.0, metavar="SECONDS", help="how often to look; default: 1")
    parser.add_argument("--once", action="store_true", help="print the cluster once, and end")
    parser.add_argument("--metrics", action="store_true", help="print the metrics as OpenMetrics once, and end")


def _run(arguments: argparse.Namespace) -> int:
    ((_, first),) = list(queries.targets(arguments).items())[:1]
    source = ClusterSource(first.address, first.credentials, arguments.timeout)
    return anyio.run(_show, Sampler(source, max(0.1, arguments.period)), arguments)


async def _show(sampler: Sampler, arguments: argparse.Namespace) -> int:
    if arguments.metrics:
        sys.stdout.write(render(await sampler.source.ask()))
        return 0
    if arguments.once or not sys.stdout.isatty():
        snapshot = await sampler.snapshot()
        print("\n".join(screen(snapshot)))
        return int(any(state["state"] != "live" for state in snapshot["tasks"].values()))
    async with sampler.watching() as snapshots:
        async for snapshot in snapshots:
            width, height = shutil.get_terminal_size()
            lines = [line[:width] for line in screen(snapshot)[: height - 1]]
            print(_CLEAR + "\n".join(lines), flush=True)
    return 0


def screen(snapshot: dict[str, Any]) -> list[str]:
    """The lines of a snapshot: problems, tasks, queues, links that wait, and what steps wait for."""
    tasks = snapshot["tasks"]
    lines = [f"{len(tasks)} tasks, {snapshot['steps_per_second']:.1f} steps/s"]
    lines += [f"! {problem}" for problem in snapshot["problems"]]
    rows: list[tuple[str, ...]] = [("TASK", "STATE", "STEPS", "STEPS/S", "IN FLIGHT", "FAILED", "MEMORY", "TENSORS")]
    for name, state in tasks.items():
        if state.get("state") == "lost":
            rows.append((name, "lost", *[""] * 6))
            continue
        held = sum(device["live_bytes"] for device in state.get("devices", ()))
        numbers = [str(state.get(field, "")) for field in ("steps_in_flight", "steps_failed")]
        rate = f"{state.get('steps_per_second', 0.0):.1f}"
        rows.append(
            (
                name,
                state["state"],
                str(state["steps"]),
                rate,
                *numbers,
                _bytes(state.get("resident_bytes", 0)),
                _bytes(held),
            )
        )
    lines += ["", *columns(rows)]
    rows = [("QUEUE", "TASK", "ELEMENTS", "CAPACITY", "PUT", "TAKE")]
    for name, state in tasks.items():
        for queue in state.get("queues", ()):
            counts = [str(queue[field]) for field in ("size", "capacity", "waiting_to_put", "waiting_to_take")]
            rows.append((queue["name"], name, *counts))
    lines += ["", *columns(rows)] if len(rows) > 1 else []
    rows = [("LINK", "TO", "BY", "SENT", "RECEIVED", "WAITS", "WAITED")]
    links = [(name, link) for name, status in tasks.items() for link in status.get("links", ())]
    for name, link in sorted(links, key=lambda item: -item[1]["wait_seconds"])[:10]:
        moved = _bytes(link["bytes_sent"]), _bytes(link["bytes_received"])
        rows.append(
            (name, link["peer"], link["transport"], *moved, str(link["waits"]), f"{link['wait_seconds']:.1f} s")
        )
    lines += ["", *columns(rows)] if len(rows) > 1 else []
    for name, state in tasks.items():
        for step in state.get("waiting", ())[:5]:
            lines += ["", f"step {step['step']} on {name} waits:", *(f"  {line}" for line in step["lines"][:6])]
    return lines


def _bytes(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


COMMAND = Command("show the tasks, queues and waits of a running cluster in the terminal", _arguments, _run)
