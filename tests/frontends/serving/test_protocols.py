"""The two protocols: tables of requests and answers, the binary extension, refusals, hostile bodies."""

from __future__ import annotations

import gc
import gzip
import json
import struct
import sys
import zipfile
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from frontends.serving.answer_schemas import SCHEMAS, CheckedClient, validate
from frontends.serving.served import Client, application, write_line, write_words
from jsonschema import ValidationError

import actorflow as af
from actorflow.engine.runtime.event_loops.step_result import StepResult
from actorflow.frontends.http.answers import HttpRequest
from actorflow.frontends.serving.protocols import kserve, rest
from actorflow.frontends.serving.protocols.bodies import load_json
from actorflow.frontends.serving.protocols.pieces import USUAL

SAVED = Path(__file__).parents[2] / "exchange" / "saved_model" / "saved_models_tf215.zip"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("models")
    with zipfile.ZipFile(SAVED) as archive:
        archive.extractall(folder)
    write_line(folder / "line", 2)
    write_words(folder / "words")
    return {name: str(folder / name) for name in ("half_plus_two", "line", "words")}


@pytest.fixture
async def client(models: dict[str, str]) -> Any:
    async with application(models, max_body=1 << 20, control=True) as app:
        yield CheckedClient(app)


HALF, LINE, WORDS = "/v1/models/half_plus_two", "/v1/models/line", "/v1/models/words"
ROWS = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


@pytest.mark.parametrize(
    ("path", "body", "answer"),
    [
        (f"{HALF}:predict", {"instances": [[2.0], [3.0], [4.0]]}, {"predictions": [[3.0], [3.5], [4.0]]}),
        (f"{HALF}:predict", {"inputs": [[2.0]]}, {"outputs": [[3.0]]}),
        (f"{HALF}:predict", {"inputs": {"x": [[2]]}}, {"outputs": [[3.0]]}),
        (f"{HALF}:predict", {"instances": [{"x": [2]}, {"x": [4]}]}, {"predictions": [[3.0], [4.0]]}),
        (f"{HALF}/versions/1:predict", {"instances": [[2.0]]}, {"predictions": [[3.0]]}),
        ("/V1/MODELS/half_plus_two:Predict", {"instances": [[2.0]]}, {"predictions": [[3.0]]}),
        (
            f"{HALF}:classify",
            {"signature_name": "classify_x_to_y", "examples": [{"x": 2.0}, {"x": 3.0}]},
            {"results": [[["", 3.0]], [["", 3.5]]]},
        ),
        (
            f"{HALF}:regress",
            {"signature_name": "regress_x_to_y", "context": {"x": 2.0}, "examples": [{}, {}]},
            {"results": [3.0, 3.0]},
        ),
        (
            f"{LINE}:predict",
            {"instances": ROWS},
            {"predictions": [{"y": [2.0, 4.0, 6.0], "total": 12.0}, {"y": [8.0, 10.0, 12.0], "total": 30.0}]},
        ),
        (f"{LINE}:predict", {"inputs": ROWS[:1]}, {"outputs": {"y": [[2.0, 4.0, 6.0]], "total": [12.0]}}),
        (
            f"{WORDS}:predict",
            {"instances": ["ab", {"b64": "/w=="}]},
            {
                "predictions": [
                    {"same": "ab", "raw_bytes": {"b64": "YWI="}, "size": 2},
                    {"same": {"b64": "/w=="}, "raw_bytes": {"b64": "/w=="}, "size": 1},
                ]
            },
        ),
    ],
)
async def test_tensorflow_serving_answers(client: Client, path: str, body: Any, answer: Any) -> None:
    assert await client.post(path, body) == (200, answer)


@pytest.mark.parametrize(
    ("path", "body", "status", "error"),
    [
        (f"{HALF}:predict", {}, 400, "Missing 'inputs' or 'instances' key"),
        (f"{HALF}:predict", {"inputs": 1, "instances": 1}, 400, "Not formatted correctly"),
        (f"{HALF}:predict", {"instances": 3}, 400, "Expecting 'instances' value to be a list/array"),
        (f"{HALF}:predict", {"instances": []}, 400, "No values"),
        (f"{HALF}:predict", {"instances": [[1.0], [1.0, 2.0]]}, 400, "inconsistent batch size"),
        (f"{HALF}:predict", {"instances": [["a"]]}, 400, "The input 'x' has values of the type text"),
        (f"{HALF}:predict", {"instances": [[None]]}, 400, "The input 'x'"),
        (f"{HALF}:predict", {"instances": [[1e400]]}, 200, ""),
        (f"{HALF}:predict", {"signature_name": 3, "instances": [1]}, 400, "'signature_name' key must be a string"),
        (f"{HALF}:predict", {"signature_name": "no", "instances": [1]}, 404, "Serving signature name: 'no' not found"),
        (f"{LINE}:predict", {"instances": [[1.0, 2.0]]}, 400, "'x' has the shape [1, 2], but [?, 3] is expected"),
        (f"{LINE}:predict", {"inputs": {"z": [1]}}, 400, "input size does not match signature"),
        (f"{LINE}:predict", {"instances": [{"x": ROWS[0]}, {"z": ROWS[0]}]}, 400, "element: 1 of 'instances'"),
        (f"{WORDS}:predict", {"instances": [{"b64": "*"}]}, 400, "Unable to base64 decode"),
        (f"{WORDS}:predict", {"instances": [3]}, 400, "takes text, or bytes"),
        (f"{WORDS}:predict", {"instances": ["\ud800"]}, 400, "surrogates not allowed"),
        (
            f"{HALF}:regress",
            {"signature_name": "regress_x_to_y", "examples": [{"x": [10**400, 1.5]}]},
            400,
            "The feature 'x' has numbers that are no float",
        ),
        (f"{HALF}:classify", {"examples": [{"x": 1.0}]}, 400, "Expected classification signature method_name"),
        (
            f"{HALF}:regress",
            {"signature_name": "regress_x_to_y", "examples": [{"x": 1.0}, {"y": 1.0}]},
            400,
            "keys must be equal to",
        ),
        (f"{HALF}:regress", {"signature_name": "regress_x_to_y"}, 400, "key 'examples' is expected"),
        ("/v1/models/none:predict", {"instances": [1]}, 404, "Servable not found for request: Latest(none)"),
        (
            f"{HALF}/versions/9:predict",
            {"instances": [1]},
            404,
            "Servable not found for request: Specific(half_plus_two, 9)",
        ),
        (f"{HALF}/versions/x:predict", {"instances": [1]}, 400, "Failed to convert version: x to numeric"),
        (f"{HALF}/labels/no:predict", {"instances": [1]}, 404, "Unrecognized servable version label: no"),
        (f"{HALF}:train", {"instances": [1]}, 400, "Malformed request: POST"),
        ("/v1/nothing", {}, 400, "Malformed request: POST"),
        ("/nothing", {}, 404, "There is nothing at /nothing"),
    ],
)
async def test_tensorflow_serving_refuses(client: Client, path: str, body: Any, status: int, error: str) -> None:
    found, answer = await client.post(path, body)
    assert found == status
    assert error in answer.get("error", "")


async def test_not_a_number_goes_both_ways(client: Client) -> None:
    body = b'{"inputs": [[NaN, Infinity, -Infinity]]}'
    _, _, data = await client.call("POST", f"{LINE}:predict", body)
    assert json.loads(data)["outputs"]["y"][0][1:] == [float("inf"), -float("inf")]
    assert b"NaN" in data and b"-Infinity" in data


async def test_status_and_metadata(client: Client) -> None:
    assert await client.get(HALF) == (
        200,
        {
            "model_version_status": [
                {"version": "1", "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}}
            ]
        },
    )
    status, found = await client.get(f"{LINE}/metadata")
    assert status == 200 and found["model_spec"] == {"name": "line", "signature_name": "", "version": "1"}
    signature = found["metadata"]["signature_def"]["signature_def"]["serving_default"]
    assert signature["inputs"]["x"] == {
        "dtype": "DT_FLOAT",
        "tensor_shape": {"dim": [{"size": "-1", "name": ""}, {"size": "3", "name": ""}], "unknown_rank": False},
        "name": "x:0",
    }
    assert signature["method_name"] == "tensorflow/serving/predict"
    assert (await client.get("/v1/models/none"))[0] == 404


def tensor(name: str = "x", shape: Any = (2, 3), datatype: str = "FP32", **more: Any) -> dict[str, Any]:
    return {"name": name, "shape": list(shape), "datatype": datatype, **more}


async def test_open_inference_answers_in_json(client: Client) -> None:
    body = {"id": "a7", "inputs": [tensor(data=ROWS)], "outputs": [{"name": "total"}]}
    assert await client.post("/v2/models/line/infer", body) == (
        200,
        {
            "id": "a7",
            "model_name": "line",
            "model_version": "1",
            "outputs": [{"name": "total", "datatype": "FP32", "shape": [2], "data": [12.0, 30.0]}],
        },
    )
    flat = {"inputs": [tensor(data=np.ravel(ROWS).tolist())]}
    status, answer = await client.post("/v2/models/line/versions/1/infer", flat)
    assert status == 200 and {out["name"] for out in answer["outputs"]} == {"y", "total"} and "id" not in answer


async def test_open_inference_answers_in_bytes(client: Client) -> None:
    rows = np.array(ROWS, "<f4").tobytes()
    head = json.dumps(
        {
            "inputs": [tensor(parameters={"binary_data_size": len(rows)})],
            "outputs": [{"name": "y", "parameters": {"binary_data": True}}, {"name": "total"}],
        }
    ).encode()
    sizes = {"inference-header-content-length": str(len(head))}
    for pack in (lambda b: b, gzip.compress):
        more = {"content-encoding": "gzip"} if pack is gzip.compress else {}
        status, headers, data = await client.call("POST", "/v2/models/line/infer", pack(head + rows), {**sizes, **more})
        assert status == 200
        at = int(headers["inference-header-content-length"])
        answer = json.loads(data[:at])
        assert answer["outputs"][0]["parameters"] == {"binary_data_size": 24}
        assert answer["outputs"][1]["data"] == [12.0, 30.0]
        np.testing.assert_array_equal(np.frombuffer(data[at:], "<f4"), 2 * np.ravel(ROWS))


async def test_requests_of_a_known_form_have_their_own_tensors_and_refusals(client: Client) -> None:
    content = {"inputs": [tensor(parameters={"binary_data_size": 24})], "parameters": {"binary_data_output": True}}
    head = json.dumps(content).encode()
    sizes = {"inference-header-content-length": str(len(head))}
    for number in range(4):
        rows = np.full((2, 3), number, "<f4")
        status, headers, data = await client.call("POST", "/v2/models/line/infer", head + rows.tobytes(), sizes)
        at = int(headers["inference-header-content-length"])
        assert status == 200 and len(json.loads(data[:at])["outputs"]) == 2
        np.testing.assert_array_equal(np.frombuffer(data[at:], "<f4")[2:], [2.0 * number] * 6)
        short, _, told = await client.call("POST", "/v2/models/line/infer", head + rows.tobytes()[:20], sizes)
        assert short == 400 and b"binary_data_size 24, but 20 bytes are left" in told
    model = client._app.served["line"].find()[1]
    assert list(model.forms) == [head]


async def test_a_form_that_is_remembered_does_not_keep_the_body(client: Client) -> None:
    head = json.dumps({"inputs": [tensor(parameters={"binary_data_size": 24})]}).encode()
    body = head + np.ones((2, 3), "<f4").tobytes()
    users = sys.getrefcount(body)
    headers = {b"inference-header-content-length": b"%d" % len(head)}
    answer = await client._app.respond(HttpRequest("POST", "/v2/models/line/infer", headers), body)
    gc.collect()
    model = client._app.served["line"].find()[1]
    assert answer[0] == 200 and list(model.forms) == [head] and sys.getrefcount(body) == users


async def test_requests_that_differ_in_their_ids_are_of_one_form_and_have_their_own_ids(client: Client) -> None:
    content = {"inputs": [tensor(parameters={"binary_data_size": 24})], "parameters": {"binary_data_output": True}}
    rest = json.dumps(content)[1:]
    ids = {f'"id": "{name}"': name for name in ("a", "other", "-" * 200)}
    ids |= {'"id": "\\u00e9\\""': 'é"'}
    twice: dict[str, str | None] = {'"id": "first", "id": "last"': None, '"id": "a", "\\u0069d": "aa"': None}
    for number, (told, wanted) in enumerate((ids | twice).items()):
        head, rows = f"{{{told}, {rest}".encode(), np.full((2, 3), number, "<f4")
        sizes = {"inference-header-content-length": str(len(head))}
        status, headers, data = await client.call("POST", "/v2/models/line/infer", head + rows.tobytes(), sizes)
        if wanted is None:
            assert status == 400 and b"'id' is there twice" in data
            continue
        at = int(headers["inference-header-content-length"])
        assert status == 200 and json.loads(data[:at]).get("id", "") == wanted
        np.testing.assert_array_equal(np.frombuffer(data[at:], "<f4")[2:], [2.0 * number] * 6)
    model = client._app.served["line"].find()[1]
    assert list(model.forms) == [json.dumps(content).replace("{", "{ ", 1).encode()]


async def test_a_model_remembers_a_bounded_number_of_forms(client: Client) -> None:
    model = client._app.served["line"].find()[1]
    most = 0
    for number in range(140):
        content = {"inputs": [tensor(shape=[number, 3], parameters={"binary_data_size": 12 * number})]}
        head = json.dumps(content).encode()
        sizes = {"inference-header-content-length": str(len(head))}
        assert (await client.call("POST", "/v2/models/line/infer", head + bytes(12 * number), sizes))[0] == 200
        most = max(most, len(model.forms))
    long = json.dumps({"inputs": [tensor(parameters={"binary_data_size": 24})], "unknown": "-" * 2048}).encode()
    before, sizes = set(model.forms), {"inference-header-content-length": str(len(long))}
    assert (await client.call("POST", "/v2/models/line/infer", long + bytes(24), sizes))[0] == 200
    assert most <= 128 and set(model.forms) == before


async def test_texts_as_bytes(client: Client) -> None:
    raw = b"".join(struct.pack("<I", len(word)) + word for word in (b"ab", b"\xff"))
    content = {
        "parameters": {"binary_data_output": True},
        "inputs": [tensor("text", [2], "BYTES", parameters={"binary_data_size": len(raw)})],
        "outputs": [{"name": "same"}, {"name": "size", "parameters": {"binary_data": False}}],
    }
    head = json.dumps(content).encode()
    sizes = {"inference-header-content-length": str(len(head))}
    status, headers, data = await client.call("POST", "/v2/models/words/infer", head + raw, sizes)
    at = int(headers["inference-header-content-length"])
    assert status == 200 and data[at:] == raw
    assert json.loads(data[:at])["outputs"][1]["data"] == [2, 1]


@pytest.mark.parametrize(
    ("content", "status", "error"),
    [
        ({}, 400, "'inputs' has to be a list"),
        ({"inputs": [3]}, 400, "inputs[0] has to be an object with a name"),
        ({"inputs": [tensor(shape=[-1, 3], data=[])]}, 400, "has the shape [-1, 3]"),
        ({"inputs": [tensor(shape=[2**62, 2**62], data=[])]}, 400, "which is too many"),
        ({"inputs": [tensor(shape=[True], data=[1])]}, 400, "has the shape [True]"),
        ({"inputs": [tensor(shape=[2**31, 0, 3], data=[])]}, 400, "'x' has the shape"),
        ({"inputs": [tensor(shape=[0, 10**30], data=[])]}, 400, "'x' has the shape"),
        ({"inputs": [tensor(shape=[10**4000] * 2, data=[])]}, 400, "'x' has the shape"),
        ({"inputs": [tensor("text", [1], "BYTES", data=["\ud800"])]}, 400, "surrogates not allowed"),
        ({"id": "\ud800", "inputs": [tensor(data=ROWS)]}, 400, "surrogates not allowed"),
        ({"inputs": [tensor(data=[1.0])]}, 400, "has 1 elements, but the shape [2, 3] has 6"),
        ({"inputs": [tensor(datatype="FP99", data=ROWS)]}, 400, "has the datatype 'FP99'"),
        ({"inputs": [tensor(datatype="FP16", data=ROWS)]}, 400, "FP16 has no form in JSON"),
        ({"inputs": [tensor(data="x")]}, 400, "has no 'data'"),
        ({"inputs": [tensor(data=[["a"] * 6])]}, 400, "has data that is no FP32"),
        ({"inputs": [tensor(datatype="INT8", data=[[300] * 3] * 2)]}, 400, "has data that is no INT8"),
        ({"inputs": [tensor(parameters={"binary_data_size": 24})]}, 400, "binary_data_size 24, but 0 bytes are left"),
        ({"inputs": [tensor(parameters={"binary_data_size": -1})]}, 400, "binary_data_size -1"),
        ({"inputs": [tensor(data=ROWS), tensor(data=ROWS)]}, 400, "is there twice"),
        ({"inputs": [tensor("z", data=ROWS)]}, 400, "input size does not match"),
        ({"inputs": [tensor(data=ROWS)], "outputs": [{"name": "no"}]}, 404, "has no output 'no'"),
        ({"inputs": [tensor(data=ROWS)], "parameters": 3}, 400, "have to be an object"),
        ({"inputs": [tensor(data=ROWS)], "parameters": {"timeout": "soon"}}, 400, "a number of microseconds"),
        ({"id": 3, "inputs": [tensor(data=ROWS)]}, 400, "'id' has to be text"),
    ],
)
async def test_open_inference_refuses(client: Client, content: Any, status: int, error: str) -> None:
    found, answer = await client.post("/v2/models/line/infer", content)
    assert (found, error in answer["error"]) == (status, True), answer


async def test_a_header_of_thousands_of_digits_is_refused(client: Client) -> None:
    sizes = {"inference-header-content-length": "9" * 5000}
    assert (await client.post("/v2/models/line/infer", {"inputs": [tensor(data=ROWS)]}, **sizes))[0] == 400


@pytest.mark.parametrize("micros", [10**400, 3_600_000_000])
async def test_a_request_has_no_more_time_than_the_server_gives(models: dict[str, str], micros: int) -> None:
    async with application(models, timeout=0.01) as app:
        model = app.served["line"].find()[1]

        async def held(key: Any, arrays: Any, timeout: Any) -> Any:
            await anyio.sleep_forever()

        assert model._batcher is not None
        model._batcher._run = lambda *arguments: StepResult.later(lambda: held(*arguments))  # type: ignore[assignment]
        body = {"inputs": [tensor(data=ROWS)], "parameters": {"timeout": micros}}
        assert (await Client(app).post("/v2/models/line/infer", body))[0] == 504


def test_outputs_that_are_no_classification_or_regression() -> None:
    for outputs, method in [
        ({"y": np.ones((1, 2))}, "classify"),
        ({"scores": np.ones(1)}, "classify"),
        ({"y": np.ones(1)}, "regress"),
    ]:
        with pytest.raises(af.errors.InvalidArgumentError):
            rest.results(outputs, method, 1)


async def test_an_error_that_is_not_foreseen_is_told_without_its_text(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(kserve.AnswerForm, "body", broken)
    answer = await client.post("/v2/models/line/infer", {"inputs": [tensor(data=ROWS)]})
    assert answer == (500, {"error": "internal error"})


async def test_models_are_unloaded_on_request_only_where_it_is_allowed(models: dict[str, str]) -> None:
    async with application({"line": models["line"]}) as app:
        for verb in ("load", "unload"):
            status, _, data = await Client(app).call("POST", f"/v2/repository/models/line/{verb}")
            assert status == 403 and "not loaded or unloaded on request" in json.loads(data)["error"]
        assert (await Client(app).get("/v2/models/line/ready"))[0] == 200


@pytest.mark.parametrize("headers", [{"origin": "http://attacker.example"}, {"sec-fetch-site": "cross-site"}])
async def test_a_bare_application_takes_no_posts_of_other_sites(client: Client, headers: dict[str, str]) -> None:
    status, _, _ = await client.call("POST", f"{HALF}:predict", {"instances": [[2.0]]}, headers)
    assert status == 403


@pytest.mark.parametrize("seed_of", range(4))
async def test_bodies_of_noise_are_refused_and_others_are_answered(client: Client, seed: int, seed_of: int) -> None:
    rng = np.random.default_rng([seed, seed_of])
    good = json.dumps({"inputs": [tensor(data=ROWS)]}).encode()
    for _ in range(60):
        body = bytearray(good)
        for _ in range(int(rng.integers(1, 4))):
            body[int(rng.integers(len(body)))] = int(rng.integers(256))
        length = {} if rng.random() < 0.5 else {"inference-header-content-length": str(int(rng.integers(-2, 200)))}
        status, _, data = await client.call("POST", "/v2/models/line/infer", bytes(body), length)
        assert status in (200, 400, 404), data
        assert status == 200 or json.loads(data)["error"]
    assert (await client.post("/v2/models/line/infer", {"inputs": [tensor(data=ROWS)]}))[0] == 200


@pytest.mark.parametrize(
    ("body", "headers", "status", "error"),
    [
        (b"[" * 200000, {}, 400, "JSON Parse error"),
        (b"[]", {}, 400, "the body has to be an object"),
        (b"\xff\xfe", {}, 400, "JSON Parse error"),
        (b"", {}, 400, "JSON Parse error"),
        (b'{"instances": ' + b"[" * 60 + b"]" * 60 + b"}", {}, 400, "The input 'x'"),
        (b'{"instances": [' + b"9" * 5000 + b"]}", {}, 400, "JSON Parse error"),
        (gzip.compress(b" " * (2 << 20)), {"content-encoding": "gzip"}, 413, "more than 1048576 bytes"),
        (gzip.compress(b"{}")[:-9], {"content-encoding": "gzip"}, 400, "cut off"),
        (b"nothing", {"content-encoding": "deflate"}, 400, "The body is no deflate"),
        (b"{}", {"content-encoding": "br"}, 501, "is not known"),
        (b" " * (1 << 21), {}, 413, "2097152 bytes; 1048576 are the most"),
        (b" " * (1 << 21), {"content-length": "2"}, 413, "more than 1048576 bytes"),
        (b"{}", {"content-length": "9" * 5000}, 413, "1048576 are the most"),
        (b'{"instances": ["\xed\xa0\x80"]}', {}, 400, "JSON Parse error"),
        (b'{"instances": [[1]]}', {"x-request-timeout": "-1"}, 400, "has to be a positive number"),
        (b'{"instances": [[1]]}', {"origin": "http://[x"}, 403, "Other sites may not use this server"),
    ],
)
async def test_hostile_bodies(client: Client, body: bytes, headers: dict[str, str], status: int, error: str) -> None:
    found, _, data = await client.call("POST", f"{HALF}:predict", body, headers)
    assert (found, error in json.loads(data)["error"]) == (status, True), data[:300]
    assert (await client.post(f"{HALF}:predict", {"instances": [[2.0]]}))[0] == 200


async def test_questions_of_open_inference(client: Client) -> None:
    assert (await client.get("/v2"))[1]["extensions"][0] == "binary_tensor_data"
    assert await client.get("/v2/health/live") == (200, {"live": True})
    assert await client.get("/v2/health/ready") == (200, {"ready": True})
    assert await client.get("/v2/models/line/ready") == (200, {"name": "line", "ready": True})
    assert (await client.get("/v2/models/line/versions/7/ready"))[0] == 503
    _, found = await client.get("/v2/models/line")
    assert found["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 3]}] and found["versions"] == ["1"]
    _, found = await client.get("/v2/models/line/config")
    assert found["max_batch_size"] == 32 and found["input"] == [{"name": "x", "data_type": "TYPE_FP32", "dims": [3]}]
    await client.post("/v2/models/line/infer", {"inputs": [tensor(data=ROWS)]})
    _, found = await client.get("/v2/models/line/stats")
    assert found["model_stats"][0]["inference_count"] == 1
    _, found = await client.post("/v2/repository/index", {})
    assert {entry["name"]: entry["state"] for entry in found}["line"] == "READY"
    assert (await client.call("POST", "/v2/repository/models/line/unload"))[0] == 200
    assert (await client.get("/v2/models/line/ready"))[0] == 503
    assert (await client.call("POST", "/v2/repository/models/line/load"))[0] == 200
    assert (await client.post("/v2/models/line/infer", {"inputs": [tensor(data=ROWS)]}))[0] == 200
    status, headers, text = await client.call("GET", "/metrics")
    assert status == 200 and headers["content-type"].startswith("text/plain; version=0.0.4")
    assert b'actorflow_serving_requests_total{model="line",protocol="kserve",status="200"} 2' in text


RESULT = {"name": "y", "datatype": "FP32", "shape": [1], "data": [1.0]}


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        ("error", {"message": "no"}),
        ("error", {"error": ""}),
        ("inference", {"model_name": "line", "model_version": 1, "outputs": [RESULT]}),
        ("inference", {"model_name": "line", "model_version": "1", "outputs": [{**RESULT, "datatype": "float32"}]}),
        ("inference", {"model_name": "line", "model_version": "1", "outputs": [{**RESULT, "shape": [-1]}]}),
        ("inference", {"model_name": "line", "model_version": "1", "outputs": [{**RESULT, "data": None}]}),
        ("inference", {"model_name": "line", "model_version": "1", "outputs": [], "ID": "7"}),
        ("predict", {"predictions": [1.0], "outputs": 1.0}),
        ("predict", {"predictions": [None]}),
        ("predict", {"predictions": [{"y": {"b64": "*"}}]}),
        ("classify", {"results": [[["label", 0.5, 0.5]]]}),
        ("regress", {"result": [1.0]}),
        ("model status", {"model_version_status": [{"version": 1, "state": "AVAILABLE", "status": {}}]}),
    ],
)
def test_an_answer_of_another_form_would_be_found(kind: str, answer: Any) -> None:
    with pytest.raises(ValidationError):
        validate(kind, answer)


async def test_each_question_is_answered_in_the_form_that_its_protocol_publishes(client: CheckedClient) -> None:
    line, half = "/v2/models/line", f"{HALF}/versions/1"
    for path in ("/v2", "/v2/", "/v2/health/live", "/v2/health/ready"):
        assert (await client.get(path))[0] == 200
    for path in (line, f"{line}/versions/1", "/v2/models/words", "/v2/models/half_plus_two"):
        for view in ("", "/ready", "/config", "/stats"):
            assert (await client.get(path + view))[0] == 200
    for path in (HALF, half, f"{HALF}/metadata", f"{half}/metadata", f"{WORDS}/metadata", f"{LINE}/metadata"):
        assert (await client.get(path))[0] == 200
    assert (await client.post("/v2/repository/index", {}))[0] == 200
    assert (await client.post(f"{line}/infer", {"inputs": [tensor(data=ROWS)]}))[0] == 200
    assert (await client.post(f"{half}:predict", {"inputs": [[2.0]]}))[0] == 200
    for verb in ("classify", "regress"):
        body = {"signature_name": f"{verb}_x_to_y", "examples": [{"x": 2.0}]}
        assert (await client.post(f"{half}:{verb}", body))[0] == 200
    assert client.kinds == set(SCHEMAS)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v2/models/none", 404),
        ("GET", "/v2/models/none/ready", 404),
        ("GET", "/v2/models/line/versions/x", 400),
        ("GET", "/v2/models/line/versions/9/config", 404),
        ("GET", "/v2/models/line/nothing", 404),
        ("POST", "/v2/models/none/infer", 404),
        ("POST", "/v2/models/line/versions/9/infer", 404),
        ("POST", "/v2/models/none/unknown", 404),
        ("POST", "/v2/repository/models/none/load", 404),
        ("DELETE", "/v2/models/line", 405),
        ("GET", "/v1/models/none", 404),
        ("GET", f"{HALF}/versions/9", 404),
        ("GET", f"{HALF}/labels/no/metadata", 404),
        ("POST", "/v1/models", 400),
        ("GET", "/nothing", 404),
    ],
)
async def test_what_is_not_there_is_told_in_the_form_of_errors(
    client: CheckedClient, method: str, path: str, status: int
) -> None:
    assert (await client.call(method, path, {"inputs": [tensor(data=ROWS)]}))[0] == status
    assert client.kinds == {"error"}


def test_types_of_open_inference() -> None:
    for name, dtype in kserve.TYPES.items():
        if name == "BYTES":
            continue
        values = np.array([0, 1, 1], dtype.numpy_dtype)
        head = json.dumps({"inputs": [tensor("a", [3], name, parameters={"binary_data_size": values.nbytes})]}).encode()
        found = kserve.read(head, head + values.tobytes(), len(head), USUAL).inputs["a"]
        assert found.dtype == values.dtype and found.tolist() == values.tolist()


@pytest.mark.parametrize("with_orjson", [True, False])
def test_json_without_the_faster_package(monkeypatch: pytest.MonkeyPatch, with_orjson: bool) -> None:
    if not with_orjson:
        monkeypatch.setattr("actorflow.frontends.serving.protocols.bodies.orjson", None)
    assert load_json(b'{"a": [1.5, 2]}') == {"a": [1.5, 2]}
    with pytest.raises(af.errors.InvalidArgumentError):
        load_json(b"{")


async def test_a_client_that_goes_away_gives_its_request_up(models: dict[str, str]) -> None:
    async with application(models) as app:
        model = app.served["line"].find()[1]
        begun, gate, gone = anyio.Event(), anyio.Event(), anyio.Event()

        async def held(key: Any, arrays: Any, timeout: Any) -> Any:
            begun.set()
            await gate.wait()

        assert model._batcher is not None
        model._batcher._run = lambda *arguments: StepResult.later(lambda: held(*arguments))  # type: ignore[assignment]
        async with anyio.create_task_group() as group:

            async def ask() -> None:
                body = json.dumps({"instances": ROWS}).encode()
                status, _, _ = await Client(app).call("POST", f"{LINE}:predict", body, gone=gone)
                assert status == 499

            group.start_soon(ask)
            await begun.wait()
            gone.set()
        await model.drain()
