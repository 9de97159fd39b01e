"""`python -m benchmarks compare`: the same models behind several servers, in rounds that go through all of them."""

from __future__ import annotations

import argparse
import asyncio
import shlex
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.compare import environments, measures, models, report
from benchmarks.compare.running import clients_core
from benchmarks.compare.server import NotThereError, Server
from benchmarks.compare.servers import OURS, SERVERS
from benchmarks.harness import environment, stored

STORMS = "cnn"
"""The model of the loads that are more than the server can bear: its steps take long enough to be stopped."""


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks compare", description=__doc__)
    parser.add_argument(
        "servers", nargs="*", help="some of the peers, beside ours; by default all, and only then stored"
    )
    parser.add_argument("--list", action="store_true", help="show the servers, and end")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="how often each is measured; default: 3")
    parser.add_argument("--model", choices=list(models.MODELS), action="append", help="one model; by default all")
    parser.add_argument("--quick", action="store_true", help="shorter loads")
    parser.add_argument("--results", type=Path, default=stored.FOLDER, metavar="FOLDER", help="where results go")
    return parser.parse_args(argv)


def _chosen(names: Sequence[str]) -> list[Server]:
    """The servers that were named. Raises ValueError for a name that there is not."""
    there = {server.name: server for server in SERVERS}
    for name in names:
        if name not in there:
            raise ValueError(f"There is no server {name!r}; there are: {', '.join(there)}.")
    return [server for server in SERVERS if not names or server.name in {*OURS, *names}]


def _measured(
    servers: list[Server], chosen: Sequence[str], rounds: int, lengths: measures.Lengths
) -> tuple[list[report.Round], dict[str, str]]:
    """The figures of each round, and why a server has none. A server that fails once is not tried again."""
    results: list[report.Round] = []
    errors: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as name:
        paths = {model: Path(name, f"{model}.onnx") for model in chosen}
        for model, path in paths.items():
            asyncio.run(models.write(model, path))
        _check(servers, paths, errors)
        for number in range(rounds):
            figures: dict[str, dict[str, float]] = {}
            for model, path in paths.items():
                for server in servers[number % len(servers) :] + servers[: number % len(servers)]:
                    if server.name in errors:
                        continue
                    try:
                        some = measures.figures(server, path, models.MODELS[model], lengths, model == STORMS)
                    except (NotThereError, OSError, RuntimeError) as error:
                        errors[server.name] = f"{model}: {error or type(error).__name__}"
                        print(f"{server.title}: {errors[server.name]}", flush=True)
                        continue
                    figures[f"{server.name}/{model}"] = some | {"lines": server.lines()}
                    line = ", ".join(f"{figure} {value:.4g}" for figure, value in some.items())
                    print(f"round {number + 1}, {model}, {server.title}: {line}", flush=True)
            results.append(figures)
    return results, errors


def _check(servers: Sequence[Server], paths: dict[str, Path], errors: dict[str, str]) -> None:
    """All servers have to answer the same numbers. This makes their environments too."""
    model, path = next(iter(paths.items()))
    expected: list[float] = []
    for server in servers:
        try:
            scores = measures.scores(server, path, models.MODELS[model])
        except NotThereError as error:
            errors[server.name] = str(error)
            print(f"{server.title}: {error}", flush=True)
            continue
        expected = expected or scores
        if len(scores) != 10 or any(abs(one - other) > 1e-4 for one, other in zip(scores, expected)):
            errors[server.name] = f"It answers {scores}, the others {expected}."
            print(f"{server.title}: {errors[server.name]}", flush=True)


def main(argv: Sequence[str]) -> int:
    """Returns 2 where nothing could start, 1 where a server has no figures."""
    arguments = _arguments(argv)
    if arguments.list:
        print("\n".join(f"{server.name}: {server.title}, {server.about}" for server in SERVERS))
        return 0
    try:
        servers = _chosen(arguments.servers)
    except ValueError as error:
        print(error)
        return 2
    chosen = arguments.model or list(models.MODELS)
    lengths = measures.Lengths(0.5, 1.0, 2.0) if arguments.quick else measures.Lengths()
    setting = environment.commit()
    machine = environment.machine()
    use = environment.CpuUse.now()
    with clients_core():
        rounds, errors = _measured(servers, chosen, arguments.rounds, lengths)
    medians = report.medians(rounds)
    ratios: dict[str, Any] = {}
    for model in chosen:
        ratios |= report.best_ratios(medians, rounds, OURS, model)
    now = environment.CpuUse.now()
    document = {
        "family": "compare",
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        **setting,
        "command": shlex.join(["python", "-m", "benchmarks", "compare", *argv]),
        "machine": machine,
        "load_average": environment.load_average(),
        "other_cpu": 0.0 if use is None or now is None else round(now.others_since(use), 3),
        "rounds": arguments.rounds,
        "models": {model: models.MODELS[model].about for model in chosen},
        "storms": STORMS if STORMS in chosen else chosen[0],
        "servers": {
            server.name: {
                "title": server.title,
                "about": server.about,
                "versions": {} if server.name in errors else environments.versions(server),
            }
            for server in servers
        },
        "medians": medians,
        "ratios": ratios,
        "each_round": rounds,
        "errors": errors,
    }
    print(report.section(document), flush=True)
    if not arguments.servers and not arguments.model and not arguments.quick:
        stored.save(document, arguments.results)
        stored.write_table(arguments.results)
    return int(bool(errors))
