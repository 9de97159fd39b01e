"""`sequence_svg`: a picture in SVG of a Mermaid sequence diagram: a column for each participant, a row for each message."""

from __future__ import annotations

import re
from html import escape

from docsite.flowchart import CHARACTER, PAD, arrowhead, svg

ROW = 36
_MESSAGE = re.compile(r"(\w+)(->>|-->>|--x|-x)(\w+): (.*)")


def sequence_svg(text: str, title: str = "") -> str:
    """The picture of a sequence diagram.

    Args:
        text: the diagram, in Mermaid's language.
        title: what the picture is called for those who do not see it.

    Raises:
        ValueError: if the text has what this module does not know; it names the line.
    """
    first, *lines = [line.strip() for line in text.strip().splitlines()]
    if first != "sequenceDiagram":
        raise ValueError(f"This is not the head of a sequence diagram: {first}")
    names: dict[str, str] = {}
    messages: list[tuple[str, str, str, str]] = []
    for line in lines:
        who = re.fullmatch(r"participant (\w+) as (.*)", line)
        said = _MESSAGE.fullmatch(line)
        if who:
            names[who[1]] = who[2]
        elif said:
            messages.append((said[1], said[2], said[3], said[4]))
        else:
            raise ValueError(f"This is neither a participant nor a message: {line}")
    return _drawn(names, messages, title)


def _drawn(names: dict[str, str], messages: list[tuple[str, str, str, str]], title: str) -> str:
    order = list(names)
    gap = dict.fromkeys(range(len(order)), 0.0)  # before each column
    for place in range(1, len(order)):
        gap[place] = (len(names[order[place - 1]]) + len(names[order[place]])) * CHARACTER / 2 + 2 * PAD + 16
    for source, _, target, words in messages:
        one, other = sorted((order.index(source), order.index(target)))
        wide = len(words) * CHARACTER * 0.92 + 24
        if one == other and one + 1 < len(order):
            gap[one + 1] = max(gap[one + 1], wide + 34)
        elif one != other:
            missing = wide - sum(gap[column] for column in range(one + 1, other + 1))
            for column in range(one + 1, other + 1):
                gap[column] += max(0.0, missing) / (other - one)
    x, at = {}, 0.0
    for column, name in enumerate(order):
        at += gap[column]
        x[name] = at
    bottom = 30 + ROW * (len(messages) + 1)
    drawn = []
    for name, words in names.items():
        wide = len(words) * CHARACTER + 2 * PAD
        drawn.append(f'<g class="edge"><path class="life" d="M{x[name]:.1f},30 V{bottom:.1f}"/></g>')
        rect = f'<rect x="{x[name] - wide / 2:.1f}" y="0" width="{wide:.1f}" height="30" rx="5"/>'
        drawn.append(f'<g class="box">{rect}<text x="{x[name]:.1f}" y="15">{escape(words)}</text></g>')
    for row, (source, kind, target, words) in enumerate(messages, 1):
        drawn.append(_message(x[source], x[target], 30 + row * ROW, kind, words))
    first, last = order[0], order[-1]
    left = x[first] - len(names[first]) * CHARACTER / 2 - PAD - 8
    beside = max((len(words) for source, _, target, words in messages if source == target == last), default=0)
    right = x[last] + max(len(names[last]) * CHARACTER / 2 + PAD + 8, 42 + beside * CHARACTER)
    return svg(drawn, (left, -8, right - left, bottom + 16), title)


def _message(source: float, target: float, y: float, kind: str, words: str) -> str:
    style = ' class="dashed"' if kind.startswith("--") else ""
    if source == target:
        path = f'<path{style} d="M{source:.1f},{y - 8:.1f} h26 v14 h-19"/>'
        text = f'<text class="beside" x="{source + 34:.1f}" y="{y:.1f}">{escape(words)}</text>'
        return f'<g class="edge">{path}{arrowhead(source + 7, y + 6, -1, 0)}{text}</g>'
    sign = 1 if target > source else -1
    end = target - 7 * sign
    path = f'<path{style} d="M{source:.1f},{y:.1f} H{end:.1f}"/>'
    head = arrowhead(end, y, sign, 0)
    if kind.endswith("x"):
        head = f'<path d="M{end - 4:.1f},{y - 4:.1f} l8,8 m0,-8 l-8,8"/>'
    text = f'<text x="{(source + target) / 2:.1f}" y="{y - 11:.1f}">{escape(words)}</text>'
    return f'<g class="edge">{path}{head}{text}</g>'
