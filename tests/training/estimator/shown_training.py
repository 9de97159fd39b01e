"""A training that shows its progress where its stderr is a terminal: `shown_training.py FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

import actorflow as af

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from training.estimator.estimator_lines import batches, line


def main(folder: str) -> None:
    config = af.estimator.RunConfig(folder, save_checkpoints_steps=10)
    estimator = af.blocking.Estimator(line, config=config, params={"rate": 0.1})
    estimator.train(lambda: [batch for _ in range(5) for batch in batches()], steps=20)
    print("done")


if __name__ == "__main__":
    main(sys.argv[1])
