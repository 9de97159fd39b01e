"""Writes the answers of TensorFlow 1.15 to the programs of `contrib_programs.py` or of another module.

In an environment with TensorFlow 1.15:

python tests/compat/dump_contrib.py contrib_programs tests/compat/contrib_tf115.json
python tests/compat/dump_contrib.py name_programs tests/compat/name_programs_tf115.json
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any

import numpy as np
import tensorflow as tf


def plain(value: Any) -> Any:
    if isinstance(value, (bytes, str, bool, int, list)) or value is None:
        return value.decode() if isinstance(value, bytes) else value
    array = np.asarray(value)
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag], -1)
    return {"shape": list(array.shape), "values": [float(f"{each:.6g}") for each in array.astype(np.float64).ravel()]}


def main() -> None:
    answers = {}
    for name, program in importlib.import_module(sys.argv[1]).PROGRAMS.items():
        tf.reset_default_graph()
        answers[name] = {key: plain(value) for key, value in program(tf).items()}
    with open(sys.argv[2], "w") as file:
        file.write("{\n" + ",\n".join(f'"{name}": {json.dumps(answer)}' for name, answer in answers.items()) + "\n}\n")


main()
