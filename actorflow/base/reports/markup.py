"""HTML for notebooks: `card`, `table`, `fold` and `picture`, of which the `_repr_html_` of graphs, sessions and traces are made.

It is HTML and CSS alone, because notebooks that are not trusted run no scripts. All text is escaped. Colours are those of
the page around it, so it fits light and dark pages. Long tables are cut, so a card stays below some 50 kB.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

MOST_ROWS = 60
_LINE = "rgba(128,128,128,.4)"
_WIDTH, _HEIGHT, _ACROSS, _DOWN = 112, 26, 12, 22  # of a box of a picture, and the gaps between boxes, in px
_LETTERS = 15


def escape(text: str) -> str:
    """The text as HTML."""
    import html  # its table of entities takes long to load, and few programs show HTML

    return html.escape(text)


def card(title: str, facts: Mapping[str, object], *parts: str) -> str:
    """A frame with a title, a line of facts, and parts that are HTML already.

    Args:
        title: the title.
        facts: values by what they are.
        parts: what stands below, from `table`, `fold` or `picture`; empty parts are left out.
    """
    shown = " &nbsp;·&nbsp; ".join(f"{escape(name)} <b>{escape(str(value))}</b>" for name, value in facts.items())
    head = f"<div><b>{escape(title)}</b></div><div>{shown}</div>"
    frame = f"border:1px solid {_LINE};border-radius:6px;padding:.5em .8em;display:inline-block;max-width:100%"
    return f'<div style="{frame};overflow-x:auto;line-height:1.5">{head}{"".join(parts)}</div>'


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], most: int = MOST_ROWS) -> str:
    """A table of text; numbers stand at the right. A last row tells of those beyond `most`.

    Args:
        heads: the titles of the columns.
        rows: the values, row by row.
        most: how many rows are shown.
    """
    row_list = list(rows)
    if not row_list:
        return ""
    cell = f"padding:.1em .7em;border-bottom:1px solid {_LINE}"
    lines = ["".join(f'<th style="{cell};text-align:left">{escape(head)}</th>' for head in heads)]
    for row in row_list[:most]:
        sides = ["right" if isinstance(value, (int, float)) else "left" for value in row]
        lines.append(
            "".join(
                f'<td style="{cell};text-align:{side}">{escape(f"{value:,}" if isinstance(value, int) else str(value))}</td>'
                for side, value in zip(sides, row)
            )
        )
    if len(row_list) > most:
        lines.append(f'<td style="{cell}" colspan="{len(heads)}">… and {len(row_list) - most:,} more</td>')
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f'<table style="border-collapse:collapse;margin:.4em 0">{body}</table>'


def fold(title: str, body: str, *, opened: bool = False) -> str:
    """A part that the reader opens; empty where the body is.

    Args:
        title: the line that stays.
        body: HTML.
        opened: whether it is open at first.
    """
    return f"<details{' open' * opened}><summary>{escape(title)}</summary>{body}</details>" if body else ""


def link(words: str, address: str) -> str:
    """A line that leads to an address.

    Args:
        words: stand before the address.
        address: the address, which is shown too.
    """
    return f'<div>{escape(words)}: <a href="{escape(address)}" target="_blank">{escape(address)}</a></div>'


def text(lines: str) -> str:
    """Lines of plain text, as they are."""
    return f'<pre style="margin:.4em 0">{escape(lines)}</pre>'


def picture(nodes: Mapping[str, str], edges: Iterable[tuple[str, str]]) -> str:
    """A small graph as a drawing in SVG: a box for each node, below all that it depends on. Edges of loops lead back up.

    Args:
        nodes: the words in the boxes, by the names of nodes; each node stands behind those that lead to it.
        edges: pairs of names, from and to.
    """
    below: dict[str, list[str]] = {name: [] for name in nodes}
    pairs = [(a, b) for a, b in dict.fromkeys(edges) if a in nodes and b in nodes]
    for a, b in pairs:
        below[b].append(a)
    layer: dict[str, int] = {}
    for name in nodes:
        layer[name] = 1 + max((layer[before] for before in below[name] if before in layer), default=-1)
    rows: list[list[str]] = [[] for _ in range(1 + max(layer.values(), default=-1))]
    for name in nodes:
        rows[layer[name]].append(name)
    at: dict[str, tuple[float, float]] = {}
    for depth, row in enumerate(rows):
        above = {name: [at[before][0] for before in below[name] if before in at] for name in row}
        middle = {name: sum(places) / len(places) if places else 0.0 for name, places in above.items()}
        for place, name in enumerate(sorted(row, key=lambda name: middle[name])):
            at[name] = ((place - (len(row) - 1) / 2) * (_WIDTH + _ACROSS), depth * (_HEIGHT + _DOWN))
    if not at:
        return ""
    drawn = []
    for a, b in pairs:
        (x, y), (u, v) = at[a], at[b]
        half = (v - y - _HEIGHT) / 2
        drawn.append(
            f'<path d="M{x:.0f},{y + _HEIGHT} C{x:.0f},{y + _HEIGHT + half:.0f} {u:.0f},{v - half:.0f} {u:.0f},{v}" '
            f'fill="none" stroke="{_LINE}"/>'
        )
    for name, (x, y) in at.items():
        words = nodes[name] if len(nodes[name]) <= _LETTERS else f"…{nodes[name][1 - _LETTERS :]}"
        drawn.append(
            f'<g><title>{escape(name)}</title><rect x="{x - _WIDTH / 2:.0f}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="4" '
            f'fill="rgba(128,128,128,.12)" stroke="{_LINE}"/><text x="{x:.0f}" y="{y + 17}" text-anchor="middle" '
            f'font-size="12" fill="currentColor">{escape(words)}</text></g>'
        )
    left = min(x for x, _ in at.values()) - _WIDTH / 2 - 4
    wide, high = -2 * left, len(rows) * (_HEIGHT + _DOWN) - _DOWN + 8
    wide = max(wide, max(x for x, _ in at.values()) + _WIDTH / 2 + 4 - left)
    return f'<svg viewBox="{left:.0f} -4 {wide:.0f} {high}" width="{wide:.0f}" style="max-width:100%">{"".join(drawn)}</svg>'


def bar(parts: Sequence[tuple[float, float, str]], colour: str) -> str:
    """A line of time with blocks on it.

    Args:
        parts: for each block its begin and its end, from 0 to 1, and its words.
        colour: its colour, as CSS has it.
    """
    blocks = "".join(
        f'<rect x="{1000 * begun:.1f}" width="{max(1.0, 1000 * (ended - begun)):.1f}" height="14" fill="{colour}">'
        f"<title>{escape(words)}</title></rect>"
        for begun, ended, words in parts
    )
    return (
        '<svg viewBox="0 0 1000 14" width="600" height="14" preserveAspectRatio="none" '
        f'style="background:rgba(128,128,128,.12);display:block">{blocks}</svg>'
    )


def size(count: float) -> str:
    """A number of bytes in a unit that suits it."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
        count /= 1024
    raise AssertionError("the last unit takes all")
