"""Ops that the table can't test, because they have an effect or draw random numbers, and the test that covers each."""

from __future__ import annotations

COVERED_ELSEWHERE: dict[str, str] = {}
