"""Writes `tests/compat/second_tf115.json`: names of `tensorflow.compat.v2` with their arguments, and values of programs.

python tests/compat/dump_second.py      with TensorFlow 1.15.5, under Python 3.7

The names are those of functions that version 1 has too, and that are something else there.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow
from second_programs import of_networks, of_other_namespaces

V1, V2 = tensorflow.compat.v1, tensorflow.compat.v2
REFUSED = (
    "compat",
    "contrib",
    "data",
    "estimator",
    "initializers",
    "keras",
    "lite",
    "losses",
    "metrics",
    "optimizers",
    "summary",
)


def arguments(first: Any, second: Any, path: str, seen: set[int]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    seen.add(id(second))
    for name in dir(second):
        before, thing, place = getattr(first, name, None), getattr(second, name), f"{path}.{name}".lstrip(".")
        if name.startswith("_") or place in REFUSED or before is None or id(thing) in seen:
            continue
        if inspect.ismodule(thing):
            names.update(arguments(before, thing, place, seen))
        elif inspect.isfunction(thing) and thing is not before:
            names[place] = list(inspect.signature(thing).parameters)
    return names


def values() -> list[Any]:
    results = []
    for index in range(len([*of_networks(V2), *of_other_namespaces(V2)])):
        with V1.Graph().as_default(), V1.Session() as session:
            value = np.asarray(session.run([*of_networks(V2), *of_other_namespaces(V2)][index]()))
        results.append(json.loads(json.dumps(value.tolist(), default=bytes.decode)))
    return results


if __name__ == "__main__":
    answers = {"arguments": arguments(V1, V2, "", set()), "values": values()}
    Path(__file__).with_name("second_tf115.json").write_text(json.dumps(answers, sort_keys=True) + "\n")
