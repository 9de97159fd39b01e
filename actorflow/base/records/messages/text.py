"""The text format of Protocol Buffers, written and read."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from actorflow.base.records.messages.containers import ListOf, MapOf
from actorflow.base.records.messages.message import Message
from actorflow.base.records.messages.values import Field
from actorflow.base.records.wire import BrokenMessageError

_TOKEN = re.compile(
    r"""\s*(?:\#[^\n]*(?:\n|\Z)\s*)*(?:(?P<word>[A-Za-z_][A-Za-z0-9_.]*)|(?P<number>-?(?:inf|nan|[0-9.][0-9A-Za-z.+\-]*))"""
    r"""|(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|(?P<mark>[{}<>\[\],;:/]))"""
)
_ESCAPE = re.compile(rb"\\([0-7]{1,3}|[xX][0-9a-fA-F]{1,2}|.)", re.DOTALL)
_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


def write_text(message: Message) -> str:
    """A message in the text format, one field a line."""
    lines: list[str] = []
    _write(message, "", lines)
    return "".join(f"{line}\n" for line in lines)


def _write(message: Message, indent: str, lines: list[str]) -> None:
    for name, value in message.ListFields():
        field = message.FIELDS[name]
        if isinstance(value, MapOf):
            for key in sorted(value):
                lines.append(f"{indent}{name} {{")
                lines.append(f"{indent}  key: {_scalar(Field(1, field.key), key)}")
                _entry("value", field, value[key], indent + "  ", lines)
                lines.append(f"{indent}}}")
            continue
        for entry in value if isinstance(value, ListOf) else (value,):
            _entry(name, field, entry, indent, lines)


def _entry(name: str, field: Field, value: Any, indent: str, lines: list[str]) -> None:
    if isinstance(value, Message):
        lines.append(f"{indent}{name} {{")
        _write(value, indent + "  ", lines)
        lines.append(f"{indent}}}")
    else:
        lines.append(f"{indent}{name}: {_scalar(field, value)}")


def _scalar(field: Field, value: Any) -> str:
    if field.kind == "bool":
        return "true" if value else "false"
    if field.kind == "enum":
        return dict(field.names).get(value, str(value))
    if field.kind in ("string", "bytes"):
        return _quoted(value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value)
    if field.kind == "float":
        shorter = (f"{value:.{digits}g}" for digits in (6, 7, 8))
        return next((text for text in shorter if np.float32(text) == np.float32(value)), f"{value:.9g}")
    return str(value)


def _quoted(data: bytes) -> str:
    out = []
    for byte in data:
        char = chr(byte)
        if char in '"\\':
            out.append("\\" + char)
        elif char in "\n\t\r":
            out.append({"\n": "\\n", "\t": "\\t", "\r": "\\r"}[char])
        else:
            out.append(char if 32 <= byte < 127 else f"\\{byte:03o}")
    return '"' + "".join(out) + '"'


def read_text(text: str | bytes, message: Message) -> Message:
    """Adds the fields of a text to `message`, and gives it. Fields that the message lacks are passed over.

    Raises:
        BrokenMessageError: the text is no such message, or has none of its fields; the line is named.
    """
    try:
        reader = _TokenReader(text.decode() if isinstance(text, bytes) else text)
    except UnicodeDecodeError as error:
        raise BrokenMessageError(f"The text is no UTF-8 at byte {error.start}.") from None
    _fields(reader, message, "")
    if reader.passed_over and not message.ListFields():
        raise BrokenMessageError(reader.passed_over)
    return message


class _TokenReader:
    """The tokens of a text."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self.passed_over = ""
        """The first field that the message lacks, as an error says it."""
        self._next()

    def _next(self) -> None:
        match = _TOKEN.match(self._text, self._at)
        if match is None:
            if self._text[self._at :].strip() and not self._text[self._at :].lstrip().startswith("#"):
                self.fail("something else than a field")
            self.kind, self.token = "", ""
            return
        self.kind, self.token = match.lastgroup or "", match[match.lastgroup or 0]
        self._at = match.end()

    def take(self) -> str:
        token = self.token
        self._next()
        return token

    def skip(self, mark: str) -> bool:
        if self.kind == "mark" and self.token == mark:
            self._next()
            return True
        return False

    def fail(self, problem: str) -> None:
        raise BrokenMessageError(self._failure(problem))

    def _failure(self, problem: str) -> str:
        line = self._text.count("\n", 0, self._at) + 1
        return f"Line {line} of the text is no message: it has {problem}."

    def pass_over(self, name: str, kind: str) -> None:
        """Reads the value of a field that a message lacks."""
        self.passed_over = self.passed_over or self._failure(f"a field {name!r}, which {kind} has not")
        self.skip(":")
        if not self._pass_several("[", "]") and not self._pass_several("{", "}") and not self._pass_several("<", ">"):
            if self.kind not in ("word", "number", "text"):
                self.fail(f"{self.token!r} where a value belongs" if self.kind else "its end too early")
            kind = self.kind
            self.take()
            while kind == "text" == self.kind:  # texts beside each other are a single text
                self.take()

    def _pass_several(self, begin: str, end: str) -> bool:
        if not self.skip(begin):
            return False
        while not self.skip(end):
            if not self.kind or self.kind == "mark" and self.token in "]}>":
                self.fail(f"{self.token!r} where {end} belongs" if self.kind else "its end too early")
            if not any(self._pass_several(*pair) for pair in ("[]", "{}", "<>")):
                self.take()
        return True


def _fields(reader: _TokenReader, message: Message, end: str) -> None:
    while not (reader.skip(end) if end else not reader.kind):
        if reader.skip("["):  # the name of an extension, or of the type of any message
            name = ""
            while not reader.skip("]"):
                if not reader.kind:
                    reader.fail("its end too early")
                name += reader.take()
            reader.pass_over(name, type(message).__name__)
            continue
        if reader.kind != "word":
            reader.fail(f"{reader.token!r} where the name of a field belongs" if reader.kind else "its end too early")
        name = reader.take()
        field = message.FIELDS.get(name)
        if field is None:
            reader.pass_over(name, type(message).__name__)
            _ = reader.skip(";") or reader.skip(",")
            continue
        colon = reader.skip(":")
        if colon and reader.skip("["):
            while not reader.skip("]"):
                _value(reader, message, name, field)
                reader.skip(",")
        else:
            _value(reader, message, name, field)
        _ = reader.skip(";") or reader.skip(",")


def _value(reader: _TokenReader, message: Message, name: str, field: Field) -> None:
    if field.key:
        _map_entry(reader, getattr(message, name), field)
    elif field.is_message:
        place = getattr(message, name)
        target = place.add() if field.repeated else place
        target.SetInParent()
        _fields(reader, target, _opening(reader))
    elif field.repeated:
        getattr(message, name).append(_parsed(reader, field))
    else:
        setattr(message, name, _parsed(reader, field))


def _opening(reader: _TokenReader) -> str:
    if reader.skip("{"):
        return "}"
    if not reader.skip("<"):
        reader.fail(f"{reader.token!r} where {{ belongs")
    return ">"


def _map_entry(reader: _TokenReader, place: MapOf, field: Field) -> None:
    end = _opening(reader)
    key: Any = ""
    value: Any = field.kind() if field.is_message else None
    while not reader.skip(end):
        if reader.kind != "word":
            reader.fail(f"{reader.token!r} where key or value belongs" if reader.kind else "its end too early")
        part = reader.take()
        reader.skip(":")
        if part == "key":
            key = _parsed(reader, Field(1, field.key))
        elif field.is_message:
            value.SetInParent()
            _fields(reader, value, _opening(reader))
        else:
            value = _parsed(reader, field)
    place[key] = value


def _parsed(reader: _TokenReader, field: Field) -> Any:
    if field.kind in ("string", "bytes"):
        if reader.kind != "text":
            reader.fail(f"{reader.token!r} where a string belongs")
        data = b""
        while reader.kind == "text":
            data += _ESCAPE.sub(_unescaped, reader.take()[1:-1].encode("utf-8", "surrogateescape"))
        return data if field.kind == "bytes" else data.decode("utf-8", "surrogateescape")
    token = reader.take()
    if field.kind == "enum" and not token.lstrip("-").isdigit():
        for number, label in field.names:
            if label == token:
                return number
    try:
        if field.kind == "bool":
            return {"true": True, "false": False, "1": True, "0": False, "t": True, "f": False}[token.lower()]
        return (
            float(token.rstrip("fF") if "inf" not in token else token)
            if field.kind in ("float", "double")
            else int(token, 0)
        )
    except (KeyError, ValueError):
        reader.fail(f"{token!r} where a value of type {field.kind} belongs")


def _unescaped(match: re.Match[bytes]) -> bytes:
    code = match[1]
    if code[:1] in b"xX" and len(code) > 1:
        return bytes([int(code[1:], 16)])
    if code[:1].isdigit():
        return bytes([int(code, 8) & 255])
    return _LETTERS.get(code, code)
