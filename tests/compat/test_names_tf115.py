"""The names of TensorFlow 1.15 and their arguments: present, refused with a reason, or on the list of those that are missing.

`names_tf115.txt` has a line for each public name: its path, its kind, and its arguments, for a class those of its constructor.
Raw ops and Keras are left out.
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
OTHER_ARGUMENTS = {"DType", "dtypes.DType", "Operation"}
"""Classes that no program builds: types are constants here, and nodes are built by their graph."""


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


def misfit(path: str, arguments: list[str]) -> str:
    """TensorFlow's arguments that `path` does not take, in words; empty if it takes all, by name and by position."""
    try:
        parameters = inspect.signature(thing_at(path)).parameters
    except (TypeError, ValueError):
        return ""
    kinds = {parameter.kind for parameter in parameters.values()}
    if absent := [name for name in arguments if name not in parameters and inspect.Parameter.VAR_KEYWORD not in kinds]:
        return f"{path} lacks {absent}"
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    order = [name for name, parameter in parameters.items() if parameter.kind in positional]
    common = [name for name in arguments if name in order]
    if inspect.Parameter.VAR_POSITIONAL not in kinds and order[: len(common)] != common:
        return f"{path} has another order: {order}"
    more = [
        name
        for name, parameter in parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        and name not in arguments
    ]
    return f"{path} needs {more}" if more else ""


def test_functions_and_constructors_take_tensorflows_arguments() -> None:
    rows = [(path, rest[0].split(",")) for path, _, *rest in ROWS if rest and path not in absent()]
    others = {path: said for path, arguments in rows if (said := misfit(path, arguments))}
    assert set(others) == OTHER_ARGUMENTS, others


@pytest.mark.parametrize(
    "name", ["tpu", "strings.unicode_script", "distribute.cluster_resolver.GCEClusterResolver", "qint8"]
)
def test_a_refused_name_says_why(name: str) -> None:
    with pytest.raises(AttributeError) as raised:
        thing_at(name)
    assert refused.reason(name) in str(raised.value)
