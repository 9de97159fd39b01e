"""The comparison of servers: its clients count what a server does, and its table has a row for each server that was measured."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from channels import until

from benchmarks.compare import loads, report
from benchmarks.compare.server import PROGRAMS, Place, raw
from benchmarks.compare.servers import OURS, SERVERS

GOOD = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
CHUNKS = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
BUSY = b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n"


async def asked(answers: list[bytes], load: Callable[[int, bytes], Awaitable[object]]) -> int:
    """How many requests a server got that gives these answers in turn, and closes the connection in the place of an empty one."""
    requests = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal requests
        try:
            while (await reader.readuntil(b"\r\n\r\n")) and await reader.readexactly(4):
                answer = answers[requests % len(answers)]
                requests += 1
                if not answer:
                    break
                writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        await load(server.sockets[0].getsockname()[1], raw("/bytes")(memoryview(b"four")).request())
    return requests


@pytest.mark.parametrize("form", [GOOD, CHUNKS], ids=["length", "chunks"])
async def test_each_status_and_each_lost_connection_is_counted(form: bytes) -> None:
    answers = loads.Answers()

    async def load(port: int, request: bytes) -> None:
        nonlocal answers
        clients = loads.Clients(port, request)

        def has_all() -> bool:
            seen = clients.answers
            return len(seen.seconds) >= 20 and seen.others[503] > 0 and seen.others[0] > 0

        answers = await clients.run(3, lambda: until(has_all))

    requests = await asked([form, form, BUSY, form, b""], load)
    assert len(answers.seconds) == len(answers.ends) >= 20
    assert len(answers.seconds) + answers.others.total() <= requests
    assert set(answers.others) == {0, 503}


async def test_clients_that_leave_have_asked_once_each() -> None:
    assert await asked([GOOD], lambda port, request: loads.leave(port, request, 50, 0.0)) <= 50


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)
def test_each_server_has_a_program_a_command_and_json(server: object, tmp_path: Path) -> None:
    assert server in SERVERS
    each = SERVERS[SERVERS.index(server)]  # type: ignore[arg-type]
    assert "json" in each.bodies and each.command(Place(tmp_path / "bin" / "python", tmp_path, 1))
    assert not each.program or (PROGRAMS / each.program).is_file() and each.lines() > 5


def test_the_table_has_what_was_measured_and_why_the_rest_was_not() -> None:
    one = {"litserve/cnn": {"json_per_cpu_s": 2.0}, "actorflow/cnn": {"json_per_cpu_s": 6.0, "left_ms": 0.0}}
    medians = report.medians([one, {"litserve/cnn": {"json_per_cpu_s": 4.0}}])
    assert medians["litserve/cnn"] == {"json_per_cpu_s": 3.0}
    ratios = report.best_ratios(medians, [one], OURS, "cnn")
    assert ratios["actorflow/cnn/json"] == {"peer": "litserve", "median": 3.0, "least": 3.0, "most": 3.0}
    titles = {"actorflow": "ours", "litserve": "LitServe", "ray": "Ray Serve"}
    text = report.section(
        {
            "servers": {name: {"title": title, "versions": {}} for name, title in titles.items()},
            "models": {"cnn": "a network"}, "storms": "cnn", "medians": medians, "ratios": ratios,
            "machine": {"cpu": "cpu", "cores": 2, "python": "3"}, "commit": "abc", "dirty": False, "date": "today",
            "command": "python", "rounds": 2, "load_average": 1.0, "other_cpu": 0.5, "errors": {"ray": "pip can't install it"},
        }
    )  # fmt: skip
    assert (
        "| LitServe | – | **" not in text
        and "| LitServe | – | 3 |" in text
        and "Not measured: Ray Serve (pip can't" in text
    )
