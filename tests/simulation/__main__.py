"""Runs seeds of simulated workloads; see the package."""

from __future__ import annotations

import argparse
import json
import logging
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from simulation.report import TABLE_SEEDS, Report
from simulation.seeds import run_seed, run_seeds
from simulation.setting import commit, machine


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; its result is that of the process: 0 where all seeds were right and the table has no empty cell."""
    parser = argparse.ArgumentParser(prog="python -m simulation", description="Workloads under faults, from seeds.")
    parser.add_argument("--seeds", type=_positive, default=100, help="how many seeds (100)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (0)")
    parser.add_argument("--processes", type=_positive, help="how many at a time (one for each processor)")
    parser.add_argument("--show", action="store_true", help="show each event, in this process")
    parser.add_argument("--twice", action="store_true", help="run each seed again, and compare the traces")
    parser.add_argument("--results", type=Path, help="a file for the sums and the table, in JSON")
    options = parser.parse_args(arguments)
    seeds = range(options.first, options.first + options.seeds)
    setting = {**commit(), "command": shlex.join(["python", "-m", "simulation", *(arguments or sys.argv[1:])])}
    quiet()
    report, began = Report(), time.perf_counter()
    if options.show:
        for seed in seeds:
            report.add(run_seed(seed, print))
    else:
        for outcome in run_seeds(seeds, options.processes, twice=options.twice):
            report.add(outcome)
            if outcome.failure:
                print(outcome.failure, file=sys.stderr, flush=True)
            if report.seeds % 100 == 0:
                print(f"{report.seeds} of {options.seeds} seeds, {len(report.failed)} failed", flush=True)
    print(report.text(time.perf_counter() - began))
    if options.results is not None:
        found = {**setting, "machine": machine(), **report.figures(time.perf_counter() - began)}
        options.results.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    empty = report.empty_cells() if report.seeds >= TABLE_SEEDS else []
    for kind, phase in empty:
        print(f"No {kind} has met the phase {phase} in {report.seeds} seeds.", file=sys.stderr)
    return 1 if report.failed or empty else 0


def quiet() -> None:
    """Servers log faults, and these runs make them on purpose."""
    logging.getLogger("actorflow").setLevel(logging.CRITICAL)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return number


if __name__ == "__main__":
    sys.exit(main())
