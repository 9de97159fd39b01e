"""`actorflow place`: looks for a better placement of a step that was kept in a file, here or on another machine.

`PlacementStudy.save` has written the file. Nothing runs: the step is simulated by the costs in the file.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from actorflow.frontends.cli.main import Command


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", type=Path, metavar="FILE", help="a step that PlacementStudy.save has written")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long to search (default: 5)")
    parser.add_argument("--trials", type=int, help="how many placements to simulate, in place of seconds")
    parser.add_argument("--seed", type=int, default=0, help="of the search's random numbers (default: 0)")
    parser.add_argument("--workers", type=int, default=0, metavar="N", help="what if there were N more workers")
    parser.add_argument("--bandwidth", metavar="RATE", help="what if links had this bandwidth, such as 10Gb/s")
    parser.add_argument("--latency", type=float, metavar="SECONDS", help="what if links had this latency")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="write the timelines before and after as a picture")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the device of each node")


def _run(arguments: argparse.Namespace) -> int:
    from actorflow.engine.placement.study.study import PlacementStudy
    from actorflow.errors import InvalidArgumentError

    try:
        present = PlacementStudy.load(arguments.study)
        other = present.what_if(workers=arguments.workers, bandwidth=arguments.bandwidth, latency=arguments.latency)
    except (OSError, ValueError) as error:
        raise InvalidArgumentError(str(error)) from None
    better = other.search(arguments.seconds, seed=arguments.seed, trials=arguments.trials)
    print(present)
    print(f"\nfound:\n{better}")
    print(
        f"\nThe step takes {better.seconds / present.seconds:.3f} of the time; {_moved(present.placement(), better.placement())}."
    )
    if arguments.svg is not None:
        arguments.svg.write_text(present.svg(better, titles=["before", "as found"]), encoding="utf-8")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(better.placement(), indent=1), encoding="utf-8")
    return 0


def _moved(before: dict[str, str], after: dict[str, str]) -> str:
    count = sum(after[name] != device for name, device in before.items())
    return f"{count:,} of {len(before):,} nodes have another device"


COMMAND = Command("look for a better placement of a step, here or on another machine", _arguments, _run)
