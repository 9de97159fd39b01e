"""`af.load_model` and `actorflow inspect`: each kind of model file gives the same answers under the same names."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow as af
import actorflow.compat.v1 as tf
from actorflow.errors import InvalidArgumentError, NotFoundError
from actorflow.frontends.cli.main import main

KINDS = ("saved_model", "standard", "frozen", "checkpoint", "signed_checkpoint", "onnx")
ROWS = np.arange(6, dtype=np.float32).reshape(2, 3)
EXPECTED = ROWS @ np.full((3, 2), 2, np.float32) + 1


def write(kind: str, folder: Path) -> str:
    """A model of y = 2 · (sum of x) + 1, in two columns. Gives its path."""
    path = str(folder / f"{kind}_model")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        w = tf.get_variable("w", initializer=np.full((3, 2), 2, np.float32))
        y = tf.add(tf.matmul(x, w), 1.0, name="y")
        session.run(tf.global_variables_initializer())
        match kind:
            case "saved_model" | "standard":
                form = "standard" if kind == "standard" else "tensorflow"
                tf.saved_model.simple_save(session, path, {"x": x}, {"y": y}, format=form)
            case "frozen":
                path += ".pb"
                graph = tf.graph_util.convert_variables_to_constants(
                    session, tf.get_default_graph().as_graph_def(), ["y"]
                )
                Path(path).write_bytes(graph.SerializeToString())
            case "checkpoint":
                tf.train.Saver().save(session, path)
            case "signed_checkpoint":
                tf.train.Saver().save(session, path, signatures={"serving_default": ({"x": x}, {"y": y})})
            case "onnx":
                path += ".onnx"
                tf.onnx.save(path, session, {"y": y}, {"x": x})
    return path


STATED: dict[str, Any] = {"checkpoint": {"signatures": {"serving_default": ({"x": "x:0"}, {"y": "y:0"})}}}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def path(kind: str, tmp_path: Path) -> str:
    return write(kind, tmp_path)


def test_a_thread_runs_it(kind: str, path: str) -> None:
    with af.load_model(path, **STATED.get(kind, {})) as model:
        assert [(each.name, each.type, each.shape[1]) for each in model.get_inputs()] == [("x", "tensor(float)", 3)]
        assert [each.name for each in model.get_outputs()] == ["y"]
        np.testing.assert_array_equal(model.run(None, {"x": ROWS})[0], EXPECTED)


@pytest.mark.parametrize("batching", [None, af.Batching(max_size=4)], ids=["alone", "batched"])
async def test_a_loop_awaits_it(kind: str, path: str, batching: Any) -> None:
    """The first calls come at the same time: the values of variables are read once, before all of them."""
    async with af.load_model(path, batching=batching, **STATED.get(kind, {})) as model:
        for answer in await asyncio.gather(*[model.run_async(["y"], {"x": ROWS}) for _ in range(5)]):
            np.testing.assert_array_equal(answer[0], EXPECTED)


async def test_calls_without_a_block_read_the_values_first(kind: str, path: str) -> None:
    model = af.load_model(path, **STATED.get(kind, {}))
    answers = await asyncio.gather(*[model.run_async(None, {"x": ROWS}) for _ in range(3)])
    assert all(np.array_equal(answer[0], EXPECTED) for answer in answers)
    await model.aclose()


def test_a_feed_that_does_not_fit_is_refused_by_the_name_of_the_input(kind: str, path: str) -> None:
    with af.load_model(path, **STATED.get(kind, {})) as model:
        for feed, message in (
            ({"x": ROWS.astype(np.float64)}, "The input 'x' takes"),
            ({"x": ROWS[0]}, "The input 'x' takes"),
            ({"z": ROWS}, "no value for 'x'"),
        ):
            with pytest.raises(InvalidArgumentError, match=message):
                model.run(None, feed)


def test_a_signature_is_chosen(tmp_path: Path) -> None:
    path = str(tmp_path / "two")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], name="x")
        signatures = {
            name: tf.saved_model.predict_signature_def({"x": x}, {"y": x * factor})
            for name, factor in (("double", 2.0), ("triple", 3.0))
        }
        builder = tf.saved_model.Builder(path)
        builder.add_meta_graph_and_variables(session, ["serve"], signatures)
        builder.save()
    with af.load_model(path, signature="triple") as model:
        assert model.run(None, {"x": [1.0]})[0] == [3.0]
    with pytest.raises(
        NotFoundError, match=r"no signature 'tripel'; it has 'double', 'triple'\. Did you mean 'triple'"
    ):
        af.load_model(path, signature="tripel")
    with pytest.raises(NotFoundError, match="no signature 'serving_default'"):
        af.load_model(path)


@pytest.mark.parametrize("form", ["standard", "tensor_bundle"])
@pytest.mark.parametrize("part", ["folder", "prefix", "meta", "index", "shard"])
def test_a_checkpoint_with_signatures_is_found_by_any_of_its_files(form: str, part: str, tmp_path: Path) -> None:
    """Each signature is there under its name, and the latest checkpoint is that of a folder."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], name="x")
        factor = tf.get_variable("factor", initializer=0.0)
        signatures = {"once": ({"x": x}, {"y": x * factor}), "factor": ({}, {"value": factor})}
        saver = tf.train.Saver(format=form)
        for step in (1, 2):
            session.run(factor.assign(float(step)))
            prefix = Path(saver.save(session, str(tmp_path / "model.ckpt"), global_step=step, signatures=signatures))
    shard = next(
        each for each in tmp_path.glob(f"{prefix.name}*") if each.suffix == ".safetensors" or ".data-" in each.name
    )
    index = prefix.with_name(prefix.name + (".manifest" if form == "standard" else ".index"))
    path = {"folder": tmp_path, "prefix": prefix, "meta": f"{prefix}.meta", "index": index, "shard": shard}[part]
    with af.load_model(path, signature="once") as model:
        assert model.run(None, {"x": [3.0]})[0] == [6.0]
    with af.load_model(path, signature="factor") as model:
        assert model.run(["value"], {})[0] == 2.0


def test_the_signatures_of_a_save_are_checked(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], name="x")
        session.run(tf.get_variable("w", initializer=1.0).initializer)
        saver = tf.train.Saver()
        with tf.Graph().as_default():
            other = tf.placeholder(tf.float32, name="other")
        for signatures, kind, message in (
            ({"a": ({"x": x}, {})}, ValueError, "The signature 'a' has no outputs"),
            ({"a": ({"x": "x:0"}, {"y": x})}, TypeError, "'x' of the signature 'a' is 'x:0', which is no tensor"),
            ({"a": ({"x": other}, {"y": x})}, ValueError, "'x' of the signature 'a' is 'other:0' of another graph"),
        ):
            with pytest.raises(kind, match=message):
                saver.save(session, str(tmp_path / "model"), signatures=signatures)
        with pytest.raises(ValueError, match="write_meta_graph=True"):
            saver.save(session, str(tmp_path / "model"), write_meta_graph=False, signatures={"a": ({"x": x}, {"y": x})})
    assert graph is not None and not list(tmp_path.iterdir())


def test_weights_without_a_graph_are_no_model(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    path.write_bytes(b"")
    with pytest.raises(NotFoundError, match="has the values of variables, but there is no graph beside it"):
        af.load_model(path)


@pytest.mark.parametrize("wrong", ["nothing", "empty", "text.txt"])
def test_a_path_without_a_model_says_what_a_model_is(wrong: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.txt").write_text("no model")
    with pytest.raises(NotFoundError, match=r"There is no model at .*\n.*a folder with a saved model"):
        af.load_model(tmp_path / wrong)


def test_an_object_that_is_no_path_is_refused() -> None:
    with pytest.raises(TypeError, match="load_model takes the path of a model, but it was given 7"):
        af.load_model(7)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["saved_model", "standard", "frozen", "onnx"], indirect=True)
def test_inspect_prints_what_a_file_has(kind: str, path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", path, "--size", "2"]) == 0
    text = capsys.readouterr().out
    for line in ("signature serving_default", "x  float32  [?, 3]", "y  float32  [?, 2]", "6 parameters", "MatMul"):
        assert line in text, text
    assert "ms for a run with open sizes of 2" in text and "time by node" in text, text


def test_inspect_runs_nothing_if_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", write("saved_model", tmp_path), "--no-run"]) == 0
    assert "time by node" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing"], "There is no model at 'nothing'"),
        (["MODEL", "--signature", "a"], "no signature 'a'; it has 'serving_default'"),
        (["MODEL", "--size", "0"], "--size and --top are 1 or more"),
    ],
)
def test_inspect_refuses_with_a_sentence(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write("saved_model", tmp_path)
    assert main(["inspect", *[path if word == "MODEL" else word for word in words]]) == 1
    assert message in capsys.readouterr().err
