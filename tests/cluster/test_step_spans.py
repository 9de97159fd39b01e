"""Spans of steps: from the client over the master to each task that takes part, one below the other."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import Any

import anyio
import pytest
from clusters import servers

import actorflow as af
from actorflow.cluster.server import Server
from actorflow.engine.runtime.diagnostics import step_spans
from actorflow.errors import InvalidArgumentError
from actorflow.frontends.ext import otel

CURRENT: ContextVar[str] = ContextVar("CURRENT", default="")


class Noted:
    """Spans by their paths: the context of a span is its path."""

    def __init__(self) -> None:
        self.ended: list[tuple[str, dict[str, Any], str]] = []

    def context(self) -> str:
        return CURRENT.get()

    @contextmanager
    def within(self, name: str, context: str, attributes: Mapping[str, Any]) -> Iterator[None]:
        path = f"{context or CURRENT.get()}/{name.removeprefix('actorflow.')}"
        token = CURRENT.set(path)
        error = ""
        try:
            yield
        except Exception as raised:
            error = type(raised).__name__
            raise
        finally:
            CURRENT.reset(token)
            self.ended.append((path, dict(attributes), error))


@pytest.fixture
def noted() -> Iterator[Noted]:
    made = Noted()
    step_spans.install(made)
    yield made
    step_spans.install(None)


@pytest.fixture
async def pair() -> AsyncIterator[list[Server]]:
    async with servers({"worker": 2}, "auto") as found:
        yield found


def two_tasks(message: str = "no") -> tuple[af.Graph, af.Tensor]:
    with af.Graph().as_default() as graph:
        with af.device("/job:worker/task:0"):
            one = 1.0 / af.placeholder(af.float32, [], name="x")
        with af.device("/job:worker/task:1"):
            two = af.check_numerics(one, message, name="two")
    return graph, two


async def test_a_run_on_a_cluster_has_a_span_in_each_process(noted: Noted, pair: list[Server]) -> None:
    graph, two = two_tasks()
    async with af.Session(pair[0].target, graph=graph) as session:
        assert await session.run(two, {"x:0": 2.0}) == 0.5
    assert {path for path, _, _ in noted.ended} == {
        "/session.run", "/session.run/step", "/session.run/step/run_part",
    }  # fmt: skip
    parts = [about["task"] for path, about, _ in noted.ended if path.endswith("run_part")]
    assert sorted(parts) == [server.task for server in pair]
    assert noted.ended[-1][:2] == ("/session.run", {"fetches": "two:0"})
    assert not any(link.spans for server in pair for link in server.links.accepted), "what was told is used up"


async def test_a_blocking_run_has_a_span_below_that_of_its_caller(noted: Noted, pair: list[Server]) -> None:
    graph, two = two_tasks()

    def work() -> None:
        with af.Graph().as_default() as alone:
            one = af.constant(1.0)
        with noted.within("request", "", {}), af.blocking.Session(graph=alone) as session:
            session.run(one)
        with noted.within("cluster", "", {}), af.blocking.Session(pair[0].target, graph=graph) as session:
            session.run(two, {"x:0": 2.0})

    await anyio.to_thread.run_sync(work)
    paths = [path for path, _, _ in noted.ended]
    assert paths[:2] == ["/request/session.run", "/request"] and paths[-2:] == ["/cluster/session.run", "/cluster"]
    assert {"/cluster/session.run/step", "/cluster/session.run/step/run_part"} <= {*paths}


async def test_an_error_is_that_of_each_span(noted: Noted, pair: list[Server]) -> None:
    graph, two = two_tasks()
    async with af.Session(pair[0].target, graph=graph) as session:
        with pytest.raises(InvalidArgumentError):
            await session.run(two, {"x:0": 0.0})
    errors = {path: error for path, about, error in noted.ended if about.get("task") != pair[0].task}
    assert errors["/session.run"] == "InvalidArgumentError" == errors["/session.run/step/run_part"]


async def test_without_a_system_nothing_is_told(pair: list[Server]) -> None:
    graph, two = two_tasks()
    async with af.Session(pair[0].target, graph=graph) as session:
        assert await session.run(two, {"x:0": 2.0}) == 0.5
    assert step_spans.current() == ""


async def test_a_peer_can_tell_only_so_many_contexts(pair: list[Server]) -> None:
    link = await pair[0].reach(pair[1].task, pair[1].address)
    for step in range(3000):
        link.told_span(step, "x" * 10_000)
    assert len(link.spans) <= 1024 and all(len(context) == step_spans.MOST_CONTEXT for context in link.spans.values())


@pytest.mark.extras("opentelemetry-sdk")
async def test_opentelemetry_has_one_trace_of_all_processes(pair: list[Server]) -> None:
    sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="opentelemetry is not installed (make test-extras)")
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    otel.instrument(provider)
    try:
        graph, two = two_tasks()
        async with af.Session(pair[0].target, graph=graph) as session:
            await session.run(two, {"x:0": 2.0})
            assert not exporter.get_finished_spans(), "a run outside of the program's spans has none"
            with provider.get_tracer("program").start_as_current_span("request"):
                await session.run(two, {"x:0": 2.0})
    finally:
        otel.uninstrument()
    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert spans.keys() == {"request", "actorflow.session.run", "actorflow.step", "actorflow.run_part"}
    assert len({span.context.trace_id for span in spans.values()}) == 1
    chain = ["request", "actorflow.session.run", "actorflow.step", "actorflow.run_part"]
    for above, below in pairwise(chain):
        assert spans[below].parent.span_id == spans[above].context.span_id
    assert spans["actorflow.run_part"].attributes["actorflow.task"] in {server.task for server in pair}


@pytest.mark.extras("opentelemetry-sdk")
async def test_spans_have_the_class_of_an_error_and_no_values(pair: list[Server]) -> None:
    sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="opentelemetry is not installed (make test-extras)")
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    otel.instrument(provider, roots=True)
    try:
        graph, two = two_tasks("a secret")
        async with af.Session(pair[0].target, graph=graph) as session:
            with pytest.raises(InvalidArgumentError, match="a secret"):
                await session.run(two, {"x:0": 0.0})
    finally:
        otel.uninstrument()
    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert spans.keys() == {"actorflow.session.run", "actorflow.step", "actorflow.run_part"}
    for span in spans.values():
        assert "secret" not in span.to_json() and not span.events
    status = spans["actorflow.session.run"].status
    assert (status.status_code.name, status.description) == ("ERROR", "InvalidArgumentError")


def test_without_opentelemetry_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry", None)
    with pytest.raises(af.errors.UnimplementedError, match=r"actorflow\[otel\]"):
        otel.instrument()
