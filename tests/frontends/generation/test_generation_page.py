"""The page `/generate` in a real browser: it shows a stream as it comes, and stops it. `make test-extras` runs this."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from frontends.generation.test_generation_http import engine, serving
from patience import PATIENCE

pytestmark = [
    pytest.mark.extras("playwright"),
    pytest.mark.timeout(240),
    pytest.mark.allow_leaks("fds", "threads", "children"),
]
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-quic"]


@pytest.fixture(autouse=True)
def browser_is_installed() -> None:
    """Skips before a server is there, whose socket would stay open."""
    pytest.importorskip("playwright", reason="playwright is not installed (make test-extras)")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")


@contextlib.asynccontextmanager
async def opened(port: int) -> AsyncIterator[tuple[Any, list[Any]]]:
    """The page in a tab of a browser, and the errors of its script, its policy and its console."""
    from playwright.async_api import async_playwright

    errors: list[Any] = []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        tab = await browser.new_page()
        tab.set_default_timeout(1000 * PATIENCE)
        tab.on("pageerror", lambda error: errors.append(error))
        tab.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        await tab.goto(f"http://127.0.0.1:{port}/generate")
        yield tab, errors
        await browser.close()


async def test_a_stream_is_shown_and_ends(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, opened(server.port) as (tab, errors):
        from playwright.async_api import expect

        assert await tab.locator("#model option").all_inner_texts() == ["letters"]
        await tab.fill("#prompt", "<b>a")  # markup is text on the page
        await tab.fill("#tokens", "5")
        await tab.fill("#temperature", "0")
        await tab.click("#begin")
        await expect(tab.locator("#status")).to_contain_text("ended: length", timeout=1000 * PATIENCE)
        assert await tab.locator("#answer").inner_text() == "<b>abcdef"
        assert await tab.locator("#answer b").count() == 0
        assert await tab.is_enabled("#begin") and await tab.is_disabled("#stop")
        assert not errors


async def test_stop_frees_the_blocks_and_what_came_stays(tmp_path: Path) -> None:
    """The steps wait while the page is looked at, so the stream does not end by itself before the click."""
    async with serving(tmp_path) as server, opened(server.port) as (tab, errors):
        from playwright.async_api import expect

        steps, goes_on = engine(server), anyio.Event()
        run_step = steps._run_step

        async def waits(step: Any) -> None:
            if steps.steps >= 4:
                await goes_on.wait()
            await run_step(step)

        steps._run_step = waits
        await tab.fill("#prompt", "a")
        await tab.fill("#tokens", "300")
        await tab.fill("#temperature", "0")
        await tab.click("#begin")
        await expect(tab.locator("#answer")).to_have_text("abcde", timeout=1000 * PATIENCE)
        assert steps.scheduler.blocks.free < 64
        await tab.click("#stop")
        await expect(tab.locator("#status")).to_have_text("stopped", timeout=1000 * PATIENCE)
        with anyio.fail_after(PATIENCE):
            while steps.scheduler.running:
                await anyio.lowlevel.checkpoint()
        assert steps.scheduler.blocks.free == 64 and steps.steps == 4
        assert await tab.locator("#answer").inner_text() == "abcde" and await tab.is_enabled("#begin")
        goes_on.set()
        assert not errors


async def test_a_refusal_is_a_sentence_on_the_page(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, opened(server.port) as (tab, _):
        from playwright.async_api import expect

        await tab.fill("#prompt", "a")
        await tab.fill("#tokens", "5000")
        await tab.click("#begin")
        status = tab.locator("#status")
        await expect(status).to_contain_text("the context of the model has 400", timeout=1000 * PATIENCE)
        assert await tab.is_enabled("#begin")
