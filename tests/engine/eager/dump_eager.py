"""Writes what TensorFlow makes of the programs of `eager_programs`: run it with an interpreter that has TensorFlow 2.15.

python tests/engine/eager/dump_eager.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from engine.eager.eager_programs import PROGRAMS, outcome

PATH = Path(__file__).with_name("tensorflow_eager.json")


def main() -> None:
    import tensorflow as tf

    found = {
        group: {name: outcome(program, tf) for name, program in programs.items()}
        for group, programs in PROGRAMS.items()
    }
    PATH.write_text(json.dumps({"tensorflow": tf.__version__, **found}, separators=(",", ":")) + "\n")
    print(PATH, PATH.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
