"""Takes the pictures of the live page for the documents: docs/_static/dashboard-*.png.

    python tools/screenshots.py [FOLDER]

It trains on a cluster of three processes on this machine, and looks at the page of that cluster in Chromium. It needs `make
test-extras`'s packages (playwright, httptools) and Chromium.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import numpy as np

import actorflow as af
from actorflow.frontends.http import server

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "_static"
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-quic"]
WIDE: Any = {"width": 1000, "height": 640}  # Playwright, whose type it has, need not be installed
PHONE: Any = {"width": 390, "height": 640}
_STEPS = 60


class Training:
    """A classifier in parts: its variables on a parameter server, each half of a batch on a worker."""

    def __init__(self) -> None:
        self.graph = af.Graph()
        with self.graph.as_default(), af.device("/job:ps"):
            self.images = af.placeholder(af.float32, [256, 784], name="images")
            self.labels = af.placeholder(af.int64, [256], name="labels")
            optimizer = af.train.GradientDescentOptimizer(0.1)
            gradients = []
            for worker, (x, y) in enumerate(zip(af.split(self.images, 2), af.split(self.labels, 2))):
                place = af.train.replica_device_setter(ps_tasks=1, worker_device=f"/job:worker/task:{worker}")
                with af.device(place), af.name_scope(f"worker_{worker}"):
                    hidden = af.layers.dense(x, 256, activation=af.nn.relu, name="hidden", reuse=worker > 0)
                    logits = af.layers.dense(hidden, 10, name="logits", reuse=worker > 0)
                    self.loss = af.reduce_mean(
                        af.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits), name="loss"
                    )
                    gradients.append(optimizer.compute_gradients(self.loss))
            with af.name_scope("mean"):
                means = [
                    (af.add_n([gradient for gradient, _ in pair]) / 2.0, pair[0][1])
                    for pair in zip(*gradients, strict=True)
                ]
            self.train = optimizer.apply_gradients(means)
            self.init = af.global_variables_initializer()

    def feeds(self, rng: np.random.Generator) -> dict[Any, Any]:
        """A batch whose labels can be learnt."""
        images = rng.normal(size=(256, 784)).astype(np.float32)
        return {self.images: images, self.labels: np.argmax(images[:, :10], axis=1)}


@asynccontextmanager
async def served(page: af.dashboard.Dashboard) -> AsyncIterator[str]:
    """The page on a free port of this machine; gives its address."""
    listening, end = server.listening("127.0.0.1", 0), asyncio.Event()
    async with page, anyio.create_task_group() as group:
        group.start_soon(server.HttpServer(page).serve, [listening], None, end)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/?token={page.token}"
        end.set()


@asynccontextmanager
async def opened(address: str) -> AsyncIterator[Any]:
    """A tab of Chromium with the page."""
    from playwright.async_api import async_playwright

    async with async_playwright() as library:
        browser = await library.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        tab = await browser.new_page(viewport=WIDE)
        await tab.goto(address)
        yield tab
        await browser.close()


async def take(folder: Path) -> None:
    """Takes all pictures."""
    training = Training()
    rng = np.random.default_rng(0)
    recording = af.Recording(every=1, seconds=600.0)
    with tempfile.TemporaryDirectory() as logs:
        async with af.LocalCluster({"ps": 1, "worker": 2}, recording=recording) as cluster:
            target = cluster.target
            async with af.Session(target, training.graph) as session:
                await session.run(training.init)
                page = af.dashboard.Dashboard(
                    target.address, credentials=target.credentials, graph=training.graph, logdir=logs
                )
                async with served(page) as address, opened(address) as tab:
                    with af.summary.Writer(logs) as writer:
                        for step in range(_STEPS):
                            _, loss = await session.run([training.train, training.loss], training.feeds(rng))
                            writer.scalar("loss", loss, step)
                            await anyio.sleep(0.05)
                    await pictures(tab, folder)


async def pictures(tab: Any, folder: Path) -> None:
    """Goes through the page."""
    from playwright.async_api import expect

    main = tab.locator("main")

    async def picture(name: str) -> None:
        await tab.screenshot(path=folder / f"dashboard-{name}.png")
        print(folder / f"dashboard-{name}.png")

    await expect(tab.locator("#state")).to_contain_text("3 of 3 tasks")
    await picture("overview")
    await tab.get_by_role("tab", name="Steps").click()
    await main.get_by_role("button").first.click()
    await expect(tab.locator("svg rect.slice.run").first).to_be_visible()
    await picture("timeline")
    await tab.get_by_role("tab", name="Graph").click()
    await tab.get_by_label("Colour by").select_option("time")
    await expect(tab.locator("g.scope rect[style]").first).to_be_visible()
    await picture("graph")
    await tab.emulate_media(color_scheme="dark")
    await tab.set_viewport_size(PHONE)
    await tab.get_by_role("tab", name="Training").click()
    await expect(main).to_contain_text("loss")
    await picture("phone")


if __name__ == "__main__":
    anyio.run(take, Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
