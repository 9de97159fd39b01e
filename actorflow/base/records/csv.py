"""One record of CSV as fields, by RFC 4180 as TensorFlow's DecodeCSV reads it."""

from __future__ import annotations


def split(record: bytes, delimiter: bytes, quotes: bool) -> list[bytes]:
    """The fields of a record; an empty record has none.

    Line ends before a field are skipped. With `quotes`, a field may be in double quotes, which are doubled inside.

    Raises:
        ValueError: a quote or a line end where none may be, or a quoted field that does not end.
    """
    if b'"' not in record and b"\n" not in record and b"\r" not in record:
        return record.split(delimiter) if record else []
    fields: list[bytes] = []
    position, size = 0, len(record)
    while position < size:
        if record[position] in b"\r\n":
            position += 1
        elif quotes and record[position : position + 1] == b'"':
            field, position = _quoted(record, position + 1, delimiter)
            fields.append(field)
        else:
            end = record.find(delimiter, position)
            end = size if end < 0 else end
            field = record[position:end]
            if b"\n" in field or b"\r" in field or quotes and b'"' in field:
                raise ValueError("Unquoted fields cannot have quotes/CRLFs inside")
            fields.append(field)
            position = end + 1
    if record.endswith(delimiter):
        fields.append(b"")
    return fields


def _quoted(record: bytes, position: int, delimiter: bytes) -> tuple[bytes, int]:
    """The field that starts after a quote, and the position after the delimiter behind it."""
    parts: list[bytes] = []
    while True:
        end = record.find(b'"', position)
        if end < 0:
            raise ValueError("Quoted field has to end with quote followed by delim or end")
        parts.append(record[position:end])
        after = record[end + 1 : end + 2]
        if after == b"" or after == delimiter:
            return b"".join(parts), end + 2
        if after != b'"':
            raise ValueError("Quote inside a string has to be escaped by another quote")
        parts.append(b'"')
        position = end + 2
