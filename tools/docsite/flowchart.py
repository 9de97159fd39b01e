"""`flowchart_svg`: a picture in SVG of a Mermaid flowchart, drawn without a browser.

The pages keep their pictures as Mermaid, which readers of the repository see drawn. The site draws the same text itself: nodes in
layers by their longest path, edges as curves through the layers between. It knows the part of the language that the pages use.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise

CHARACTER = 7.3  # the width of a character of 13 px, in px
LINE = 18
PAD = 12
GAP_ALONG, GAP_ACROSS = 46, 18
WIDEST = 780
"""A picture that would be wider goes downwards instead: a page is some 700 px wide, and letters stay readable."""


@dataclass(slots=True)
class Node:
    """A box: its lines of text, whether it is round, and where it is.

    `along` is the axis of the arrows, `across` the other one; both are of the centre.
    """

    lines: list[str]
    round: bool = False
    layer: int = 0
    along: float = 0.0
    across: float = 0.0
    dummy: bool = False
    reserved: float = 0.0  # the room that labels beside it need across

    @property
    def width(self) -> float:
        longest = max(map(len, self.lines))
        return longest * CHARACTER + (2 * PAD if not self.dummy else 8 if longest else 0)

    @property
    def height(self) -> float:
        return len(self.lines) * LINE + 2 * PAD - 6 if not self.dummy else LINE if self.lines[0] else 0.0


@dataclass(frozen=True, slots=True)
class Edge:
    """An arrow, with a label or without."""

    source: str
    target: str
    label: str = ""
    dashed: bool = False


@dataclass(slots=True)
class Flowchart:
    """The contents of a text of Mermaid."""

    down: bool
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    groups: dict[str, list[str]] = field(default_factory=dict)


_NODE = re.compile(r"\s*(\w+)(\(\[\"(.*?)\"\]\)|\[\"(.*?)\"\])?\s*")
_ARROW = re.compile(r"(?:--\s*\"(?P<solid>.*?)\"\s*-->|-\.\s*\"(?P<dotted>.*?)\"\s*\.->|(?P<plain>-->))")


def parse(text: str) -> Flowchart:
    """Reads a flowchart.

    Raises:
        ValueError: if the text has what this module does not know; it names the line.
    """
    first, *lines = [line.strip() for line in text.strip().splitlines()]
    head = re.fullmatch(r"flowchart (LR|TB|TD)", first)
    if head is None:
        raise ValueError(f"This is not the head of a flowchart: {first}")
    chart, group = Flowchart(head[1] != "LR"), ""
    for line in lines:
        begin = re.fullmatch(r"subgraph \w+\[\"(.*)\"\]", line)
        if begin:
            group = begin[1]
            chart.groups[group] = []
        elif line == "end":
            group = ""
        elif line:
            _statement(chart, line, group)
    return chart


def _statement(chart: Flowchart, line: str, group: str) -> None:
    at, previous, arrow = 0, "", None
    while at < len(line):
        node = _NODE.match(line, at)
        if node is None:
            raise ValueError(f"This is not a node: {line[at:]!r} in {line!r}")
        name, label = node[1], node[3] or node[4]
        known = chart.nodes.setdefault(name, Node([name]))
        if label:
            known.lines, known.round = re.split(r"<br/?>", label), node[3] is not None
        if group and all(name not in members for members in chart.groups.values()):
            chart.groups[group].append(name)
        if arrow is not None:
            text = arrow["solid"] or arrow["dotted"] or ""
            chart.edges.append(Edge(previous, name, text, arrow["dotted"] is not None))
        previous, at = name, node.end()
        if at < len(line):
            arrow = _ARROW.match(line, at)
            if arrow is None:
                raise ValueError(f"This is not an arrow: {line[at:]!r} in {line!r}")
            at = arrow.end()


# ---- the layout


def _backward(chart: Flowchart) -> set[Edge]:
    """The edges that close a cycle, seen from the first node on."""
    after: defaultdict[str, list[Edge]] = defaultdict(list)
    for edge in chart.edges:
        after[edge.source].append(edge)
    state: dict[str, int] = {}
    found: set[Edge] = set()

    def visit(name: str) -> None:
        state[name] = 1
        for edge in after[name]:
            if state.get(edge.target) == 1:
                found.add(edge)
            elif edge.target not in state:
                visit(edge.target)
        state[name] = 2

    for name in chart.nodes:
        if name not in state:
            visit(name)
    return found


def _layers(chart: Flowchart, forward: Iterable[tuple[str, str]]) -> None:
    """Each node one layer behind the last of those that lead to it; sources stand just before what they lead to."""
    pairs = list(forward)
    for _ in chart.nodes:
        for source, target in pairs:
            chart.nodes[target].layer = max(chart.nodes[target].layer, chart.nodes[source].layer + 1)
    entered = {target for _, target in pairs}
    for name, node in chart.nodes.items():
        after = [chart.nodes[target].layer for source, target in pairs if source == name]
        if name not in entered and after:
            node.layer = min(after) - 1


def layout(chart: Flowchart) -> list[tuple[Edge, list[str]]]:
    """Gives each node its place, and each edge the nodes through which it goes (with dummies in the layers between)."""
    backward = _backward(chart)
    forward = [(e.target, e.source) if e in backward else (e.source, e.target) for e in chart.edges]
    _layers(chart, forward)
    ways: list[tuple[Edge, list[str]]] = []
    for number, (edge, (source, target)) in enumerate(zip(chart.edges, forward, strict=True)):
        first, last = chart.nodes[source].layer, chart.nodes[target].layer
        between = [f"~{number}.{layer}" for layer in range(first + 1, last)]
        for place, (name, layer) in enumerate(zip(between, range(first + 1, last), strict=True)):
            label = edge.label if place == len(between) // 2 else ""  # there it is written, beside all boxes
            chart.nodes[name] = Node([label], dummy=True, layer=layer)
        way = [source, *between, target]
        ways.append((edge, way[::-1] if edge in backward else way))
    for edge, way in ways:
        if edge.label and len(way) == 2 and _beside(chart, edge) != "middle":
            near = chart.nodes[edge.target if _beside(chart, edge) == "target" else edge.source]
            near.reserved = max(near.reserved, len(edge.label) * CHARACTER if chart.down else 0.0)
    pairs = [pair for _, way in ways for pair in pairwise(way)]
    neighbours: defaultdict[str, list[str]] = defaultdict(list)
    for one, other in pairs:
        neighbours[one].append(other)
        neighbours[other].append(one)
    rows: defaultdict[int, list[str]] = defaultdict(list)
    for name, node in chart.nodes.items():
        rows[node.layer].append(name)
    _order(rows, neighbours)
    _across(chart, rows, neighbours)
    _along(chart, rows, ways)
    return ways


def _beside(chart: Flowchart, edge: Edge) -> str:
    """The end of an edge at which its label stands: the one where no other edge ends, or the middle."""
    if sum(other.source == edge.source for other in chart.edges) > 1:
        return "target"
    return "source" if sum(other.target == edge.target for other in chart.edges) > 1 else "middle"


def _order(rows: dict[int, list[str]], neighbours: dict[str, list[str]]) -> None:
    """Sorts each layer by the middle of its neighbours, there and back, so that few edges cross."""
    for turn in range(8):
        for layer in sorted(rows, reverse=bool(turn % 2)):
            beside = layer + (1 if turn % 2 else -1)
            place = {name: number for number, name in enumerate(rows.get(beside, []))}

            def middle(name: str, place: dict[str, int] = place, row: tuple[str, ...] = tuple(rows[layer])) -> float:
                found = [place[other] for other in neighbours[name] if other in place]
                return sum(found) / len(found) if found else row.index(name)

            rows[layer].sort(key=middle)


def _size_across(chart: Flowchart, name: str) -> float:
    node = chart.nodes[name]
    return max(node.width if chart.down else node.height, node.reserved)


def _across(chart: Flowchart, rows: dict[int, list[str]], neighbours: dict[str, list[str]]) -> None:
    """Places the nodes of a layer near their neighbours, in their order and with gaps."""
    for row in rows.values():
        at = 0.0
        for name in row:
            size = _size_across(chart, name)
            chart.nodes[name].across = at + size / 2
            at += size + GAP_ACROSS
    for turn in range(24):
        for layer in sorted(rows, reverse=bool(turn % 2)):
            row = rows[layer]
            wanted = []
            for name in row:
                near = [chart.nodes[other].across for other in neighbours[name]]
                wanted.append(sum(near) / len(near) if near else chart.nodes[name].across)
            for name, at in zip(row, _apart(wanted, [_size_across(chart, name) for name in row]), strict=True):
                chart.nodes[name].across = at


def _apart(wanted: list[float], sizes: list[float]) -> list[float]:
    """The places nearest to the wanted ones that keep the order and the gaps: blocks that touch share their mean."""
    offsets = [0.0]
    for one, other in pairwise(sizes):
        offsets.append(offsets[-1] + (one + other) / 2 + GAP_ACROSS)
    blocks: list[tuple[float, int]] = []  # the mean of the places without their offsets, and how many
    for at, offset in zip(wanted, offsets, strict=True):
        blocks.append((at - offset, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (a, m), (b, n) = blocks[-2:]
            blocks[-2:] = [((a * m + b * n) / (m + n), m + n)]
    means = [mean for mean, count in blocks for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]


def _along(chart: Flowchart, rows: dict[int, list[str]], ways: list[tuple[Edge, list[str]]]) -> None:
    """Places the layers one behind the other; labels of edges make the gap before a layer as wide as they are."""
    labels: defaultdict[int, float] = defaultdict(float)
    for edge, way in ways:
        if edge.label and len(way) == 2:
            layer = max(chart.nodes[way[0]].layer, chart.nodes[way[1]].layer)
            labels[layer] = 52.0 if chart.down else max(labels[layer], len(edge.label) * CHARACTER * 0.9 + 24)
    at = 0.0
    for layer in sorted(rows):
        sizes = [chart.nodes[n].height if chart.down else chart.nodes[n].width for n in rows[layer]]
        at += max(GAP_ALONG - 10 * chart.down, labels[layer]) if layer > min(rows) else 0.0
        for name in rows[layer]:
            chart.nodes[name].along = at + max(sizes) / 2
        at += max(sizes)


# ---- the drawing


def flowchart_svg(text: str, title: str = "") -> str:
    """The picture of a flowchart.

    Args:
        text: the flowchart, in Mermaid's language.
        title: what the picture is called for those who do not see it.

    Raises:
        ValueError: if the text has what this module does not know.
    """
    chart = parse(text)
    ways = layout(chart)
    if not chart.down and max(node.along for node in chart.nodes.values()) > WIDEST:
        chart = parse(text)
        chart.down = True
        ways = layout(chart)
    place = {
        name: (node.across, node.along) if chart.down else (node.along, node.across)
        for name, node in chart.nodes.items()
    }
    drawn = [_group(chart, place, name, members) for name, members in chart.groups.items()]
    drawn += [_edge(chart, place, way, edge.dashed) for edge, way in ways]
    drawn += [_box(node, *place[name]) for name, node in chart.nodes.items() if not node.dummy]
    drawn += [_label(chart, place, edge, way) for edge, way in ways if edge.label]
    boxes = [(x, y, n.width / 2, n.height / 2) for n, (x, y) in ((n, place[k]) for k, n in chart.nodes.items())]
    margin = 26 if chart.groups else 8
    left, top = min(x - w for x, _, w, _ in boxes) - margin, min(y - h for _, y, _, h in boxes) - margin
    right, bottom = max(x + w for x, _, w, _ in boxes) + margin, max(y + h for _, y, _, h in boxes) + margin
    return svg(drawn, (left, top, right - left, bottom - top), title)


def svg(drawn: list[str], box: tuple[float, float, float, float], title: str) -> str:
    """The whole of a picture: its parts, and the part of the plane that it shows."""
    view = " ".join(f"{value:.0f}" for value in box)
    head = f'<svg class="picture" xmlns="http://www.w3.org/2000/svg" viewBox="{view}" role="img"'
    head += f' style="max-width: {box[2]:.0f}px" aria-label="{escape(title)}">'
    return "\n".join([head, *drawn, "</svg>"])


def _box(node: Node, x: float, y: float) -> str:
    w, h = node.width, node.height
    radius = h / 2 if node.round else 5
    top = y - (len(node.lines) - 1) * LINE / 2
    lines = [
        f'<text x="{x:.1f}" y="{top + number * LINE:.1f}">{escape(line)}</text>'
        for number, line in enumerate(node.lines)
    ]
    rect = f'<rect x="{x - w / 2:.1f}" y="{y - h / 2:.1f}" width="{w:.1f}" height="{h:.1f}" rx="{radius:.0f}"/>'
    return f'<g class="box">{rect}{"".join(lines)}</g>'


def _group(chart: Flowchart, place: dict[str, tuple[float, float]], title: str, members: list[str]) -> str:
    boxes = [(*place[name], chart.nodes[name].width / 2, chart.nodes[name].height / 2) for name in members]
    left, top = min(x - w for x, _, w, _ in boxes) - 14, min(y - h for _, y, _, h in boxes) - 24
    right, bottom = max(x + w for x, _, w, _ in boxes) + 14, max(y + h for _, y, _, h in boxes) + 14
    rect = f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}" rx="8"/>'
    return f'<g class="group">{rect}<text x="{left + 10:.1f}" y="{top + 12:.1f}">{escape(title)}</text></g>'


def _edge(chart: Flowchart, place: dict[str, tuple[float, float]], way: list[str], dashed: bool) -> str:
    """A curve from the border of one box to that of another, with an arrowhead."""
    points = [place[name] for name in way]
    half = [(chart.nodes[n].height if chart.down else chart.nodes[n].width) / 2 for n in way]
    sign = 1 if chart.nodes[way[-1]].layer >= chart.nodes[way[0]].layer else -1

    def shifted(point: tuple[float, float], by: float) -> tuple[float, float]:
        return (point[0], point[1] + by) if chart.down else (point[0] + by, point[1])

    points[0], points[-1] = shifted(points[0], sign * half[0]), shifted(points[-1], -sign * (half[-1] + 7))
    path = f"M{points[0][0]:.1f},{points[0][1]:.1f}"
    for (x, y), (u, v) in pairwise(points):
        if chart.down:
            path += f" C{x:.1f},{(y + v) / 2:.1f} {u:.1f},{(y + v) / 2:.1f} {u:.1f},{v:.1f}"
        else:
            path += f" C{(x + u) / 2:.1f},{y:.1f} {(x + u) / 2:.1f},{v:.1f} {u:.1f},{v:.1f}"
    style = ' class="dashed"' if dashed else ""
    head = arrowhead(*points[-1], *((0, sign) if chart.down else (sign, 0)))
    return f'<g class="edge"><path d="{path}"{style}/>{head}</g>'


def _label(chart: Flowchart, place: dict[str, tuple[float, float]], edge: Edge, way: list[str]) -> str:
    """The label of an edge: between its boxes, or in the gap that was left for it where it passes other boxes."""
    if len(way) == 2:
        (x, y), (u, v) = place[edge.source], place[edge.target]
        one, other = chart.nodes[edge.source], chart.nodes[edge.target]
        near = _beside(chart, edge)
        if chart.down:
            sign = 1 if v > y else -1
            y, v = y + sign * one.height / 2, v - sign * other.height / 2
            x = {"target": u, "source": x, "middle": (x + u) / 2}[near]
            y = {"target": v - sign * 17, "source": y + sign * 12, "middle": (y + v) / 2 - 3}[near]
        else:
            sign = 1 if u > x else -1
            x, u = x + sign * one.width / 2, u - sign * other.width / 2
            y = {"target": v, "source": y, "middle": (y + v) / 2}[near]
            x = (x + u) / 2 - 3 * sign
    else:
        named = [name for name in way if name.startswith("~")]
        x, y = place[min(named, key=lambda name: abs(named.index(name) - len(named) // 2))]
    return f'<g class="edge"><text x="{x:.1f}" y="{y:.1f}">{escape(edge.label)}</text></g>'


def arrowhead(x: float, y: float, dx: float, dy: float) -> str:
    """The head of an arrow whose line ends 7 px before the tip, in a direction along an axis."""
    tip = (x + 7 * dx, y + 7 * dy)
    one, other = (x - 4 * dy, y - 4 * dx), (x + 4 * dy, y + 4 * dx)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in (tip, one, other))
    return f'<polygon points="{points}"/>'
