"""Parts of scipy are loaded without the packages around them, and scipy is whole when it is imported later."""

from __future__ import annotations

import subprocess
import sys

import pytest

from actorflow.kernels.shared.scipy_parts import part

pytest.importorskip("scipy")

PARTS = {"scipy.linalg._flapack": "scipy.linalg.lapack", "scipy.sparse._sparsetools": "scipy.sparse"}


def answer(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.skipif(sys.platform == "win32", reason="there the package has to say first where its libraries are")
@pytest.mark.parametrize("name", PARTS)
def test_a_part_leaves_its_package_alone(name: str) -> None:
    code = f"from {part.__module__} import part; import sys; part({name!r}); print({name.rpartition('.')[0]!r} in sys.modules)"
    assert answer(code) == "False"


@pytest.mark.parametrize("name, package", PARTS.items())
@pytest.mark.parametrize("first", ["part", "package"])
def test_scipy_is_whole_whoever_comes_first(name: str, package: str, first: str) -> None:
    steps = [f"one = part({name!r})", f"import {package}"]
    code = "\n".join([f"from {part.__module__} import part", *(steps if first == "part" else steps[::-1])])
    package, _, own = name.rpartition(".")
    assert (
        answer(f"{code}\nprint({package}.{own}.__name__, set(dir({package}.{own})) == set(dir(one)))") == f"{name} True"
    )


def test_where_scipy_is_there_already_its_module_is_taken() -> None:
    name = "scipy.linalg._flapack"
    code = f"from {part.__module__} import part\nimport scipy.linalg.lapack, sys\n"
    assert answer(f"{code}print(part({name!r}) is sys.modules[{name!r}])") == "True"


def test_there_is_no_part_of_that_name() -> None:
    assert part("scipy.linalg._missing") is None
