"""Simulated steps as pictures: lines of text, and SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence

from actorflow.engine.placement.search.problem import SearchProblem
from actorflow.engine.placement.simulation.timeline import StepTimeline

_WIDTH = 60
_SHADES = " ░▒▓█"
_ROW, _GAP, _LEFT, _RIGHT, _TOP, _BELOW = 22, 6, 190, 16, 34, 48
_LETTER = 6.0
"""The width of a letter of a name in a bar."""
_BAR, _CRITICAL = "#7aa6c2", "#d1495b"


def device_of(problem: SearchProblem, timeline: StepTimeline, node: int) -> int:
    """The number of the device of a node."""
    return timeline.at[problem.grouping.group[node]]


def lines(
    problem: SearchProblem, timeline: StepTimeline, title: str, width: int = _WIDTH, scale: float = 0.0
) -> list[str]:
    """A line of text for each device: how busy it is in each part of the step, and in all.

    Args:
        width: of the pictures, in characters.
        scale: the seconds that `width` stands for: those of the step unless given.
    """
    scale = max(scale, timeline.seconds, 1e-12)
    busy = [[0.0] * width for _ in problem.machine.names]
    for i, (begun, ended) in enumerate(zip(timeline.begun, timeline.ended)):
        row = busy[device_of(problem, timeline, i)]
        first, last = begun / scale * width, ended / scale * width
        for place in range(int(first), min(int(last) + 1, width)):
            row[place] += max(0.0, min(last, place + 1) - max(first, place))
    label = max((len(name) for name in problem.machine.names), default=0)
    rows = [f"{title}: {timeline.seconds * 1e3:.4g} ms"]
    for name, row in zip(problem.machine.names, busy):
        cells = "".join(_SHADES[min(4, round(4 * part + 0.49))] if part > 1e-9 else " " for part in row)
        rows.append(f"  {name:{label}} |{cells}| {sum(row) / width * scale / max(timeline.seconds, 1e-12):.0%}")
    return rows


def svg(drawings: Sequence[tuple[str, SearchProblem, StepTimeline]], width: int = 900) -> str:
    """Steps below each other on one scale, each with its title. Each node is a bar, with its name where that fits; those of the
    critical path are red. An axis of milliseconds is below all of them."""
    scale = max([timeline.seconds for _, _, timeline in drawings] + [1e-12])
    unit = (width - _LEFT - _RIGHT) / scale
    drawn: list[str] = []
    high = 0
    for title, problem, timeline in drawings:
        drawn.append(f'<g transform="translate(0 {high})">')
        drawn.append(f'<text x="8" y="20" font-weight="bold">{escape(title)}: {timeline.seconds * 1e3:.4g} ms</text>')
        for d, name in enumerate(problem.machine.names):
            y = _TOP + d * (_ROW + _GAP)
            drawn.append(f'<text x="8" y="{y + 15}">{escape(_short(name))}</text>')
            drawn.append(f'<rect x="{_LEFT}" y="{y}" width="{scale * unit:.2f}" height="{_ROW}" fill="#f2f2f2"/>')
        critical = set(timeline.critical())
        for i, (begun, ended) in enumerate(zip(timeline.begun, timeline.ended)):
            if ended > begun:
                y = _TOP + device_of(problem, timeline, i) * (_ROW + _GAP)
                drawn += _bar(problem.work.names[i], begun, ended, unit, y, i in critical)
        drawn.append("</g>")
        high += _TOP + len(problem.machine.names) * (_ROW + _GAP) + _GAP
    drawn += _axis(scale, unit, high)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{high + _BELOW}" font-family="sans-serif" '
        'font-size="12"><rect width="100%" height="100%" fill="white"/>'
    )
    return "\n".join([head, *drawn, "</svg>"])


def _bar(name: str, begun: float, ended: float, unit: float, y: float, critical: bool) -> list[str]:
    left, wide = _LEFT + begun * unit, max(0.4, (ended - begun) * unit)
    edge = 'stroke="white" stroke-width="0.5"' if wide > 2 else ""  # the edge of a thin bar would cover it
    caption = f"{escape(name)}: {(ended - begun) * 1e3:.4g} ms, from {begun * 1e3:.4g} to {ended * 1e3:.4g} ms"
    drawn = [
        f'<rect x="{left:.2f}" y="{y}" width="{wide:.2f}" height="{_ROW}" fill="{_CRITICAL if critical else _BAR}" {edge}>'
        f"<title>{caption}</title></rect>"
    ]
    if wide > _LETTER * len(name) + 4:
        drawn.append(
            f'<text x="{left + wide / 2:.2f}" y="{y + 15}" font-size="10" text-anchor="middle" pointer-events="none" '
            f'fill="{"white" if critical else "black"}">{escape(name)}</text>'
        )
    return drawn


def _axis(scale: float, unit: float, y: float) -> list[str]:
    """Marks at round numbers of milliseconds, some six to twelve of them, and what the colours mean."""
    rough = 10.0 ** math.floor(math.log10(scale * 1e3 / 5))
    step = next(rough * k for k in (1, 2, 5, 10) if scale * 1e3 / (rough * k) <= 12)
    drawn = [f'<line x1="{_LEFT}" y1="{y}" x2="{_LEFT + scale * unit:.2f}" y2="{y}" stroke="black"/>']
    for k in range(int(scale * 1e3 / step) + 1):
        x = _LEFT + k * step * 1e-3 * unit
        drawn.append(f'<line x1="{x:.2f}" y1="{y}" x2="{x:.2f}" y2="{y + 4}" stroke="black"/>')
        drawn.append(f'<text x="{x:.2f}" y="{y + 17}" text-anchor="middle">{k * step:g}</text>')
    return [
        *drawn,
        f'<text x="8" y="{y + 17}">ms</text>',
        f'<rect x="{_LEFT}" y="{y + 27}" width="12" height="12" fill="{_CRITICAL}"/>',
        f'<text x="{_LEFT + 18}" y="{y + 37}">on the critical path</text>',
        f'<rect x="{_LEFT + 160}" y="{y + 27}" width="12" height="12" fill="{_BAR}"/>',
        f'<text x="{_LEFT + 178}" y="{y + 37}">other nodes</text>',
    ]


def escape(text: str) -> str:
    """The text as SVG wants it. The module `html` would be imported with each session."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _short(name: str) -> str:
    """The name of a device without the replica, which is the same for all."""
    return name.replace("/replica:0", "").replace("/job:", "")
