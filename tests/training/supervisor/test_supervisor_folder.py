"""A checkpoint folder that not every task has is refused at the start, with the tasks, their hosts and what to do."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest
from clusters import make_spec, servers
from logged import capture_logs

import actorflow as af
from actorflow.checkpoint.stores.files import SystemFiles
from actorflow.checkpoint.stores.store import LocalStore, StoredFile, register_store
from actorflow.cluster.server import Server
from actorflow.errors import (
    DeadlineExceededError,
    FailedPreconditionError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    UnavailableError,
)
from actorflow.graph.ops.state.checkpoint import read_nonce
from actorflow.testing import World, simulate
from actorflow.training.supervisor.recovery.chief_failure import tell_failure
from actorflow.training.supervisor.shared_folder import SharedFolder

PS, FIRST, OTHER = "/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"
CLUSTER = {"ps": ["ps0:1"], "worker": ["w0:1", "w1:1"]}
HOSTS = {"ps0": ("ps", 0), "w0": ("worker", 0), "w1": ("worker", 1)}
FOLDER = "/checkpoints/run"


def graph_of(*tasks: str) -> af.Graph:
    """A variable on each of the tasks, and a global step."""
    graph = af.Graph()
    with graph.as_default():
        for number, task in enumerate(tasks):
            with af.device(task):
                af.get_variable(f"v{number}", [], af.float32, initializer=af.zeros_initializer())
        with af.device(tasks[0]):
            af.train.get_or_create_global_step()
    return graph


# ---- machines with file systems of their own


def supervised(*sharing: str) -> tuple[OpError | None, dict[str, list[str]]]:
    """The error of a supervisor's start, where these machines have one file system and others have their own; and what lies in
    each machine's folder in the end."""

    async def serve(job: str, index: int) -> None:
        async with Server(CLUSTER, job, index, file_roots=[FOLDER]) as server:
            await server.join()

    async def chief() -> OpError | None:
        try:
            async with af.Supervisor("tcp://w0:1", graph_of(PS, FIRST, OTHER), checkpoint_dir=FOLDER) as supervisor:
                assert await supervisor.save()
        except OpError as error:
            return error
        return None

    async def main(world: World) -> tuple[OpError | None, dict[str, list[str]]]:
        world.share_files(*sharing)
        for name, place in HOSTS.items():
            world.spawn(name, serve, *place)
        error = await world.spawn("chief", chief, again=False)
        return error, {name: world.files(name).list(FOLDER) if name in sharing else [] for name in HOSTS}

    return simulate(main, seed=7, hosts=[*HOSTS, "chief"], limit=300)


def test_f107_a_task_with_another_folder_is_named_at_the_start() -> None:
    error, left = supervised("chief", "ps0", "w0")
    assert type(error) is FailedPreconditionError
    text = str(error)
    assert error.message == (
        f"Not every task has the checkpoint folder '{FOLDER}' of the chief (on host chief): /job:worker/task:1."
    )
    assert "/job:worker/task:1 on host w1: " in text and "w0" not in text and "ps0" not in text
    assert "shared mount" in text and "s3://" in text
    assert not [name for name in left["ps0"] if "nonce" in name or "model" in name], (
        "nothing was saved, and nothing stays"
    )


def test_f107_all_tasks_with_other_folders_are_named_at_once() -> None:
    error, _ = supervised("chief")
    assert type(error) is FailedPreconditionError
    assert all(f"{task} on host {host}" in str(error) for host, task in zip(HOSTS, (PS, FIRST, OTHER)))


def test_f107_a_folder_that_all_share_is_taken_and_nothing_stays_in_it() -> None:
    error, left = supervised("chief", *HOSTS)
    assert error is None
    assert "model.ckpt-0.manifest" in left["w1"] and not [name for name in left["w1"] if "nonce" in name]


def waiting(starts_after: float, wait_seconds: float) -> tuple[OpError, list[str], list[str]]:
    """The error of a worker that waits for a chief which fails; its log says then why, and for what it waits."""

    async def serve(job: str, index: int) -> None:
        async with Server(CLUSTER, job, index, file_roots=[FOLDER]) as server:
            await server.join()

    async def chief() -> None:
        with pytest.raises(FailedPreconditionError, match="Not every task has the checkpoint folder"):
            await af.Supervisor("tcp://w0:1", graph_of(PS, FIRST, OTHER), checkpoint_dir=FOLDER).start()

    async def worker() -> OpError:
        await anyio.sleep(starts_after)
        graph = graph_of(PS, FIRST, OTHER)
        try:
            await af.Supervisor("tcp://w1:1", graph, is_chief=False, wait_seconds=wait_seconds).start()
        except OpError as error:
            return error
        raise AssertionError("nobody has given variables their values")

    async def main(world: World) -> OpError:
        world.share_files("chief", "w0")
        for name, place in HOSTS.items():
            world.spawn(name, serve, *place)
        world.spawn("chief", chief, again=False)
        return await world.spawn("w1", worker, again=False)

    with capture_logs() as logs:
        error = simulate(main, seed=7, hosts=[*HOSTS, "chief"], limit=300)
    reasons = [log["error"] for log in logs if log["event"].startswith("the chief has failed")]
    waits = [log["event"] for log in logs if log["event"].startswith("waiting for the chief")]
    return error, reasons, waits


@pytest.mark.parametrize("starts_after", [0.0, 20.0])
def test_f107_a_worker_that_waits_says_why_the_chief_failed(starts_after: float) -> None:
    error, reasons, waits = waiting(starts_after, wait_seconds=60.0)
    assert len(reasons) == 1, "it is said once"
    assert reasons[0].startswith("FailedPreconditionError: Not every task has the checkpoint folder")
    assert "/job:ps/task:0" in reasons[0] and "shared mount" in reasons[0]
    assert waits and len(waits) <= 3
    assert isinstance(error, DeadlineExceededError)
    assert "The chief has failed: FailedPreconditionError: Not every task" in str(error)


def test_f107_a_new_chief_makes_the_failure_of_the_former_chief_forgotten() -> None:
    async def main() -> list[str]:
        told: list[str] = []
        async with servers({"ps": 1, "worker": 2}) as started:
            first = started[1]
            async with af.Session(first.target, graph_of(FIRST, OTHER)) as session:
                await tell_failure(session, ValueError("no such folder"))
            told += [server.status()["chief_failure"] for server in started]
            async with af.Supervisor(first.target, graph_of(FIRST, OTHER)):
                told += [server.status()["chief_failure"] for server in started]
        return told

    assert anyio.run(main) == ["ValueError: no such folder"] * 3 + [""] * 3


# ---- folders that are there, and may not be read


async def test_f107_a_task_that_may_not_read_the_folder_is_named(tmp_path: Path) -> None:
    spec = make_spec({"ps": 1, "worker": 1}, "local")
    elsewhere = tmp_path / "elsewhere"
    async with (
        Server(spec, "ps", 0, transport="local", file_roots=[elsewhere]),
        Server(spec, "worker", 0, transport="local", file_roots=[tmp_path / "run"]) as worker,
    ):
        with pytest.raises(
            PermissionDeniedError, match=r"may read the checkpoint folder '.*run': /job:ps/task:0\."
        ) as caught:
            async with af.Supervisor(worker.target, graph_of(PS, FIRST), checkpoint_dir=tmp_path / "run"):
                pass
    assert "--files" in str(caught.value)


# ---- stores


class Odd(LocalStore):
    """A folder whose file with the nonce can't be opened as it should."""

    def __init__(self, folder: str, opens: Callable[[], object]) -> None:
        super().__init__(folder, SystemFiles())
        self._opens = opens

    @contextmanager
    def open(self, name: str) -> Iterator[StoredFile]:
        if "nonce" in name:
            self._opens()
        with super().open(name) as source:
            yield source


def checked(folder: Path, opens: Callable[[], object]) -> None:
    """Lets all tasks of a cluster look into a folder whose files are opened so."""
    register_store("odd", lambda _: Odd(str(folder), opens))
    graph = graph_of(PS, FIRST)
    with graph.as_default():
        saver = af.train.Saver()

    async def check() -> None:
        async with (
            servers({"ps": 1, "worker": 1}, file_roots=["odd://run"]) as found,
            af.Session(found[1].target, graph) as session,
        ):
            await SharedFolder(saver).check(session, "odd://run")

    anyio.run(check)


def test_f107_a_file_that_others_see_a_moment_later_is_waited_for(tmp_path: Path) -> None:
    looks: list[int] = []

    def opens() -> None:
        looks.append(1)
        if len(looks) < 3:
            raise NotFoundError("There is no such file yet.")

    checked(tmp_path, opens)
    assert len(looks) >= 3 and not list(tmp_path.iterdir())


def test_f107_a_store_that_fails_says_nothing_of_the_folder(tmp_path: Path) -> None:
    def opens() -> None:
        raise UnavailableError("The store is away.")

    with pytest.raises(UnavailableError, match="could not be read by /job:ps/task:0, /job:worker/task:0") as caught:
        checked(tmp_path, opens)
    assert "The store is away." in str(caught.value) and not list(tmp_path.iterdir())


def test_f107_another_value_in_the_place_is_another_folder(tmp_path: Path) -> None:
    def opens() -> None:
        for path in tmp_path.iterdir():
            path.write_text("something else", encoding="ascii")

    with pytest.raises(FailedPreconditionError, match="Not every task has the checkpoint folder") as caught:
        checked(tmp_path, opens)
    assert "another value" in str(caught.value)


async def test_f107_an_object_store_that_all_reach_is_taken() -> None:
    pytest.importorskip("fsspec", reason="the extra `remote` is not installed")
    url = "memory://folder-of-all"
    async with servers({"ps": 1, "worker": 1}, file_roots=[url]) as found:
        async with af.Supervisor(found[0].target, graph_of(PS, FIRST), checkpoint_dir=url) as supervisor:
            path = await supervisor.save()
    assert af.train.checkpoint_exists(path)


async def test_f107_a_store_in_the_memory_of_each_process_is_refused() -> None:
    pytest.importorskip("fsspec", reason="the extra `remote` is not installed")
    async with af.LocalCluster({"ps": 1}) as cluster:
        with pytest.raises(FailedPreconditionError, match=r"host .*/job:ps/task:0\.") as caught:
            async with af.Supervisor(cluster, graph_of(PS), checkpoint_dir="memory://folder-of-one"):
                pass
    assert "there is no such file" in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "memory://allowed",
        "memory://allowed2/x",
        "memory://allowed/../x",
        "memory://allowed/%2e%2E/x",
        "memory://allowed/a::memory://b",
        "other://allowed/x",
    ],
)
async def test_f107_a_url_that_no_server_allows_is_refused(url: str) -> None:
    async with servers({"ps": 1}, file_roots=["memory://allowed/"]) as found, af.Session(found[0].target) as session:
        said = json.loads(await session.run(read_nonce(url)))
    assert said["kind"] == "PermissionDeniedError" and said["value"] is None
