"""Writes the tables of public names and the stubs from the marks in the sources (see `actorflow/public.py`).

    python tools/public_names.py            writes the files that are not current
    python tools/public_names.py --check    names them, and exits with 1 if there are any

It reads the sources and imports nothing. The entry points of `pyproject.toml` are copied too, for programs that are packed
without the metadata of their packages.
"""

from __future__ import annotations

import ast
import sys
import textwrap
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from made_functions import MadeFunction, made_functions

ROOT = Path(__file__).resolve().parent.parent
CORE = Path("actorflow")
COMPAT = CORE / "compat" / "v1"
HEADER = "`make names` writes this file from the marks in the sources"

Places = dict[str, str]
"""Public names of a namespace: `module`, `module:name` where the name is another one there, `module:` for a module."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One thing that is public: `name` in `module` (the module itself for ""), under `paths`."""

    module: str
    name: str
    paths: tuple[str, ...]
    where: str


class Wrong(Exception):
    """A mark that can't be."""


# ---- reading the sources


def marks(file: Path, root: Path) -> Iterator[Mark]:
    """The marks of a source file. Raises Wrong for one on a constant that the module does not have."""
    text = file.read_text(encoding="utf-8")
    if "public(" not in text and "namespace(" not in text:
        return
    inside = file.relative_to(root)
    module = ".".join(inside.with_suffix("").parts).removesuffix(".__init__")
    body = ast.parse(text, filename=str(file)).body
    for node in body:
        where = f"{inside}:{node.lineno}"
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for decorator in node.decorator_list:
                if call := _call("public", decorator):
                    yield Mark(module, node.name, _texts(call), where)
        elif isinstance(node, ast.Expr) and (call := _call("public", node.value)):
            constants = [ast.literal_eval(keyword.value).split() for keyword in call.keywords if keyword.arg == "of"]
            for name in constants[0] if constants else [""]:
                if name and name not in _assigned(body):
                    raise Wrong(f"{where}: {module} has no constant {name}.")
                yield Mark(module, name, _texts(call), where)
        elif isinstance(node, ast.Assign) and (call := _call("namespace", node.value)):
            parent, _, name = _texts(call)[0].rpartition(".")
            if parent:
                yield Mark(module, "", (f"{parent}:{name}",), where)


def _call(function: str, node: ast.expr) -> ast.Call | None:
    """`node` if it is a call of `function`."""
    found = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.lstrip("_") == function
    return node if found else None  # type: ignore[return-value]


def _texts(call: ast.Call) -> tuple[str, ...]:
    return tuple(a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str))


def _assigned(body: list[ast.stmt]) -> set[str]:
    targets = [t for node in body if isinstance(node, ast.Assign) for t in node.targets]
    targets += [node.target for node in body if isinstance(node, ast.AnnAssign)]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def homes(root: Path) -> dict[str, str]:
    """The namespaces and the module that each one is: those of `af` say so themselves, `tf` has these and some more."""
    found = {}
    for file in sorted((root / CORE).rglob("*.py")):
        for node in ast.parse(text).body if "namespace(" in (text := file.read_text(encoding="utf-8")) else ():
            if isinstance(node, ast.Assign) and (call := _call("namespace", node.value)):
                module = ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
                found[_texts(call)[0]] = module
    compat = ".".join(COMPAT.parts)
    for node in ast.parse((root / COMPAT / "namespaces.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "OWN":
            own = ast.literal_eval(node.value)
    shared = [path.removeprefix("af.") for path in found if path.startswith("af.") and path.count(".") == 1]
    return {**found, **{f"tf.{name}": f"{compat}.{name}" for name in sorted([*shared, *own])}}


def tables(root: Path) -> dict[str, Places]:
    """The names of each namespace that marks say; those of `tf` without the ones that it shares with `af`.

    Raises:
        Wrong: an unknown namespace, one name for two things, or a name that a folder hides.
    """
    modules = homes(root)
    found: dict[str, Places] = {path: {} for path in modules}
    for path, module in modules.items():
        if path.startswith("tf."):
            found["tf"][path.removeprefix("tf.")] = f"{module}:"
    for file in sorted((root / CORE).rglob("*.py")):
        for mark in marks(file, root):
            for path in mark.paths:
                space, _, other = path.partition(":")
                name = other or mark.name
                if space not in found:
                    raise Wrong(f"{mark.where}: there is no namespace {space}; there are: {', '.join(found)}.")
                if not mark.name or name != mark.name:
                    place = f"{mark.module}:{mark.name}"
                else:
                    place = mark.module
                if found[space].setdefault(name, place) != place:
                    raise Wrong(f"{mark.where}: {space} has {name} of {found[space][name]} already.")
    for path, places in found.items():
        _check_folders(root, path, modules[path], places)
    return found


def _check_folders(root: Path, path: str, module: str, places: Places) -> None:
    """An import of `package.name` sets the attribute `name` of the package, so another thing of that name has to be there
    before: the package's own `__init__` imports it."""
    folder = root.joinpath(*module.split("."))
    if not folder.is_dir():
        return
    own = {
        alias.asname or alias.name
        for node in ast.parse((folder / "__init__.py").read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    for name, place in places.items():
        below = (folder / name).is_dir() or (folder / f"{name}.py").is_file()
        if below and place != f"{module}.{name}:" and name not in own:
            raise Wrong(f"{path}.{name} is hidden by the module {module}.{name}: let {module} itself import it.")


# ---- writing


_EXPANDED = """{
    path: {
        name: f"{module}{colon}{inner}"
        for module, names in modules.items()
        for name, colon, inner in (entry.partition(":") for entry in names.split())
    }
    for path, modules in MODULES.items()
}
"""


def table(places: dict[str, Places], summary: str) -> str:
    """The source of an index: the public names of a module in one text, as `name`, `name:inner` or `name:`."""
    lines = [f'"""{summary}: {HEADER}."""', "", "from __future__ import annotations", ""]
    lines.append("MODULES: dict[str, dict[str, str]] = {")
    for path, names in places.items():
        lines.append(f'    "{path}": {{' + ("" if names else "},"))
        modules: dict[str, list[str]] = defaultdict(list)
        for name in sorted(names):
            module, colon, inner = names[name].partition(":")
            modules[module].append(f"{name}{colon}{inner}")
        for module in sorted(modules):
            first, *rest = _wrapped(modules[module], 110 - len(module))
            rest = _wrapped(rest, 110)
            lines.append(f'        "{module}": "{first}"' + ("" if rest else ","))
            lines += [f'            " {line}"' + ("," if line is rest[-1] else "") for line in rest]
        lines += ["    },"] if names else []
    return "\n".join([*lines, "}", "", "NAMES: dict[str, dict[str, str]] = " + _EXPANDED])


def _wrapped(words: Iterable[str], width: int) -> list[str]:
    """Words in lines of a width. A longer word has a line of its own, for two halves would be two names."""
    return textwrap.wrap(" ".join(words), width, break_on_hyphens=False, break_long_words=False)


def stub(names: Places, document: str, version: bool, made: Mapping[str, MadeFunction]) -> str:
    """The stub of a namespace: each name comes from where it is defined, with its type. The functions that are `made` of
    classes are defined here."""
    imports: dict[str, list[str]] = defaultdict(list)
    for needed, module in sorted({pair for function in made.values() for pair in function.imports.items()}):
        imports[module].append(needed)
    for name, place in names.items():
        if name in made:
            continue
        module, colon, inner = place.partition(":")
        if colon and not inner:
            module, _, inner = module.rpartition(".")
        imports[module].append(f"{inner or name} as {name}")
    lines = [f"# {HEADER}.", "", f'"""{document}"""', ""] if document else [f"# {HEADER}.", ""]
    for module in sorted(imports):
        lines += [f"from {module} import {entry}" for entry in sorted(imports[module])]
    lines += ["", *(["__version__: str", ""] if version else [])]
    for name in sorted(made):
        lines += [made[name].text, ""]
    return "\n".join([*lines, "__all__ = [", *(f'    "{name}",' for name in sorted(names)), "]", ""])


def older_stub(file: Path, newer: str, names: Iterable[str]) -> str:
    """The stub of a module of 0.x: the `names` of its successor `newer`, what it renames, and what it defines itself."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    renamed: dict[str, str] = {}
    own: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            node.body = [ast.Expr(ast.Constant(...))]
            own[node.name] = ast.unparse(node)
        elif isinstance(node, ast.ImportFrom) and node.names[0].asname:
            own[node.names[0].asname] = ast.unparse(node)
        elif (
            isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "_RENAMED"
        ):
            renamed = ast.literal_eval(node.value)
    taken = {name: name for name in names if name not in own} | renamed
    typing = [n for n in tree.body if isinstance(n, ast.ImportFrom) and n.module in ("collections.abc", "typing")]
    lines = [f"# {HEADER}.", "", f'"""{ast.get_docstring(tree, clean=False)}"""', "", *map(ast.unparse, typing), ""]
    for name, there in sorted(taken.items()):
        module, _, inner = f"{newer}.{there}".rpartition(".")
        lines.append(f"from {module} import {inner} as {name}")
    return "\n".join(
        [*lines, *own.values(), "", "__all__ = [", *(f'    "{n}",' for n in sorted({*taken, *own})), "]", ""]
    )


def entry_points(root: Path) -> str:
    """The source of the copy of the entry points."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = ['"""actorflow\'s own entry points: `make names` writes this file from `pyproject.toml`."""', ""]
    lines += ["from __future__ import annotations", "", "ENTRY_POINTS: dict[str, dict[str, str]] = {"]
    for group, entries in sorted(project["entry-points"].items()):
        if group.startswith("actorflow."):
            lines += [f'    "{group}": {{', *(f'        "{n}": "{v}",' for n, v in sorted(entries.items())), "    },"]
    return "\n".join([*lines, "}", ""])


def generated(root: Path = ROOT) -> dict[Path, str]:
    """Every generated file, by its path below `root`. Raises Wrong as `tables`."""
    found, modules = tables(root), homes(root)
    mine = {path: names for path, names in found.items() if path.partition(".")[0] == "af"}
    theirs = {path: names for path, names in found.items() if path.partition(".")[0] == "tf"}
    files = {
        CORE / "index.py": table(mine, "The modules of actorflow's public names"),
        COMPAT / "index.py": table(theirs, "The modules of TensorFlow's names that actorflow does not have so"),
        CORE / "base" / "registry" / "standard.py": entry_points(root),
    }
    for path, names in found.items():
        if path.partition(".")[0] == "tf":
            names = {**mine.get("af" + path.removeprefix("tf"), {}), **names}
        home = Path(*modules[path].split("."))
        source = root / home / "__init__.py" if (root / home).is_dir() else (root / home).with_suffix(".py")
        text = source.read_text(encoding="utf-8") if source.is_file() else '""'
        document = ast.get_docstring(ast.parse(text), clean=False) or ""
        inside = source.relative_to(root).with_suffix(".pyi")
        made = {
            name: function
            for module in {place for place in names.values() if ":" not in place}
            for name, function in made_functions(root, module).items()
            if names.get(name) == module
        }
        if made and path.startswith("tf."):  # the stub of `af` has them
            names, made = {**names, **dict.fromkeys(made, modules["af" + path.removeprefix("tf")])}, {}
        files[inside] = stub(names, document, "\n__version__ = " in text, made)
    for name, place in mine["af"].items():
        if place.endswith(":") and place != f"actorflow.{name}:":
            files[CORE / f"{name}.pyi"] = f"# {HEADER}.\n\nfrom {place[:-1]} import *\n"
    older = COMPAT.parent / "v0"
    for file, newer in (("__init__.py", "actorflow.compat.v1"), ("nn.py", "actorflow.compat.v1.nn")):
        if not (root / older / file).is_file():
            continue
        space = "tf" + newer.removeprefix("actorflow.compat.v1")
        names = {**mine.get("af" + space.removeprefix("tf"), {}), **found[space]}
        files[(older / file).with_suffix(".pyi")] = older_stub(root / older / file, newer, names)
    return files


def outdated(root: Path = ROOT) -> dict[Path, str | None]:
    """The generated files that are not what they should be, and what they should be: None for one that should not be.
    Raises Wrong as `tables`."""
    wanted: dict[Path, str | None] = {**generated(root)}
    wanted.update({stale.relative_to(root): None for stale in (root / CORE).rglob("*.pyi")} | wanted)
    there = {path: (root / path).read_text(encoding="utf-8") if (root / path).is_file() else None for path in wanted}
    return {path: text for path, text in wanted.items() if text != there[path]}


def main(arguments: list[str]) -> int:
    try:
        changes = outdated()
    except Wrong as error:
        print(error, file=sys.stderr)
        return 1
    for path, text in changes.items():
        if "--check" in arguments:
            print(f"{path} is not current: make names", file=sys.stderr)
        elif text is None:
            (ROOT / path).unlink()
        else:
            (ROOT / path).write_text(text, encoding="utf-8")
            print(f"written: {path}")
    return 1 if changes and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
