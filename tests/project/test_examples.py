"""The examples do what they say: scripts in processes of their own, the service and the notebook in the test's loop."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import httpx
import nbclient
import nbformat
import numpy as np
import pytest
from frontends.serving.served import Client
from patience import PATIENCE
from probes import probe
from sklearn.datasets import load_digits

import actorflow as af

__all__ = ["probe"]

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
# BLAS threads spin, which costs all others their time slices where tests share a machine.
ENVIRONMENT = os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "error", "PYTHONUNBUFFERED": "1"}


def run(name: str, *arguments: str | Path, folder: Path | None = None) -> str:
    """The output of an example, in a folder if it is given; warnings are errors in it."""
    done = subprocess.run(
        [sys.executable, EXAMPLES / name, *arguments],
        env=ENVIRONMENT,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert not done.stderr, done.stderr
    return done.stdout


def numbers(pattern: str, text: str) -> list[float]:
    """The numbers at the first match of `pattern`, one for each group."""
    found = re.search(pattern, text)
    assert found, f"no {pattern!r} in\n{text}"
    return [float(group) for group in found.groups()]


def load(name: str) -> ModuleType:
    """An example as a module."""
    spec = importlib.util.spec_from_file_location(f"examples_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_each_example_has_a_test() -> None:
    here = Path(__file__)
    text = "".join(
        file.read_text(encoding="utf-8")
        for file in (here, ROOT / "tests" / "models" / "train" / "test_distributed_examples.py")
    )
    missing = [p.name for p in EXAMPLES.glob("*.*") if f'"{p.name}"' not in text and f'load("{p.stem}")' not in text]
    assert not missing


# ---- scripts


def test_adder() -> None:
    assert run("adder.py").splitlines() == ["3 + 4.5 = 7.5", "[1, 3] + [2, 4] = [3. 7.]"]


def test_gpt(tmp_path: Path) -> None:
    printed = run("gpt.py", "--steps", "100", "--seconds", "600", "--letters", "20", "--output", tmp_path)
    losses = [float(text) for text in re.findall(r"loss ([\d.]+)", printed)]
    assert len(losses) == 2 and losses[1] < losses[0] - 1
    assert re.search(r"^A session .{20}", printed, re.MULTILINE | re.DOTALL)


def test_linear_regression() -> None:
    printed = run("linear_regression.py")
    losses = [float(text) for text in re.findall(r"loss ([\d.]+)", printed)]
    assert len(losses) == 11 and losses == sorted(losses, reverse=True) and losses[-1] < 0.02
    slope, intercept = numbers(r"y = (\S+) x (\S+),", printed)
    assert abs(slope - 3) < 0.05 and abs(intercept + 1.5) < 0.05


def test_eager(tmp_path: Path) -> None:
    printed = run("eager.py", "--output", tmp_path / "out")
    mean, deviation = numbers(r"(?s).*mean ([\d.]+)  deviation ([\d.]+)", printed)
    assert abs(mean - 4) < 0.6 and 0.2 < deviation < 1.4
    assert (tmp_path / "out" / "eager.svg").read_text(encoding="utf-8").count("<rect") == 80
    assert "game/generator/layers/0/kernel" in dict(af.train.list_variables(str(tmp_path / "out" / "gan-1")))


def test_estimator_digits(tmp_path: Path) -> None:
    text = run("estimator_digits.py", "--steps", "400", "--output", tmp_path)
    accuracy = re.search(r"step 400: test accuracy (\d+\.\d+)%", text)
    assert accuracy is not None and float(accuracy[1]) > 90, text
    assert len(re.findall(r"a (\d) is seen as \1", text)) >= 4, text
    assert "step 400: test accuracy " + accuracy[1] in run(
        "estimator_digits.py", "--steps", "400", "--output", tmp_path
    )


def test_quantize_digits(tmp_path: Path) -> None:
    text = run("quantize_digits.py", "--steps", "150", "--output", tmp_path)
    for name in ("dynamic", "static"):
        assert f"{name}: 4 nodes have weights of int8" in text, text
        assert (tmp_path / f"{name}.pb").stat().st_size <= 0.3 * (tmp_path / "float.pb").stat().st_size
    lost = re.findall(r"\(([+-][\d.]+)% lost\)", text)
    assert len(lost) == 2 and max(map(float, lost)) <= 1.0, text


def test_standalone_export(tmp_path: Path) -> None:
    text = run("standalone_export.py", "--steps", "200", "--output", tmp_path)
    found = re.search(r"these are +(\[.*\])\nthe module says (\[.*\]) after ([\d.]+) s, with (\d+) MB", text)
    assert found is not None, text
    right = [a == b for a, b in zip(json.loads(found[1]), json.loads(found[2]), strict=True)]
    assert sum(right) >= 5 and int(found[4]) <= 45, text


async def test_serve_digits(tmp_path: Path) -> None:
    assert "version 1 is written" in run("serve_digits.py", "--train", "--steps", "200", "--output", tmp_path)
    example = load("serve_digits")
    models = af.serving.app(tmp_path, poll_seconds=0)
    async with models:
        client = Client(example.with_page(models))
        status, headers, page = await client.call("GET", "/")
        assert (
            status == 200
            and headers["content-type"].startswith("text/html")
            and page == (EXAMPLES / "serve_digits.html").read_bytes()
        )
        images, digits = load_digits(return_X_y=True)
        status, answer = await client.post("/v1/models/digits:predict", {"instances": (images[:20] / 16).tolist()})
        assert status == 200
        assert sum(np.argmax(row) == digit for row, digit in zip(answer["predictions"], digits)) >= 15


def test_pipeline(tmp_path: Path) -> None:
    for times in (1, 2):
        output = run("pipeline.py", folder=tmp_path)
        right, count, rows = numbers(r"(\d+) of (\d+) digits read as they are; (\d+) rows in the database", output)
        assert right > 0.95 * count and rows == times * count
        assert numbers(r"classifier +0 +0 +(\d+) ", output)[0] < 100, (
            "the rows of several requests go through the model at once"
        )
    command = [sys.executable, "-m", "actorflow", "serve", EXAMPLES / "pipeline.py:pipeline", "--port", "0"]
    with serving(command, tmp_path) as (address, lines):
        assert any("stages: detector, crops, classifier, database (behind a queue)" in line for line in lines)
        picture = np.zeros((32, 32), np.float32)
        picture[8:16, :8] = load_digits().images[3]
        answer = httpx.post(f"{address}/v1/models/pipeline:predict", json={"inputs": picture.tolist()}).json()
        assert answer == {"outputs": {"digits": [3], "places": [[1, 0]]}}
        assert "<td>classifier<td>0<td>0<td>1<td>1" in httpx.get(address).text


@contextmanager
def serving(command: list[Any], folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The address of a server and the lines that it prints."""
    with subprocess.Popen(command, env=ENVIRONMENT, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            lines = []
            while not lines or not lines[-1].startswith(("  pipeline: ", "curl")):
                lines.append(process.stdout.readline())
                assert lines[-1], "the server ended"
            yield address, lines
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE)


def test_retrain(tmp_path: Path) -> None:
    text = run("retrain.py", "--steps", "150", "--output", tmp_path)
    (whole,) = numbers(r"the network, on 0 to 4: test accuracy (\d+\.\d+)%", text)
    (last,) = numbers(r"its new last layer, on 5 to 9: test accuracy (\d+\.\d+)%", text)
    assert whole > 90 and last > 60, text
    assert len(re.findall(r"a ([5-9]) is seen as \1", text)) >= 4, text
    with np.load(tmp_path / "bottlenecks.npz") as kept:
        assert kept["values"].shape == (896, 128)
    drawn = importlib.util.find_spec("matplotlib") is not None
    for name in ("network", "last_layer", "labels"):
        assert (tmp_path / f"{name}.png").exists() == drawn


def test_learning_curve() -> None:
    text = run("learning_curve.py")
    assert "A step of training was made." in text and "An evaluation is over." in text


def test_datasets(tmp_path: Path) -> None:
    text = run("datasets.py", "--epochs", "3", "--output", tmp_path)
    accuracy, asked, most = numbers(
        r"(?s).*epoch 3  accuracy ([\d.]+)%.*asked (\d+) times, by up to (\d+) questions", text
    )
    assert accuracy > 80 and asked == 3 * 1347 and 32 < most <= 64, text
    assert (tmp_path / "stages.txt").read_text(encoding="utf-8").count("<- slowest") == 2


def test_wide_and_deep(tmp_path: Path) -> None:
    text = run("wide_and_deep.py", "--steps", "400", "--output", tmp_path)
    accuracy, auc = numbers(r"(?s).*step 400: accuracy ([\d.]+)%, AUC ([\d.]+)", text)
    assert accuracy > 60 and auc > 0.7, text
    assert len(re.findall(r"age \d+, BMI [\d.]+: worse than most with \d+%", text)) == 3, text


def test_onnx_on_a_cluster() -> None:
    text = run("onnx_on_a_cluster.py", "--workers", "2")
    assert len(re.findall(r"(?m)^ +\d+ nodes on /job:worker/task:[01]$", text)) == 2, text
    assert "shares (2, 10): the same as in one process, bit by bit: True" in text


def test_digits(tmp_path: Path) -> None:
    printed = run("digits.py", "--output", tmp_path / "out", "--seed", "3")
    (accuracy,) = numbers(r"test accuracy ([\d.]+)%", printed)
    assert accuracy >= 96
    assert len(re.findall(r"(?m)^epoch +\d+  loss [\d.]+  train accuracy +[\d.]+%  +[\d.]+ ms$", printed)) == 30
    assert str(tmp_path / "out") in printed.splitlines()[-1]

    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text(encoding="utf-8"))
    assert [epoch["epoch"] for epoch in metrics["history"]] == list(range(1, 31))
    assert metrics["history"][-1]["train_accuracy"] > 0.99
    assert f"{metrics['test_accuracy']:.2%}" == f"{accuracy:.2f}%"

    # The weights are those that made the predictions.
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    pixels, digits = load_digits(return_X_y=True)
    _, pixels, _, digits = train_test_split(pixels, digits, test_size=0.25, random_state=3, stratify=digits)
    weights = np.load(tmp_path / "out" / "weights.npz")
    hidden = np.maximum(pixels / 16 @ weights["hidden/kernel"] + weights["hidden/bias"], 0)
    logits = hidden @ weights["logits/kernel"] + weights["logits/bias"]
    predictions = np.load(tmp_path / "out" / "predictions.npy")
    np.testing.assert_array_equal(predictions, logits.argmax(1))
    assert np.mean(predictions == digits) == pytest.approx(metrics["test_accuracy"], abs=1e-6)


def test_digits_node_by_node(tmp_path: Path) -> None:
    """Merging nodes changes the way and not the result."""
    histories = []
    for options in ([], ["--no-coalesce"]):
        run("digits.py", "--output", tmp_path, "--epochs", "3", *options)
        metrics = json.loads((tmp_path / "metrics.json").read_text(encoding="utf-8"))
        assert metrics["settings"]["coalesce"] is (not options)
        histories.append([epoch["loss"] for epoch in metrics["history"]])
    np.testing.assert_allclose(histories[1], histories[0], rtol=1e-3)


def test_f76_binary_digits() -> None:
    printed = run("binary_digits.py", "--seed", "1")
    (accuracy,) = numbers(r"held out: ([\d.]+)%", printed)
    assert accuracy >= 95


def test_f83_f84_records(tmp_path: Path) -> None:
    printed = run("records.py", "--epochs", "5", "--output", tmp_path)
    (accuracy,) = numbers(r"test accuracy ([\d.]+)%", printed)
    assert accuracy >= 91
    assert (tmp_path / "accuracy.txt").read_text(encoding="utf-8") == f"{accuracy / 100:.4f}\n"
    records = list(af.io.tf_record_iterator(str(tmp_path / "train.tfrecord")))
    assert len(records) == 1347 and af.train.Example.FromString(records[0]).features.feature["digit"]


def test_char_lstm() -> None:
    printed = run("char_lstm.py")
    perplexities = [float(p) for p in re.findall(r"perplexity +([\d.]+)", printed)]
    assert 40 < perplexities[0] < 50, "at first all letters are alike"
    assert sorted(perplexities[:4], reverse=True) == perplexities[:4]
    (whole,) = numbers(r"on the whole text: ([\d.]+)", printed)
    assert 1 < whole < 1.2
    right, letters = numbers(r"(\d+) of (\d+) letters are right", printed)
    assert right > 0.9 * letters, "one wrong letter leads to others"


def test_frame_loop() -> None:
    printed = run("frame_loop.py", "--seconds", "1.5")
    steps, first, last = numbers(r"(\d+) training steps, loss ([\d.]+) to ([\d.]+)", printed)
    assert steps > 20 and last < first
    assert numbers(r"(\d+) frames", printed) == [90]
    p50, p99, latest = numbers(r"p50 ([\d.]+) ms, p99 ([\d.]+) ms, max ([\d.]+) ms", printed)
    assert 0 <= p50 <= p99 <= latest < 250


def test_find_a_placement(tmp_path: Path) -> None:
    printed = run("find_a_placement.py", "--trials", "200", "--picture", str(tmp_path / "steps.svg"))
    simulated, bound = numbers(r"([\d.]+) ms as simulated, no placement below ([\d.]+) ms", printed)
    assert simulated >= bound > 0
    assert "in force" in printed or "put back" in printed or "was kept" in printed
    assert "with two more workers" in printed
    assert (tmp_path / "steps.svg").read_text(encoding="utf-8").startswith("<svg")


def test_concurrent_steps() -> None:
    printed = run("concurrent_steps.py", "--steps", "12", "--concurrent", "3")
    assert re.findall(r"(\d+) at once: +[\d.]+ steps/s, up to (\d+) requests open", printed) == [("1", "1"), ("3", "3")]


# ---- the service

service = load("service")


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any]:
    from sklearn.datasets import load_digits

    pixels, digits = load_digits(return_X_y=True)
    return pixels, digits


@asynccontextmanager
async def client_of(app: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the application while it lives. httpx leaves the lifespan to us."""
    async with app.router.lifespan_context(app) as state:

        async def with_state(scope: Any, receive: Any, send: Any) -> None:
            await app({**scope, "state": dict(state)}, receive, send)

        async with httpx.AsyncClient(transport=httpx.ASGITransport(with_state), base_url="http://service") as client:
            yield client


async def test_service_learns_and_answers(data: tuple[Any, Any]) -> None:
    pixels, digits = data
    with anyio.fail_after(PATIENCE):
        async with client_of(service.make_app(epochs=8)) as client:
            early = await client.post("/predict", json={"pixels": pixels[0].tolist()})
            assert early.status_code == 200 and set(early.json()) == {"digit", "probability", "steps"}
            while (await client.post("/predict", json={"pixels": pixels[0].tolist()})).json()["steps"] < 8 * 56:
                pass
            answers = [await client.post("/predict", json={"pixels": row.tolist()}) for row in pixels[:100]]
            assert sum(a.json()["digit"] == digit for a, digit in zip(answers, digits, strict=False)) >= 95
            health = (await client.get("/health")).json()
            assert health["steps"] > 8 * 56 and health["failed"] == health["cancelled"] == 0


@pytest.mark.parametrize(
    "body",
    [
        "x",
        "[]",
        "{}",
        '{"pixels": null}',
        '{"pixels": [1, 2]}',
        '{"pixels": "abc"}',
        '{"pixels": [' + "NaN," * 63 + "1]}",
    ],
)
async def test_service_refuses_bad_requests(body: str) -> None:
    with anyio.fail_after(PATIENCE):
        async with client_of(service.make_app(epochs=0)) as client:
            answer = await client.post("/predict", content=body)
            assert answer.status_code == 400 and answer.text
            assert (await client.post("/predict", json={"pixels": [0] * 64})).status_code == 200


@contextmanager
def served() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The service in a process of its own, and its address."""
    command = [sys.executable, str(EXAMPLES / "service.py"), "--port", "0", "--epochs", "1"]
    environment = ENVIRONMENT | {"PYTHONWARNINGS": "default"}  # those of the web server are not ours
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            lines = []
            for line in process.stdout:
                lines.append(line)
                if found := re.search(r"running on (http://[\d.:]+)", line):
                    yield process, found[1]
                    return
            pytest.fail("".join(lines))
        finally:
            process.kill()


def test_service_as_a_program(data: tuple[Any, Any]) -> None:
    with served() as (process, address), httpx.Client(base_url=address, timeout=PATIENCE) as client:
        assert client.get("/health").json()["steps"] >= 1
        assert client.post("/predict", json={"pixels": data[0][0].tolist()}).status_code == 200
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode in (0, -signal.SIGINT), rest
        assert "shutdown complete" in rest and "Traceback" not in rest


# ---- Estimators on a cluster


@pytest.mark.extras
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("name", "steps"), [("estimator_digits", 200), ("wide_and_deep", 200), ("retrain", 60)])
def test_an_example_with_estimators_runs_on_a_cluster(name: str, steps: int, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "actorflow", "run", "--jobs", "worker=2", "--files", tmp_path]
    example = [EXAMPLES / f"{name}.py", "--steps", str(steps), "--output", tmp_path / name]
    done = subprocess.run(
        [*command, *example], env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    shards = [path.name for path in (tmp_path / name).rglob("*.safetensors")]
    assert shards and all("worker" in shard for shard in shards), "the variables were on tasks of the cluster"
    assert any((tmp_path / name).glob("*.png")) == (importlib.util.find_spec("matplotlib") is not None)


# ---- the notebook


async def test_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cell by cell, each a task of its own in the kernel's loop."""
    for variable in ("HOME", "IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    notebook = nbformat.read(EXAMPLES / "notebook.ipynb", as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert any("await session.run" in cell.source for cell in code) and "async with" not in "".join(
        c.source for c in code
    )
    assert not any(cell.outputs for cell in code), "the notebook is kept without outputs"
    with anyio.fail_after(PATIENCE):
        await nbclient.NotebookClient(notebook, timeout=PATIENCE, kernel_name="python3").async_execute()
    shown = [output for cell in code for output in cell.outputs]
    assert all(output.output_type == "execute_result" for output in shown), shown
    texts = [output.data["text/plain"] for output in shown]
    assert "0 steps in flight" in texts[0] and "closed" in texts[-1]
    (before,), (after,) = (numbers(r"error ([\d.]+)", text) for text in texts[1:3])
    assert after < 0.1 < before
    assert "'the strongest wave has frequency 1'" in texts
