"""The words of a chief that fails or is ready, and of workers that wait for it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest
from clusters import servers
from logged import capture_logs
from virtual import run

import actorflow as af
from actorflow.cluster.client.engine import RemoteEngine
from actorflow.cluster.server import Server
from actorflow.errors import DeadlineExceededError
from actorflow.testing import World, simulate
from actorflow.training.supervisor import supervisor as supervisor_module
from actorflow.training.supervisor.recovery.chief_failure import ChiefWait, tell_failure

CLUSTER = {"ps": ["ps0:1"], "worker": ["w0:1", "w1:1"]}
HOSTS = {"ps0": ("ps", 0), "w0": ("worker", 0), "w1": ("worker", 1)}
JOBS = {"ps": 1, "worker": 2}


class Unspeakable(Exception):
    """An error without a text."""

    def __str__(self) -> str:
        raise LookupError("this error has no text")


def one_variable() -> tuple[af.Graph, af.Operation]:
    """A graph with a variable on the parameter server, and its initialization."""
    graph = af.Graph()
    with graph.as_default():
        with af.device("/job:ps/task:0"):
            af.Variable(1.0, name="v")
        init = af.global_variables_initializer()
    return graph, init


def manager_of(graph: af.Graph, pause: float = 1.0) -> af.train.SessionManager:
    """A manager whose sessions are ready when the variables of the graph have values."""
    with graph.as_default():
        return af.train.SessionManager(ready_op=af.report_uninitialized_variables(), recovery_wait_secs=pause)


def full(session: object) -> None:
    raise ValueError("the disk is full")


def reasons(started: list[Server]) -> list[str]:
    """The reason of a failure in the status of each server."""
    return [str(server.status()["chief_failure"]) for server in started]


# ---- the chief's own error counts


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("plain", "ValueError: plain"),
        ("", "ValueError: "),
        ("\udcff bad", "ValueError: \\udcff bad"),
        ("a\nb" * 2000, ("ValueError: " + "a\nb" * 2000)[:2000]),
        ("\udcff" * 3000, "ValueError: " + "\\udcff" * 1988),
    ],
    ids=["plain", "empty", "surrogate", "long", "long-surrogates"],
)
async def test_f107_any_text_of_an_error_is_told(text: str, told: str) -> None:
    async with servers(JOBS) as started, af.Session(started[1].target, af.Graph()) as session:
        await tell_failure(session, ValueError(text))
        assert reasons(started) == [told] * 3


async def test_f107_telling_a_failure_raises_nothing() -> None:
    async with servers(JOBS) as started:
        async with af.Session(started[1].target, af.Graph()) as session:
            await tell_failure(session, Unspeakable())
        with capture_logs() as logs:
            await tell_failure(session, ValueError("told by a closed session"))
    await tell_failure(session, ValueError("told to nobody"))
    assert [log["event"] for log in logs] in ([], ["the tasks have not heard why the chief failed"])


@pytest.mark.parametrize("error", [ValueError("\udcff bad"), Unspeakable()], ids=["surrogate", "unspeakable"])
async def test_f107_a_supervisor_that_fails_raises_its_error_and_ends(error: Exception) -> None:
    graph, _ = one_variable()
    async with servers(JOBS) as started:
        supervisor = af.Supervisor(started[1].target, graph)

        async def fail(*arguments: object) -> None:
            raise error

        supervisor._watch = fail  # type: ignore[assignment,method-assign]
        with pytest.raises(type(error)) as caught:
            await supervisor.start()
        assert caught.value is error and supervisor.session._engine.closed


async def test_f107_a_supervisor_ends_whatever_becomes_of_its_message(monkeypatch: pytest.MonkeyPatch) -> None:
    async def cancelled(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(supervisor_module, "tell_failure", cancelled)
    graph, _ = one_variable()
    async with servers(JOBS) as started:
        supervisor = af.Supervisor(started[1].target, graph)

        async def fail(*arguments: object) -> None:
            raise ValueError("mine")

        supervisor._watch = fail  # type: ignore[assignment,method-assign]
        with pytest.raises(KeyboardInterrupt):
            await supervisor.start()
        assert supervisor.session._engine.closed


@pytest.mark.parametrize("error", [ValueError("\udcff bad"), Unspeakable()], ids=["surrogate", "unspeakable"])
@pytest.mark.parametrize("closes", [False, True])
async def test_f107_a_session_manager_that_fails_raises_its_error(error: Exception, closes: bool) -> None:
    graph, init = one_variable()

    async def fail(session: af.Session) -> None:
        if closes:
            await session.close()
        raise error

    async with servers(JOBS) as started:
        with pytest.raises(type(error)) as caught:
            await manager_of(graph).prepare_session(started[1].target, init_op=init, init_fn=fail)
    assert caught.value is error


# ---- a chief that is ready


async def test_f107_a_session_manager_that_is_ready_makes_a_failure_forgotten() -> None:
    graph, init = one_variable()
    manager = manager_of(graph)
    async with servers(JOBS) as started:
        for chief in (1, 2):
            with pytest.raises(ValueError, match="the disk is full"):
                await manager.prepare_session(started[1].target, init_op=init, init_fn=full)
            assert reasons(started) == ["ValueError: the disk is full"] * 3
            async with await manager.prepare_session(started[chief].target, init_op=init):
                assert reasons(started) == [""] * 3


async def test_f107_a_session_that_is_recovered_makes_a_failure_forgotten(tmp_path: Path) -> None:
    graph, init = one_variable()
    manager = manager_of(graph)
    with graph.as_default():
        saver = af.train.Saver()
    async with servers(JOBS, file_roots=[tmp_path]) as started:
        target = started[1].target
        async with await manager.prepare_session(target, init_op=init) as session:
            await saver.save(session, f"{tmp_path}/model")
            await tell_failure(session, ValueError("the disk is full"))
        for folder, told in ((f"{tmp_path}/none", "ValueError: the disk is full"), (str(tmp_path), "")):
            opened, restored = await manager.recover_session(target, saver=saver, checkpoint_dir=folder)
            await opened.close()
            assert restored == (not told) and reasons(started) == [told] * 3


# ---- workers that wait


class Told(RemoteEngine):
    """The engine of a cluster whose chief has failed; it notes when that is asked."""

    times: list[float]

    async def chief_failure(self) -> str:
        self.times.append(anyio.current_time())
        return "ValueError: the disk is full"


@pytest.mark.parametrize("pause", [0.01, 0.1, 1.0, 1.5, 30.0])
def test_f107_a_worker_asks_about_once_a_second_whatever_its_pause_is(pause: float) -> None:
    async def main() -> tuple[list[float], ChiefWait]:
        engine = Told.__new__(Told)
        engine.times = []
        wait = ChiefWait(SimpleNamespace(_engine=engine))  # type: ignore[arg-type]
        begin = anyio.current_time()
        while anyio.current_time() < begin + 30.0:
            await wait.sleep(pause)
        return [at - begin for at in engine.times], wait

    with capture_logs() as logs:
        asked, wait = run(main)[0]
    assert wait.failure == "ValueError: the disk is full"
    assert asked and asked[0] <= 1.0
    gaps = [after - before for before, after in pairwise(asked)]
    assert all(0.99 <= gap <= 2.01 for gap in gaps) and 15 <= len(asked) <= 31, gaps
    assert len([log for log in logs if log["event"].startswith("the chief has failed")]) == 1


@pytest.mark.parametrize(("pause", "longest"), [(0.1, 20.0), (1.0, 20.0), (30.0, 100.0), (30.0, 20.0)])
def test_f107_a_worker_says_why_its_chief_failed(pause: float, longest: float) -> None:
    """The last pair leaves no time for a pause: the worker asks before it gives up."""
    graph, _ = one_variable()

    async def serve(job: str, index: int) -> None:
        async with Server(CLUSTER, job, index) as server:
            await server.join()

    async def chief() -> None:
        with pytest.raises(ValueError, match="the disk is full"):
            await manager_of(graph).prepare_session("tcp://w0:1", init_fn=full)

    async def worker() -> str:
        await anyio.sleep(10.0)
        try:
            await manager_of(graph, pause).wait_for_session("tcp://w1:1", max_wait_secs=longest)
        except DeadlineExceededError as error:
            return str(error)
        raise AssertionError("nobody has given variables their values")

    async def main(world: World) -> str:
        for name, place in HOSTS.items():
            world.spawn(name, serve, *place)
        world.spawn("chief", chief, again=False)
        return await world.spawn("w1", worker, again=False)

    with capture_logs() as logs:
        text = simulate(main, seed=7, hosts=[*HOSTS, "chief"], limit=300)
    assert "The chief has failed: ValueError: the disk is full" in text
    assert len([log for log in logs if log["event"].startswith("the chief has failed")]) == 1
