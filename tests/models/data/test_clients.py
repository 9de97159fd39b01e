"""Iterators of several clients of one cluster. Without a shared name each client has its own; with one they share it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clusters import servers

import actorflow as af
from actorflow.errors import InvalidArgumentError

pytestmark = pytest.mark.allow_leaks("threads")

KINDS = ["one-shot", "initializable"]


class Client:
    """A program whose dataset lies on the task ps/0: its graph, and the next element."""

    def __init__(self, dataset: Any, kind: str = "initializable", **options: Any) -> None:
        with af.Graph().as_default() as self.graph, af.device("/job:ps/task:0"):
            make = dataset().make_one_shot_iterator if kind == "one-shot" else dataset().make_initializable_iterator
            iterator = make(**options)
            self.following = iterator.get_next()
            self.initializer = af.no_op() if kind == "one-shot" else iterator.initializer
            af.train.create_global_step()

    async def take(self, session: Any, count: int) -> list[Any]:
        """The next elements."""
        return [np.asarray(await session.run(self.following)).tolist() for _ in range(count)]


def numbers(start: int) -> Any:
    return lambda: af.data.Dataset.range(start, start + 100)


def texts() -> Any:
    return af.data.Dataset.from_tensor_slices([b"a", b"b"])


@pytest.mark.parametrize("kind", KINDS)
async def test_each_client_has_its_own_iterator_of_one_name(kind: str) -> None:
    """Two clients with the same program, one with another dataset, one with elements of another type."""
    clients = [Client(make, kind) for make in (numbers(0), numbers(0), numbers(50), texts)]
    async with servers({"ps": 1, "worker": 1}) as started, AsyncExitStack() as stack:
        sessions = [await stack.enter_async_context(af.Session(started[1].target, each.graph)) for each in clients]
        for client, session in zip(clients, sessions):
            await session.run(client.initializer)
        first = [await client.take(session, 2) for client, session in zip(clients, sessions)]
        second = [await client.take(session, 2) for client, session in zip(clients[:3], sessions)]
    assert first == [[0, 1], [0, 1], [50, 51], [b"a", b"b"]]
    assert second == [[2, 3], [2, 3], [52, 53]]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_client_that_starts_again_takes_up_its_own_iterator(kind: str) -> None:
    async with servers({"ps": 1, "worker": 1}) as started:
        for expected in ([0, 1, 2], [3, 4, 5]):
            client = Client(numbers(0), kind)
            async with af.Session(started[1].target, client.graph) as session:
                if expected[0] == 0:
                    await session.run(client.initializer)
                assert await client.take(session, 3) == expected


@pytest.mark.parametrize("other", [numbers(50), texts], ids=["another dataset", "another type"])
@pytest.mark.parametrize("kind", KINDS)
async def test_another_client_begins_its_own_dataset_after_the_first_has_gone(kind: str, other: Any) -> None:
    async with servers({"ps": 1, "worker": 1}) as started:
        taken = []
        for dataset in (numbers(0), other):
            client = Client(dataset, kind)
            async with af.Session(started[1].target, client.graph) as session:
                await session.run(client.initializer)
                taken.append(await client.take(session, 2))
    assert taken == [[0, 1], [b"a", b"b"] if other is texts else [50, 51]]


async def test_clients_that_name_an_iterator_share_it() -> None:
    clients = [Client(numbers(0), shared_name="input") for _ in range(2)]
    async with servers({"ps": 1, "worker": 1}) as started, AsyncExitStack() as stack:
        sessions = [await stack.enter_async_context(af.Session(started[1].target, each.graph)) for each in clients]
        await sessions[0].run(clients[0].initializer)
        taken = [(await client.take(session, 1))[0] for _ in range(2) for client, session in zip(clients, sessions)]
        other = Client(texts, shared_name="input")
        async with af.Session(started[1].target, other.graph) as session:
            with pytest.raises(InvalidArgumentError, match=r"iterator 'input' already.*int64.*string"):
                await session.run(other.initializer)
    assert taken == [0, 1, 2, 3]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_restore_of_one_client_moves_no_other_clients_iterator(kind: str, tmp_path: Path) -> None:
    """The client that restores comes second, so that its iterator is not the first of that name on the task."""
    clients = [Client(numbers(start), kind) for start in (0, 50)]
    async with servers({"ps": 1, "worker": 1}, file_roots=[str(tmp_path)]) as started, AsyncExitStack() as stack:
        sessions = [await stack.enter_async_context(af.Session(started[1].target, each.graph)) for each in clients]
        with clients[1].graph.as_default():
            saver = af.train.Saver()
            ready = af.global_variables_initializer()
        for client, session in zip(clients, sessions):
            await session.run(client.initializer)
            await client.take(session, 2)
        await sessions[1].run(ready)
        path = await saver.save(sessions[1], str(tmp_path / "model"))
        moved = [await client.take(session, 2) for client, session in zip(clients, sessions)]
        await saver.restore(sessions[1], path)
        after = [await client.take(session, 2) for client, session in zip(clients, sessions)]
    assert moved == [[2, 3], [52, 53]]
    assert after == [[4, 5], [52, 53]]
