"""Writes the catalogue of log events into docs/reference/log.md, from the sources.

python tools/log_events.py            writes it
python tools/log_events.py --check    says whether it is current, and names events that are no constant text
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "log.md"
PARTS = ("actorflow", "kernels", "transports", "devices", "checkpoint")
LEVELS = ("debug", "info", "warning", "error", "exception", "critical")
BEGIN, END = "<!-- events: begin -->\n", "<!-- events: end -->"


@dataclass(frozen=True, slots=True, order=True)
class Event:
    """A call of a logger: its part, what it says (None where that is no constant), the level, and the names of its fields."""

    part: str
    text: str | None
    level: str
    fields: tuple[str, ...]
    place: str


def events(path: Path) -> Iterator[Event]:
    """The calls of the loggers that a module makes by `get_logger`."""
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    loggers: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and isinstance(node.targets[0], ast.Name):
            function, arguments = node.value.func, node.value.args
            called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
            if called == "get_logger" and arguments and isinstance(arguments[0], ast.Constant):
                loggers[node.targets[0].id] = str(arguments[0].value)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
            continue
        owner = node.func.value
        if node.func.attr in LEVELS and isinstance(owner, ast.Name) and owner.id in loggers:
            first = node.args[0]
            text = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None
            fields = tuple(sorted(k.arg for k in node.keywords if k.arg and k.arg not in ("exc_info", "stack_info")))
            yield Event(loggers[owner.id], text, node.func.attr, fields, f"{path.relative_to(ROOT)}:{node.lineno}")


def every() -> list[Event]:
    """All events of the tree."""
    return [event for part in PARTS for path in sorted((ROOT / part).rglob("*.py")) for event in events(path)]


def page(text: str) -> str:
    """The page with the events as they are now."""
    rows = sorted({(e.part, e.text or "", e.level, ", ".join(f"`{f}`" for f in e.fields)) for e in every() if e.text})
    lines = [f"| {part} | {what} | {level} | {fields} |" for part, what, level, fields in rows]
    table = "\n".join(["| part | event | level | fields |", "|---|---|---|---|", *lines, ""])
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + table + END + rest.partition(END)[2]


def main(arguments: list[str]) -> int:
    text = PAGE.read_text(encoding="utf-8")
    wanted = page(text)
    if "--check" not in arguments:
        PAGE.write_text(wanted, encoding="utf-8")
        return 0
    loose = [event.place for event in every() if event.text is None]
    for place in loose:
        print(f"{place}: the event is no constant text", file=sys.stderr)
    if wanted != text:
        print("docs/reference/log.md is not current: python tools/log_events.py", file=sys.stderr)
    return int(bool(loose) or wanted != text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
