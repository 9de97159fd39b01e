"""The page of `examples/serve_digits.py` in a real browser. `make test-extras` runs this where Chromium is installed."""

from __future__ import annotations

import contextlib
import importlib.util
import math
import re
import shutil
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from patience import PATIENCE

import actorflow as af

pytestmark = [pytest.mark.extras("playwright"), pytest.mark.timeout(240)]
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-quic"]
EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "serve_digits.py"


def example() -> Any:
    spec = importlib.util.spec_from_file_location("serve_digits", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextlib.asynccontextmanager
async def served(application: Any) -> AsyncIterator[int]:
    """An application on a free port, by uvicorn in this loop."""
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(application, log_level="error", timeout_graceful_shutdown=1))
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        async with anyio.create_task_group() as group:
            group.start_soon(server._serve, [listening])
            with anyio.fail_after(PATIENCE):
                while not server.started:  # noqa: ASYNC110
                    await anyio.sleep(0.01)
            yield listening.getsockname()[1]
            server.should_exit = True


def strokes(digit: int) -> list[tuple[float, float]]:
    """The places that a hand goes through when it draws a digit on a paper of 256 x 256."""
    if digit == 1:
        return [(128.0, 30.0 + 10 * step) for step in range(20)]
    turns = [2 * math.pi * step / 24 for step in range(25)]
    return [(128 + 55 * math.sin(turn), 128 - 90 * math.cos(turn)) for turn in turns]


@pytest.mark.allow_leaks("fds", "threads", "children")
async def test_a_digit_that_is_drawn_is_recognised_while_it_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("playwright", reason="playwright is not installed (make test-extras)")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    from playwright.async_api import async_playwright, expect

    script = example()
    await script.train(tmp_path / "digits" / "1", 600)
    page = script.with_page(af.serving.app(tmp_path, hosts=("127.0.0.1",), poll_seconds=0))
    async with served(page) as port, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        tab = await browser.new_page()
        errors: list[Any] = []
        tab.on("pageerror", lambda error: errors.append(error))
        await tab.goto(f"http://127.0.0.1:{port}/")
        shares = tab.locator(".bar span")
        box = await tab.locator("#paper").bounding_box()
        assert box is not None
        for digit in (0, 1):
            (x, y), *rest = strokes(digit)
            await tab.mouse.move(box["x"] + x, box["y"] + y)
            await tab.mouse.down()
            seen = set()
            for x, y in rest:
                await tab.mouse.move(box["x"] + x, box["y"] + y)
                await expect(shares.first).to_have_text(re.compile(r"\d %$"), timeout=1000 * PATIENCE)
                seen.add(tuple(await shares.all_inner_texts()))
            await tab.mouse.up()
            assert len(seen) > 3, "the shares change while the hand moves"
            with anyio.fail_after(PATIENCE):
                while True:
                    found = [float(text.removesuffix(" %")) for text in await shares.all_inner_texts()]
                    if found.index(max(found)) == digit:
                        break
            assert sum(found) == pytest.approx(100, abs=0.6)
            await tab.click("#clear")
            assert set(await shares.all_inner_texts()) == {""}
        assert not errors
        await browser.close()
