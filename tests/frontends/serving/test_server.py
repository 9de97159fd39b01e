"""A real server process: its address, both protocols over a socket, and what it refuses to do."""

from __future__ import annotations

import gc
import json
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from frontends.serving.served import write_line
from patience import PATIENCE

from actorflow.frontends.cli.main import main

pytest.importorskip("httptools")
SERVE = [sys.executable, "-m", "actorflow", "serve", "--port", "0", "--poll", "0.05"]


@contextmanager
def serving(*arguments: str, line: int = 0) -> Iterator[str]:
    """A server in a process of its own; gives a line that it says, the first of which is its address. It ends well when it
    is told to."""
    process = subprocess.Popen([*SERVE, *arguments], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield [process.stdout.readline().strip() for _ in range(line + 1)][line]
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) in (0, -signal.SIGINT)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()  # type: ignore[union-attr]


def post(address: str, path: str, body: Any, headers: dict[str, str] | None = None) -> tuple[int, Any]:
    request = urllib.request.Request(address + path, json.dumps(body).encode(), headers or {})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_a_folder_of_models_is_served_and_watched(tmp_path: Path) -> None:
    write_line(tmp_path / "line" / "1", 1)
    body = {"instances": [[1.0, 2.0, 3.0]]}
    with serving(str(tmp_path)) as address:
        assert post(address, "/v1/models/line:predict", body)[1]["predictions"][0]["total"] == 6
        assert post(address, "/v1/models/line:predict", body, {"Origin": "http://attacker.example"})[0] == 403
        write_line(tmp_path / "line" / "2", 2)
        while post(address, "/v1/models/line:predict", body)[1]["predictions"][0]["total"] != 12:
            pass  # the server looks each 50 ms
        tensor = {"name": "x", "shape": [1, 3], "datatype": "FP32", "data": [1, 2, 3]}
        status, answer = post(address, "/v2/models/line/infer", {"inputs": [tensor]})
        assert status == 200 and answer["model_version"] == "2"


@pytest.mark.parametrize("host", ["127.0.0.2", "::1"])
def test_the_address_that_is_printed_is_one_that_answers(tmp_path: Path, host: str) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family) as probe:
            probe.bind((host, 0))
    except OSError:
        pytest.skip(f"this machine has no {host}")
    write_line(tmp_path / "line" / "1", 1)
    with serving(str(tmp_path), "--host", host) as address:
        assert post(address, "/v1/models/line:predict", {"instances": [[1.0, 2.0, 3.0]]})[0] == 200


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--host", "0.0.0.0", "--tls-cert", "a", "--tls-key", "b"], "Models are not served on 0.0.0.0"),
        (["--host", "0.0.0.0"], "Models are not served on 0.0.0.0"),
        (["--tls-cert", "a"], "--tls-cert and --tls-key go together"),
        (["--token-file", "absent"], "The token file 'absent' can't be read"),
        (["a=b", "c"], "given as NAME=PATH"),
    ],
)
def test_it_refuses_what_can_not_be(
    arguments: list[str], error: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["serve", str(tmp_path), *arguments]) == 1
    assert error in capsys.readouterr().err
    assert gc.isenabled(), "the collector of cycles, which rests during the start, goes on"


def test_no_address_is_printed_where_models_can_not_be_loaded(tmp_path: Path) -> None:
    ended = subprocess.run([*SERVE, str(tmp_path / "absent")], capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 1 and ended.stdout == ""
    assert "absent can't be read" in ended.stderr


def test_a_short_token_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "token").write_text("short\n")
    assert main(["serve", str(tmp_path), "--token-file", str(tmp_path / "token")]) == 1
    assert "16 are the least" in capsys.readouterr().err


@pytest.mark.extras("tritonclient")
def test_tritonclient(tmp_path: Path) -> None:
    triton = pytest.importorskip("tritonclient.http")
    gevent = pytest.importorskip("gevent")

    write_line(tmp_path / "line" / "1", 2)
    with serving(str(tmp_path), "--allow-unload") as address:
        client = triton.InferenceServerClient(address.removeprefix("http://"))
        assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("line")
        assert client.get_server_metadata()["name"] == "actorflow"
        assert client.get_model_metadata("line")["inputs"][0]["shape"] == [-1, 3]
        assert client.get_model_config("line")["max_batch_size"] == 32
        rows = np.arange(6, dtype=np.float32).reshape(2, 3)
        for binary in (True, False):
            given = triton.InferInput("x", rows.shape, "FP32")
            given.set_data_from_numpy(rows, binary_data=binary)
            wanted = [triton.InferRequestedOutput("y", binary_data=binary)]
            for packed in (None, "gzip", "deflate"):
                answer = client.infer(
                    "line", [given], outputs=wanted, request_id="7", request_compression_algorithm=packed
                )
                np.testing.assert_array_equal(answer.as_numpy("y"), 2 * rows)
                assert answer.get_response()["id"] == "7"
            np.testing.assert_array_equal(client.infer("line", [given]).as_numpy("total"), 2 * rows.sum(1))
        assert client.get_inference_statistics("line")["model_stats"][0]["inference_count"] == 8
        assert client.get_model_repository_index()[0]["state"] == "READY"
        client.unload_model("line")
        assert not client.is_model_ready("line")
        client.load_model("line")
        assert client.is_model_ready("line")
        with pytest.raises(triton.InferenceServerException, match="has no output"):
            client.infer("line", [given], outputs=[triton.InferRequestedOutput("nothing")])
        client.close()
    gevent.get_hub().destroy(destroy_loop=True)  # the client's own event loop
