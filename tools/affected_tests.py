"""The test files that a change can break, nearest first: by what imports what, and by the public names that tests use.

    python tools/affected_tests.py    prints them, for what has changed since this branch left main

Nothing imports C, so a change there is followed by the tests of kernels and of all ops. The tests of the project, such as those
of its folders and its documentation, follow each change. A kernel that is found by its op's name, and what happens in other
processes, are not seen: `make test` is the proof.
"""

from __future__ import annotations

import ast
import subprocess
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NATIVE = "kernels/native/src/"
NATIVE_TESTS = ("tests/kernels/**/test_*.py", "tests/graph/ops/test_table.py")
PROJECT_TESTS = "tests/project/test_*.py"


def changed(root: Path, base: str = "main") -> list[str]:
    """The files that differ from where this branch left `base`, committed or not, and the new ones."""

    def git(*arguments: str) -> list[str]:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
        return done.stdout.splitlines() if done.returncode == 0 else []

    since = (git("merge-base", "HEAD", base) or git("merge-base", "HEAD", f"origin/{base}") or ["HEAD"])[0]
    return sorted({*git("diff", "--name-only", since), *git("ls-files", "--others", "--exclude-standard")})


def imports(path: Path, module: str, names: dict[str, str]) -> Iterator[str]:
    """The modules that a file imports, and those of the public names that it uses; some of them are names in modules."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = ".".join(package.split(".")[: len(package.split(".")) - node.level + 1]) if node.level else ""
            source = ".".join(filter(None, (above, node.module)))
            yield source
            yield from (f"{source}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute) and (name := _dotted(node)) in names:
            yield names[name]


def graph(root: Path) -> dict[str, set[str]]:
    """For each file of the sources and of the tests, the files that import it."""
    tool = tomllib.loads((root / "pyproject.toml").read_text())["tool"]
    folders: dict[str, str] = tool["setuptools"]["package-dir"]
    tests = [("", folder) for folder in tool["pytest"]["ini_options"]["pythonpath"]]
    modules: dict[str, Path] = {}
    for package, folder in [*folders.items(), *tests, ("tools", "tools")]:
        for path in (root / folder).rglob("*.py"):
            parts = path.relative_to(root / folder).with_suffix("").parts
            modules[".".join(filter(None, (package, *parts))).removesuffix(".__init__")] = path
    names = dict(_public(root / "actorflow" / "index.py"))
    users: dict[str, set[str]] = defaultdict(set)
    for module, path in modules.items():
        for name in imports(path, module, names):
            if name in modules and modules[name] != path:
                users[str(modules[name].relative_to(root))].add(str(path.relative_to(root)))
    return users


def affected(root: Path, files: Iterable[str] | None = None) -> list[str]:
    """Test files that depend on `files`, or on what has changed: the nearest first."""
    users = graph(root)
    ring = dict.fromkeys(changed(root) if files is None else files)
    seen = dict(ring)
    while ring:
        ring = dict.fromkeys(user for file in ring for user in sorted(users.get(file, ())) if user not in seen)
        seen |= ring
    return [
        file for file in seen if file.startswith("tests/") and Path(file).match("test_*.py") and (root / file).exists()
    ]


def due(root: Path, files: Iterable[str] | None = None) -> list[str]:
    """Test files that belong to such a change whatever they import: those of the project, and of the kernels for one in C. None
    where nothing has changed."""
    files = list(changed(root) if files is None else files)
    patterns = [PROJECT_TESTS] if files else []
    if any(file.startswith(NATIVE) for file in files):
        patterns += NATIVE_TESTS
    return [str(path.relative_to(root)) for pattern in patterns for path in sorted(root.glob(pattern))]


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def _public(index: Path) -> Iterator[tuple[str, str]]:
    """Public names as programs write them, each with the module that it is from."""
    for node in ast.walk(ast.parse(index.read_text(encoding="utf-8"))):
        if isinstance(node, ast.AnnAssign) and node.value is not None and getattr(node.target, "id", "") == "MODULES":
            for space, modules in ast.literal_eval(node.value).items():
                for module, entries in modules.items():
                    yield from ((f"{space}.{entry.partition(':')[0]}", module) for entry in entries.split())


if __name__ == "__main__":
    print(*dict.fromkeys([*due(ROOT), *affected(ROOT)]), sep="\n")
