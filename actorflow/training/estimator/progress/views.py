"""Views of a progress: a line of a terminal, a table by `rich`, a table of a notebook, plain lines of a file."""

from __future__ import annotations

import html
import os
import shutil
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from actorflow.base.process import machine
from actorflow.errors import UnimplementedError, with_topic

if TYPE_CHECKING:
    from actorflow.training.estimator.progress.state import Progress

_PLAIN_SECONDS = 10.0
_CLEARED = "\r\x1b[K"


class ProgressView(Protocol):
    """A place in which a progress is shown."""

    def draw(self, state: Progress, is_last: bool) -> None:
        """Shows it in place of what was shown before; the last view of a training stays."""

    def clear(self) -> None:
        """Makes room for a line that something else prints."""


class TerminalLine:
    """A line of a terminal.

    Args:
        file: the terminal.
        columns: gives its width.
    """

    def __init__(self, file: TextIO, columns: Callable[[], int]) -> None:
        self._file, self._columns = file, columns

    def draw(self, state: Progress, is_last: bool) -> None:
        line, width = state.line(), max(self._columns() - 1, 20)
        shown = line if is_last or len(line) <= width else f"{line[: width - 1]}…"
        self._file.write(f"{_CLEARED}{shown}" + ("\n" if is_last else ""))
        self._file.flush()

    def clear(self) -> None:
        self._file.write(_CLEARED)
        self._file.flush()


class Plain:
    """Lines of a file, some seconds apart, and the last line.

    Args:
        file: the file.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._next = machine.wall_time() + _PLAIN_SECONDS

    def draw(self, state: Progress, is_last: bool) -> None:
        if is_last or machine.wall_time() >= self._next:
            self._next = machine.wall_time() + _PLAIN_SECONDS
            self._file.write(state.line() + "\n")
            self._file.flush()

    def clear(self) -> None:
        pass


class TerminalTable:
    """A table in a terminal, with a bar, and the last evaluations below. It needs `rich`.

    Args:
        file: the terminal.
        width: its width; found unless given.
    """

    def __init__(self, file: TextIO, width: int | None = None) -> None:
        make: Any = import_module("rich.console").Console
        self._console = make(file=file, width=width, force_terminal=True, highlight=False)
        self._live: Any = None

    def draw(self, state: Progress, is_last: bool) -> None:
        if self._live is None:
            make: Any = import_module("rich.live").Live
            # the program's own output goes to the same place as without this
            options = {"auto_refresh": False, "redirect_stdout": False, "redirect_stderr": False}
            self._live = make(console=self._console, **options)
            self._live.start()
        self._live.update(_table(state), refresh=True)
        if is_last:
            self._live.stop()
            self._live = None

    def clear(self) -> None:
        if self._live is not None:
            self._live.update("", refresh=True)
            self._live.console.file.write(_CLEARED)
            self._live.console.file.flush()


class Notebook:
    """A table in a cell's output; a line where a notebook is shown as text.

    Args:
        display: IPython's `display`.
    """

    def __init__(self, display: Callable[..., Any]) -> None:
        self._display = display
        self._handle: Any = None

    def draw(self, state: Progress, is_last: bool) -> None:
        forms = {"text/html": _html(state), "text/plain": state.line()}
        if self._handle is None:
            self._handle = self._display(forms, raw=True, display_id=True)
        else:
            self._handle.update(forms, raw=True)

    def clear(self) -> None:
        pass


def _evaluations(state: Progress) -> tuple[list[str], list[list[str]]]:
    """The head and the lines of a table of evaluations."""
    from actorflow.training.estimator.progress.state import metrics_of

    rows = [
        (f"{event.step:,}" + (f" {event.name}" if event.name else ""), metrics_of(event)) for event in state.evaluations
    ]
    names = list(dict.fromkeys(name for _, metrics in rows for name in metrics))
    return ["evaluated", *names], [[step, *(metrics.get(name, "") for name in names)] for step, metrics in rows]


def _table(state: Progress) -> Any:
    """The state as a renderable of `rich`."""
    table, group = import_module("rich.table").Table, import_module("rich.console").Group
    rows = state.rows() or {"": "training begins"}
    first = table(*rows, box=None, header_style="dim", pad_edge=False)
    first.add_row(*rows.values())
    parts: list[Any] = [first]
    if state.share is not None:
        bar = table.grid()  # a bar alone has no end of its line
        bar.add_row(import_module("rich.progress_bar").ProgressBar(total=1.0, completed=state.share, width=60))
        parts.append(bar)
    if state.evaluations:
        head, lines = _evaluations(state)
        below = table(*head, box=None, header_style="dim", pad_edge=False)
        for line in lines:
            below.add_row(*line)
        parts.append(below)
    return group(*parts)


def _html(state: Progress) -> str:
    """The state as HTML."""
    rows = state.rows() or {"": "training begins"}
    parts = [_html_table(list(rows), [list(rows.values())])]
    if state.share is not None:
        parts.insert(0, f"<progress value='{state.share:.3f}' style='width:30em'></progress>")
    if state.evaluations:
        parts.append(_html_table(*_evaluations(state)))
    return "".join(parts)


def _html_table(head: list[str], lines: list[list[str]]) -> str:
    def row(tag: str, cells: list[str]) -> str:
        return "<tr>" + "".join(f"<{tag} style='text-align:left'>{html.escape(c)}</{tag}>" for c in cells) + "</tr>"

    return f"<table>{row('th', head)}{''.join(row('td', line) for line in lines)}</table>"


def find_view(wanted: bool | str | None) -> ProgressView | None:
    """The view that is wanted, or fits; None where nothing is to be shown. See `Progress` for `wanted` and what is raised."""
    if wanted not in (None, True, False, "line", "table"):
        raise ValueError(f'progress={wanted!r}: it is None, True, False, "line" or "table".')
    has_rich = find_spec("rich") is not None
    if wanted == "table" and not has_rich:
        raise UnimplementedError(
            'progress="table" needs rich, which is not installed.',
            hint=with_topic(
                "Install it with: pip install 'actorflow[progress]'. A line needs nothing.", "extra-missing"
            ),
        )
    if wanted is False:
        return None
    interactive = sys.modules.get("IPython")
    shell = None if interactive is None else interactive.get_ipython()
    if shell is not None and hasattr(shell, "kernel"):
        return Notebook(import_module("IPython.display").display)
    file = sys.stderr
    if file is None:
        return None
    if file.isatty() and os.environ.get("TERM") != "dumb":
        if has_rich and wanted != "line":
            return TerminalTable(file)
        return TerminalLine(file, lambda: shutil.get_terminal_size().columns)
    return None if wanted is None else Plain(file)
