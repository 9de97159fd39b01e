"""Programs over `tf.flags` that run over TensorFlow 1.15 and over actorflow: each gives named values."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

PROGRAMS: dict[str, Callable[[Any], dict[str, Any]]] = {}


def program(function: Callable[[Any], dict[str, Any]]) -> Callable[[Any], dict[str, Any]]:
    PROGRAMS[function.__name__] = function
    return function


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


def fault(function: Callable[..., Any], *arguments: Any, **named: Any) -> str:
    """The class of the error of a call; empty without an error."""
    try:
        function(*arguments, **named)
    except Exception as error:
        return type(error).__name__
    return ""


@program
def flags_read_texts(tf: Any) -> dict[str, Any]:
    flags = tf.flags
    parsers = {
        "text": flags.ArgumentParser(),
        "integer": flags.IntegerParser(0, 20),
        "float": flags.FloatParser(lower_bound=-1.5),
        "bool": flags.BooleanParser(),
        "enum": flags.EnumParser(["a", "B"]),
        "any case": flags.EnumParser(["a", "B"], case_sensitive=False),
        "member": flags.EnumClassParser(Colour, case_sensitive=False),
        "commas": flags.ListParser(),
        "spaces": flags.WhitespaceSeparatedListParser(),
        "both": flags.WhitespaceSeparatedListParser(comma_compat=True),
    }
    texts = [
        "",
        "3",
        "0x1F",
        "0x1",
        "21",
        "-1",
        "1.5",
        "-2",
        "true",
        "No",
        "a",
        "b",
        "red",
        'x, "y, z"',
        "p q,r",
        "1e3",
    ]
    answers: dict[str, Any] = {}
    for name, parser in parsers.items():
        answers[name] = [str(parser.parse(text)) if not fault(parser.parse, text) else "" for text in texts]
        answers[name + " type"] = parser.flag_type()
    for name in ("integer", "float", "bool"):
        others = [3, 2.5, True, None, [1]]
        answers[name + " of values"] = [
            str(parsers[name].parse(value)) if not fault(parsers[name].parse, value) else "" for value in others
        ]
    return answers


@program
def flags_of_a_command_line(tf: Any) -> dict[str, Any]:
    flags, values = tf.flags, tf.flags.FlagValues()
    flags.DEFINE_string("name", "n", "a name", flag_values=values, short_name="n")
    flags.DEFINE_integer("steps", None, "how many", lower_bound=1, flag_values=values)
    flags.DEFINE_boolean("debug", False, "whether", flag_values=values)
    flags.DEFINE_list("sizes", "1,2", "sizes", flag_values=values)
    flags.DEFINE_spaceseplist("words", None, "words", flag_values=values)
    flags.DEFINE_multi_enum("mode", ["a"], ["a", "b"], "modes", flag_values=values)
    flags.DEFINE_enum_class("colour", Colour.RED, Colour, "a colour", flag_values=values)
    flags.DEFINE_multi_enum_class("colours", None, Colour, "colours", flag_values=values)
    flags.DEFINE(flags.FloatParser(), "rate", 0.5, "rate", values, flags.ArgumentSerializer())
    flags.DEFINE_multi(flags.IntegerParser(), flags.ArgumentSerializer(), "size", [4], "sizes", values)
    flags.DEFINE_flag(flags.EnumFlag("kind", "x", "a kind", ["x", "y"]), values)
    flags.DEFINE_alias("steps_alias", "steps", flag_values=values)
    answers: dict[str, Any] = {}
    lines = {
        "defaults": [],
        "all": [
            *("--name=a", "--steps", "3", "--debug", "--sizes=4,5", "--mode=b", "--mode=a"),
            *("--colour=blue", "--rate=2", "--size=7", "--kind=y"),
        ],
        "rest": ["x", "-n", "short", "--nodebug", "y", "--", "--name=z"],
        "alias": ["--steps_alias=9", "--colours=red", "--colours=blue", "--words=p q"],
    }
    for name, line in lines.items():
        values.unparse_flags()
        answers[name + " left"] = values(["program", *line])
        answers[name] = [f"{flag} {values[flag].value} {values[flag].present}" for flag in _names(values)]
        answers[name + " written"] = [values[flag].serialize() for flag in _names(values)]
    answers["help"] = [values[flag].help for flag in _names(values)]
    answers["types"] = [values[flag].flag_type() for flag in _names(values)]
    return answers


def _names(values: Any) -> list[str]:
    shared = {"help", "helpfull", "helpshort", "helpxml", "flagfile", "undefok", "?"}
    return sorted(name for name in values if name not in shared)


@program
def flags_that_are_refused(tf: Any) -> dict[str, Any]:
    flags, values = tf.flags, tf.flags.FlagValues()
    holder = flags.DEFINE_integer("steps", 1, "", flag_values=values)
    for name in ("a", "b"):
        flags.DEFINE_string(name, None, "", flag_values=values)
        flags.DEFINE_bool(f"is_{name}", False, "", flag_values=values)
    flags.mark_flags_as_mutual_exclusive(["a", "b"], flag_values=values)
    flags.mark_bool_flags_as_mutual_exclusive(["is_a", "is_b"], flag_values=values)
    flags.register_multi_flags_validator(
        ["steps", "a"], lambda given: given["steps"] < 5 or given["a"] is not None, flag_values=values
    )
    values.mark_as_parsed()
    flags.set_default(holder, 3)
    answers: dict[str, Any] = {"default": [holder.value, holder.default, holder.name, bool(holder.present)]}
    flags.override_value(holder, 4)
    answers["value"] = [holder.value, holder.default, holder.serialize()]
    answers["faults"] = [
        fault(flags.override_value, holder, "many"),
        fault(flags.mark_bool_flags_as_mutual_exclusive, ["a"], flag_values=values),
        fault(flags.DEFINE_string, "is_parsed", "", "", flag_values=values),
        fault(flags.DEFINE_enum, "kind", "c", ["a"], "", flag_values=values),
        fault(flags.EnumParser, []),
        fault(flags.EnumClassParser, int),
        fault(flags.adopt_module_key_flags, "no module", values),
        fault(bool, holder),
    ]
    return answers


@program
def flags_as_texts(tf: Any) -> dict[str, Any]:
    flags = tf.flags
    values = {"a": 1, "b": None, "c": True, "d": False, "e": ["x", "y"], "f": "text"}
    return {
        "words": list(flags.flag_dict_to_args(values)),
        "repeated": list(flags.flag_dict_to_args(values, multi_flags={"e"})),
        "wrapped": flags.text_wrap("one two three four five six seven\n\neight", 20, "  ", "* "),
        "help": flags.doc_to_help("First line.\n    Second line.\n\n    Another paragraph."),
        "written": [
            flags.ListSerializer(" ").serialize(["a", "b"]),
            flags.CsvListSerializer(",").serialize(["a", "b, c"]),
            flags.EnumClassSerializer(lowercase=True).serialize(Colour.RED),
            flags.EnumClassListSerializer(",", lowercase=False).serialize([Colour.RED, Colour.BLUE]),
        ],
    }
