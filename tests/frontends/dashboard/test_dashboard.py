"""The live page as an ASGI application: what it answers, what it refuses, and that it goes on when its cluster does not."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import numpy as np
import pytest
from channels import until
from clusters import servers
from frontends.dashboard.told_tasks import TASK, Told
from patience import PATIENCE

import actorflow as af
from actorflow.cluster.processes.metrics import FAMILIES, render
from actorflow.cluster.processes.metrics_port import Hosts, reply, serve_metrics
from actorflow.cluster.server import Server
from actorflow.engine.runtime.diagnostics.recorder import TRACED, UNDER_WAY
from actorflow.engine.runtime.diagnostics.trace import Span, Trace
from actorflow.errors import InvalidArgumentError
from actorflow.frontends.dashboard import top
from actorflow.frontends.dashboard.application import MOST_STREAMS, Dashboard
from actorflow.frontends.dashboard.sampler import (
    LATE,
    MOST_LINKS,
    ClusterSource,
    Sampler,
    SessionSource,
    brief,
    changes,
    problems,
)
from actorflow.frontends.dashboard.serving import check_address
from actorflow.frontends.dashboard.steps import steps_of
from actorflow.models.summary import protos


def client(page: Any, **headers: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app=page), base_url="http://127.0.0.1:8265", headers=headers, timeout=PATIENCE
    )


@pytest.fixture
async def page() -> Dashboard:
    return Dashboard(Told(), token="secret", period=0.01)


# ---- who may look


async def test_the_token_in_the_address_becomes_a_cookie_that_scripts_can_not_read(page: Dashboard) -> None:
    async with client(page) as browser:
        assert (await browser.get("/")).status_code == 401
        assert (await browser.get("/?token=wrong")).status_code == 401
        first = await browser.get("/?token=secret&x=1")
        assert first.status_code == 303 and first.headers["location"] == "/?x=1"
        cookie = first.headers["set-cookie"]
        assert cookie.startswith("actorflow_8265=secret;") and "HttpOnly" in cookie and "SameSite=Strict" in cookie
        assert (await browser.get("/")).status_code == 200
    async with client(page, authorization="Bearer secret") as script:
        assert (await script.get("/snapshot.json")).status_code == 200
    async with client(page, authorization="Bearer wrong") as script:
        assert (await script.get("/snapshot.json")).status_code == 401


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
async def test_no_request_changes_anything(page: Dashboard, method: str) -> None:
    async with client(page, authorization="Bearer secret") as script:
        assert (await script.request(method, "/snapshot.json")).status_code == 405


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.test"}, 421),
        ({"host": "127.0.0.1.evil.test:8265"}, 421),
        ({"host": ""}, 421),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"origin": "http://evil.test"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:9999"}, 403),
        ({"origin": "http://127.0.0.1:8265"}, 200),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"host": "localhost:8265"}, 200),
        ({"host": "[::1]:8265"}, 200),
        ({"cookie": "actorflow_8265=secret", "authorization": ""}, 200),
        ({"cookie": "actorflow_8266=secret", "authorization": ""}, 401),
        ({"cookie": "\x01=;;==", "authorization": ""}, 401),
    ],
)
async def test_foreign_pages_and_names_are_refused(page: Dashboard, headers: dict[str, str], status: int) -> None:
    async with client(page, **{"authorization": "Bearer secret", **headers}) as script:
        assert (await script.get("/snapshot.json")).status_code == status


async def test_each_answer_tells_browsers_to_be_careful(page: Dashboard) -> None:
    async with client(page, authorization="Bearer secret") as script:
        for path in ("/", "/snapshot.json", "/gone", "/metrics"):
            found = (await script.get(path)).headers
            assert (
                "default-src 'none'" in found["content-security-policy"]
                and "unsafe" not in found["content-security-policy"]
            )
            assert found["x-content-type-options"] == "nosniff" and found["cache-control"] == "no-store"
            assert "access-control-allow-origin" not in found
    async with client(page) as stranger:
        assert "content-security-policy" in (await stranger.get("/")).headers


async def test_ten_thousand_wrong_tokens_change_nothing() -> None:
    asked = Told()
    guard = Dashboard(asked, token="secret")
    async with client(guard) as stranger:
        for number in range(200):
            assert (await stranger.get(f"/snapshot.json?token={number}")).status_code == 401
    assert not asked.asked


async def test_without_a_token_the_application_around_it_decides() -> None:
    async with client(Dashboard(Told(), token="")) as script:
        assert (await script.get("/snapshot.json")).status_code == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.0.1", "example.org", "::"])
def test_another_address_needs_a_proxy(host: str) -> None:
    with pytest.raises(InvalidArgumentError, match="token would travel in the clear"):
        check_address(host, None)
    check_address(host, "proxy.example.org")


def test_loopback_needs_none() -> None:
    for host in ("127.0.0.1", "localhost", "::1", "127.1.2.3"):
        check_address(host, None)


# ---- what is shown


async def test_the_page_has_all_of_its_parts(page: Dashboard) -> None:
    async with client(page, authorization="Bearer secret") as script:
        found = await script.get("/")
        assert found.headers["content-type"].startswith("text/html") and 'lang="en"' in found.text
        for path, kind in (("/page.js", "text/javascript"), ("/page.css", "text/css")):
            part = await script.get(path)
            assert part.status_code == 200 and part.headers["content-type"].startswith(kind)
            assert path[1:] in found.text
            assert "http://" not in part.text.replace("http://www.w3.org/2000/svg", ""), (
                "nothing is loaded from elsewhere"
            )
            assert "innerHTML" not in part.text
        assert (await script.head("/")).content == b""
        assert (await script.get("/gone")).status_code == 404


async def test_snapshots_have_rates_problems_and_numbers_that_scripts_can_hold(page: Dashboard) -> None:
    source = page.sampler.source
    async with client(page, authorization="Bearer secret") as script:
        first = (await script.get("/snapshot.json")).json()
        source.tasks["/job:worker/task:0"] = {**TASK, "steps": 107}  # type: ignore[attr-defined]
        second = (await script.get("/snapshot.json")).json()
    assert first["steps_per_second"] == 0 and second["steps_per_second"] > 0
    assert second["tasks"]["/job:worker/task:0"]["waiting"][0]["step"] == str(2**60 + 1)
    assert any("is empty, and 1 operations wait" in text for text in first["problems"])
    assert any("holds 96 of 100 bytes" in text for text in first["problems"])
    assert len(second["history"]) == 2


async def _events(page: Dashboard, count: int) -> list[dict[str, Any]]:
    """The first events of the stream, by ASGI itself; the client then goes."""
    found: list[dict[str, Any]] = []
    gone = anyio.Event()

    async def receive() -> dict[str, Any]:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        body = message.get("body", b"").decode()
        if "data: " in body:
            found.append(json.loads(body.partition("data: ")[2]))
            if len(found) >= count:
                gone.set()

    headers = [(b"host", b"localhost:1"), (b"authorization", b"Bearer secret")]
    scope = {"type": "http", "method": "GET", "path": "/events", "headers": headers, "query_string": b""}
    with anyio.fail_after(PATIENCE):
        await page(scope, receive, send)
    return found


async def test_events_come_while_somebody_looks_and_the_source_is_asked_once_for_all() -> None:
    source = Told()
    page = Dashboard(source, token="secret", period=0.01)
    results: list[list[dict[str, Any]]] = []

    async def look() -> None:
        results.append(await _events(page, 3))

    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(look)
    assert [len(found) for found in results] == [3, 3, 3, 3]
    for found in results:
        numbers = [one["number"] for one in found]
        assert numbers == sorted(set(numbers))
    assert source.asked < 4 * 3, "one question serves all"
    assert page.sampler.watchers == 0
    asked = source.asked
    await anyio.lowlevel.checkpoint()
    assert source.asked == asked


async def test_there_are_so_many_streams_at_most() -> None:
    page = Dashboard(Told(), token="secret")
    page._streams = MOST_STREAMS
    async with client(page, authorization="Bearer secret") as script:
        refused = await script.get("/events")
    assert refused.status_code == 503 and refused.headers["retry-after"] == "5"


async def test_a_graph_is_read_scope_by_scope() -> None:
    with af.Graph().as_default() as graph:
        with af.name_scope("model"):
            af.square(af.placeholder(af.float32, [], name="x"), name="y")
    async with client(Dashboard(Told(), graph=graph, token="")) as script:
        found = (await script.get("/graph.json")).json()
        assert [box["name"] for box in found["boxes"]] == ["model"]
        assert [box["op"] for box in (await script.get("/graph.json?scope=model")).json()["boxes"]] == [
            "Placeholder",
            "Square",
        ]
        missing = await script.get("/graph.json?scope=gone")
        assert missing.status_code == 404 and "no scope 'gone'" in missing.json()["error"]
        with graph.as_default():
            af.constant(1.0, name="later")
            af.no_op(name="last")
        assert "last" in {box["name"] for box in (await script.get("/graph.json")).json()["boxes"]}
    async with client(Dashboard(Told(), token="")) as script:
        assert (await script.get("/graph.json")).status_code == 404


async def test_names_are_searched_and_boxes_know_their_time_memory_and_devices() -> None:
    with af.Graph().as_default() as graph:
        x = af.placeholder(af.float32, [4], name="x")
        with af.name_scope("model"):
            y = af.square(x, name="y")
    async with af.Session(graph=graph, recording=af.Recording(every=1)) as session:
        await session.run(y, {x: np.ones(4)})
        async with client(Dashboard(session, token="")) as script:
            assert "seconds" not in (await script.get("/graph.json")).json()["boxes"][0]
            await script.get("/steps.json")  # the times come from the steps that are looked at
            (box,) = (await script.get("/graph.json?scope=model")).json()["boxes"]
            found = (await script.get("/search.json?q=MODEL%20y")).json()["found"]
            assert (await script.get("/search.json?q=")).json() == {"found": []}
    assert (
        box["bytes"] == 16
        and box["seconds"] > 0
        and [*box["devices"]] == ["/job:localhost/replica:0/task:0/device:CPU:0"]
    )
    assert found == [{"name": "model/y", "op": "Square", "scope": "model"}]


async def test_a_graph_shows_the_devices_that_runs_have_chosen_since() -> None:
    with af.Graph().as_default() as graph:
        y = af.square(af.placeholder(af.float32, [], name="x"), name="y")
    async with af.Session(graph=graph) as session, client(Dashboard(session, token="")) as script:
        before = (await script.get("/graph.json")).json()["boxes"]
        await session.run(y, {"x:0": 2.0})
        after = (await script.get("/graph.json")).json()["boxes"]
    assert not any(box.get("devices") for box in before) and all(box["devices"] for box in after)


async def test_recorded_steps_are_listed_and_their_timelines_are_drawn() -> None:
    with af.Graph().as_default() as graph:
        y = af.check_numerics(1.0 / af.placeholder(af.float32, [], name="x"), "no", name="y")
    async with af.Session(graph=graph, recording=af.Recording(every=2)) as session:
        for value in (1.0, 2.0, 3.0):
            await session.run(y, {"x:0": value})
        with pytest.raises(InvalidArgumentError):
            await session.run(y, {"x:0": 0.0})
        async with client(Dashboard(session, token="")) as script:
            rows = {row["number"]: row for row in (await script.get("/steps.json")).json()["steps"]}
            (spent,) = (await script.get("/steps.json")).json()["busy"].values()
            assert spent > 0
            assert rows["2"]["traced"] and "InvalidArgumentError" in rows["4"]["error"]
            picture = (await script.get("/step.json?number=2")).json()
            names = {one[1] for one in picture["slices"]}
            assert "step 2" in names and "step 4" not in names and picture["path"] and not picture["left_out"]
            assert all(0 <= one[3] < one[4] <= picture["end"] for one in picture["slices"])
            kept = await script.get("/step.pftrace?number=2")
            assert b"step 2" in kept.content and "step-2.pftrace" in kept.headers["content-disposition"]
            for number, text in (("77", "No task remembers step 77"), ("x", "is no number"), ("", "is no number")):
                missing = await script.get(f"/step.json?number={number}")
                assert missing.status_code == 404 and text in missing.json()["error"]
    async with af.Session(graph=graph) as session, client(Dashboard(session, token="")) as script:
        told = await script.get("/steps.json")
        assert told.status_code == 404 and "does not record" in told.json()["error"]


async def test_the_steps_of_a_cluster_are_those_of_all_tasks(pair: list[Server]) -> None:
    with af.Graph().as_default() as graph:
        with af.device("/job:worker/task:0"):
            one = af.square(af.placeholder(af.float32, [], name="x"), name="one")
        with af.device("/job:worker/task:1"):
            two = af.tanh(one, name="two")
    for server in pair:
        server.worker.record(1, 1000)
    async with af.Session(pair[0].target, graph=graph) as session:
        await session.run(two, {"x:0": 1.0})
    async with client(Dashboard(pair[0].address, token="")) as script:
        (row,) = (await script.get("/steps.json")).json()["steps"]
        assert row["tasks"] == 2 and row["traced"]
        picture = (await script.get(f"/step.json?number={row['number']}")).json()
    assert {process for process, _ in picture["lanes"]} >= {"worker 0", "worker 1", "critical path"}


async def test_checkpoints_are_those_of_the_folder(tmp_path: Path) -> None:
    with af.Graph().as_default():
        af.Variable(1.0, name="v")
        saver, init = af.train.Saver(), af.global_variables_initializer()
        async with af.Session() as session:
            await session.run(init)
            for step in (1, 2):
                await saver.save(session, tmp_path / "model" / "model.ckpt", global_step=step)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "checkpoint").write_bytes(b"\x00\xff")
    async with client(Dashboard(Told(), token="", logdir=tmp_path)) as script:
        told = (await script.get("/curves.json")).json()["checkpoints"]
    names = [one["name"] for one in told]
    assert [name for name in names if "broken" not in name] == ["model/model.ckpt-2", "model/model.ckpt-1"]
    assert len(names) == 3 and all(one["saved"] > 1e9 for one in told)


async def test_actors_are_counted_by_their_states(pair: list[Server]) -> None:
    with af.Graph().as_default() as graph, af.device("/job:worker/task:0"):
        take = af.FIFOQueue(1, [af.float32], [[]], name="empty").dequeue()
    async with af.Session(pair[0].target, graph=graph) as session, anyio.create_task_group() as group:
        group.start_soon(session.run, take)
        await until(lambda: bool(pair[0].status()["actors"]))
        told = (await ClusterSource(pair[0].address).ask())[pair[0].task]
        assert told["actors"] == {"waits": 1} and told["loop_delay"] >= 0.0
        group.cancel_scope.cancel()
    async with af.Session(graph=graph) as session, client(Dashboard(session, token="")) as script:
        assert (await script.get("/snapshot.json")).json()["tasks"]["session"]["actors"] == {}


def test_an_event_loop_that_comes_late_is_a_problem() -> None:
    told = {"a": {"state": "live", "loop_delay": 1.25}, "b": {"state": "live", "loop_delay": LATE}}
    assert problems(told) == ["The event loop of a came 1.2 s late: something blocks it."]


async def test_curves_are_those_of_the_event_files(tmp_path: Path) -> None:
    for run, length in (("a", 3), ("b", 1200)):
        with af.summary.Writer(tmp_path / run) as writer:
            for number in range(length):
                writer.scalar("loss", 1.0 / (number + 1), number)
            writer.scalar("nan", float("nan"), 0)
    (tmp_path / "b" / "events.out.tfevents.9.foreign").write_bytes(b"no event file")
    values = [
        protos.Value(tag="weights", histo=protos.HistogramProto(max=1.0)),
        protos.Value(tag="picture", image=protos.Image(height=1)),
        protos.Value(tag="sound", audio=protos.Audio(sample_rate=8000.0)),
    ]
    with af.summary.FileWriter(tmp_path / "c") as writer:
        writer.add_summary(protos.Summary(value=values), 1)
    async with client(Dashboard(Told(), token="", logdir=tmp_path)) as script:
        told = (await script.get("/curves.json")).json()
        assert [(one["run"], one["tag"], len(one["points"])) for one in told["curves"]] == [
            ("a", "loss", 3),
            ("b", "loss", 1000),
        ]
        assert told["curves"][0]["points"][1] == [1, 0.5] and told["checkpoints"] == []
        with af.summary.Writer(tmp_path / "a") as writer:
            writer.scalar("loss", 9.0, 3)
        assert (await script.get("/curves.json")).json()["curves"][0]["points"][-1] == [3, 9.0]
    async with client(Dashboard(Told(), token="")) as script:
        assert (await script.get("/curves.json")).status_code == 404


def test_the_steps_that_can_be_opened_come_first() -> None:
    trace = Trace()
    for number, about in ((1, ""), (2, TRACED), (3, ""), (4, TRACED), (5, UNDER_WAY)):
        trace._spans.append(Span(f"step {number}", "step", "/job:worker/task:0", number, number + 1, about))
    assert [row["number"] for row in steps_of(trace)] == ["4", "2", "5", "3", "1"]


async def test_pages_get_the_links_that_waited_longest_and_how_many_there_are() -> None:
    source = Told()
    link = TASK["links"][0]
    source.tasks = {
        f"/job:worker/task:{task}": {
            **TASK,
            "links": [{**link, "wait_seconds": task + peer / 100} for peer in range(64)],
        }
        for task in range(3)
    }
    source.tasks["/job:worker/task:3"] = {"state": "lost", "error": "gone"}
    told = brief(await Sampler(source).snapshot())
    shown = {name: [one["wait_seconds"] for one in task.get("links", ())] for name, task in told["tasks"].items()}
    assert told["links"] == 3 * 64 and MOST_LINKS == 64
    assert [len(links) for links in shown.values()] == [0, 0, 64, 0] and told["tasks"]["/job:worker/task:0"][
        "steps"
    ] == 7
    page = Dashboard(source, token="secret", period=0.01)
    assert len((await _events(page, 1))[0]["tasks"]["/job:worker/task:2"]["links"]) == 64
    async with client(page, authorization="Bearer secret") as script:
        whole = (await script.get("/snapshot.json")).json()["tasks"]
    assert sum(len(task.get("links", ())) for task in whole.values()) == 3 * 64


def test_changes_between_snapshots_are_events() -> None:
    old = {"a": {"state": "live", "incarnation": "1", "steps_failed": 1, "epoch": 0}, "gone": {"state": "live"}}
    new = {"a": {"state": "live", "incarnation": "1", "steps_failed": 3, "epoch": 1}, "fresh": {"state": "live"}}
    assert changes(old, new) == [
        ("a", "2 steps failed"), ("a", "is in epoch 1 now"), ("fresh", "is there, live"), ("gone", "is not listed any more"),
    ]  # fmt: skip
    lost = {"a": {"state": "lost", "error": "no answer"}}
    assert changes({"a": old["a"]}, lost) == [("a", "was live and is lost: no answer")]
    assert changes(lost, {"a": old["a"]}) == [("a", "was lost and is live")]
    assert changes({"a": old["a"]}, {"a": {**old["a"], "incarnation": "2"}}) == [("a", "was started again")]
    assert changes(old, old) == []


async def test_a_session_of_this_process_is_shown() -> None:
    with af.Graph().as_default() as graph:
        y = af.square(af.placeholder(af.float32, [], name="x"), name="y")
    async with af.Session(graph=graph) as session:
        await session.run(y, {"x:0": 2.0})
        async with client(Dashboard(session, token="")) as script:
            told = (await script.get("/snapshot.json")).json()["tasks"]["session"]
            assert told["steps"] == 1 and told["devices"][0]["type"] == "CPU"
            assert "actorflow_steps_total" in (await script.get("/metrics")).text
            assert (await script.get("/graph.json")).json()["nodes"] == 2


async def test_mounted_below_a_path_it_finds_its_parts() -> None:
    from starlette.applications import Starlette
    from starlette.routing import Mount

    app = Starlette(routes=[Mount("/watch", Dashboard(Told(), token="secret"))])
    async with client(app) as browser:
        first = await browser.get("/watch/?token=secret")
        assert first.status_code == 303 and first.headers["location"] == "/watch/"
        assert (await browser.get("/watch/")).status_code == 200
        assert (await browser.get("/watch/page.js")).status_code == 200
        assert (await browser.get("/watch/snapshot.json")).json()["number"] == 1


# ---- of a cluster


@pytest.fixture
async def pair() -> AsyncIterator[list[Server]]:
    async with servers({"worker": 2}, "auto") as found:
        yield found


async def test_all_tasks_of_a_cluster_are_found_from_one(pair: list[Server]) -> None:
    source = ClusterSource(pair[0].address, timeout=PATIENCE)
    snapshot = await Sampler(source).snapshot()
    assert {name: told["state"] for name, told in snapshot["tasks"].items()} == {s.task: "live" for s in pair}
    assert not snapshot["problems"]
    said = "\n".join(top.screen(snapshot))
    assert "2 tasks" in said and pair[1].task in said


async def test_a_task_that_is_lost_is_shown_as_lost_and_comes_back(pair: list[Server]) -> None:
    source = ClusterSource(pair[0].address, timeout=0.5)
    await source.ask()
    known = source._known[pair[1].task]
    source._known[pair[1].task] = type(known)("tcp://127.0.0.1:1", None)
    snapshot = await Sampler(source).snapshot()
    assert snapshot["tasks"][pair[1].task]["state"] == "lost" and "lost" in snapshot["problems"][0]
    assert f'actorflow_task_state{{task="{pair[1].task}",state="lost"}} 1' in render(snapshot["tasks"])
    assert "lost" in "\n".join(top.screen(snapshot))
    source._known[pair[1].task] = known
    assert (await source.ask())[pair[1].task]["state"] == "live"


async def test_a_cluster_that_never_answered_is_lost() -> None:
    told = await ClusterSource("tcp://127.0.0.1:1", timeout=0.3).ask()
    assert [one["state"] for one in told.values()] == ["lost"]


# ---- metrics


def test_metrics_are_openmetrics() -> None:
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    text = render({"/job:worker/task:0": TASK, "/job:worker/task:1": {"state": "lost", "error": "gone"}})
    families = {family.name: family for family in parser.text_string_to_metric_families(text)}
    assert families.keys() == {family.name for family in FAMILIES}
    assert [sample.value for sample in families["actorflow_steps"].samples] == [7]
    (size,) = families["actorflow_queue_size"].samples
    assert size.labels["name"] == 'a "queue"\n'
    states = {(s.labels["task"], s.labels["state"]): s.value for s in families["actorflow_task_state"].samples}
    assert states["/job:worker/task:1", "lost"] == 1 and states["/job:worker/task:0", "live"] == 1
    assert not families["actorflow_link_round_trip_seconds"].samples, "what is not known is left out"


def test_names_of_metrics_end_in_their_units_and_are_explained() -> None:
    for family in FAMILIES:
        assert family.name.startswith("actorflow_") and family.help.endswith(".")
        assert not family.unit or family.name.endswith(f"_{family.unit}")
        assert not family.name.endswith(("_total", "_info", "_count"))


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ("GET /metrics HTTP/1.1\r\nHost: localhost:9100\r\n\r\n", "200 OK"),
        ("GET /metrics HTTP/1.1\r\nHost: [::1]:9100\r\nOrigin: http://[::1]:9100\r\n\r\n", "200 OK"),
        ("GET /metrics?x=1 HTTP/1.0\r\n\r\n", "200 OK"),
        ("HEAD /metrics HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n", "200 OK"),
        ("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "404 Not Found"),
        ("POST /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", "405 Method Not Allowed"),
        ("GET /metrics HTTP/1.1\r\nHost: evil.test\r\n\r\n", "421 Misdirected Request"),
        ("GET /metrics HTTP/1.0\r\nHost: evil.test:9100\r\n\r\n", "421 Misdirected Request"),
        ("GET /metrics HTTP/1.1\r\nHost: localhost.evil.test\r\n\r\n", "421 Misdirected Request"),
        ("GET /metrics HTTP/1.1\r\nHost: 10.0.0.7\r\n\r\n", "421 Misdirected Request"),
        ("GET /metrics HTTP/1.1\r\n\r\n", "400 Bad Request"),
        ("GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: evil.test\r\n\r\n", "400 Bad Request"),
        ("GET /metrics HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.test\r\n\r\n", "403 Forbidden"),
        ("GET /metrics HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\n\r\n", "403 Forbidden"),
        ("GET /metrics HTTP/1.1\r\nHost: a\r\nHost: localhost\r\n\r\n", "400 Bad Request"),
        (
            "GET /metrics HTTP/1.1\r\nHost: [::1]\r\nOrigin: http://evil\r\nOrigin: http://[::1]\r\n\r\n",
            "400 Bad Request",
        ),
        (
            "GET /metrics HTTP/1.1\r\nHost: [::1]\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Site: none\r\n\r\n",
            "400 Bad Request",
        ),
        ("GET /metrics HTTP/1.1\r\nHost: [::1]\r\nX: a\r\nX: b\r\n\r\n", "200 OK"),
        ("nonsense\r\n\r\n", "405 Method Not Allowed"),
    ],
)
def test_the_port_for_metrics_answers_one_question(request_: str, status: str) -> None:
    answer = reply(request_.encode(), lambda: TASK, Hosts()).decode()
    head, _, body = answer.partition("\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {status}\r\n") and "connection: close" in head
    assert ("actorflow_steps_total" in body) == (status == "200 OK" and request_.startswith("GET"))


@pytest.mark.parametrize(
    ("listens", "taken", "refused"),
    [
        ("127.0.0.1", ["localhost", "127.0.0.1:1", "[::1]"], ["10.0.0.7", "worker-0", "evil.test", ""]),
        ("::1", ["localhost", "[::1]:9100"], ["worker-0", "[2001:db8::1]"]),
        (
            "0.0.0.0",
            ["localhost", "10.0.0.7:9100", "[2001:db8::1]", "Worker-0:9100"],
            ["evil.test", "worker-0.evil.test"],
        ),
        ("task.example.org", ["task.example.org:9100", "worker-0"], ["evil.test"]),
    ],
)
def test_the_port_for_metrics_has_the_names_of_its_task(listens: str, taken: list[str], refused: list[str]) -> None:
    hosts = Hosts(listens, ["worker-0"])
    assert [host for host in (*taken, *refused) if host in hosts] == taken


async def test_metrics_are_read_beside_connections_that_say_nothing(pair: list[Server]) -> None:
    """Five hundred are there before the one that asks, and none of them keeps a descriptor for long."""
    async with anyio.create_task_group() as group, AsyncExitStack() as silent:
        port = await group.start(serve_metrics, pair[0].status, "127.0.0.1", 0)
        for _ in range(500):
            await silent.enter_async_context(await anyio.connect_tcp("127.0.0.1", port))
        before = len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
        async with httpx.AsyncClient(timeout=4.0) as script:  # a connection may be silent for five seconds
            assert (await script.get(f"http://127.0.0.1:{port}/metrics")).status_code == 200
        assert before < 500 + 300, "both ends are in this process"
        group.cancel_scope.cancel()


async def test_a_task_serves_its_metrics_to_many_at_once(pair: list[Server]) -> None:
    async with anyio.create_task_group() as group:
        port = await group.start(serve_metrics, pair[0].status, "127.0.0.1", 0)
        found: list[str] = []

        async def scrape() -> None:
            async with httpx.AsyncClient(timeout=PATIENCE) as script:
                found.append((await script.get(f"http://127.0.0.1:{port}/metrics")).text)

        async with await anyio.connect_tcp("127.0.0.1", port) as stranger:
            await stranger.send(b"\x00" * 20000)  # speaks something else
            async with anyio.create_task_group() as inner:
                for _ in range(20):
                    inner.start_soon(scrape)
        with pytest.raises(InvalidArgumentError, match="Metrics can't be served"):
            await serve_metrics(pair[0].status, "127.0.0.1", port)
        group.cancel_scope.cancel()
    assert len(found) == 20 and all(f'task="{pair[0].task}"' in text and text.endswith("# EOF\n") for text in found)


def test_problems_are_told_in_words() -> None:
    full = {
        "queues": [{"name": "q", "size": 3, "waiting_to_put": 2, "waiting_to_take": 0}],
        "state": "live",
        "python": "3.11.7",
    }
    stages = [{"kind": "batch", "where": "a.py:3"}, {"kind": "map", "where": "a.py:2"}]
    slow = {"datasets": [{"name": "d", "waited": 0.456, "slowest": 1, "stages": stages}], "state": "live"}
    said = problems({"a": full, "b": {"state": "live", "python": "3.12.0"}, "c": slow})
    assert said[0] == "Queue 'q' on a is full, and 2 operations wait for room."
    assert said[1] == "Steps wait for the dataset 'd' on c 46% of the time; its slowest stage is map, made at a.py:2."
    assert "several versions of Python: 3.11.7, 3.12.0" in said[2]


async def test_a_session_in_this_process_tells_of_the_datasets_there() -> None:
    async with af.Session() as session, af.data.Dataset.range(5).prefetch(1).iterate() as numbers:
        source = SessionSource(session)
        assert not (await source.ask())["session"]["datasets"]
        await anext(numbers)
        (told,) = (await source.ask())["session"]["datasets"]
        assert [stage["kind"] for stage in told["stages"]] == ["prefetch", "range"]
        await numbers.aclose()
        assert not (await source.ask())["session"]["datasets"]


async def test_a_page_opens_and_ends_with_its_server(page: Dashboard) -> None:
    received = iter(["lifespan.startup", "lifespan.shutdown"])
    sent: list[str] = []

    async def receive() -> Any:
        return {"type": next(received)}

    async def send(message: Any) -> None:
        sent.append(message["type"])
        assert (page.tasks is not None) == (sent == ["lifespan.startup.complete"])

    await page({"type": "lifespan"}, receive, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


@contextlib.asynccontextmanager
async def served(page: Dashboard, end: asyncio.Event | None = None) -> AsyncIterator[httpx.AsyncClient]:
    """The page on a port, as the command serves it; it ends with the block, or with `end`."""
    server = pytest.importorskip("actorflow.frontends.http.server")
    pytest.importorskip("httptools")
    listening, end = server.listening("127.0.0.1", 0), end or asyncio.Event()
    async with page, anyio.create_task_group() as group:
        group.start_soon(server.HttpServer(page).serve, [listening], None, end)
        base, token = f"http://127.0.0.1:{listening.getsockname()[1]}", {"authorization": "Bearer secret"}
        async with httpx.AsyncClient(base_url=base, headers=token, timeout=PATIENCE) as browser:
            yield browser
        end.set()


PATHS = [
    "/",
    "/page.js",
    "/page.css",
    "/metrics",
    "/steps.json",
    "/graph.json",
    "/curves.json",
    "/step.json?number=x",
    "/gone",
]


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
@pytest.mark.parametrize("path", PATHS)
async def test_its_server_answers_as_one_of_asgi(page: Dashboard, method: str, path: str) -> None:
    async with client(page, authorization="Bearer secret") as mounted, served(page) as browser:
        expected, answer = await mounted.request(method, path), await browser.request(method, path)
    assert (answer.status_code, answer.content) == (expected.status_code, expected.content)
    headers = {
        name: value for name, value in answer.headers.items() if name != "connection"
    }  # it ends behind a refusal
    assert headers == dict(expected.headers)


async def test_its_server_streams_snapshots_until_the_client_goes(page: Dashboard) -> None:
    async with served(page) as browser:
        async with browser.stream("GET", "/events") as stream:
            assert (
                stream.headers["content-type"] == "text/event-stream" and stream.headers["cache-control"] == "no-store"
            )
            numbers = set()
            async for line in stream.aiter_lines():
                if line.startswith("id: "):
                    numbers.add(line)
                if len(numbers) == 3:
                    break
            assert page.sampler.watchers == 1
        await until(lambda: page.sampler.watchers == 0)


async def test_its_server_ends_while_a_page_is_open(page: Dashboard) -> None:
    end = asyncio.Event()
    async with served(page, end) as browser, browser.stream("GET", "/events") as stream:
        lines = stream.aiter_lines()
        await anext(lines)
        end.set()
        async for _ in lines:  # a stream that breaks off raises RemoteProtocolError
            pass
    assert page.sampler.watchers == 0


async def test_its_server_reads_no_body(page: Dashboard) -> None:
    async with served(page) as browser:
        assert (await browser.request("GET", "/", content=b"x" * 100)).status_code == 413


async def test_a_page_has_no_sockets_of_the_web(page: Dashboard) -> None:
    sent: list[str] = []

    async def send(message: Any) -> None:
        sent.append(message["type"])

    await page({"type": "websocket", "headers": []}, send, send)  # type: ignore[arg-type]
    assert sent == ["websocket.close"]


def test_each_metric_is_in_the_documentation() -> None:
    """`python tests/frontends/dashboard/test_dashboard.py` writes the table."""
    assert documented(DOCUMENT.read_text(encoding="utf-8")) == DOCUMENT.read_text(encoding="utf-8")


DOCUMENT = Path(__file__).parents[3] / "docs" / "reference" / "metrics.md"


def documented(text: str) -> str:
    """The document with the table of metrics as they are."""
    begin, end = "<!-- metrics: begin -->\n", "<!-- metrics: end -->"
    rows = [f"| `{family.name}` | {family.kind} | {family.help} |" for family in FAMILIES]
    table = "\n".join(["| metric | kind | what it is |", "|---|---|---|", *rows, ""])
    before, _, rest = text.partition(begin)
    return before + begin + table + end + rest.partition(end)[2]


if __name__ == "__main__":
    DOCUMENT.write_text(documented(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
