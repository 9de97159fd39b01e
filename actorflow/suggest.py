"""`suggestion`: what is said of a name that a namespace does not have: its place, or which name was probably meant."""

from __future__ import annotations

import difflib
import importlib.util
import sys
from collections.abc import Mapping
from importlib.machinery import PathFinder

import actorflow
from actorflow import errors
from actorflow.index import NAMES

Places = Mapping[str, Mapping[str, str]]

_FARTHER = 0.1
"""By how much a name may look less alike than the nearest name and still be named."""

_OTHERWISE = {
    "keras": "Build layers with af.layers, and train them with an optimizer of af.train.",
}
"""The names that do the work of TensorFlow's names that are not here."""


def suggestion(path: str, name: str) -> str:
    """A sentence for the end of the error that the namespace `path`, such as `af.nn`, has no `name`; empty if there is nothing
    to say."""
    if name.startswith("_"):
        return ""
    top = path.partition(".")[0]
    names = _known(top)
    for near in (f"{name}_", name.rstrip("_")):
        if near != name and near in names.get(path, {}):
            return f" It is {path}.{near} here."
    whole = f"{path}.{name}".partition(".")[2]
    if whole in _OTHERWISE:
        return f" TensorFlow's tf.{whole} has no counterpart here. {_OTHERWISE[whole]}"
    if elsewhere := [f"{space}.{name}" for space, own in names.items() if name in own]:
        return f" There is {_either(elsewhere[:3])}."
    if top == "af" and (said := _tensorflows_name(path, name)):
        return said
    alike = _alike(path, name, names)
    return f" Did you mean {_either(alike)}?" if alike else ""


def _known(top: str) -> Places:
    """The names of all namespaces below `top`; `tf` has those of `af` too."""
    if top == "af":
        return {**NAMES, "af.errors": dict.fromkeys(dir(errors), "")}
    spaces: dict[str, dict[str, str]] = {}
    for table in (_known("af"), _tensorflows()):
        for space, own in table.items():
            spaces.setdefault("tf" + space.removeprefix("af").removeprefix("tf"), {}).update(own)
    return spaces


def _tensorflows_name(path: str, name: str) -> str:
    """The sentence about a name that only `actorflow.compat.v1` has."""
    whole = f"tf{path.removeprefix('af')}.{name}"
    place = _tensorflows().get(whole.rpartition(".")[0], {}).get(name)
    if place is None:
        return ""
    for mine, own in NAMES["af"].items():
        if _place(mine, own) == _place(name, place):
            return f" TensorFlow's {whole} is af.{mine} here."
    return f" TensorFlow's {whole} is in actorflow.compat.v1: import actorflow.compat.v1 as tf."


def _alike(path: str, name: str, names: Places) -> list[str]:
    """The names that look most like `name`, whole; `path` goes before other namespaces. Capital letters make no difference."""
    by_lower: dict[str, str] = {}
    for space in (path, *names):
        for each in names.get(space, {}):
            by_lower.setdefault(each.lower(), f"{space}.{each}")
    matches = difflib.get_close_matches(name.lower(), by_lower, n=3, cutoff=0.75)
    nearest = difflib.SequenceMatcher(None, name.lower(), matches[0]).ratio() if matches else 0.0
    matches = [
        each for each in matches if difflib.SequenceMatcher(None, name.lower(), each).ratio() > nearest - _FARTHER
    ]
    matches = matches or [each for each in by_lower if len(name) > 2 and each.startswith(name.lower())][:3]
    return [by_lower[each] for each in matches]


def _either(names: list[str]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def _place(name: str, place: str) -> str:
    """A place with the name there."""
    module, colon, inner = place.partition(":")
    return f"{module}:{inner if colon else name}"


def _tensorflows() -> Places:
    """The table of TensorFlow's own names, without importing its package, which changes what shapes give."""
    whole = "actorflow.compat.v1.index"
    if (module := sys.modules.get(whole)) is None:
        spec = PathFinder.find_spec("index", [f"{folder}/compat/v1" for folder in actorflow.__path__])
        if spec is None or spec.loader is None:
            return {}
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    table: Places = module.NAMES
    return table
