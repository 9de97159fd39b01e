"""Models as one module with numpy alone: the bits of a session that computes by numpy, and refusals by name."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow as af
import actorflow.compat.v1 as tf
from actorflow import errors
from actorflow.base.registry import kernel

RUN = """
import sys
sys.path[:] = [p for p in sys.path if "site-packages" not in p] + [{numpy!r}]
import numpy as np
import model
given = np.load("given.npz")
np.savez("found.npz", **model.predict(**given))
assert not [name for name in sys.modules if name.partition(".")[0] in ("actorflow", "anyio", "msgpack", "zmq")]
"""


@pytest.fixture(autouse=True)
def by_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions take the kernels in Python: those of libraries add in another order."""
    monkeypatch.setattr(kernel, "_FROM_LIBRARIES", {})


def alone(folder: Path, given: dict[str, Any]) -> dict[str, Any]:
    """The answers of the module in a process of its own, whose only package is numpy."""
    packages = folder / "packages"
    packages.mkdir()
    home = Path(np.__file__).parent
    for name in ("numpy", "numpy.libs"):
        if (home.parent / name).exists():
            (packages / name).symlink_to(home.parent / name)
    np.savez(folder / "given.npz", **given)
    code = RUN.format(numpy=str(packages))
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return dict(np.load(folder / "found.npz"))


def exported(folder: Path, outputs: dict[str, Any], given: dict[Any, Any]) -> dict[str, Any]:
    """Exports what the default graph computes; gives the session's answers."""
    with tf.Session(options=tf.PlanOptions(jit=False)) as session:
        session.run(tf.global_variables_initializer())
        inputs = {tensor.op.name: tensor for tensor in given}
        af.export.standalone(folder / "model.py", session, outputs, inputs)
        return session.run(outputs, given)  # type: ignore[no-any-return]


def test_a_network_has_the_bits_of_the_session_in_a_process_with_numpy_alone(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    with tf.Graph().as_default():
        tf.set_random_seed(seed)
        x = tf.placeholder(tf.float32, [None, 8, 8, 1], name="x")
        y = tf.layers.conv2d(x, 8, 3, padding="same", activation=tf.nn.relu)
        y = tf.layers.batch_normalization(tf.layers.max_pooling2d(y, 2, 2), training=False)
        y = tf.layers.dense(tf.layers.flatten(y), 32, activation=tf.nn.tanh)
        scores = tf.nn.softmax(tf.layers.dense(y, 10))
        given = {x: rng.normal(size=(5, 8, 8, 1)).astype(np.float32)}
        wanted = exported(tmp_path, {"scores": scores, "digit": tf.argmax(scores, 1)}, given)
    found = alone(tmp_path, {"x": given[x]})
    assert found.keys() == {"scores", "digit"}
    for name, value in wanted.items():
        assert found[name].dtype == value.dtype
        np.testing.assert_array_equal(found[name], value)


GRAPHS: dict[str, Callable[[Any], Any]] = {
    "arithmetic": lambda x: tf.abs(-x) * 2.0 + tf.square(x) / (tf.exp(x) + 1.0) - tf.maximum(x, 0.5),
    "activations": lambda x: tf.nn.elu(x) + tf.nn.leaky_relu(x) + tf.nn.softplus(x) + tf.nn.relu6(x) + tf.sigmoid(x),
    "sums": lambda x: tf.reduce_sum(x, 1, keepdims=True) + tf.reduce_max(x, 1, keepdims=True) - tf.reduce_mean(x),
    "products": lambda x: tf.matmul(x, x, transpose_b=True),
    "lists": lambda x: tf.concat([x, tf.stack([x[:, 0], x[:, 1]], axis=1), *tf.split(x, 2, axis=1)], axis=1),
    "choices": lambda x: tf.where(x > 0, x, tf.zeros_like(x)) + tf.cast(tf.logical_not(x > 1), tf.float32),
    "shapes": lambda x: (
        tf.transpose(tf.reshape(tf.pad(x, [[0, 0], [1, 1]]), [2, -1])) + tf.cast(tf.shape(x)[1], tf.float32)
    ),
    "places": lambda x: tf.gather(x, [2, 0, 0], axis=1) * tf.one_hot([0, 1, 2, 0], 3, on_value=2.0),
    "images": lambda x: tf.nn.avg_pool(tf.reshape(x, [1, 4, 4, 1]), [1, 2, 2, 1], [1, 2, 2, 1], "SAME"),
    "depthwise": lambda x: tf.nn.depthwise_conv2d(
        tf.reshape(x, [1, 4, 2, 2]), tf.ones([3, 3, 2, 2]), [1, 1, 1, 1], "SAME"
    ),
    "logarithms": lambda x: tf.nn.log_softmax(x) + tf.log(tf.abs(x) + 1.0) + tf.nn.l2_normalize(x, 1),
    "infinities": lambda x: tf.minimum(x / 0.0, float("inf")),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_kernels_are_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, name: str) -> None:
    value = np.random.default_rng(seed).normal(size=(4, 4)).astype(np.float32)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        wanted = exported(tmp_path, {"y": GRAPHS[name](x)}, {x: value})["y"]
    source = (tmp_path / "model.py").read_text()
    assert "import actorflow" not in source and "from actorflow" not in source
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "model", raising=False)

    space = vars(importlib.import_module("model"))
    monkeypatch.delitem(sys.modules, "model")
    found = space["predict"](value)["y"]
    np.testing.assert_array_equal(found, wanted)
    assert found.dtype == wanted.dtype


def test_all_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2], name="x")
        loop = tf.while_loop(lambda v: tf.reduce_sum(v) < 10.0, lambda v: v * 2.0, [x])
        noise = tf.random_normal([2], name="noise")
        given = {x: [1.0, 2.0]}
        with pytest.raises(errors.UnimplementedError, match="nodes can't be in a standalone module") as raised:
            exported(tmp_path, {"y": loop + noise}, given)
        for part in ("(Enter): a branch or a loop is no straight line", "it needs more than its inputs"):
            assert part in str(raised.value)
        assert not (tmp_path / "model.py").exists()


async def test_names_of_files_and_inputs(tmp_path: Path) -> None:
    with af.Graph().as_default() as graph:
        x = af.placeholder(af.float32, [], name="x")
        async with af.Session(graph=graph) as session:
            await af.export.standalone(tmp_path / "twice.py", session, {"y": x * 2.0}, {"x": x})
            assert (tmp_path / "twice.npz").exists()
            with pytest.raises(ValueError, match="ends in the name of one"):
                await af.export.standalone(tmp_path / "model", session, {"y": x}, {"x": x})
            for name in ("a b", "lambda", "class", "np"):
                with pytest.raises(ValueError, match="can't be the name of a parameter"):
                    await af.export.standalone(tmp_path / "model.py", session, {"y": x}, {name: x})


def test_a_model_is_replaced_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2], name="x")
        exported(tmp_path, {"y": x * [1.0, 2.0]}, {x: [1.0, 2.0]})
        before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

        def breaks(stream: Any, **arrays: Any) -> None:
            Path(stream if isinstance(stream, Path) else stream.name).write_bytes(b"half")
            raise OSError("the disk is full")

        monkeypatch.setattr(np, "savez", breaks)
        with pytest.raises(OSError, match="the disk is full"):
            exported(tmp_path, {"y": x * [3.0, 4.0]}, {x: [1.0, 2.0]})
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("place", ["constant", "result", "input"])
def test_types_that_numpy_alone_does_not_have_are_named(tmp_path: Path, place: str) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.bfloat16 if place == "input" else tf.float32, [2], name="x")
        y = tf.cast(x, tf.bfloat16) if place == "result" else tf.cast(x, tf.float32)
        c = tf.constant([1.0, 2.0], tf.bfloat16 if place == "constant" else tf.float32)
        with pytest.raises(errors.UnimplementedError, match="its type bfloat16 is none of numpy's own"):
            exported(tmp_path, {"y": y, "c": c}, {x: [1.0, 2.0]})
        assert not list(tmp_path.iterdir())
