"""The folders of the core are the floors of a tower: each imports from its own floor and from lower ones.

The docstring of `actorflow/__init__.py` has the tower. All imports count: those within functions, and those for type checkers.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from actorflow.index import NAMES

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import affected_tests  # noqa: E402

CORE = ROOT / "actorflow"
TOWER = re.findall(
    r"^(\w+)  +\S", ast.get_docstring(ast.parse((CORE / "__init__.py").read_text(encoding="utf-8"))) or "", re.MULTILINE
)
"""The floors, the lowest last."""

GROUND = {"errors", "pending_calls", "public", "index", "suggest"}
"""The modules beside the floors that all floors import. The others are faces: they name what lies in the floors."""


def imports(path: Path) -> Iterator[str]:
    """The modules that a source file imports, wherever the imports stand, by their places in the tree."""
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    return map(_home, affected_tests.imports(path, module, {}))


def _home(name: str) -> str:
    """The place of what a program may import as `actorflow.data`."""
    top, _, inner = name.removeprefix("actorflow.").partition(".")
    if not name.startswith("actorflow."):
        return name
    place, face = NAMES["af"].get(top, ""), NAMES.get(f"af.{top}", {})
    if inner in face:
        return face[inner]
    return f"{place[:-1]}.{inner}" if place.endswith(":") else name


def floor_of(module: str) -> str | None:
    """The floor that a module lies in: None for what lies beside the floors, or outside."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[0] == "actorflow" and parts[1] in TOWER else None


def arrows() -> dict[tuple[str, str], list[str]]:
    """For each two floors, of which the first imports the second, the files that do."""
    files: dict[tuple[str, str], list[str]] = {}
    for path in sorted(CORE.rglob("*.py")):
        above = floor_of(".".join(path.relative_to(ROOT).with_suffix("").parts))
        for module in imports(path):
            below = floor_of(module)
            if above and below and above != below:
                files.setdefault((above, below), []).append(f"{path.relative_to(ROOT)}: {module}")
    return files


ARROWS = arrows()


def test_the_tower_has_each_folder() -> None:
    assert sorted(TOWER) == sorted(path.parent.name for path in CORE.glob("*/__init__.py"))
    assert len(TOWER) <= 10


@pytest.mark.parametrize("arrow", sorted(ARROWS), ids="-".join)
def test_imports_go_down(arrow: tuple[str, str]) -> None:
    above, below = arrow
    assert TOWER.index(above) < TOWER.index(below), f"{above} imports {below}:\n" + "\n".join(ARROWS[arrow])


def test_the_ground_imports_no_floor() -> None:
    upward = [
        f"{name}: {module}" for name in sorted(GROUND) for module in imports(CORE / f"{name}.py") if floor_of(module)
    ]
    assert not upward


PARTS = ("actorflow", "kernels", "transports", "devices", "checkpoint")
FOLDERS = sorted({path.parent for part in PARTS for path in (ROOT / part).rglob("*.py")})
MAP_ENTRY = re.compile(r"^(\w+(?:\.py|/))  +", re.MULTILINE)
LARGER = {
    "actorflow": "the faces of public names, and what is below all packages",
}


@pytest.mark.parametrize("folder", [pytest.param(f, id=f.relative_to(ROOT).as_posix()) for f in FOLDERS])
def test_a_folder_has_at_most_fourteen_files_and_its_map_names_each(folder: Path) -> None:
    files = sorted(path.name for path in folder.glob("*.py"))
    name = folder.relative_to(ROOT).as_posix()
    assert "__init__.py" in files
    assert len(files) <= 14 or name in LARGER, f"{len(files)} files"
    document = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    if len(files) > 4 and name not in LARGER:
        missing = [file for file in files if file not in ("__init__.py", "__main__.py") and file not in document]
        assert not missing, f"the map in {name}/__init__.py lacks {', '.join(missing)}"
    gone = [entry for entry in MAP_ENTRY.findall(document) if not (folder / entry).exists()]
    assert not gone, f"the map in {name}/__init__.py names {', '.join(gone)}"
