"""Draws the pictures of docs/explanation that follow from the code: the order of the packages, and the passes.

.venv/bin/python tools/design_pictures.py           writes them between their marks in the pages
.venv/bin/python tools/design_pictures.py --check   says whether they are current
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("docs/explanation/design.md", "docs/explanation/graph.md")


def packages() -> str:
    """The rows of `ORDER` in tests/project/test_package_order.py, the lowest at the bottom."""
    tree = ast.parse((ROOT / "tests" / "project" / "test_package_order.py").read_text(encoding="utf-8"))
    (order,) = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "ORDER"
    )
    rows = [("errors", "dtypes", "shapes"), *order]
    lines = [f'    r{number}["{", ".join(row)}"]' for number, row in enumerate(rows)]
    arrows = [f"    r{number + 1} --> r{number}" for number in range(len(rows) - 1)]
    return "\n".join(["flowchart TB", *reversed(lines), *reversed(arrows)])


def passes() -> str:
    """The tuples of `actorflow.passes.compile`, in the order in which they run."""
    from actorflow.passes import compile as compiling

    groups = (
        ("graph", "over the whole graph", ["inline", "place", *(one.name for one in compiling.GRAPH_PASSES)]),
        ("cut", "into subgraphs of devices", ["partition", *(one.name for one in compiling.DIVIDED_PASSES)]),
        ("device", "for each device", [one.name for one in compiling.PART_PASSES]),
    )
    lines = ["flowchart LR", '    program(["nodes and a signature"]) --> graph']
    for name, title, names in groups:
        lines.append(f'    {name}["{title}:<br/>{"<br/>".join(names)}"]')
    return "\n".join([*lines, "    graph --> cut --> device", '    device --> plan(["a plan for each device"])'])


PICTURES = {"packages": packages, "passes": passes}


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
