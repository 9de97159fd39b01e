"""The live page in a real browser. `make test-extras` runs this where Chromium is installed."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from frontends.dashboard.told_tasks import TASK, Told

import actorflow as af
from actorflow.engine.runtime.diagnostics.recorder import take
from actorflow.engine.runtime.diagnostics.trace import Trace
from actorflow.frontends.dashboard.application import Dashboard
from actorflow.frontends.http import server

pytestmark = [pytest.mark.extras("playwright"), pytest.mark.timeout(240)]
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-quic"]
HOSTILE = "<img src=x onerror=alert(1)>"


@contextlib.asynccontextmanager
async def served(page: Dashboard) -> AsyncIterator[int]:
    """The page on a free port, in this loop."""
    listening, end = server.listening("127.0.0.1", 0), asyncio.Event()
    async with page, anyio.create_task_group() as group:
        group.start_soon(server.HttpServer(page).serve, [listening], None, end)
        yield listening.getsockname()[1]
        end.set()


def a_step() -> Trace:
    """Step 42 as two tasks remember it."""
    trace = Trace(detail="plan")
    for task in range(2):
        device = f"/job:worker/replica:0/task:{task}/device:CPU:0"
        begun = 1_000_000_000 + 300_000 * task
        rows = [
            [f"node{n}", "Tanh", device, begun + n * 50_000, begun + n * 50_000 + 40_000, False, begun, begun, "", ""]
            for n in range(5)
        ]
        take(trace, [[42, begun - 50_000, begun + 400_000, "", rows]], f"/job:worker/task:{task}")
    return trace


DATASET = {
    "waited": 0.45,
    "slowest": 1,
    "stages": [
        {"kind": "batch", "where": "train.py:3", "elements": 7, "seconds": 0.1, "waiting": None, "depth": 0},
        {"kind": "map", "where": "train.py:2", "elements": 70, "seconds": 2.0, "waiting": 0.5, "depth": 1},
    ],
}


@pytest.mark.allow_leaks("fds", "threads", "children")
async def test_a_browser_goes_through_all_views_and_shows_hostile_names_as_text(tmp_path: Path) -> None:
    pytest.importorskip("playwright", reason="playwright is not installed (make test-extras)")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    from playwright.async_api import async_playwright, expect

    source = Told()
    source.tasks["/job:worker/task:0"] = {
        **TASK, "queues": [{**TASK["queues"][0], "name": HOSTILE}], "datasets": [{**DATASET, "name": HOSTILE}]
    }  # fmt: skip
    with af.Graph().as_default() as graph:
        x = af.placeholder(af.float32, [1], name="x")
        for _ in range(5):
            with af.name_scope("stage"):
                x = af.tanh(af.square(x))
    source.trace = a_step()
    with af.summary.Writer(tmp_path) as writer:
        for number in range(4):
            writer.scalar("loss", 1.0 / (number + 1), number)
    page = Dashboard(source, graph=graph, token="secret", period=0.1, logdir=tmp_path)
    async with served(page) as port, async_playwright() as library:
        resolver = "--host-resolver-rules=MAP evil.test 127.0.0.1"
        browser = await library.chromium.launch(executable_path=CHROMIUM, args=[*ARGUMENTS, resolver])
        tab = await browser.new_page()
        said: list[str] = []
        tab.on("console", lambda message: said.append(message.text))
        tab.on("pageerror", lambda error: said.append(str(error)))
        tab.on("dialog", lambda dialog: said.append("a script of a name ran"))
        await tab.set_viewport_size({"width": 1000, "height": 640})
        await tab.goto(f"http://127.0.0.1:{port}/?token=secret")
        assert "token" not in tab.url
        await expect(tab.locator("#state")).to_contain_text("1 of 1 tasks")
        await expect(tab.locator("main")).to_contain_text("1 operations wait")
        for name, text in (
            ("Tasks", "/job:worker/task:0"),
            ("Steps", str(2**60 + 1)),
            ("Channels", "/job:worker/task:1"),
            ("Queues", HOSTILE),
            ("Datasets", "45 % of the time"),
            ("Devices", "CPU:0"),
            ("Events", "Nothing has changed"),
            ("Training", "loss: 0.2500 at step 3"),
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
        await expect(tab.locator("main")).to_contain_text("loss: 0.2500")
        await tab.get_by_role("tab", name="Steps").click()
        await tab.get_by_role("button", name="42").click()
        await expect(tab.locator("main")).to_contain_text("The critical path")
        await expect(tab.locator("svg rect.slice.run").first).to_be_visible()
        await tab.get_by_role("button", name="Zoom in").click()
        await expect(tab.get_by_role("button", name="Zoom in")).to_be_focused()
        await tab.goto(f"http://127.0.0.1:{port}/#step=7x")
        await tab.reload()
        await expect(tab.locator("main")).to_contain_text("is no number of a step")
        await tab.get_by_role("tab", name="Graph").click()
        await tab.get_by_label("Search").fill("stage_3 tanh")
        await tab.get_by_role("button", name="stage_3/Tanh").click()
        await expect(tab.locator("main")).to_contain_text("Square")
        await tab.get_by_label("Colour by").select_option("memory")
        assert await tab.locator("g.node rect").first.evaluate("rect => rect.style.fill") != ""
        source.tasks["/job:worker/task:0"] = {"state": "lost", "error": "gone"}
        await expect(tab.locator("#state")).to_contain_text("No task of the cluster answers")
        source.tasks["/job:worker/task:0"] = TASK
        await expect(tab.locator("#state")).to_contain_text("1 of 1 tasks")
        assert [text for text in said if "404" not in text] == [], "but for the step that is none"
        rebound = await tab.goto(f"http://evil.test:{port}/?token=secret")
        assert rebound is not None and rebound.status == 421
        await tab.set_viewport_size({"width": 360, "height": 640})
        await tab.emulate_media(color_scheme="dark")
        await tab.goto(f"http://127.0.0.1:{port}/#Tasks")
        await expect(tab.locator("main")).to_contain_text("/job:worker/task:0")
        dark = await tab.evaluate("getComputedStyle(document.body).backgroundColor")
        await tab.emulate_media(color_scheme="light")
        assert dark != await tab.evaluate("getComputedStyle(document.body).backgroundColor")
        assert await tab.evaluate("document.documentElement.scrollWidth") <= 360, "tables scroll in themselves"
        await browser.close()


@pytest.mark.allow_leaks("fds", "threads", "children")
async def test_the_graph_of_a_training_step_is_drawn_with_the_time_of_its_parts() -> None:
    pytest.importorskip("playwright", reason="playwright is not installed (make test-extras)")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    from playwright.async_api import async_playwright, expect

    with af.Graph().as_default() as graph:
        images = af.placeholder(af.float32, [32, 784], name="images")
        labels = af.placeholder(af.int32, [32], name="labels")
        hidden = af.layers.dense(images, 128, activation=af.nn.relu, name="hidden")
        logits = af.layers.dense(hidden, 10, name="logits")
        with af.name_scope("loss"):
            loss = af.reduce_mean(af.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        train = af.train.GradientDescentOptimizer(0.1).minimize(loss)
        init = af.global_variables_initializer()
    feeds = {images: np.ones((32, 784), np.float32), labels: np.zeros(32, np.int32)}
    async with af.Session(graph=graph, recording=af.Recording(every=1)) as session:
        await session.run(init)
        for _ in range(3):
            await session.run(train, feeds)
        async with served(Dashboard(session, token="secret")) as port, async_playwright() as library:
            browser = await library.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            tab = await browser.new_page()
            await tab.set_viewport_size({"width": 1000, "height": 640})
            await tab.goto(f"http://127.0.0.1:{port}/?token=secret")
            await tab.get_by_role("tab", name="Graph").click()
            await expect(tab.get_by_role("button", name="Open gradients")).to_be_visible()
            await tab.get_by_label("Colour by").select_option("time")
            await expect(tab.locator("g.scope rect[style]").first).to_be_visible()
            await expect(tab.locator("g.scope title").filter(has_text=re.compile("[mµ]s")).first).to_be_attached()
            await browser.close()


def many_tasks(number: int) -> dict[str, Any]:
    """A cluster of 64 workers, each with links to all others, as it is in its n-th snapshot."""
    names = [f"/job:worker/task:{index}" for index in range(64)]
    return {
        name: {**TASK, "task": name, "steps": 100 * number,
               "links": [{**TASK["links"][0], "peer": peer, "bytes_sent": number * 1000} for peer in names if peer != name]}
        for name in names
    }  # fmt: skip


class Streaming(Told):
    """A cluster that changes with each question."""

    async def ask(self) -> dict[str, Any]:
        self.asked += 1
        return many_tasks(self.asked)


FRAMES = """async () => {
  const times = [];
  let last = performance.now();
  for (let at = 0; at < 120; at += 1) {
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    times.push(now - last);
    last = now;
  }
  return times.slice(2);
}"""


@pytest.mark.allow_leaks("fds", "threads", "children")
async def test_36000_nodes_are_painted_soon_and_64_workers_stream_without_stalling() -> None:
    """The goals are 2 s and 50 ms; a machine that is busy has ten times as much."""
    pytest.importorskip("playwright", reason="playwright is not installed (make test-extras)")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    from playwright.async_api import async_playwright, expect

    with af.Graph().as_default() as graph:
        x = af.placeholder(af.float32, [1], name="x")
        for _ in range(60):
            with af.name_scope("stage"):
                for _ in range(600):
                    x = af.tanh(x)
    page = Dashboard(Streaming(), graph=graph, token="secret", period=0.25)
    async with served(page) as port, async_playwright() as library:
        browser = await library.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        tab = await browser.new_page()
        await tab.goto(f"http://127.0.0.1:{port}/?token=secret")
        await expect(tab.locator("#state")).to_contain_text("64 of 64 tasks")
        begun = time.perf_counter()
        await tab.goto(f"http://127.0.0.1:{port}/#graph=")
        await tab.reload()
        await expect(tab.locator("g.stack")).to_be_visible()
        painted = time.perf_counter() - begun
        frames: list[float] = []
        for name in ("Overview", "Tasks", "Channels", "Queues", "Devices"):
            await tab.get_by_role("tab", name=name).click()
            first = await tab.locator("main h2, main th").first.element_handle()
            frames += await tab.evaluate(FRAMES)
            assert await first.evaluate("one => one.isConnected"), "what has not changed stays where it is"
            if name == "Channels":
                await expect(tab.locator("caption")).to_contain_text("the first 64 of 4,032")
        await browser.close()
    frames.sort()
    worst = frames[int(0.99 * len(frames))]
    print(f"painted after {painted:.2f} s; frames: median {frames[len(frames) // 2]:.0f}, 99 % {worst:.0f} ms")
    assert painted < 20.0 and worst < 500.0
