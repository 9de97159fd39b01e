"""A training that shows its progress where its stderr is a terminal: `shown_training.py FOLDER`."""

from __future__ import annotations

import sys

from estimator_lines import batches, line

import actorflow as af


def main(folder: str) -> None:
    config = af.estimator.RunConfig(folder, save_checkpoints_steps=10)
    estimator = af.blocking.Estimator(line, config=config, params={"rate": 0.1})
    estimator.train(lambda: [batch for _ in range(5) for batch in batches()], steps=20)
    print("done")


if __name__ == "__main__":
    main(sys.argv[1])
