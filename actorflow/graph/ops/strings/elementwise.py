"""Ops on single byte strings, elementwise: joining, parts, case, patterns, numbers (`tf.strings`).

An element may hold any bytes. If an op wants characters (`unit="UTF8_CHAR"`, `encoding="utf-8"`, patterns), the bytes
are read as UTF-8. None of these ops has a gradient.
"""

from __future__ import annotations

from collections.abc import Sequence

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import ANY, INDEX, STRING, DTypeLike
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, broadcast, compatible, merge, show
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.shape_rules import require_rank, unchanged
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public

_UNITS = ("BYTE", "UTF8_CHAR")
_NUMBERS = (dt.float32, dt.float64, dt.int32, dt.int64, dt.uint32, dt.uint64)


def _check_unit(c: Inference) -> None:
    if c.attrs["unit"] not in _UNITS:
        raise ValueError(f"The unit is 'BYTE' or 'UTF8_CHAR', not {c.attrs['unit']!r}.")


# ---- joining


def _joined(c: Inference) -> Shape:
    shape: Shape = ()
    for other in c.shapes:
        if shape == ():
            shape = other
        elif other != ():
            shape = merge(shape, other)
    return shape


@op("StringJoin", shape=_joined, dtypes=STRING, result=dt.string, gradient=None)
def _string_join(inputs: Sequence[TensorLike], *, separator: str = "", name: str | None = None) -> Tensor:
    """The strings at the same places of all inputs, joined in order. See `string_join`."""


@public("af", "af.strings:join")
def string_join(inputs: Sequence[TensorLike], separator: str = "", name: str | None = None) -> Tensor:
    """Joins the strings at the same places of all inputs with `separator` between (`tf.string_join`, `tf.strings.join`).

    Scalars go with every element of the others, which have one shape. Raises ValueError, or InvalidArgumentError in the
    run, where the shapes differ.

    Example:
        >>> af.string_join([["a", "b"], "x"], separator="-")
        [b'a-x' b'b-x']
    """
    return _string_join(inputs, separator=separator, name=name)


# ---- numbers


@op("AsString", shape=unchanged, dtypes=ANY, result=dt.string, gradient=None)
def _as_string(
    input: TensorLike,
    *,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Each element as text. See `as_string`."""


@public("af", "af.strings", "tf.dtypes")
def as_string(
    input: TensorLike,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Each element as text, as C's printf would write it (`tf.as_string`).

    Integers are written with `%d`, floats with `%f`, truth values as `true` and `false`, complex numbers as `(re,im)`.

    Example:
        >>> af.as_string([1, 20], width=3, fill="0")
        [b'001' b'020']
        >>> af.as_string([3.14159], precision=2)
        [b'3.14']

    Args:
        input: numbers, truth values or strings, of any shape.
        precision: digits after the point (significant digits with `shortest`); only for floats and complex numbers.
        scientific: writes with an exponent, `%e`.
        shortest: the shorter of both, `%g`.
        width: pads shorter texts to this many characters, on the left.
        fill: a flag of printf: `0` pads with zeros, `-` pads on the right, `+` and a space write a sign, `#`.

    Raises:
        InvalidArgumentError: an option that the type does not take, or another `fill`, in the run.
    """
    return _as_string(
        input, precision=precision, scientific=scientific, shortest=shortest, width=width, fill=fill, name=name
    )


def _number(c: Inference) -> Shape:
    if c.attrs["out_type"] not in _NUMBERS:
        raise TypeError(f"string_to_number gives {', '.join(map(str, _NUMBERS))}, not {c.attrs['out_type']}.")
    return c.shapes[0]


@op("StringToNumber", shape=_number, dtypes=STRING, result="out_type", gradient=None)
def _string_to_number(
    string_tensor: TensorLike, *, out_type: DTypeLike = dt.float32, name: str | None = None
) -> Tensor:
    """The number that each string spells. See `string_to_number`."""


@public("af", "af.strings:to_number")
def string_to_number(
    string_tensor: TensorLike | None = None,
    out_type: DTypeLike = dt.float32,
    name: str | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """The number that each string spells (`tf.string_to_number`).

    White space around it is skipped; floats may be decimal, hexadecimal, `inf` or `nan`.

    Example:
        >>> af.string_to_number(["3.5", " -1e3 "])
        [    3.5 -1000. ]
        >>> af.string_to_number("42", af.int32)
        42

    Args:
        string_tensor: strings of any shape.
        out_type: float32, float64, int32, int64, uint32 or uint64.
        input: the newer name of `string_tensor`.

    Raises:
        InvalidArgumentError: the text is not a number of the type, or too large for an integer, in the run.
    """
    return _string_to_number(input if string_tensor is None else string_tensor, out_type=out_type, name=name)


# ---- characters


@op("StringLower", shape=unchanged, dtypes=STRING, gradient=None)
def _string_lower(input: TensorLike, *, encoding: str = "", name: str | None = None) -> Tensor:
    """Each string in lower case. See `strings.lower`."""


@public("af.strings:lower")
def string_lower(input: TensorLike, encoding: str = "", name: str | None = None) -> Tensor:
    """Each string in lower case: the letters of ASCII, or all of Unicode's with `encoding="utf-8"` (`tf.strings.lower`).

    Raises InvalidArgumentError in the run for another encoding.

    Example:
        >>> af.strings.lower("HELLO"), af.strings.lower("Ä", encoding="utf-8")
        (b'hello', b'\\xc3\\xa4')
    """
    return _string_lower(input, encoding=encoding, name=name)


@op("StringUpper", shape=unchanged, dtypes=STRING, gradient=None)
def _string_upper(input: TensorLike, *, encoding: str = "", name: str | None = None) -> Tensor:
    """Each string in upper case. See `strings.upper`."""


@public("af.strings:upper")
def string_upper(input: TensorLike, encoding: str = "", name: str | None = None) -> Tensor:
    """Each string in upper case (`tf.strings.upper`); see `string_lower`.

    Example:
        >>> af.strings.upper(["hello", "World"])
        [b'HELLO' b'WORLD']
    """
    return _string_upper(input, encoding=encoding, name=name)


@public("af", "af.strings:strip")
@op("StringStrip", shape=unchanged, dtypes=STRING, gradient=None)
def string_strip(input: TensorLike, *, name: str | None = None) -> Tensor:
    """Each string without the white space of ASCII at its ends (`tf.string_strip`, `tf.strings.strip`).

    Example:
        >>> af.string_strip(["  a b ", "c"])
        [b'a b' b'c']
    """


def _length(c: Inference) -> Shape:
    _check_unit(c)
    return c.shapes[0]


@op("StringLength", shape=_length, dtypes=STRING, result=dt.int32, gradient=None)
def _string_length(input: TensorLike, *, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """The length of each string. See `strings.length`."""


@public("af.strings:length")
def string_length(input: TensorLike, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """The number of bytes of each string, or of characters with `unit="UTF8_CHAR"`, as int32 (`tf.strings.length`).

    Characters are counted by their first bytes. Raises ValueError for another unit.

    Example:
        >>> af.strings.length("Grüße"), af.strings.length("Grüße", unit="UTF8_CHAR")
        (7, 5)
    """
    return _string_length(input, unit=unit, name=name)


def _part(c: Inference) -> Shape:
    _check_unit(c)
    source, pos, length = c.shapes
    if not compatible(pos, length):
        raise ValueError(f"substr: pos and len must have the same shape, but have {show(pos)} and {show(length)}.")
    where = merge(pos, length)
    return source if where == () else broadcast(source, where)


@op("Substr", shape=_part, types={"input": dt.string, "pos": INDEX, "len": INDEX}, result=dt.string, gradient=None)
def _substr(
    input: TensorLike, pos: TensorLike, len: TensorLike, *, unit: str = "BYTE", name: str | None = None
) -> Tensor:
    """A part of each string. See `substr`."""


@public("af", "af.strings")
def substr(input: TensorLike, pos: TensorLike, len: TensorLike, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """The part of each string that begins at `pos` and has `len` bytes, or what there is of it (`tf.substr`).

    Example:
        >>> af.substr(["hello", "world"], 1, 3)
        [b'ell' b'orl']

    Args:
        input: strings of any shape.
        pos, len: int32 or int64, of one shape; a scalar stands for all strings, otherwise it broadcasts with `input`. A
            negative `pos` counts from the end.
        unit: what they count: "BYTE" or "UTF8_CHAR".

    Raises:
        ValueError: the shapes don't fit, or an unknown unit.
        InvalidArgumentError: a `pos` outside a string, in the run.
    """
    return _substr(input, pos, len, unit=unit, name=name)


def _transcoded(c: Inference) -> Shape:
    if c.attrs["errors"] not in ("strict", "replace", "ignore"):
        raise ValueError(f"`errors` is 'strict', 'replace' or 'ignore', not {c.attrs['errors']!r}.")
    if c.attrs["output_encoding"] not in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
        raise ValueError(f"The output encoding is UTF-8, UTF-16-BE or UTF-32-BE, not {c.attrs['output_encoding']!r}.")
    return c.shapes[0]


@op("UnicodeTranscode", shape=_transcoded, dtypes=STRING, gradient=None)
def _unicode_transcode(
    input: TensorLike,
    *,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Tensor:
    """Each string in another encoding. See `strings.unicode_transcode`."""


@public("af.strings")
def unicode_transcode(
    input: TensorLike,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Tensor:
    """Each string from `input_encoding` in `output_encoding` (`tf.strings.unicode_transcode`).

    Example:
        >>> af.strings.unicode_transcode(["é"], "UTF-8", "UTF-16-BE")
        [b'\\x00\\xe9']

    Args:
        input: strings of any shape.
        input_encoding: a name that Python's codecs know.
        output_encoding: UTF-8, UTF-16-BE or UTF-32-BE.
        errors: what is done with bytes that are no character: "replace" them, "ignore" them, or "strict" to fail.
        replacement_char: the code point that replaces them.
        replace_control_characters: replaces the characters up to 0x1F, too.

    Raises:
        InvalidArgumentError: an encoding that is not known, or with "strict" such bytes, in the run.
    """
    return _unicode_transcode(
        input,
        input_encoding=input_encoding,
        output_encoding=output_encoding,
        errors=errors,
        replacement_char=replacement_char,
        replace_control_characters=replace_control_characters,
        name=name,
    )


# ---- patterns


def _replaced(c: Inference) -> Shape:
    require_rank(c, 1, 0)
    require_rank(c, 2, 0)
    return c.shapes[0]


@op("RegexReplace", shape=_replaced, dtypes=STRING, gradient=None, work=50)
def _regex_replace(
    input: TensorLike, pattern: TensorLike, rewrite: TensorLike, *, replace_global: bool = True, name: str | None = None
) -> Tensor:
    """Each string with what matches `pattern` rewritten. See `regex_replace`."""


@public("af", "af.strings")
def regex_replace(
    input: TensorLike,
    pattern: TensorLike,
    rewrite: TensorLike,
    replace_global: bool = True,
    name: str | None = None,
) -> Tensor:
    r"""Each string with the matches of `pattern` replaced by `rewrite` (`tf.regex_replace`).

    The pattern is in RE2's syntax, over the characters of UTF-8. RE2 matches it where the extra `strings` is installed, in time
    that is linear in the string. Otherwise Python's `re` does, which backtracks: Unicode classes (`\pL`), `\C` and the flag `U`
    are not there then, and a string is refused over which the pattern might take seconds.

    Example:
        >>> af.regex_replace(["a1b22c", "3"], "[0-9]+", "#")
        [b'a#b#c' b'#']

    Args:
        input: strings of any shape.
        pattern, rewrite: scalars. In the rewrite `\1` to `\9` are groups, `\0` the match and `\\` a backslash.
        replace_global: False replaces only the first match of each string.

    Raises:
        InvalidArgumentError: the pattern or the rewrite is wrong, in the run.
        UnimplementedError: the pattern, or a string, needs the extra `strings`, which is not installed.
    """
    return _regex_replace(input, pattern, rewrite, replace_global=replace_global, name=name)


def _matched(c: Inference) -> Shape:
    require_rank(c, 1, 0)
    return c.shapes[0]


@public("af.strings")
@op("RegexFullMatch", shape=_matched, dtypes=STRING, result=dt.bool, gradient=None, work=50)
def regex_full_match(input: TensorLike, pattern: TensorLike, *, name: str | None = None) -> Tensor:
    """Whether all of each string matches the scalar `pattern` (`tf.strings.regex_full_match`); see `regex_replace`.

    Example:
        >>> af.strings.regex_full_match(["abc", "abcd"], "a.c")
        [ True False]
    """


# ---- base64


@op("EncodeBase64", shape=unchanged, dtypes=STRING, gradient=None)
def _encode_base64(input: TensorLike, *, pad: bool = False, name: str | None = None) -> Tensor:
    """Each string in base64. See `encode_base64`."""


@public("af", "tf.io")
def encode_base64(input: TensorLike, pad: bool = False, name: str | None = None) -> Tensor:
    """Each string in the base64 that is safe in URLs, with `=` at its end where `pad` says so (`tf.encode_base64`).

    Example:
        >>> af.encode_base64("hello"), af.encode_base64("hello", pad=True)
        (b'aGVsbG8', b'aGVsbG8=')
    """
    return _encode_base64(input, pad=pad, name=name)


@public("af", "tf.io")
@op("DecodeBase64", shape=unchanged, dtypes=STRING, gradient=None)
def decode_base64(input: TensorLike, *, name: str | None = None) -> Tensor:
    """The strings that base64 safe in URLs stands for, with or without padding (`tf.decode_base64`).

    Raises InvalidArgumentError in the run for anything else.

    Example:
        >>> af.decode_base64("aGVsbG8")
        b'hello'
    """
