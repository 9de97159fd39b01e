"""A run that is resumed from a checkpoint goes on as if nothing had been: the same numbers, records and losses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import actorflow as af

PROGRAM = Path(__file__).with_name("resumed_training.py")


def train(folder: Path, steps: int, kill_at: int = 0) -> dict[str, list[str]]:
    """The output of the program, by the first word of the line."""
    done = subprocess.run(
        [sys.executable, PROGRAM, folder, str(steps), str(kill_at)], capture_output=True, text=True, check=False
    )
    assert done.returncode == (9 if kill_at else 0), done.stderr
    return {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()}


def test_f68_a_killed_program_goes_on_from_its_last_checkpoint_bit_for_bit(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("whole", "killed")]
    for folder in folders:
        folder.mkdir()
        (folder / "lines").write_text("".join(f"{i * 0.01}\n" for i in range(100)))
    whole = train(folders[0], 63)
    killed = train(folders[1], 63, kill_at=57)
    resumed = train(folders[1], 63)
    assert list(killed) == [str(i) for i in range(1, 58)]
    assert list(resumed) == [*(str(i) for i in range(51, 64)), "w"]  # from 50 on, where the last save was
    assert resumed["w"] == whole["w"]
    for step in range(51, 64):
        assert resumed[str(step)][0] == whole[str(step)][0]  # the loss, of lines, noise and weights
    for step in range(51, 58):
        assert resumed[str(step)] == killed[str(step)]  # also numbers of no seed, which each program draws for itself


def draws(session: Any, fetches: Any, count: int) -> list[Any]:
    return [[np.asarray(value).tolist() for value in session.run(fetches)] for _ in range(count)]


def test_f68_counters_go_back_in_a_session_and_on_in_another(graph: af.Graph, tmp_path: Path) -> None:
    v = af.Variable(1.0)
    later = af.random_normal([2], seed=9)  # not run before the checkpoint
    sampled = af.nn.learned_unigram_candidate_sampler([[1, 2]], 2, 3, False, 20, seed=4)[0]
    fetches = [af.random_uniform([2], seed=1), af.random_uniform([]), af.random_shuffle([1, 2, 3, 4], seed=2), sampled]
    saver = af.train.Saver()
    with af.blocking.Session(graph=graph) as session:
        session.run(v.initializer)
        draws(session, fetches, 3)
        path = saver.save(session, tmp_path / "model")
        expected, of_later = draws(session, fetches, 3), draws(session, [later], 2)
        saver.restore(session, path)
        assert draws(session, fetches, 3) == expected
        assert draws(session, [later], 2) == of_later  # it begins again, as it was then
    with af.blocking.Session(graph=graph) as session:
        saver.restore(session, path)
        path = saver.save(session, tmp_path / "again")  # before any of these nodes has run
    with af.blocking.Session(graph=graph) as session:
        saver.restore(session, path)
        assert draws(session, fetches, 3) == expected
        assert draws(session, [later], 2) == of_later


def test_variables_alone_where_that_is_asked_for(graph: af.Graph, tmp_path: Path) -> None:
    v, number = af.Variable(1.0), af.random_uniform([], seed=1)
    saver = af.train.Saver(state=False)
    with af.blocking.Session(graph=graph) as session:
        session.run(v.initializer)
        first = draws(session, [number], 1)
        path = saver.save(session, tmp_path / "model")
        second = draws(session, [number], 1)
        af.train.Saver().restore(session, path)  # nothing to go back to
        assert draws(session, [number], 1) not in (first, second)
        with_state = af.train.Saver().save(session, tmp_path / "more")
        following = draws(session, [number], 1)
        saver.restore(session, with_state)
        assert draws(session, [number], 1) != following


def test_f68_readers_go_back_to_their_places(graph: af.Graph, tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("".join(f"line {i}\n" for i in range(9)))
    v = af.Variable(1.0)
    files = af.FIFOQueue(10, [af.string], shapes=[[]])
    fill = files.enqueue(str(tmp_path / "lines"))
    reader = af.TextLineReader()
    _, line = reader.read(files)
    produced = reader.num_records_produced()
    saver = af.train.Saver()
    with af.blocking.Session(graph=graph) as session:
        session.run([v.initializer, fill])
        assert [session.run(line) for _ in range(4)][-1] == b"line 3"
        path = saver.save(session, tmp_path / "model")
        assert session.run(line) == b"line 4"
        saver.restore(session, path)
        assert session.run(line) == b"line 4"
    with af.blocking.Session(graph=graph, devices={"CPU": 2}) as session:
        saver.restore(session, path)
        path = saver.save(session, tmp_path / "again")  # before there is a reader
    with af.blocking.Session(graph=graph) as session:
        saver.restore(session, path)
        assert session.run(line) == b"line 4" and session.run(produced) == 5
