"""Generation in process: caches, batches whose requests come and go, rules, and what happens to the blocks."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from frontends.generation.generating import (
    CONTEXT,
    greedy_without_cache,
    ids,
    write_attention,
    write_letters,
    write_recurrent,
)
from patience import PATIENCE

import actorflow as af
from actorflow import errors

PROMPT = "the block"


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    return await write_attention(tmp_path / "attention")


@pytest.fixture
async def model(path: Path) -> AsyncIterator[Any]:
    async with af.generation.Model(path) as opened:
        yield opened
        assert opened.statistics()["free_blocks"] == opened.statistics()["blocks"]


async def test_a_cache_gives_what_the_whole_attention_gives(path: Path) -> None:
    prompt, count = list(PROMPT.encode()), CONTEXT - len(PROMPT)
    expected = await greedy_without_cache(path, prompt, count)
    for limits in (af.generation.Limits(), af.generation.Limits(max_running=2, max_step_tokens=2)):
        async with af.generation.Model(path, limits=limits) as model:
            stream = model.generate(prompt, max_tokens=count, temperature=0.0)
            assert ids(await stream.whole()) == expected
            assert stream.reason == "length"


async def test_tokens_do_not_depend_on_the_other_requests(model: Any) -> None:
    def generate(number: int) -> Any:
        options = {"temperature": 1.5, "seed": number, "max_tokens": 5 + number % 20}
        rules = [{}, {"top_k": 5}, {"top_p": 0.8}, {"top_k": 9, "top_p": 0.5}][number % 4]
        return model.generate(PROMPT[: 1 + number % 9], **options, **rules)

    alone = [await generate(number).whole() for number in range(40)]
    together = await asyncio.gather(*[generate(number).whole() for number in range(40)])
    assert together == alone
    assert len({tuple(ids(tokens)) for tokens in alone}) > 30, "seeds tell requests apart"


async def test_requests_join_and_leave_between_steps(model: Any) -> None:
    long = model.generate(PROMPT, max_tokens=30)
    await anext(long)
    short = model.generate(PROMPT, max_tokens=3)
    assert len(ids(await short.whole())) == 3
    assert long.reason == "", "the short request has ended before the long"
    assert len(ids(await long.whole())) == 29


async def test_a_recurrent_state_is_kept_by_its_request(tmp_path: Path) -> None:
    async with af.generation.Model(await write_recurrent(tmp_path / "sums")) as model:
        prompts = [[1, 2, 3], [100, 7], [9] * 11, [250]]
        answers = await asyncio.gather(*[model.generate(p, max_tokens=6, temperature=0.0).whole() for p in prompts * 3])
        for prompt, answer in zip(prompts * 3, answers):
            total, expected = sum(prompt), []
            for _ in range(6):
                expected.append(total % 251)
                total += expected[-1]
            assert ids(answer) == expected


async def test_stops(tmp_path: Path) -> None:
    async with af.generation.Model(await write_letters(tmp_path / "letters")) as model:

        async def said(**options: Any) -> tuple[str, str]:
            stream = model.generate("a", temperature=0.0, **options)
            return "".join([token.text for token in await stream.whole()]), stream.reason

        assert await said(max_tokens=4) == ("bcde", "length")
        assert await said(max_tokens=9, stop_tokens=frozenset({ord("e")})) == ("bcd", "stop")
        assert await said(max_tokens=20, stop=["xx", "fgh"]) == ("bcde", "stop")
        assert await said(max_tokens=4, stop=["efg"]) == ("bcde", "length"), "what was held back comes at the end"
        assert await said(max_tokens=9, stop=["hi", "d"]) == ("bc", "stop")


async def test_the_text_of_letters_of_several_bytes(tmp_path: Path) -> None:
    async with af.generation.Model(await write_letters(tmp_path / "letters")) as model:
        prompt = [0xC3, 0xA8]  # the bytes behind are a9, aa, ...: no letters by themselves
        tokens = await model.generate(prompt, max_tokens=3, temperature=0.0).whole()
        assert ids(tokens) == [0xA9, 0xAA, 0xAB]
        assert "".join(token.text for token in tokens) == "\ufffd" * 3


LEAVING: dict[str, Any] = {}


def leaving(function: Any) -> Any:
    LEAVING[function.__name__] = function
    return function


@leaving
async def breaks_off(stream: Any) -> None:
    async for _ in stream:
        break


@leaving
async def is_cancelled(stream: Any) -> None:
    with anyio.CancelScope() as scope:
        async for _ in stream:
            scope.cancel()


@leaving
async def closes(stream: Any) -> None:
    async with stream:
        await anext(stream)


@leaving
async def never_reads(stream: Any) -> None:
    await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("way", LEAVING)
async def test_a_reader_that_leaves_frees_its_blocks_at_once(way: str, tmp_path: Path) -> None:
    async with af.generation.Model(await write_letters(tmp_path / "letters")) as model:
        stays = model.generate("a", max_tokens=60, temperature=0.0)
        stream = model.generate("a", max_tokens=300)
        await LEAVING[way](stream)
        del stream
        gc.collect()
        await anyio.lowlevel.checkpoint()  # a stream that is let go ends in the next turn of the loop
        assert model.statistics()["running"] + model.statistics()["queued"] <= 1
        assert len(ids(await stays.whole())) == 60, "the other request goes on"
        assert model.statistics()["free_blocks"] == 64


async def test_a_stream_that_another_thread_lets_go_ends_on_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The collector of cycles runs in any thread, and within the preparation of a step: a request that ended there would change
    the lists that a step is being made of."""
    async with af.generation.Model(await write_letters(tmp_path / "letters")) as model:
        scheduler = model.engine.scheduler
        end, threads, are_within = scheduler.end, [], []
        step = scheduler.step
        streams = [model.generate("a", max_tokens=300) for _ in range(2)]

        def ended(*arguments: Any) -> None:
            threads.append(threading.get_ident())
            end(*arguments)

        def collects() -> Any:
            requests = list(scheduler.running)
            if len(streams) == 1:
                streams.clear()
            are_within.append(scheduler.running != requests)
            return step()

        monkeypatch.setattr(scheduler, "end", ended)
        monkeypatch.setattr(scheduler, "step", collects)
        letting_go = threading.Thread(target=streams.pop)
        letting_go.start()
        letting_go.join()
        with anyio.fail_after(PATIENCE):
            while model.statistics()["free_blocks"] < 64:
                await anyio.lowlevel.checkpoint()
        assert threads == [threading.get_ident()] * 2 and not any(are_within)


async def test_a_request_waits_for_blocks_and_then_runs(tmp_path: Path) -> None:
    async with af.generation.Model(await write_letters(tmp_path / "letters"), blocks=8) as model:
        streams = [model.generate("a", max_tokens=100, temperature=0.0) for _ in range(5)]  # 7 blocks each
        await anext(streams[0])
        assert (model.statistics()["running"], model.statistics()["queued"]) == (1, 4)
        streams[0].close()
        answers = await asyncio.gather(*[stream.whole() for stream in streams[1:]])
        assert [len(ids(answer)) for answer in answers] == [100] * 4


async def test_a_full_queue_refuses(tmp_path: Path) -> None:
    limits = af.generation.Limits(max_running=1, max_queued=2)
    async with af.generation.Model(await write_letters(tmp_path / "letters"), limits=limits) as model:
        streams = [model.generate("a", max_tokens=50)]
        await anext(streams[0])
        streams += [model.generate("a", max_tokens=2) for _ in range(2)]
        with pytest.raises(errors.Overloaded, match="2 requests wait"):
            model.generate("a")
        for stream in streams:
            await stream.whole()


async def test_a_reader_that_takes_nothing_is_cancelled(tmp_path: Path) -> None:
    limits = af.generation.Limits(max_unread=3, unread_seconds=0.05)
    async with af.generation.Model(await write_letters(tmp_path / "letters"), limits=limits) as model:
        slow = model.generate("a", max_tokens=300, temperature=0.0)
        with anyio.fail_after(PATIENCE):
            while model.statistics()["running"] or model.statistics()["queued"]:
                await model.generate("a", max_tokens=2).whole()
        tokens = []
        with pytest.raises(errors.DeadlineExceededError, match=r"took no token for 0\.05 seconds"):
            async for token in slow:
                tokens.append(token.id)
        assert tokens == [98, 99, 100], "it has not run ahead of its reader"


async def test_a_slow_reader_goes_on(tmp_path: Path) -> None:
    limits = af.generation.Limits(max_unread=1)
    async with af.generation.Model(await write_letters(tmp_path / "letters"), limits=limits) as model:
        tokens = []
        async for token in model.generate("a", max_tokens=8, temperature=0.0):
            tokens.append(token.text)
            for _ in range(20):
                await anyio.lowlevel.checkpoint()
        assert "".join(tokens) == "bcdefghi"


async def test_deadlines(tmp_path: Path) -> None:
    limits = af.generation.Limits(max_running=1)
    async with af.generation.Model(await write_letters(tmp_path / "letters"), limits=limits) as model:
        runs = model.generate("a", max_tokens=300)
        await anext(runs)
        with pytest.raises(errors.DeadlineExceededError, match=r"not whole after 0 seconds"):
            await model.generate("a", timeout=0.0).whole()
        runs.close()


MISTAKES = {
    "a long prompt": (
        ("x" * 45,),
        {"max_tokens": 4},
        "prompt has 45 tokens, and 4 are asked for, but the context .* 48",
    ),
    "an empty prompt": (("",), {}, "one token at least"),
    "a token outside": (([1, 256],), {}, r"\[0, 256\), but the prompt has 1 to 256"),
    "a prompt of no tokens": (([1.5],), {}, "a text, or a list of tokens"),
    "no text": ((None,), {}, "a text, or a list of tokens"),
    "max_tokens": (("a",), {"max_tokens": -1}, "max_tokens is a whole number from 0 on, not -1"),
    "temperature": (("a",), {"temperature": float("nan")}, "temperature is a number from 0 on, not nan"),
    "top_k": (("a",), {"top_k": -1}, "top_k is a whole number from 0 on, not -1"),
    "top_p": (("a",), {"top_p": 0}, r"top_p is a number in \(0, 1\], not 0"),
    "seed": (("a",), {"seed": 1 << 70}, "seed is a whole number of 64 bits"),
    "stops": (("a",), {"stop": [""]}, "a text of 1 to 256 letters"),
    "rules twice": (("a",), {"rules": af.generation.Rules(), "top_k": 1}, "but not both"),
}


@pytest.mark.parametrize("name", MISTAKES)
async def test_mistakes(name: str, model: Any) -> None:
    arguments, options, text = MISTAKES[name]
    with pytest.raises(errors.InvalidArgumentError, match=text):
        model.generate(*arguments, **options)


async def test_a_pool_that_is_too_small_for_a_request(path: Path) -> None:
    async with af.generation.Model(path, blocks=2) as model:
        with pytest.raises(errors.InvalidArgumentError, match="needs 3 blocks, but the model has 2"):
            model.generate("abc", max_tokens=8)


async def test_a_model_that_does_not_generate(tmp_path: Path) -> None:
    with af.Graph().as_default() as graph:
        x = af.placeholder(af.float32, [None], name="x")
        y = x + 1.0
    async with af.Session(graph=graph) as session:
        await af.saved_model.simple_save(session, tmp_path / "plain", {"x": x}, {"y": y})
    with pytest.raises(errors.InvalidArgumentError, match="does not generate"):
        await af.generation.Model(tmp_path / "plain").__aenter__()


async def test_the_end_of_a_model_ends_its_streams(path: Path) -> None:
    async with af.generation.Model(path) as model:
        stream = model.generate(PROMPT, max_tokens=30)
        await anext(stream)
    with pytest.raises(errors.UnavailableError, match="was closed"):
        await stream.whole()
    with pytest.raises(errors.UnavailableError, match="not open"):
        model.generate("a")


async def test_ten_thousand_requests_that_come_and_go(tmp_path: Path, seed: int) -> None:
    """In any order of joins, ends and cancellations no block is lost, and none is of two requests."""
    rng = np.random.default_rng(seed)
    from actorflow.frontends.generation.description import Description
    from actorflow.frontends.generation.request import GenerationRequest, Rules
    from actorflow.frontends.generation.scheduler import Limits, RequestScheduler

    scheduler = RequestScheduler(Description(64, 4, 40, 9), Limits(8, 10_000, 16, 64), 40)
    left = 10_000
    while left or scheduler.queue or scheduler.running:
        for _ in range(min(left, int(rng.integers(0, 12)))):
            left -= 1
            scheduler.add(GenerationRequest((1,) * int(rng.integers(1, 40)), Rules(int(rng.integers(1, 20)))))
        step = scheduler.step()
        if step is None:
            continue
        held = [block for request in scheduler.running for block in request.blocks]
        assert len(held) == len(set(held)) and len(held) + scheduler.blocks.free == 40
        assert sum(step.counts) == len(step.feeds["tokens"]) <= 16
        for request in scheduler.running[:]:
            if rng.random() < 0.05:
                scheduler.end(request, "cancelled")
        scheduler.advance(step, [int(token) for token in rng.integers(0, 9, len(step.requests))])
        for request in step.requests:
            request.unread.clear()
    assert scheduler.blocks.free == 40
