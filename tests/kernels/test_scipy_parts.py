"""Parts of scipy are loaded without the packages around them, and are those that scipy itself uses."""

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
def test_whoever_comes_first_scipy_and_we_have_the_same_module(name: str, package: str, first: str) -> None:
    steps = [f"one = part({name!r})", f"import {package}"]
    code = "\n".join(
        [f"from {part.__module__} import part", "import sys", *(steps if first == "part" else steps[::-1])]
    )
    assert answer(f"{code}\nprint(part({name!r}) is sys.modules[{name!r}])") == "True"


def test_there_is_no_part_of_that_name() -> None:
    assert part("scipy.linalg._missing") is None
