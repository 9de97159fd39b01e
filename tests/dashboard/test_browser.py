"""The live page in a real browser. `make test-extras` runs this where Chromium is installed."""

from __future__ import annotations

import contextlib
import shutil
import socket
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from patience import PATIENCE
from told_tasks import TASK, Told

import actorflow as af
from actorflow.dashboard.application import Dashboard

pytestmark = [pytest.mark.extras("playwright"), pytest.mark.timeout(240)]
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-quic"]
HOSTILE = "<img src=x onerror=alert(1)>"


@contextlib.asynccontextmanager
async def served(page: Dashboard) -> AsyncIterator[tuple[Any, int]]:
    """The page on a free port, by uvicorn in this loop."""
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(page, log_level="error", lifespan="off", timeout_graceful_shutdown=1))
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        async with anyio.create_task_group() as group:
            group.start_soon(server._serve, [listening])
            with anyio.fail_after(PATIENCE):
                while not server.started:  # noqa: ASYNC110
                    await anyio.sleep(0.01)
            yield server, listening.getsockname()[1]
            server.should_exit = True


@pytest.mark.allow_leaks("fds", "threads", "children")
async def test_a_browser_goes_through_all_views_and_shows_hostile_names_as_text() -> None:
    pytest.importorskip("playwright", reason="playwright is not installed (make test-extras)")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    from playwright.async_api import async_playwright, expect

    source = Told()
    source.tasks["/job:worker/task:0"] = {**TASK, "queues": [{**TASK["queues"][0], "name": HOSTILE}]}
    with af.Graph().as_default() as graph:
        x = af.placeholder(af.float32, [1], name="x")
        for _ in range(5):
            with af.name_scope("stage"):
                x = af.tanh(af.square(x))
    page = Dashboard(source, graph=graph, token="secret", period=0.1)
    async with served(page) as (_, port), async_playwright() as library:
        resolver = "--host-resolver-rules=MAP evil.test 127.0.0.1"
        browser = await library.chromium.launch(executable_path=CHROMIUM, args=[*ARGUMENTS, resolver])
        tab = await browser.new_page()
        said: list[str] = []
        tab.on("console", lambda message: said.append(message.text))
        tab.on("pageerror", lambda error: said.append(str(error)))
        tab.on("dialog", lambda dialog: said.append("a script of a name ran"))
        await tab.goto(f"http://127.0.0.1:{port}/?token=secret")
        assert "token" not in tab.url
        await expect(tab.locator("#state")).to_contain_text("1 of 1 tasks")
        await expect(tab.locator("main")).to_contain_text("1 operations wait")
        for name, text in (
            ("Tasks", "/job:worker/task:0"),
            ("Steps", str(2**60 + 1)),
            ("Channels", "/job:worker/task:1"),
            ("Queues", HOSTILE),
            ("Devices", "CPU:0"),
            ("Graph", "5 alike"),
        ):
            await tab.get_by_role("tab", name=name).click()
            await expect(tab.locator("main")).to_contain_text(text)
        await tab.get_by_role("button", name="Open stage").click()
        await expect(tab.locator("main")).to_contain_text("Tanh")
        await tab.reload()
        await expect(tab.locator("main")).to_contain_text("Tanh")  # the address has the scope
        await tab.get_by_role("tab", name="Graph").focus()
        await tab.keyboard.press("ArrowLeft")
        await expect(tab.locator("main")).to_contain_text("CPU:0")
        source.tasks["/job:worker/task:0"] = {"state": "lost", "error": "gone"}
        await expect(tab.locator("#state")).to_contain_text("No task of the cluster answers")
        source.tasks["/job:worker/task:0"] = TASK
        await expect(tab.locator("#state")).to_contain_text("1 of 1 tasks")
        assert not said
        rebound = await tab.goto(f"http://evil.test:{port}/?token=secret")
        assert rebound is not None and rebound.status == 421
        await tab.set_viewport_size({"width": 360, "height": 640})
        await tab.goto(f"http://127.0.0.1:{port}/#Tasks")
        await expect(tab.locator("main")).to_contain_text("/job:worker/task:0")
        await browser.close()
