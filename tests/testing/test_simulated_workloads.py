"""Whole workloads in simulated clusters: whatever befalls the machines, nothing is lost, applied twice, left behind or stuck.

The seeds are those of `make simulate`, which runs more of them. `ACTORFLOW_SIMULATED_SEEDS` sets how many this takes, and
`ACTORFLOW_TEST_SEED` the first; a failure names its seed and the command that shows it again.
"""

from __future__ import annotations

import itertools
import json
import logging
import os
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from simulation import __main__ as command
from simulation.chaos import KINDS
from simulation.history import History, Write
from simulation.ledger import Ledger
from simulation.moving import Moving
from simulation.phases import ALL_PHASES
from simulation.report import TABLE_SEEDS, Report
from simulation.run import DELIVERIES
from simulation.seeds import LEAST_FAULTS, WORKLOADS, Outcome, run_seed, run_seeds
from testing import strange_machine

from actorflow.cluster.master.steps import MasterSteps
from actorflow.cluster.worker.worker import Worker
from actorflow.engine.runtime.event_loops.step_result import StepResult
from actorflow.training.supervisor.moving.copies import StateCopies
from actorflow.training.supervisor.moving.move import StateMoves

SEEDS = int(os.environ.get("ACTORFLOW_SIMULATED_SEEDS", "140"))
FIRST = int(os.environ.get("ACTORFLOW_TEST_SEED", "0"), 0)
CHUNK = 28
"""The number of seeds of a test. One that fails is named, and the others go on."""


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Servers under faults have much to say."""
    command.quiet()
    yield
    logging.getLogger("actorflow").setLevel(logging.NOTSET)


@pytest.fixture(scope="module")
def outcomes() -> Iterator[Iterator[Outcome]]:
    """The outcomes of all seeds, in their order, from processes that go on meanwhile."""
    command.quiet()
    with closing(run_seeds(range(FIRST, FIRST + SEEDS))) as found:
        first = next(found)
        yield itertools.chain([first], found)


@pytest.fixture(scope="module")
def report() -> Report:
    """Sums up what the tests have seen."""
    return Report()


@pytest.mark.real_memory
@pytest.mark.timeout(240)
@pytest.mark.parametrize("first", range(FIRST, FIRST + SEEDS, CHUNK))
def test_f63_f65_f66_workloads_end_right_or_with_a_documented_error_under_all_faults(
    first: int, outcomes: Iterator[Outcome], report: Report
) -> None:
    count = min(CHUNK, FIRST + SEEDS - first)
    found = list(itertools.islice(outcomes, count))
    assert len(found) == count, "a test before has not waited for its seeds"
    for outcome in found:
        report.add(outcome)
    failures = [outcome.failure for outcome in found if outcome.failure]
    assert not failures, "\n\n".join(failures)
    for outcome in found:
        assert outcome.deliveries >= DELIVERIES and outcome.faults.total() >= LEAST_FAULTS and outcome.saves


@pytest.mark.real_memory
def test_f63_all_faults_have_met_all_phases(outcomes: Iterator[Outcome], report: Report) -> None:
    for outcome in outcomes:  # where this test runs alone
        report.add(outcome)
    assert report.seeds == SEEDS and len(report.workloads) == min(SEEDS, len(WORKLOADS))
    if SEEDS >= TABLE_SEEDS:  # chance leaves out some cell among few
        assert not report.empty_cells()
    elif SEEDS >= 70:
        assert set(report.faults) == set(KINDS), report.faults
        assert {phase for _, phase in report.met} == set(ALL_PHASES), report.met


@pytest.mark.real_memory
def test_a_seed_gives_the_same_run_in_every_process_whatever_its_machine_does() -> None:
    seeds = [FIRST, FIRST + 3, FIRST + 4]
    children = [
        subprocess.Popen(
            [sys.executable, strange_machine.__file__, str(seed), "workload", str(seed)],
            env={**os.environ, "PYTHONHASHSEED": str(7 + seed), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for seed in seeds
    ]
    here = [run_seed(seed).digest for seed in seeds]
    assert [child.communicate()[0].splitlines()[-1].split()[1] for child in children] == here


# ---- what judges can be wrong too


def _first_failure(seeds: range) -> Outcome | None:
    return next((outcome for outcome in map(run_seed, seeds) if outcome.failure), None)


@pytest.mark.real_memory
def test_parts_that_are_never_forgotten_fail_the_run_with_its_seed_and_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Worker, "release", lambda self, session, owner: None)
    found = _first_failure(range(7))
    assert found is not None and "keeps registered parts" in found.failure
    assert f"make simulate SEEDS=1 FIRST={found.seed} SHOW=1" in found.failure and f"Seed {found.seed}" in found.failure


@pytest.mark.real_memory
def test_a_step_that_is_run_twice_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    run = MasterSteps.run

    def twice(self: MasterSteps, *arguments: Any) -> StepResult[Any]:
        async def both() -> Any:
            found = await run(self, *arguments)
            plan, _, *others = arguments
            shares = plan.partitioned.shares
            if any(node.op.startswith("AssignAdd") for share in shares for node in share.nodes()):  # no save, for one
                found = await run(self, plan, next(self._owner._registrar._numbers), *others)
            return found

        return StepResult.later(both)

    monkeypatch.setattr(MasterSteps, "run", twice)
    found = _first_failure(range(1, 2))
    assert found is not None and "applied twice" in found.failure


@asynccontextmanager
async def beside_steps(self: StateMoves, copies: StateCopies) -> AsyncIterator[None]:
    """In the place of `StateMoves._alone`."""
    yield


@pytest.mark.real_memory
def test_a_move_that_does_not_wait_for_steps_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StateMoves, "_alone", beside_steps)
    moving = WORKLOADS.index(Moving)
    assert _first_failure(range(moving, moving + 8 * len(WORKLOADS), len(WORKLOADS))) is not None


def write(value: int, *, epoch: int = 1, task: str = "a", whole: bool = False) -> Write:
    return Write(0.0, task, ord(task), epoch, not whole, value)


@pytest.mark.parametrize(
    ("writes", "wrong"),
    [
        ([write(1), write(2), write(2, task="b", whole=True), write(3, task="b")], None),
        ([write(1), write(2), write(1, epoch=2, whole=True), write(2, epoch=2)], None),
        ([write(1), write(0, whole=True), write(1)], None),
        ([write(1), write(2), write(1, task="b", whole=True)], "a move brings another value"),
        ([write(1), write(2), write(3, task="b", whole=True)], "a move brings another value"),
        ([write(1), write(3)], "an update is lost or there twice"),
        ([write(1), write(1)], "an update is lost or there twice"),
        ([write(1), write(2, task="b")], "two tasks update"),
        ([write(1, epoch=2), write(2)], "an older epoch writes"),
    ],
)
def test_a_history_knows_what_is_possible(writes: list[Write], wrong: str | None) -> None:
    history = History(SimpleNamespace(now=0.0))  # type: ignore[arg-type]
    history.writes = writes
    with nullcontext() if wrong is None else pytest.raises(AssertionError, match=wrong):
        history.check()


def test_a_ledger_knows_what_is_possible() -> None:
    ledger = Ledger()
    for well in (True, True, False):
        ledger.end(ledger.begin(), well=well)
    for value in (2, 3):
        ledger.check(value, ledger.now.low, "it")
    for value, why in ((1, "1 updates are lost"), (4, "applied twice")):
        with pytest.raises(AssertionError, match=why):
            ledger.check(value, ledger.now.low, "it")
    ledger.save_begins(1)
    under_way = ledger.begin()  # may be in the checkpoint
    ledger.save_ends(1)
    ledger.end(ledger.begin(), well=True)  # can't be
    ledger.restored(1)
    ledger.end(under_way, well=True)
    assert (ledger.now.low, ledger.now.high) == (2, 5)  # 2 to 4 of them saved, and once more the one that was under way


# ---- the command


def outcome(seed: int, failure: str = "", cells: tuple[tuple[str, str], ...] = ()) -> Outcome:
    return Outcome(seed, "a workload", failure, 1500, Counter(crash=5), Counter(cells), Counter(), 1, 1, 9.0, "", 0.1)


ALL_CELLS = tuple((kind, phase) for kind in KINDS for phase in ALL_PHASES)


def test_the_command_prints_the_table_and_takes_seeds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []

    def run(seeds: range, processes: int | None, *, twice: bool) -> Iterator[Outcome]:
        asked.append((seeds, processes, twice))
        return iter([outcome(seed, cells=ALL_CELLS[:1]) for seed in seeds])

    monkeypatch.setattr(command, "run_seeds", run)
    assert command.main(["--seeds", "3", "--first", "17", "--processes", "2"]) == 0
    assert asked == [(range(17, 20), 2, False)]
    text = capsys.readouterr().out
    assert all(phase in text for phase in ALL_PHASES) and all(kind in text for kind in KINDS)
    assert "3 seeds" in text and "0 failed" in text


def test_a_failed_seed_and_an_empty_cell_fail_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = [outcome(1), outcome(2, "Seed 2 has failed")]
    monkeypatch.setattr(command, "run_seeds", lambda *a, **k: iter(failed))
    assert command.main(["--seeds", "2"]) == 1
    found = capsys.readouterr()
    assert "Seed 2 has failed" in found.err and "Failed: 2" in found.out

    many = [outcome(seed, cells=ALL_CELLS[:-1]) for seed in range(2000)]
    monkeypatch.setattr(command, "run_seeds", lambda *a, **k: iter(many))
    assert command.main(["--seeds", "2000"]) == 1
    assert capsys.readouterr().err == "No clock jump has met the phase move in 2000 seeds.\n"
    many[0] = outcome(0, cells=ALL_CELLS)
    assert command.main(["--seeds", "2000"]) == 0


def test_results_have_the_counts_the_command_and_the_commit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ends = [outcome(7, cells=ALL_CELLS[:2]), outcome(8, "Seed 8 has failed", ALL_CELLS[:1])]
    monkeypatch.setattr(command, "run_seeds", lambda *a, **k: iter(ends))
    file = tmp_path / "found.json"
    arguments = ["--seeds", "2", "--first", "7", "--results", str(file)]
    assert command.main(arguments) == 1
    found = json.loads(file.read_text(encoding="utf-8"))
    assert found["command"].endswith(" ".join(arguments)) and {"commit", "dirty", "date", "machine"} <= found.keys()
    assert (found["seeds"], found["first_seed"], found["last_seed"], found["failed"]) == (2, 7, 8, [8])
    assert found["deliveries"] == 3000 and found["least_of_a_seed"]["deliveries"] == 1500
    kind, phase = ALL_CELLS[0]
    assert found["fault_by_phase"][kind][phase] == 2 and [kind, phase] not in found["empty_cells"]
    assert len(found["empty_cells"]) == len(ALL_CELLS) - 2
    capsys.readouterr()


@pytest.mark.parametrize("arguments", [["--seeds", "0"], ["--seeds", "x"], ["--frst", "1"]])
def test_wrong_arguments_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        command.main(arguments)
    assert caught.value.code == 2 and "usage: python -m simulation" in capsys.readouterr().err


@pytest.mark.real_memory
def test_show_prints_the_events_of_a_seed(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--seeds", "1", "--first", "3", "--show"]) == 0
    text = capsys.readouterr().out
    assert text.count(" deliver ") >= DELIVERIES and "1 seeds" in text
