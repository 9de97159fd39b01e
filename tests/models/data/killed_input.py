"""A program that goes through a dataset, saves every fifth step, and kills itself at a step: `killed_input.py FOLDER STEP`.

It prints each step with its batch. A folder with a checkpoint is gone on with.
"""

from __future__ import annotations

import os
import signal
import sys

import actorflow as af


def main(folder: str, last: int) -> None:
    dataset = (
        af.data.Dataset.range(100).shuffle(20, seed=5).map(lambda x: x * 2, num_parallel_calls=2).batch(3).repeat(2)
    )
    iterator = dataset.prefetch(3).make_initializable_iterator()
    batch, step = iterator.get_next(), af.train.create_global_step()
    count, saver = af.assign_add(step, 1), af.train.Saver()
    with af.blocking.Session() as session:
        session.run([af.global_variables_initializer(), iterator.initializer])
        if path := af.train.latest_checkpoint(folder):
            saver.restore(session, path)
        while True:
            try:
                found = session.run(batch)
            except af.errors.OutOfRangeError:
                return
            number = int(session.run(count))
            print(number, *found.tolist(), flush=True)
            if number % 5 == 0:
                saver.save(session, os.path.join(folder, "model"), global_step=number)
            if number == last:
                os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
