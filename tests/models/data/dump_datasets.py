"""Writes what TensorFlow makes of the pipelines of `dataset_programs`: run it with an interpreter that has TensorFlow 2.15.

python tests/models/data/dump_datasets.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from models.data.dataset_programs import FAMILIES, SEEDS, build, outcome, program

PATH = Path(__file__).with_name("tensorflow_datasets.json")


def main() -> None:
    import tensorflow as tf

    found = {
        family: [
            outcome(build(tf, program(family, seed)).as_numpy_iterator(), tf.errors.OpError) for seed in range(SEEDS)
        ]
        for family in FAMILIES
    }
    PATH.write_text(json.dumps({"tensorflow": tf.__version__, **found}, separators=(",", ":")) + "\n")
    print(PATH, PATH.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
