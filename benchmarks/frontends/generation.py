"""Tokens a second of the small GPT of `examples/gpt.py`, and 32 streams of mixed lengths: continuous against static batches.

Eight requests run at a time. In static batches the next eight begin when all of the eight before have ended; in continuous
batches each begins when another ends. Both are measured in turns, in one process. The weights are not trained: the work is
the same.
"""

from __future__ import annotations

import asyncio
import importlib.util
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.definitions import Figure, Measurement, Options
from benchmarks.harness.environment import ROOT
from benchmarks.harness.sides import our_library

_STREAMS, _AT_ONCE, _PROMPT, _LONGEST = 32, 8, 8, 100


def _example() -> Any:
    spec = importlib.util.spec_from_file_location("gpt_example", ROOT / "examples" / "gpt.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["gpt_example"] = module
    spec.loader.exec_module(module)
    return module


async def _written(af: Any, path: Path) -> None:
    """The network with the weights of its begin."""
    gpt, graph = _example(), af.Graph()
    with graph.as_default():
        af.set_random_seed(1)
        decoding = gpt.decoding_of(gpt.Sizes(96))
        initialize = af.global_variables_initializer()
    async with af.Session(graph=graph) as session:
        await session.run(initialize)
        await af.generation.save(session, path, decoding)


async def _run(model: Any, counts: Sequence[int]) -> float:
    """Tokens a second of requests that begin together."""
    prompts = [[(7 * number + place) % 96 for place in range(_PROMPT)] for number in range(len(counts))]
    begun = time.perf_counter()
    await asyncio.gather(
        *[model.generate(p, max_tokens=count, seed=count).whole() for p, count in zip(prompts, counts)]
    )
    return sum(counts) / (time.perf_counter() - begun)


async def _static(model: Any, counts: Sequence[int]) -> float:
    begun = time.perf_counter()
    for at in range(0, len(counts), _AT_ONCE):
        await _run(model, counts[at : at + _AT_ONCE])
    return sum(counts) / (time.perf_counter() - begun)


async def _ours(options: Options) -> Mapping[str, float]:
    af = our_library()
    drawn = np.random.default_rng(0).exponential(25.0, _STREAMS)
    mixed = [int(count) for count in np.clip(drawn, 2, _LONGEST)]
    figures: dict[str, list[float]] = {"single": [], "many": [], "continuous": [], "static": [], "gain": []}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "gpt"
        await _written(af, path)
        limits = af.generation.Limits(max_running=_AT_ONCE)
        async with af.generation.Model(path) as model, af.generation.Model(path, limits=limits) as few:
            for turn in range(options.rounds + 1):
                values = {
                    "single": await _run(model, [_LONGEST]),
                    "many": await _run(model, [_LONGEST] * _STREAMS),
                    "continuous": await _run(few, mixed),
                    "static": await _static(few, mixed),
                }
                if turn:  # the first makes plans
                    for name, value in values.items():
                        figures[name].append(value)
                    figures["gain"].append(values["continuous"] / values["static"])
    return {name: statistics.median(values) for name, values in figures.items()}


BENCHMARKS = (
    Measurement(
        "generation",
        ours=_ours,
        figures=(
            Figure("single", "tokens a second, one stream", "1/s"),
            Figure("many", "tokens a second, 32 streams", "1/s"),
            Figure("continuous", "32 streams of mixed lengths, 8 at a time, as places are free", "1/s"),
            Figure("static", "the same, in batches that end together", "1/s"),
            Figure("gain", "continuous by static batches", "×"),
        ),
    ),
)
