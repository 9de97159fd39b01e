"""Failures in generation end the requests that they concern; models and pools that do not fit are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from frontends.generation.generating import CONTEXT, VOCABULARY, ids, network, write_letters
from patience import PATIENCE

import actorflow as af
from actorflow import errors


async def write_choosing(path: Path, logits_of: Any) -> Path:
    """A model of four bare tokens."""
    graph = af.Graph()
    with graph.as_default():
        decoding = af.generation.Decoding(32, 4, block_size=4, blocks=16)
        decoding.choose(decoding.last(logits_of(decoding.tokens)))
    async with af.Session(graph=graph) as session:
        await af.generation.save(session, path, decoding)
    return path


def without_numbers_at_three(tokens: Any) -> Any:
    rows = np.eye(4, dtype=np.float32)
    rows[3] = [0, np.nan, 0, 0]
    return af.gather(af.constant(rows), tokens)


@pytest.mark.parametrize("temperature", [0.0, 1e-3])
async def test_logits_that_are_no_numbers_end_their_request_alone(temperature: float, tmp_path: Path) -> None:
    async with af.generation.Model(await write_choosing(tmp_path / "bad", without_numbers_at_three)) as model:
        streams = [model.generate([token], max_tokens=9, temperature=temperature) for token in (1, 3, 2)]
        with pytest.raises(errors.InvalidArgumentError, match="No token can be chosen"):
            await streams[1].whole()
        assert ids(await streams[0].whole()) == [1] * 9
        assert ids(await streams[2].whole()) == [2] * 9
        assert model.statistics()["free_blocks"] == 16


async def test_a_failed_step_ends_its_requests_and_no_others(tmp_path: Path) -> None:
    def logits_of(tokens: Any) -> Any:
        return af.gather(af.constant(np.eye(4, dtype=np.float32)[:3]), tokens)

    async with af.generation.Model(await write_choosing(tmp_path / "bad", logits_of)) as model:
        with pytest.raises(errors.InvalidArgumentError):
            await model.generate([3], max_tokens=2, temperature=0.0).whole()
        assert ids(await model.generate([2], max_tokens=2, temperature=0.0).whole()) == [2, 2]
        assert model.statistics()["free_blocks"] == 16


@pytest.mark.parametrize("method", ["step", "advance", "late"])
async def test_a_fault_outside_of_the_graph_ends_the_requests_and_later_ones_are_served(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise KeyError(method)

    async with af.generation.Model(await write_letters(tmp_path / "letters")) as model:
        with anyio.fail_after(PATIENCE):
            with monkeypatch.context() as patch:
                patch.setattr(model.engine.scheduler, method, fails)
                streams = [model.generate("a", max_tokens=40) for _ in range(3)]
                for stream in streams:
                    with pytest.raises(errors.InternalError, match=method):
                        await stream.whole()
            assert len(ids(await model.generate("a", max_tokens=3).whole())) == 3
        assert model.statistics()["free_blocks"] == 64


async def test_outputs_that_show_the_caches_are_refused(tmp_path: Path) -> None:
    graph = af.Graph()
    with graph.as_default():
        decoding = af.generation.Decoding(CONTEXT, VOCABULARY)
        logits = network(decoding.tokens, decoding.places, decoding.attention)
        decoding.choose(decoding.last(logits))
        with af.control_dependencies([logits]):
            behind = af.constant(1.0) + 1.0
        shown = {"rows": logits, "a cache": decoding.caches[0] + 0.0, "written by": behind}
        init = af.global_variables_initializer()
    async with af.Session(graph=graph) as session:
        await session.run(init)
        for name, tensor in shown.items():
            with pytest.raises(errors.InvalidArgumentError, match=f"output '{name}' depends on the caches"):
                await af.generation.save(
                    session, tmp_path / "shown", decoding, inputs=decoding.inputs, outputs={name: tensor}
                )
    assert not (tmp_path / "shown").exists()


@pytest.mark.parametrize("blocks", [0, -1])
async def test_a_pool_without_blocks_is_refused(blocks: int, tmp_path: Path) -> None:
    model = af.generation.Model(await write_letters(tmp_path / "letters"), blocks=blocks)
    with pytest.raises(errors.InvalidArgumentError, match=f"a block at least, not {blocks}"):
        await model.__aenter__()


@pytest.mark.parametrize("name", ["temperature", "top_p"])
@pytest.mark.parametrize("value", [10**400, -(10**400), 1e39, float("inf")])
def test_rules_are_numbers_of_float32(name: str, value: float) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=f"The {name} is a number"):
        af.generation.Rules(**{name: value})  # type: ignore[arg-type]
