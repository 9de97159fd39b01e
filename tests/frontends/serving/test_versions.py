"""Versions come and go while requests are answered; sources of all kinds are served."""

from __future__ import annotations

import asyncio
import json
import shutil
import struct
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from frontends.serving.served import Client, application, write_line

import actorflow as af
import actorflow.compat.v1 as tf
from actorflow import errors
from actorflow.engine.runtime.event_loops.step_result import StepResult
from actorflow.frontends.serving.guard import Guard, check_address
from actorflow.frontends.serving.versions import VersionPolicy, models_in, numbered

PREDICT = "/v1/models/line:predict"
BODY = {"instances": [[1.0, 2.0, 3.0]]}


async def total(client: Client, path: str = PREDICT) -> float:
    status, answer = await client.post(path, BODY)
    assert status == 200, answer
    return float(answer["predictions"][0]["total"])


async def test_a_new_version_answers_when_it_is_loaded_and_the_old_one_ends(tmp_path: Path) -> None:
    write_line(tmp_path / "line" / "1", 1)
    async with application(tmp_path) as app:
        client = Client(app)
        assert await total(client) == 6
        write_line(tmp_path / "line" / "2", 2)
        await app.refresh()
        assert await total(client) == 12
        status, answer = await client.post("/v1/models/line/versions/1:predict", BODY)
        assert status == 404 and "Specific(line, 1)" in answer["error"]
        shutil.rmtree(tmp_path / "line" / "2")
        await app.refresh()
        assert await total(client) == 6, "the newest that is there"
        shutil.rmtree(tmp_path / "line" / "1")
        await app.refresh()
        assert await total(client) == 6, "an empty folder takes nothing away"


async def test_requests_of_an_old_version_are_answered_while_the_new_one_comes(tmp_path: Path) -> None:
    write_line(tmp_path / "line" / "1", 1)
    async with application(tmp_path) as app:
        _, model = app.served["line"].find()
        gate, begun = anyio.Event(), anyio.Event()
        assert model._batcher is not None
        run = model._batcher._run

        async def held(*arguments: Any) -> Any:
            begun.set()
            await gate.wait()
            return await run(*arguments)

        model._batcher._run = lambda *arguments: StepResult.later(lambda: held(*arguments))
        async with anyio.create_task_group() as group:

            async def ask() -> None:
                assert await total(Client(app)) == 6

            group.start_soon(ask)
            await begun.wait()
            write_line(tmp_path / "line" / "2", 2)
            await app.refresh()
            assert app.served["line"].versions[1].state == "UNLOADING"
            assert await total(Client(app)) == 12
            gate.set()
        await model.drain()


async def test_a_damaged_version_leaves_the_old_one_and_is_tried_when_it_changes(tmp_path: Path) -> None:
    write_line(tmp_path / "line" / "1", 1)
    broken = write_line(tmp_path / "line" / "2", 2)
    shard = next((broken / "variables").glob("*.safetensors"))
    whole = shard.read_bytes()
    shard.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    async with application(tmp_path, policy=VersionPolicy(latest=2)) as app:
        client = Client(app)
        assert await total(client) == 6
        _, found = await client.get("/v1/models/line")
        assert [(v["version"], v["state"]) for v in found["model_version_status"]] == [("2", "END"), ("1", "AVAILABLE")]
        assert found["model_version_status"][0]["status"]["error_code"] == "DATA_LOSS"
        shard.write_bytes(whole)
        await app.refresh()
        assert await total(client) == 12
        assert await total(client, "/v1/models/line/versions/1:predict") == 6


async def test_at_the_start_an_older_version_answers_where_the_highest_can_not_be_loaded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for number in (1, 2, 3, 4):
        write_line(tmp_path / "line" / str(number), number)
    shards = {n: next((tmp_path / "line" / str(n) / "variables").glob("*.safetensors")) for n in (3, 4)}
    whole = {number: shard.read_bytes() for number, shard in shards.items()}
    for number, shard in shards.items():
        shard.write_bytes(whole[number][:-1])
    async with application(tmp_path) as app:
        client = Client(app)
        assert await total(client) == 12
        assert app.served["line"].available() == [2]
        await app.refresh()
        assert app.served["line"].available() == [2], "the version 1 is not needed"
        shards[4].write_bytes(whole[4])
        await app.refresh()
        assert await total(client) == 24
    told = [record.getMessage() for record in caplog.records if record.levelname != "INFO"]
    assert [text.partition(" model=")[0] for text in told] == [
        *["a version can't be loaded"] * 2,
        "an older version answers",
    ]
    assert "version=2 instead_of=4" in told[-1] and "107 bytes, but 108 were saved" in told[0]


async def test_a_version_that_is_half_copied_waits_for_its_values(tmp_path: Path) -> None:
    write_line(tmp_path / "line" / "1", 1)
    whole = write_line(tmp_path / "copied", 2)
    half = tmp_path / "line" / "2"
    async with application({"line": tmp_path / "line"}) as app:
        client = Client(app)
        shutil.copytree(whole, half, ignore=shutil.ignore_patterns("variables"))
        await app.refresh()
        assert await total(client) == 6
        _, found = await client.get("/v1/models/line/versions/2")
        assert found["model_version_status"][0]["status"]["error_code"] == "NOT_FOUND"
        assert "There are no values at" in found["model_version_status"][0]["status"]["error_message"]
        shutil.copytree(whole / "variables", half / "variables")
        await app.refresh()
        assert await total(client) == 12


async def test_a_model_whose_variables_have_no_values_is_not_opened(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        y = tf.multiply(x, tf.get_variable("w", initializer=2.0), name="y")
        session.run(tf.global_variables_initializer())
        (tmp_path / "graph.pb").write_bytes(y.graph.as_graph_def().SerializeToString())
    given = {"serving_default": ({"x": "x:0"}, {"y": "y:0"})}
    with pytest.raises(errors.FailedPreconditionError):
        async with af.serving.Model(tmp_path / "graph.pb", signatures=given):
            pass


async def test_old_versions_end_also_after_a_model_was_unloaded_and_loaded(tmp_path: Path) -> None:
    write_line(tmp_path / "line" / "1", 1)
    async with application(tmp_path) as app:
        served = app.served["line"]
        for number in (2, 3):  # the first one makes the tasks that end versions
            write_line(tmp_path / "line" / str(number), number)
            await app.refresh()
            assert served._ends is not None and served._ends.is_busy
            await asyncio.wait(served._ends._tasks)
            assert served.versions[number - 1].state == "END"
            await served.unload()
            await served.load()
        assert served.available() == [3]


async def test_unloading_while_a_version_is_loaded_leaves_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_line(tmp_path / "line" / "1", 1)
    async with application(tmp_path) as app:
        served = app.served["line"]
        write_line(tmp_path / "line" / "2", 2)
        begun, gate = anyio.Event(), anyio.Event()
        enter = af.serving.Model.__aenter__

        async def held(model: af.serving.Model) -> af.serving.Model:
            begun.set()
            await gate.wait()
            return await enter(model)

        monkeypatch.setattr(af.serving.Model, "__aenter__", held)
        async with anyio.create_task_group() as group:
            group.start_soon(app.refresh)
            await begun.wait()
            group.start_soon(served.unload)
            group.start_soon(app.refresh)  # it waits for its turn, and then finds that nothing is wanted
            await anyio.wait_all_tasks_blocked()
            gate.set()
        assert served.available() == []
        assert (await Client(app).get("/v2/health/ready"))[0] == 200, "what was unloaded on request is not missed"


@pytest.mark.parametrize("error", [IndexError("list index out of range"), AttributeError("x"), struct.error("short")])
async def test_an_error_of_any_kind_is_told_and_stops_no_other_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    for name in ("a", "line"):
        write_line(tmp_path / name / "1", 1)
    enter = af.serving.Model.__aenter__

    async def broken(model: af.serving.Model) -> af.serving.Model:
        if "line" not in model._path:
            raise error
        return await enter(model)

    monkeypatch.setattr(af.serving.Model, "__aenter__", broken)
    async with application(tmp_path) as app:
        assert await total(Client(app)) == 6
        (version,) = (await Client(app).get("/v1/models/a"))[1]["model_version_status"]
        assert version["state"] == "END" and version["status"]["error_code"] == "INTERNAL"
        assert str(error) in version["status"]["error_message"]


async def test_requests_that_run_when_a_model_is_unloaded_may_be_sent_again(tmp_path: Path) -> None:
    write_line(tmp_path / "line", 1)
    async with application(tmp_path) as app:
        _, model = app.served["line"].find()
        begun = anyio.Event()

        async def held(*arguments: Any) -> Any:
            begun.set()
            await anyio.sleep_forever()

        assert model._batcher is not None
        model._batcher._run = lambda *arguments: StepResult.later(lambda: held(*arguments))
        async with anyio.create_task_group() as group:

            async def ask() -> None:
                assert (await Client(app).post(PREDICT, BODY))[0] == 503

            group.start_soon(ask)
            await begun.wait()
            await app.served["line"].unload()
        metrics = (await Client(app).call("GET", "/metrics"))[2].decode()
        assert 'requests_total{model="line",protocol="rest",status="503"} 1' in metrics


def test_names_and_versions_of_folders_are_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = write_line(tmp_path / "line" / "1", 1)
    for copy in ("line/2.tmp", "net-v1.5/1", "one-v2.0"):
        shutil.copytree(line, tmp_path / copy)
    assert models_in(str(tmp_path / "net-v1.5")) == {"net-v1.5": str(tmp_path / "net-v1.5")}
    assert models_in(str(tmp_path)).keys() == {"line", "net-v1.5", "one-v2.0"}
    monkeypatch.chdir(tmp_path / "line")
    assert models_in(".") == {"line": str(tmp_path / "line")}
    with pytest.raises(errors.NotFoundError, match=r"nowhere can't be read: No such file"):
        models_in(str(tmp_path / "nowhere"))
    assert numbered(".").keys() == {1}


async def test_outputs_in_any_order_have_one_plan_and_few_plans_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_line(tmp_path / "1", 2)
    async with af.serving.Model(folder, warm_up=False) as model:
        for outputs in (["y", "total"], ["total", "y"]):
            assert list(await model.predict([[1.0, 2.0, 3.0]], outputs=outputs)) == outputs
        assert len(model._calls) == 1
        monkeypatch.setattr("actorflow.frontends.serving.model._CALLS", 1)
        assert list(await model.predict([[1.0, 2.0, 3.0]], outputs=["total"])) == ["total"]
        assert [outputs for _, outputs in model._calls] == [("total",)]


async def test_policies_and_labels(tmp_path: Path) -> None:
    for number in (1, 2, 10):
        write_line(tmp_path / "line" / str(number), number)
    labels = {"line": {"stable": 1}}
    async with application(tmp_path, policy=VersionPolicy(specific=(1, 2)), labels=labels) as app:
        client = Client(app)
        assert await total(client) == 12
        assert await total(client, "/v1/models/line/labels/stable:predict") == 6
        status, found = await client.get("/v1/models/line/labels/stable")
        assert status == 200 and found["model_version_status"][0]["version"] == "1"
    async with application(tmp_path) as app:
        assert await total(Client(app)) == 60, "10 is newer than 2"


async def test_models_that_come_to_the_folder_are_found(tmp_path: Path) -> None:
    write_line(tmp_path / "line" / "1", 1)
    async with application(tmp_path) as app:
        write_line(tmp_path / "other", 3)
        await app.refresh()
        assert await total(Client(app), "/v1/models/other:predict") == 18


async def test_a_mounted_application_loads_its_models_before_the_first_request(tmp_path: Path) -> None:
    write_line(tmp_path / "line" / "1", 1)
    app = application(tmp_path)
    try:
        assert await total(Client(app)) == 6
    finally:
        await app.__aexit__(None, None, None)


async def kinds(folder: Path) -> dict[str, tuple[str, Any]]:
    """The same model in each kind of file: its path, and signatures where it has none."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        w = tf.get_variable("w", initializer=2.0)
        y = tf.multiply(x, w, name="y")
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, str(folder / "tensorflow"), {"x": x}, {"y": y})
        frozen = af.export.freeze(session, [y], [x])
        (folder / "frozen.pb").write_bytes(frozen.SerializeToString())
        tf.train.Saver().save(session, str(folder / "model.ckpt"))
    given = {"serving_default": ({"x": "x:0"}, {"y": "y:0"})}
    return {
        "tensorflow": (str(folder / "tensorflow"), None),
        "frozen": (str(folder / "frozen.pb"), None),
        "checkpoint": (str(folder / "model.ckpt"), given),
    }


async def test_each_kind_of_file_is_served(tmp_path: Path) -> None:
    for name, (path, signatures) in (await kinds(tmp_path)).items():
        async with af.serving.Model(path, signatures=signatures) as model:
            np.testing.assert_array_equal(await model.predict([[1, 2, 3]]), [[2, 4, 6]], name)
    with pytest.raises(errors.InvalidArgumentError, match="has no signatures"):
        async with af.serving.Model(tmp_path / "model.ckpt"):
            pass
    with pytest.raises(errors.NotFoundError, match="There is no model at"):
        async with af.serving.Model(tmp_path / "nothing"):
            pass


async def test_a_model_lives_on_a_cluster(tmp_path: Path) -> None:
    folder = write_line(tmp_path / "1", 2)
    async with af.LocalCluster({"worker": 1}, file_roots=[tmp_path]) as cluster:
        async with af.serving.Model(folder, target=cluster.target) as model:
            answer = await model.predict([[1.0, 2.0, 3.0]], outputs=["total"])
            np.testing.assert_array_equal(answer["total"], [12])


async def test_a_model_in_process(tmp_path: Path) -> None:
    folder = write_line(tmp_path / "1", 2)
    model = af.serving.Model(folder)
    with pytest.raises(errors.FailedPreconditionError, match="The model is not open"):
        await model.predict([[1, 2, 3]])
    async with model:
        with pytest.raises(errors.InvalidArgumentError, match="shape"):
            await model.predict([[1, 2]])
        with pytest.raises(errors.NotFoundError, match="has no output 'z'"):
            await model.predict([[1, 2, 3]], outputs=["z"])
        with pytest.raises(errors.NotFoundError, match="Serving signature name: 'other' not found"):
            await model.predict([[1, 2, 3]], signature="other")
        with pytest.raises(errors.DeadlineExceededError):
            await model.predict([[1, 2, 3]], timeout=0)


async def test_a_token_is_wanted_but_for_health(tmp_path: Path) -> None:
    write_line(tmp_path / "line", 2)
    token = "a-token-of-some-length"
    async with application({"line": tmp_path / "line"}, token=token) as app:
        status, headers, data = await Client(app).call("POST", PREDICT, BODY)
        assert status == 401 and headers["www-authenticate"] == "Bearer" and b"A token is needed" in data
        assert (await Client(app, {"authorization": "Bearer wrong"}).post(PREDICT, BODY))[0] == 401
        assert await total(Client(app, {"authorization": f"Bearer {token}"})) == 12
        assert (await Client(app).get("/health"))[0] == 200


@pytest.mark.parametrize(
    ("headers", "refused"),
    [
        ({"host": "localhost:8501"}, False),
        ({"host": "[::1]:8501"}, False),
        ({"host": "attacker.example"}, True),
        ({"host": "localhost:8501", "origin": "http://localhost:8501"}, False),
        ({"host": "localhost:8501", "origin": "http://attacker.example"}, True),
        ({"host": "localhost:8501", "sec-fetch-site": "cross-site"}, True),
        ({}, False),  # a probe of HTTP/1.0; browsers always send one
        ({"origin": "http://attacker.example"}, True),
    ],
)
def test_a_server_on_loopback_takes_no_requests_of_other_sites(headers: dict[str, str], refused: bool) -> None:
    guard = Guard(hosts=("localhost", "[::1]"))
    assert (guard.refusal({k.encode(): v.encode() for k, v in headers.items()}) is not None) == refused


@pytest.mark.parametrize(
    ("host", "token", "refused"),
    [
        ("127.0.0.1", None, False),
        ("::1", None, False),
        ("0.0.0.0", None, True),
        ("models.example", None, True),
        ("0.0.0.0", "secret", False),
    ],
)
def test_other_addresses_want_a_token(host: str, token: str | None, refused: bool) -> None:
    if refused:
        with pytest.raises(errors.InvalidArgumentError, match="--token-file FILE"):
            check_address(host, token)
    else:
        check_address(host, token)


async def test_an_overloaded_model_says_when_to_try_again(tmp_path: Path) -> None:
    write_line(tmp_path / "line", 2)
    async with application({"line": tmp_path / "line"}, batching=af.serving.Batching(max_queued=1)) as app:
        _, model = app.served["line"].find()
        gate = anyio.Event()
        assert model._batcher is not None
        run = model._batcher._run

        async def held(*arguments: Any) -> Any:
            await gate.wait()
            return await run(*arguments)

        model._batcher._run = lambda *arguments: StepResult.later(lambda: held(*arguments))
        found: list[tuple[int, dict[str, str]]] = []

        async def ask() -> None:
            status, headers, _ = await Client(app).call("POST", PREDICT, BODY)
            found.append((status, headers))
            if status == 429:
                gate.set()

        async with anyio.create_task_group() as group:
            for _ in range(12):
                group.start_soon(ask)
        statuses = sorted(status for status, _ in found)
        assert set(statuses) == {200, 429}
        assert all(int(headers["retry-after"]) >= 1 for status, headers in found if status == 429)


async def test_the_pieces_of_the_page_of_metrics(tmp_path: Path) -> None:
    write_line(tmp_path / "line", 2)
    async with application({"line": tmp_path / "line"}) as app:
        client = Client(app)
        await total(client)
        await client.post(PREDICT, {})
        text = (await client.call("GET", "/metrics"))[2].decode()
    for line in (
        'actorflow_serving_requests_total{model="line",protocol="rest",status="200"} 1',
        'actorflow_serving_requests_total{model="line",protocol="rest",status="400"} 1',
        'actorflow_serving_request_seconds_count{model="line"} 2',
        'actorflow_serving_step_rows_sum{model="line"} 1',
        'actorflow_serving_queued{model="line"} 0',
        'actorflow_serving_version{model="line"} 1',
    ):
        assert line in text.splitlines(), json.dumps(text.splitlines(), indent=1)
