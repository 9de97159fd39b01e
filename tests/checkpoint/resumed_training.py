"""A program that trains, may be killed at a step, and when it is started again goes on from its last checkpoint.

Called as `resumed_training.py FOLDER STEPS KILL_AT`; prints for each step its number, loss and draws in hexadecimal.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

import actorflow as af


def build() -> Any:
    """Training on lines of a file, with noise and dropout: reader, random counters, momentum and the global step count."""
    files = af.FIFOQueue(10, [af.string], shapes=[[]])
    path = af.placeholder(af.string, [])
    _, line = af.TextLineReader().read(files)
    x = af.string_to_number(line, af.float32)
    noise = af.random_normal([4], seed=3)
    unseeded = af.random_uniform([])
    w = af.get_variable("w", [4], initializer=af.random_normal_initializer(seed=1))
    loss = af.reduce_sum(af.square(af.nn.dropout(w, 0.8, seed=7) * x - noise)) + 0 * unseeded
    step = af.train.get_or_create_global_step()
    train = af.train.MomentumOptimizer(0.001, 0.9).minimize(loss, global_step=step)
    with af.control_dependencies([train]):
        count = step.read_value()
    return files.enqueue(path), path, [count, loss, unseeded]


def main(folder: str, steps: int, kill_at: int) -> None:
    lines = Path(folder, "lines")
    enqueue, path, fetches = build()
    saver = af.train.Saver(max_to_keep=2)
    init = af.global_variables_initializer()
    with af.blocking.Session() as session:
        latest = af.train.latest_checkpoint(folder)
        if latest is None:
            session.run(enqueue, {path: os.fspath(lines)})
            session.run(init)
        else:
            saver.restore(session, latest)
        done = 0
        while done < steps:
            count, loss, drawn = session.run(fetches)
            done = int(count)
            print(done, float(loss).hex(), float(drawn).hex(), flush=True)
            if done % 10 == 0:
                saver.save(session, f"{folder}/model", global_step=done)
            if done == kill_at:
                os._exit(9)
        print("w", np.asarray(session.run("w/read:0")).tobytes().hex())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
