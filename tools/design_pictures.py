"""Draws the pictures of docs/explanation that follow from the code: the floors, the passes, and a step.

.venv/bin/python tools/design_pictures.py           writes them between their marks in the pages
.venv/bin/python tools/design_pictures.py --check   says whether they are current
"""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
STEP = "docs/explanation/step.md"
PAGES = ("docs/explanation/design.md", "docs/explanation/graph.md", STEP)


def floors() -> str:
    """The floors of the docstring of `actorflow/__init__.py`, the lowest at the bottom, with the folders in each."""
    tower = ast.get_docstring(ast.parse((ROOT / "actorflow" / "__init__.py").read_text(encoding="utf-8"))) or ""
    names = re.findall(r"^(\w+)  +\S", tower, re.MULTILINE)
    lines = []
    for number, name in enumerate(names):
        folders = sorted(path.parent.name for path in (ROOT / "actorflow" / name).glob("*/__init__.py"))
        lines.append(f'    r{number}["{name}' + (f":<br/>{', '.join(folders)}" if folders else "") + '"]')
    arrows = [f"    r{number} --> r{number + 1}" for number in range(len(names) - 1)]
    return "\n".join(["flowchart TB", *lines, *arrows])


def passes() -> str:
    """The tuples of `actorflow.engine.passes.compile`, in the order in which they run."""
    from actorflow.engine.passes import compile as compiling

    groups = (
        ("graph", "over the whole graph", ["inline", "place", *(one.name for one in compiling.GRAPH_PASSES)]),
        ("cut", "into subgraphs of devices", ["partition", *(one.name for one in compiling.DIVIDED_PASSES)]),
        ("device", "for each device", [one.name for one in compiling.PART_PASSES]),
    )
    lines = ["flowchart LR", '    program(["nodes and a signature"]) --> graph']
    for name, title, names in groups:
        lines.append(f'    {name}["{title}:<br/>{"<br/>".join(names)}"]')
    return "\n".join([*lines, "    graph --> cut --> device", '    device --> plan(["a plan for each device"])'])


@functools.cache
def program() -> dict[str, Any]:
    """The names that the first program of the page on steps leaves behind."""
    (text, *_) = re.findall(
        r"^```python\n(.*?)^```", (ROOT / STEP).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    found: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(text, found)
    return found


def _device(name: str) -> str:
    return name.rpartition("device:")[2]


def _tensor(key: str) -> str:
    """The tensor that a Send and its Recv carry."""
    return key.rpartition(";")[2]


def plan() -> str:
    """The plans of that program: a box for each actor, with its count, and an arrow for each slot."""
    (compiled,) = program()["session"]._inner._engine.planner.plans()
    boxes, arrows, ends = [], [], {}
    for number, plan in enumerate(compiled.plans):
        for node in plan.nodes:
            name, op, key, *_ = node.label
            at = f"n{number}_{node.index}"
            title = {"_Send": f"Send {_tensor(key)}", "_Recv": f"Recv {_tensor(key)}", "": "end"}.get(op, name)
            boxes.append(
                f'    {at}["{title}<br/>on {_device(plan.device.name)}<br/>waits for {plan.pending[node.index]}"]'
            )
            if key:
                ends[op, key] = at
            arrows += [f'    {at} -- "slot {slot}" --> n{number}_{to}' for edges in node.edges for slot, to in edges]
            arrows += [f"    {at} --> n{number}_{to}" for to in node.controls]
        for tensor, (edges, _) in plan.feeds.items():
            boxes.append(f'    {tensor.node}(["{tensor.node} is fed"])')
            arrows += [f'    {tensor.node} -- "slot {slot}" --> n{number}_{to}' for slot, to in edges]
    arrows += [f'    {at} -. "token" .-> {ends["_Recv", key]}' for (op, key), at in ends.items() if op == "_Send"]
    return "\n".join(["flowchart LR", *boxes, *arrows])


def traced() -> str:
    """The notes of the trace of that program's run: kernels where they ran, and tokens as they came."""
    events = program()["trace"].events
    places = {name: f"D{number}" for number, name in enumerate(sorted({event.device for event in events}))}
    told: list[tuple[int, str]] = []
    for event in events:
        at = places[event.device]
        if event.op == "_Recv":
            told.append((event.begun, f"{at}->>{at}: Recv {_tensor(event.key)} begins"))
            source = places[event.key.partition(";")[0]]
            told.append((event.ended, f"{source}->>{at}: {_tensor(event.key)}"))
        elif event.op != "_Send":
            told.append((event.begun, f"{at}->>{at}: {event.node} runs"))
    first, last = places[events[0].device], places[events[-1].device]
    return "\n".join(
        [
            "sequenceDiagram",
            "    participant C as caller",
            *(f"    participant {at} as {_device(name)}" for name, at in places.items()),
            f"    C->>{first}: x",
            *(f"    {text}" for _, text in sorted(told)),
            f"    {last}-->>C: {events[-1].node}:0",
        ]
    )


PICTURES = {"floors": floors, "passes": passes, "plan": plan, "traced": traced}


def drawn(text: str) -> str:
    """A page with each picture as the code has it now."""

    def picture(found: re.Match[str]) -> str:
        return f"<!-- picture: {found[1]} -->\n```mermaid\n{PICTURES[found[1]]()}\n```\n<!-- end -->"

    return re.sub(r"<!-- picture: (\w+) -->.*?<!-- end -->", picture, text, flags=re.DOTALL)


def stale() -> list[str]:
    """The pages whose pictures are not current."""
    texts = {page: (ROOT / page).read_text(encoding="utf-8") for page in PAGES}
    return [page for page, text in texts.items() if drawn(text) != text]


def main(arguments: list[str]) -> int:
    """Writes the pages, or with `--check` names those that are not current."""
    found = stale()
    if "--check" in arguments:
        print(*(f"{page}: run tools/design_pictures.py" for page in found), sep="\n", end="\n" if found else "")
        return int(bool(found))
    for page in found:
        (ROOT / page).write_text(drawn((ROOT / page).read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
