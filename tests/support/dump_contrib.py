"""Writes the answers of TensorFlow 1.15 to the programs of `contrib_programs.py`.

python tests/support/dump_contrib.py tests/compat/contrib_tf115.json    in an environment with TensorFlow 1.15
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import tensorflow as tf
from contrib_programs import PROGRAMS


def plain(value: Any) -> Any:
    if isinstance(value, (bytes, str, bool, int, list)):
        return value.decode() if isinstance(value, bytes) else value
    array = np.asarray(value)
    return {"shape": list(array.shape), "values": [float(f"{each:.6g}") for each in array.astype(np.float64).ravel()]}


def main() -> None:
    answers = {}
    for name, program in PROGRAMS.items():
        tf.reset_default_graph()
        answers[name] = {key: plain(value) for key, value in program(tf).items()}
    with open(sys.argv[1], "w") as file:
        file.write("{\n" + ",\n".join(f'"{name}": {json.dumps(answer)}' for name, answer in answers.items()) + "\n}\n")


main()
