"""`python -m benchmarks`: runs families of benchmarks, shows each figure as it is there, and stores them."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.harness import catalog, environment, suites
from benchmarks.harness import rounds as harness
from benchmarks.harness import stored as results
from benchmarks.harness.definitions import SIDES, Benchmark, Comparison, Measurement, Options, Side, Suite
from benchmarks.harness.processes import WorkerError
from benchmarks.harness.rounds import Result


def arguments_of(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Compares actorflow with TensorFlow in graph mode, round by round in turns.",
        epilog=f"{environment.PEER_PYTHON} names the interpreter that has TensorFlow, by default this one.",
    )
    parser.add_argument(
        "names", nargs="*", metavar="family[/benchmark]", help="by default all; only whole families are stored"
    )
    parser.add_argument("--list", action="store_true", help="show what there is, and end")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--pairs", type=int, metavar="N", help="pairs of fresh processes")
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds of each pair")
    parser.add_argument("--seconds", type=float, metavar="S", help="length of a round")
    single = parser.add_mutually_exclusive_group()
    single.add_argument("--null", choices=SIDES, help="this side against itself; nothing is stored")
    single.add_argument("--alone", choices=SIDES, help="only the times of this side; nothing is stored")
    parser.add_argument("--results", type=Path, default=results.FOLDER, metavar="FOLDER", help="where results go")
    return parser.parse_args(argv)


def chosen(names: Sequence[str]) -> dict[str, list[Benchmark]]:
    """The benchmarks that were named, by family. Raises KeyError for a name that there is not."""
    found: dict[str, list[Benchmark]] = {}
    for name in names or catalog.FAMILIES:
        family = name.partition("/")[0]
        some = [catalog.benchmark(name)] if "/" in name else list(catalog.family(name))
        found.setdefault(family, []).extend(one for one in some if one not in found.get(family, []))
    return found


def options_of(arguments: argparse.Namespace) -> Options:
    options = Options.quickly() if arguments.quick else Options()
    given = {name: value for name in ("pairs", "rounds", "seconds") if (value := getattr(arguments, name)) is not None}
    return replace(options, **given)


def measured(
    family: str, benchmark: Benchmark, sides: tuple[Side, ...], options: Options
) -> tuple[list[Result], dict[str, str]]:
    """The figures, and what went wrong by name."""
    path = f"{family}/{benchmark.name}"
    try:
        if isinstance(benchmark, Comparison):
            return [harness.compare(path, benchmark, sides, options)], {}
        if isinstance(benchmark, Suite):
            return suites.measure(family, benchmark, sides, options)
        return harness.measure(path, benchmark, sides, options), {}
    except WorkerError as error:
        return [], {path: str(error)}


def wants_peer(benchmarks: Sequence[Benchmark]) -> bool:
    return any(not isinstance(one, Measurement) or one.peer is not None for one in benchmarks)


def listed(family: str, benchmark: Benchmark) -> list[str]:
    """The names that `python -m benchmarks` takes for it."""
    cases = benchmark.cases if isinstance(benchmark, Suite) else ()
    return [f"{family}/{name}" for name in (benchmark.name, *(case.name for case in cases))]


def show(result: Result) -> None:
    figure = results.as_json(result)
    if result.sides in (("ours", "peer"), ("ours",)):
        print(results.line(figure), flush=True)
        return
    times = " / ".join(results.number(value, result.unit) for value in result.medians)
    ratio = result.ratio
    more = f"; ratio {ratio.median:.3f}, 95 % in {ratio.low95:.3f}–{ratio.high95:.3f}" if ratio else ""
    spread = result.spreads[0]
    print(f"{result.work}: {times} [{spread.p10:.4g}–{spread.p90:.4g}]{more}", flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Returns 1 where something crashed, 2 where nothing could start. A missed target is a result, not an error."""
    words = sys.argv[1:] if argv is None else list(argv)
    if words[:1] == ["compare"]:
        from benchmarks.compare import command

        return command.main(words[1:])
    arguments = arguments_of(words)
    try:
        families = chosen(arguments.names)
    except KeyError as error:
        print(error.args[0], file=sys.stderr)
        return 2
    if arguments.list:
        print("\n".join(name for family, some in families.items() for one in some for name in listed(family, one)))
        return 0
    options = options_of(arguments)
    sides = results.sides_of(arguments.null, arguments.alone)
    setting: dict[str, Any] = {
        **environment.commit(),
        "command": shlex.join(["python", "-m", "benchmarks", *(sys.argv[1:] if argv is None else argv)]),
    }
    machines = {family: environment.machine(family) for family in families}
    for family in list(families):
        if "peer" in sides and machines[family]["peer"] is None and wants_peer(families[family]):
            peer, variable, _ = environment.OTHER_PEERS.get(family, ("TensorFlow", environment.PEER_PYTHON, ""))
            print(
                f"{family}: {environment.interpreter('peer', family)} has no {peer}, so what is compared with it is left "
                f"out. Use `make bench`, or name another interpreter in {variable}, or measure `--alone ours`.",
                file=sys.stderr,
            )
            families[family] = [one for one in families[family] if not wants_peer([one])]
        lacks = catalog.missing(family)
        if lacks:
            print(f"{family} is left out: {lacks}", file=sys.stderr)
        if lacks or not families[family]:
            del families[family]
    if not families:
        return 2
    crashed = False
    for family, some in families.items():
        print(f"\n## {family}", flush=True)
        found: list[Result] = []
        errors: dict[str, str] = {}
        for benchmark in some:
            if isinstance(benchmark, Measurement) and "ours" not in sides and benchmark.peer is None:
                continue
            some_found, some_errors = measured(family, benchmark, sides, options)
            found += some_found
            errors |= some_errors
            for result in some_found:
                show(result)
            for name, what in some_errors.items():
                print(f"{name}: {what}", file=sys.stderr, flush=True)
        crashed = crashed or bool(errors)
        if sides == SIDES and tuple(some) == catalog.family(family):
            date = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            told = {"date": date, **setting, "machine": machines[family]}
            results.save(results.document(family, found, errors, options, told), arguments.results)
            results.write_table(arguments.results)
    return int(crashed)


if __name__ == "__main__":
    sys.exit(main())
