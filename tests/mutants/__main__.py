"""`make mutants`: applies bugs and mutants to a copy of the project, one at a time, and says which test notices each."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from mutants.automatic import MODULES, chosen
from mutants.mutant import Mutant
from mutants.planted import PLANTED
from mutants.reasons import reasons
from mutants.records import record
from mutants.results import former, key_of, rows, save
from mutants.tree import Tree
from mutants.trial import Verdict, try_out

LEAST = 0.85
"""So much of the automatic mutants has to be noticed; of the planted bugs, all but a tenth."""
LEAST_PLANTED = 0.9
_NICE = 10


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--planted", action="store_true", help="only the planted bugs")
    parser.add_argument("--mutants", type=int, default=200, metavar="N", help="so many automatic mutants (200)")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument(
        "--only", default="", help="only bugs with this in their name, mutants of files with this in theirs"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time (2)")
    parser.add_argument("--seconds", type=float, default=60.0, help="of tests that one mutant is shown to (60)")
    parser.add_argument("--list", action="store_true", help="shows them, and runs nothing")
    parser.add_argument(
        "--again", action="store_true", help="only those that nobody noticed by benchmarks/results/mutants.json"
    )
    parser.add_argument("--results", action="store_true", help="writes benchmarks/results/mutants.json")
    return parser.parse_args()


def _wanted(options: argparse.Namespace) -> tuple[list[Mutant], list[Mutant]]:
    planted = [bug.mutant() for bug in PLANTED if options.only in bug.name]
    if options.again:
        before = former()
        left = {key_of(r) for kind in ("planted", "automatic") for r in before[kind] if r["noticed_by"] is None}
        made = chosen(before["options"]["seed"], before["options"]["first"], len(before["automatic"]))
        return [m for m in planted if m.key in left], [m for m in made if m.key in left and options.only in m.file]
    if options.planted:
        return planted, []
    files = [file for part in MODULES.values() for file in part if options.only in file]
    automatic = chosen(options.seed, options.first, options.mutants, files) if files else []
    return ([] if options.only else planted), automatic


def _tell(number: int, of: int, verdict: Verdict, reason: str | None) -> None:
    name = verdict.mutant.name if not verdict.mutant.name.startswith("seed") else str(verdict.mutant)
    end = f"noticed by {verdict.killed_by}" if verdict.killed_by else f"SURVIVED {verdict.tests} tests"
    more = f"\n    {verdict.why[:150] if verdict.killed_by else reason or verdict.why}"
    print(f"[{number}/{of}] {name}\n    {end} ({verdict.seconds:.0f} s){more}", flush=True)


def _run(mutants: Sequence[Mutant], jobs: int, most_seconds: float) -> list[Verdict]:
    known = reasons()
    with tempfile.TemporaryDirectory(prefix="mut") as folder:
        trees = []
        for job in range(jobs):
            place = Path(folder) / str(job)
            place.mkdir()
            trees.append(Tree(place))
        footprints = record(trees)
        free: SimpleQueue[Tree] = SimpleQueue()
        for tree in trees:
            free.put(tree)
        done = 0

        def one(mutant: Mutant) -> Verdict:
            nonlocal done
            tree = free.get()
            try:
                verdict = try_out(tree, mutant, footprints, most_seconds)
            finally:
                free.put(tree)
            done += 1
            _tell(done, len(mutants), verdict, known.get(mutant.key))
            return verdict

        try:
            with ThreadPoolExecutor(jobs) as pool:
                return list(pool.map(one, mutants))
        finally:
            for tree in trees:
                tree.close()


def _summary(title: str, verdicts: Sequence[Verdict], least: float) -> tuple[str, bool]:
    killed = sum(v.killed_by is not None for v in verdicts)
    good = killed >= least * len(verdicts)
    return f"{title}: {killed} of {len(verdicts)} noticed" + ("" if good else f"; {least:.0%} have to be"), good


def main() -> int:
    options = _arguments()
    planted, automatic = _wanted(options)
    if options.list:
        print(*(mutant.name if mutant in planted else mutant for mutant in (*planted, *automatic)), sep="\n")
        return 0
    os.nice(_NICE)
    verdicts = _run([*planted, *automatic], options.jobs, options.seconds)
    mine, others = verdicts[: len(planted)], verdicts[len(planted) :]
    known = reasons()
    good = True
    for title, some, least in (("planted bugs", mine, LEAST_PLANTED), ("automatic mutants", others, LEAST)):
        if some:
            text, met = _summary(title, some, least)
            good = good and met
            print(f"\n{text}")
            for verdict in some:
                if verdict.killed_by is None:
                    print(
                        f"  {verdict.mutant.name}: {verdict.mutant}\n    {known.get(verdict.mutant.key, 'no reason is given')}"
                    )
    killers = Counter(v.killed_by.partition("::")[0] for v in verdicts if v.killed_by)
    print("\n" + "\n".join(f"{count:5} {name}" for name, count in killers.most_common()))
    for verdict in verdicts:
        if verdict.killed_by is not None and verdict.mutant.key in known:
            print(
                f"\nA reason is given for a mutant that {verdict.killed_by} notices; take it out:\n  {verdict.mutant}"
            )
            good = False
    if options.results:
        facts = {"seed": options.seed, "first": options.first, "seconds": options.seconds}
        save(rows(mine), rows(others), facts, again=options.again)
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
