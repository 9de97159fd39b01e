"""The list of packages, found from the folders so that a new one can't be forgotten, and the native library. All else is in
pyproject.toml."""

import hashlib
import os
import platform
import sys
import sysconfig
import tomllib
from pathlib import Path

from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
SOURCES = "kernels/native/src"
COMPILED = (
    "module.c",
    "functions.c",
    "tape.c",
    "pool.c",
    "share.c",
    "crc32c.c",
    "records.c",
    "examples.c",
    "simulate.c",
    "level_plain.c",
    "level_avx2.c",
    "level_avx512.c",
)
OPTIONS = [
    "-std=gnu11",
    "-O3",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",
    "-fvisibility=hidden",
    "-g0",
]
RARE = {"level_plain.c": ["-O2"]} if platform.machine() in ("x86_64", "AMD64") else {}
"""More options for some sources. Few processors of x86-64 lack AVX2: for them the library has 200 kB less of code."""
ABI = "0x030B0000"  # CPython 3.11, and all that come after it
HAS_GIL = not sysconfig.get_config_var("Py_GIL_DISABLED")
"""Builds of CPython without the GIL have no stable interface before 3.15: each has a library of its own."""


def packages() -> list[str]:
    """Each folder of the package map, and the packages below it."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found: list[str] = []
    for package, folder in config["tool"]["setuptools"]["package-dir"].items():
        found.append(package)
        found.extend(f"{package}.{below}" for below in find_packages(str(ROOT / folder)))
    return found


def digest() -> str:
    """A hash of the sources, which the library carries (`kernels/native/library.py` compares it)."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted((ROOT / SOURCES).glob("*.[ch]")))).hexdigest()[
        :16
    ]


def native() -> list[Extension]:
    """The library of kernels in C. It is optional: where it can't be compiled, numpy computes.

    `ACTORFLOW_COMPILE=none` leaves it out, for a wheel of all platforms; with `ACTORFLOW_COMPILE=required`, as for wheels
    that are published, a build without it fails.
    """
    wish = os.environ.get("ACTORFLOW_COMPILE", "")
    if wish == "none" or sys.implementation.name != "cpython" or os.name != "posix":
        return []
    try:
        import numpy
    except ImportError:  # a build without isolation, in an environment without it
        if wish == "required":
            raise
        return []
    options = [*OPTIONS, *os.environ.get("ACTORFLOW_NATIVE_FLAGS", "").split()]
    return [
        Extension(
            "actorflow.kernels.native._native",
            [f"{SOURCES}/{name}" for name in COMPILED],
            include_dirs=[numpy.get_include()],
            depends=[str(path.relative_to(ROOT)) for path in sorted((ROOT / SOURCES).glob("*.[ch]"))],
            define_macros=[*([("Py_LIMITED_API", ABI)] if HAS_GIL else []), ("ACTORFLOW_SOURCES", f'"{digest()}"')],
            extra_compile_args=options,
            extra_link_args=[option for option in options if option.startswith("-fsanitize")],
            py_limited_api=HAS_GIL,
            optional=wish != "required",
        )
    ]


class BuildLibrary(build_ext):
    """Compiles each source with the options of the library, and some with options of their own."""

    def build_extensions(self) -> None:
        compile_one = self.compiler._compile

        def with_its_options(
            obj: str, source: str, ext: str, cc_args: list[str], extra: list[str], pp: list[str]
        ) -> None:
            compile_one(obj, source, ext, cc_args, [*extra, *RARE.get(Path(source).name, [])], pp)

        self.compiler._compile = with_its_options
        super().build_extensions()


setup(
    packages=packages(),
    ext_modules=native(),
    cmdclass={"build_ext": BuildLibrary},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if HAS_GIL else {},
)
