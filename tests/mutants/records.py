"""The footprints of all tests that may notice a mutant, recorded where a file of tests has changed."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from mutants.footprints import Footprint, digest, load
from mutants.mutant import ROOT
from mutants.tree import Tree

FOLDER = Path(sys.prefix) / "footprints"
"""The folder of the records: in the environment, with which they go."""

TESTS = (
    "test_protocol_core",
    "test_protocol_rules",
    "test_transport_contract",
    "test_transport_local",
    "test_transport_rules",
    "test_simulated_transport",
    "test_shared_arena",
    "test_raw_protocol",
    "test_rpc",
    "test_cluster_security",
    "test_liveness",
    "test_supervisor",
    "test_supervisor_parts",
    "test_checkpoint",
    "test_checkpoint_faults",
    "test_checkpoint_resume",
    "test_checkpoint_rules",
    "test_simulated_files",
    "test_partitioned_variables",
    "test_cli",
    "test_cluster",
    "test_step_abort",
    "test_distributed_examples",
)
"""The files of tests that mutants are shown to."""
_MOST_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class Choice:
    """Tests with their seconds, in the order in which they run, and the seconds of all."""

    tests: dict[str, float]
    seconds: float

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(test.partition("::")[0] for test in self.tests))


def record(trees: Sequence[Tree]) -> list[Footprint]:
    """All footprints; those that are missing are recorded now, in as many processes at a time as there are trees."""
    FOLDER.mkdir(exist_ok=True)
    free: SimpleQueue[Tree] = SimpleQueue()
    for tree in trees:
        free.put(tree)

    def one(file: str) -> Path:
        path = FOLDER / f"{Path(file).stem}-{digest(file)}.json"
        if not path.exists():
            tree = free.get()
            try:
                print(f"recording what {file} enters", flush=True)
                tree.pytest([file], _MOST_SECONDS, path.with_suffix(".log"), FOOTPRINTS_RECORD=str(path))
            finally:
                free.put(tree)
            if not path.exists():
                raise RuntimeError(f"The tests of {file} could not be recorded; see {path.with_suffix('.log')}.")
        return path

    files = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py") if path.stem in TESTS)
    with ThreadPoolExecutor(len(trees)) as pool:
        return [found for path in pool.map(one, files) for found in load(path)]


def _in_turn(found: Sequence[Footprint]) -> list[Footprint]:
    """Quick tests first; of many in one file, which are alike, the later ones come behind those of other files."""
    place: Counter[str] = Counter()
    ranked: list[tuple[float, Footprint]] = []
    for one in sorted(found, key=lambda f: f.seconds):
        file = one.test.partition("::")[0]
        place[file] += 1
        ranked.append((one.seconds * place[file], one))
    return [one for _, one in sorted(ranked, key=lambda r: r[0])]


def choose(footprints: Sequence[Footprint], file: str, function: str, most_seconds: float) -> Choice:
    """The tests that enter a function of a file, and as many of them as take `most_seconds` in all; where none does (or it is no
    function) those that enter any of the file's."""
    found = [f for f in footprints if f"{file}:{function}" in f.entered]
    if not found:
        found = [f for f in footprints if any(name.startswith(f"{file}:") for name in f.entered)]
    tests: dict[str, float] = {}
    seconds = 0.0
    for one in _in_turn(found):
        if tests and seconds + one.seconds > most_seconds:
            continue
        tests[one.test] = one.seconds
        seconds += one.seconds
    return Choice(tests, seconds)
