"""`HParams`: settings of a model with their types."""

from __future__ import annotations

import json
import numbers
import re
from collections.abc import Mapping
from typing import Any

_PAIR = re.compile(
    r"(?P<name>[a-zA-Z][\w\.]*)(\[\s*(?P<index>\d+)\s*\])?\s*=\s*((?P<value>[^,\[]*)|\[(?P<values>[^\]]*)\])($|,\s*)"
)


def parse_values(values: str, type_map: Mapping[str, Any], ignore_unknown: bool = False) -> dict[str, Any]:
    """The settings that a text such as `a=1,b=[2,3],c[0]=4` gives.

    Args:
        values: the text.
        type_map: the types of the settings.
        ignore_unknown: whether other names are left out.

    Raises:
        ValueError: the text can't be read, a name is not known or comes twice, or a value has another type.
    """
    results: dict[str, Any] = {}
    position = 0
    while position < len(values):
        match = _PAIR.match(values, position)
        if not match:
            raise ValueError(f"Malformed hyperparameter value: {values[position:]}")
        position = match.end()
        name = match["name"]
        if name not in type_map:
            if ignore_unknown:
                continue
            raise ValueError(f"Unknown hyperparameter type for {name}")
        kind = type_map[name]
        if match["values"] is not None:
            if match["index"] is not None:
                raise ValueError(f"Could not parse hparam '{name}' in '{values}': a list can't be an element.")
            if name in results:
                raise ValueError(f"Multiple assignments to variable '{name}' in {values}")
            results[name] = [
                _parsed(name, kind, each, values) for each in re.split(r"[ ,]+", match["values"].strip()) if each
            ]
        elif match["index"] is not None:
            places = results.setdefault(name, {})
            index = int(match["index"])
            if not isinstance(places, dict) or index in places:
                raise ValueError(f"Multiple assignments to variable '{name}' in {values}")
            places[index] = _parsed(name, kind, match["value"], values)
        else:
            if name in results:
                raise ValueError(f"Multiple assignments to variable '{name}' in {values}")
            results[name] = _parsed(name, kind, match["value"], values)
    return results


def _parsed(name: str, kind: Any, text: str, values: str) -> Any:
    try:
        if kind is bool:
            if text in ("true", "True", "1", "false", "False", "0"):
                return text in ("true", "True", "1")
            raise ValueError(text)
        return kind(text)
    except ValueError:
        raise ValueError(
            f"Could not parse hparam '{name}' of type '{kind.__name__}' with value '{text}' in {values}"
        ) from None


def _cast(name: str, kind: Any, value: Any) -> Any:
    """`value` as `kind`. Raises ValueError where that would change it."""
    said = ValueError(f"Could not cast hparam '{name}' of type '{kind}' from value {value!r}")
    if isinstance(value, kind):
        return value
    if value is None:
        return None
    if isinstance(value, str) != issubclass(kind, str) or isinstance(value, bool) != issubclass(kind, bool):
        raise said
    if issubclass(kind, numbers.Integral) and not isinstance(value, numbers.Integral):
        raise said
    if issubclass(kind, numbers.Number) and not isinstance(value, numbers.Number):
        raise said
    return kind(value)


class HParams:
    """Settings of a model as attributes, which keep the types of their first values (`tf.contrib.training.HParams`).

    Example:
        >>> from actorflow.compat.contrib.training import HParams
        >>> settings = HParams(rate=0.1, layers=[2, 3])
        >>> settings.parse("rate=1,layers=[4]").values()
        {'layers': [4], 'rate': 1.0}
    """

    def __init__(self, hparam_def: Any = None, model_structure: Any = None, **kwargs: Any) -> None:
        """
        Args:
            hparam_def: not offered.
            model_structure: any object that goes with the settings.
            kwargs: the settings.
        """
        if hparam_def is not None:
            raise NotImplementedError("HParams are not read from a message here: give their values by name.")
        self._hparam_types: dict[str, tuple[Any, bool]] = {}
        self._model_structure = model_structure
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: Any) -> None:
        """Adds a setting. Raises ValueError for a name that is taken, or an empty list."""
        if getattr(self, name, None) is not None:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        if isinstance(value, (list, tuple)):
            if not value:
                raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
            self._hparam_types[name] = (type(value[0]), True)
        else:
            self._hparam_types[name] = (type(value), False)
        setattr(self, name, value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Changes a setting. Raises ValueError for a value of another type, KeyError for an unknown name."""
        kind, listed = self._hparam_types[name]
        if isinstance(value, list):
            if not listed:
                raise ValueError(f"Must not pass a list for single-valued parameter: {name}")
            setattr(self, name, [_cast(name, kind, each) for each in value])
        else:
            if listed:
                raise ValueError(f"Must pass a list for multi-valued parameter: {name}.")
            setattr(self, name, _cast(name, kind, value))

    def del_hparam(self, name: str) -> None:
        """Removes a setting, if it is there."""
        if hasattr(self, name):
            delattr(self, name)
            del self._hparam_types[name]

    def parse(self, values: str) -> HParams:
        """Changes settings as a text such as `a=1,b=[2,3]` says, and gives itself."""
        types = {name: kind for name, (kind, _) in self._hparam_types.items()}
        return self.override_from_dict(parse_values(values, types))

    def override_from_dict(self, values_dict: Mapping[str, Any]) -> HParams:
        """Changes settings, and gives itself."""
        for name, value in values_dict.items():
            if isinstance(value, dict) and self._hparam_types[name][1]:
                whole = list(getattr(self, name))
                for index, each in value.items():
                    whole[index] = each
                value = whole
            self.set_hparam(name, value)
        return self

    set_from_map = override_from_dict

    def parse_json(self, values_json: str) -> HParams:
        """Changes settings as JSON says, and gives itself."""
        return self.override_from_dict(json.loads(values_json))

    def to_json(self, indent: Any = None, separators: Any = None, sort_keys: bool = False) -> str:
        """The settings as JSON; functions are left out."""
        simple = {name: value for name, value in self.values().items() if not callable(value)}
        return json.dumps(simple, indent=indent, separators=separators, sort_keys=sort_keys)

    def values(self) -> dict[str, Any]:
        """The settings by their names."""
        return {name: getattr(self, name) for name in sorted(self._hparam_types)}

    def get(self, key: str, default: Any = None) -> Any:
        """A setting, or `default` for an unknown key. Raises ValueError for a default of another type."""
        if key not in self._hparam_types:
            return default
        if default is not None:
            kind, listed = self._hparam_types[key]
            if listed != isinstance(default, list):
                raise ValueError(f"Hparam '{key}' of type '{kind}' is incompatible with default={default}")
            for each in default if listed else [default]:
                _cast(key, kind, each)
        return getattr(self, key)

    def get_model_structure(self) -> Any:
        """The object that goes with the settings."""
        return self._model_structure

    def set_model_structure(self, model_structure: Any) -> None:
        """Keeps an object that goes with the settings."""
        self._model_structure = model_structure

    def __contains__(self, key: str) -> bool:
        return key in self._hparam_types

    def __str__(self) -> str:
        return str(sorted(self.values().items()))

    def __repr__(self) -> str:
        return f"HParams({self})"
