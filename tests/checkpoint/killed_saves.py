"""A program that saves and saves, killed at random instants: `killed_saves.py FOLDER KILLS SEED`.

It imports everything once, and forks a child for each kill. The child goes on from the latest checkpoint: it gives all variables
the next number, saves, tells that number, and so on. After its death the latest checkpoint has to be whole, of one number, and
of the last one that was told or the one after. Prints as JSON what it has found.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import struct
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import actorflow as af
from actorflow.checkpoint.reading import Reader, leftovers
from actorflow.checkpoint.stores.store import open_store

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from patience import PATIENCE

SIZES = (1, 1000, 100_000, 800_000, 800_000)  # of int64, on two devices: some 14 MB in two shards


def child(folder: str, told: int) -> None:
    """Saves until it is killed."""
    with af.Graph().as_default() as graph:
        number = af.placeholder(af.int64, [])
        variables = []
        for index, size in enumerate(SIZES):
            with af.device(f"/device:CPU:{index % 2}"):
                variables.append(af.Variable(np.zeros(size, np.int64), name=f"v{index}"))
        change = af.group(*[v.assign(af.fill([s], number)) for v, s in zip(variables, SIZES)])
        saver, init = af.train.Saver(max_to_keep=2), af.global_variables_initializer()
        with af.blocking.Session(graph=graph, devices={"CPU": 2}) as session:
            latest = af.train.latest_checkpoint(folder)
            if latest is None:
                session.run(init)
                now = 0
            else:
                state = af.train.get_checkpoint_state(folder)
                assert state is not None
                saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
                saver.restore(session, latest)
                now = int(session.run(variables[0])[0])
            os.write(told, struct.pack("<q", now))
            while True:
                now += 1
                session.run(change, {number: now})
                saver.save(session, f"{folder}/model", global_step=now)
                os.write(told, struct.pack("<q", now))


def kill_one(folder: str, delay: float) -> tuple[int, float]:
    """Runs a child, kills it `delay` seconds after it has begun to save; gives the last number that it told, and how long its
    saves took."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reading)
            child(folder, writing)
        finally:
            os._exit(1)
    os.close(writing)
    told = os.read(reading, 8) if select.select([reading], [], [], PATIENCE)[0] else b""
    begun = time.monotonic()
    time.sleep(delay)
    os.kill(pid, signal.SIGKILL)
    seconds = time.monotonic() - begun
    status = os.waitpid(pid, 0)[1]
    while more := os.read(reading, 1 << 16):
        told += more
    os.close(reading)
    if not told or os.WTERMSIG(status) != signal.SIGKILL:
        raise RuntimeError(f"The child ended by itself, with status {status}.")
    numbers = struct.unpack(f"<{len(told) // 8}q", told)
    return numbers[-1], seconds / max(1, len(numbers) - 1)


def look(folder: str, told: int) -> dict[str, Any]:
    """Whether all checkpoints that are there are good, and the latest is the one that was told or the next."""
    latest = af.train.latest_checkpoint(folder)
    if latest is None:
        assert told == 0, f"{told} was saved, and there is no checkpoint"
        number = 0
    else:
        number = int(latest.rpartition("-")[2])
        assert told <= number <= told + 1, f"{told} was saved, and the latest is {number}"
    state = af.train.get_checkpoint_state(folder)
    paths = [] if state is None else state.all_model_checkpoint_paths
    for path in filter(af.train.checkpoint_exists, paths):
        reader, expected = Reader(path), int(path.rpartition("-")[2])
        assert reader.verify() == [], path
        for index, size in enumerate(SIZES):
            value = reader.get_tensor(f"v{index}")
            assert value.shape == (size,) and np.all(value == expected), f"v{index} in {path} is a mixture"
    left = leftovers(open_store(folder))
    for name in left:
        os.unlink(os.path.join(folder, name))
    return {"number": number, "midway": bool(left)}


def main(folder: str, kills: int, seed: int) -> None:
    rng = random.Random(seed)
    typical, midway, advanced, before = 0.1, 0, 0, 0
    for _ in range(kills):
        told, seconds = kill_one(folder, rng.uniform(0.0, 2 * typical))
        typical = 0.8 * typical + 0.2 * seconds if told > before else 1.5 * typical  # how long a save takes
        before = told
        found = look(folder, told)
        midway += found["midway"]
        advanced += found["number"] > told
    print(
        json.dumps(
            {"kills": kills, "seed": seed, "midway": midway, "new_before_told": advanced, "last": found["number"]}
        )
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
