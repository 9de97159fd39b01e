"""The list of packages, found from the folders so that a new one can't be forgotten. All else is in pyproject.toml."""

import tomllib
from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).resolve().parent


def packages() -> list[str]:
    """Each folder of the package map, and the packages below it."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found: list[str] = []
    for package, folder in config["tool"]["setuptools"]["package-dir"].items():
        found.append(package)
        found.extend(f"{package}.{below}" for below in find_packages(str(ROOT / folder)))
    return found


setup(packages=packages())
