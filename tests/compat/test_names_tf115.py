"""The names of TensorFlow 1.15 and their arguments: present, refused with a reason, or on the list of those that are missing.

`names_tf115.txt` has a line for each public name: its path, its kind, and its arguments. Raw ops and Keras are left out.
"""

from __future__ import annotations

import inspect
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import actorflow.compat.v1 as tf
from actorflow.compat.names import refused

FOLDER = Path(__file__).parent
ROWS = [line.split(" ") for line in (FOLDER / "names_tf115.txt").read_text().splitlines()]
MISSING = (FOLDER / "names_missing.txt").read_text().split()
"""The names that are neither there nor refused yet: this list only gets shorter."""
OTHER_ARGUMENTS = 66
"""The functions whose arguments are others: this number only gets smaller."""


def thing_at(path: str) -> Any:
    thing: Any = tf
    for name in path.split("."):
        thing = getattr(thing, name)
    return thing


@cache
def absent() -> list[str]:
    names = []
    for path, *_ in ROWS:
        try:
            thing_at(path)
        except AttributeError:
            names.append(path)
    return names


def test_each_name_is_there_or_refused_or_listed() -> None:
    assert sorted(name for name in absent() if not refused.reason(name)) == sorted(MISSING)


def test_most_names_are_there() -> None:
    offered = [path for path, *_ in ROWS if not refused.reason(path)]
    assert len(MISSING) / len(offered) < 0.03


@pytest.mark.parametrize("name", sorted(refused.REASONS))
def test_a_refused_name_is_one_of_tensorflows_and_not_there(name: str) -> None:
    paths = [path for path, *_ in ROWS if path == name or path.startswith(f"{name}.")]
    assert paths
    assert set(paths) & set(absent())


def test_functions_take_tensorflows_arguments() -> None:
    others = []
    for path, kind, *rest in ROWS:
        if kind == "function" and rest and path not in absent():
            try:
                parameters = inspect.signature(thing_at(path)).parameters
            except (TypeError, ValueError):
                continue
            any_name = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
            if not any_name and [name for name in rest[0].split(",") if name not in parameters]:
                others.append(path)
    assert len(others) <= OTHER_ARGUMENTS, others


@pytest.mark.parametrize("name", ["tpu", "ragged", "autograph", "qint8", "nn.quantized_conv2d", "sparse_matmul"])
def test_a_refused_name_says_why(name: str) -> None:
    with pytest.raises(AttributeError) as raised:
        thing_at(name)
    assert refused.reason(name) in str(raised.value)
