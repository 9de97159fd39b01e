"""A hook for PyInstaller, which it finds through the entry point group `pyinstaller40`."""

from __future__ import annotations


def get_hook_dirs() -> list[str]:
    """The folder of `hook-actorflow.py`."""
    return list(__path__)
