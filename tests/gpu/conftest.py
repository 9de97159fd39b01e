"""Tests that need a GPU: skipped, with the reason, where there is none. `make test-gpu` runs them (docs/guides/gpu.md)."""

from __future__ import annotations

import functools
import os

import pytest


@functools.cache
def missing() -> str:
    """Why there is no GPU to test on; empty where there is one."""
    try:
        import cupy
    except ImportError as error:
        return f"no CuPy: {error}"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"no GPU: {error}"
    return "" if count else "no GPU"


@pytest.fixture(autouse=True, scope="session")
def a_gpu() -> None:
    """Skips where there is none; fails instead where `ACTORFLOW_GPU=required`, as `make test-gpu` has it."""
    reason = missing()
    if reason and os.environ.get("ACTORFLOW_GPU") == "required":
        pytest.fail(reason, pytrace=False)
    if reason:
        pytest.skip(reason)
