"""Kernels of ops on the characters of strings: joining, parts, case, patterns, encodings."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from operator import methodcaller
from typing import Any

from actorflow.base.registry.kernel import kernel

from .objects import mapped, single
from .regex import compiled, is_literal, rewriter

_SPACE = b" \t\n\v\f\r"
_FIRST_BYTES = re.compile(rb"[^\x80-\xbf]")  # all but the second and later bytes of a character


@kernel("StringJoin")
def string_join(xp: Any, inputs: Any, *, separator: str) -> Any:
    shape: tuple[int, ...] = ()
    for value in inputs:
        if value.ndim and shape and value.shape != shape:
            raise ValueError(f"Strings of the shapes {shape} and {value.shape} can't be joined.")
        shape = shape or value.shape
    result = xp.empty(shape, object)
    columns = [xp.broadcast_to(value, shape).reshape(-1).tolist() for value in inputs]
    between = separator.encode()
    flat = [between.join(parts) for parts in zip(*columns)] if columns else [b""]
    result.reshape(-1)[:] = flat
    return result


@kernel("StringLower")
def lower(xp: Any, x: Any, *, encoding: str) -> Any:
    return mapped(bytes.lower, x) if _is_ascii(encoding) else mapped(lambda s: _text(s).lower().encode(), x)


@kernel("StringUpper")
def upper(xp: Any, x: Any, *, encoding: str) -> Any:
    return mapped(bytes.upper, x) if _is_ascii(encoding) else mapped(lambda s: _text(s).upper().encode(), x)


def _is_ascii(encoding: str) -> bool:
    if encoding not in ("", "utf-8"):
        raise ValueError(f"The encoding is '' or 'utf-8', not {encoding!r}.")
    return not encoding


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


@kernel("StringStrip")
def strip(xp: Any, x: Any) -> Any:
    return mapped(lambda s: s.strip(_SPACE), x)


@kernel("StringLength")
def length(xp: Any, x: Any, *, unit: str) -> Any:
    count = len if unit == "BYTE" else lambda s: len(_FIRST_BYTES.findall(s))
    return mapped(count, x, xp.int32)


@kernel("Substr")
def substr(xp: Any, x: Any, pos: Any, size: Any, *, unit: str) -> Any:
    if pos.shape != size.shape:
        raise ValueError(f"pos of shape {pos.shape} and len of shape {size.shape} have to have one shape.")
    spread = xp.broadcast_arrays(x, pos, size)
    result = xp.empty(spread[0].shape, object)
    cut = _bytes_of if unit == "BYTE" else _characters_of
    result.reshape(-1)[:] = [cut(*row) for row in zip(*(part.reshape(-1).tolist() for part in spread))]
    return result


def _begin(value: bytes, pos: int, size: int) -> int:
    if not -size <= pos <= size:
        raise ValueError(f"pos {pos} out of range for string {value!r} of length {size}.")
    return pos + size if pos < 0 else pos


def _bytes_of(value: bytes, pos: int, count: int) -> bytes:
    begin = _begin(value, pos, len(value))
    return value[begin:] if count < 0 else value[begin : begin + count]


def _characters_of(value: bytes, pos: int, count: int) -> bytes:
    starts = [match.start() for match in _FIRST_BYTES.finditer(value)]
    begin = _begin(value, pos, len(starts))
    ends = [*starts, len(value)]
    return value[ends[begin] : ends[min(begin + max(count, 0), len(starts))]]


@kernel("UnicodeTranscode")
def unicode_transcode(
    xp: Any,
    x: Any,
    *,
    input_encoding: str,
    output_encoding: str,
    errors: str,
    replacement_char: int,
    replace_control_characters: bool,
) -> Any:
    try:
        codec = codecs.lookup(input_encoding)
    except LookupError:
        raise ValueError(f"The encoding {input_encoding!r} is not known.") from None
    stand_in = chr(replacement_char)
    controls = dict.fromkeys(range(0x20), stand_in if errors == "replace" else "")

    def transcode(value: bytes) -> bytes:
        text = codec.decode(value, errors)[0]
        if errors == "replace" and replacement_char != 0xFFFD:
            text = text.replace("\ufffd", stand_in)
        if replace_control_characters:
            text = text.translate(controls)
        return text.encode(output_encoding.replace("-BE", "BE"))

    return mapped(transcode, x)


@kernel("RegexReplace")
def regex_replace(xp: Any, x: Any, pattern: Any, rewrite: Any, *, replace_global: bool) -> Any:
    expression = compiled(single(pattern))
    written = rewriter(single(rewrite), expression)
    if written.is_text and is_literal(single(pattern)):
        text, count = written(None), -1 if replace_global else 1
        return mapped(methodcaller("replace", single(pattern), text, count), x)
    return mapped(lambda s: expression.replaced(s, written, once=not replace_global), x)


@kernel("RegexFullMatch")
def regex_full_match(xp: Any, x: Any, pattern: Any) -> Any:
    expression = compiled(single(pattern))
    return mapped(expression.fits, x, bool)


@kernel("EncodeBase64")
def encode_base64(xp: Any, x: Any, *, pad: bool) -> Any:
    return mapped(base64.urlsafe_b64encode if pad else lambda s: base64.urlsafe_b64encode(s).rstrip(b"="), x)


_BASE64 = re.compile(rb"(?:[\w-]{4})*(?:[\w-]{2}(?:==)?|[\w-]{3}=?)?")


def _decoded(value: bytes) -> bytes:
    if len(value.rstrip(b"=")) % 4 == 1:
        raise ValueError(f"Base64 string length cannot be 1 modulo 4: {value!r:.80}.")
    if not _BASE64.fullmatch(value):
        raise ValueError(f"Invalid character found in base64: {value!r:.80} is no base64 that is safe in URLs.")
    try:
        return base64.urlsafe_b64decode(value.rstrip(b"=") + b"=" * (-len(value.rstrip(b"=")) % 4))
    except binascii.Error as error:
        raise ValueError(f"{value!r:.80} is no base64: {error}.") from None


@kernel("DecodeBase64")
def decode_base64(xp: Any, x: Any) -> Any:
    return mapped(_decoded, x)
