"""`tf.test.Benchmark` and `tf.test.StubOutForTesting`."""

from __future__ import annotations

import json
import types
from pathlib import Path
from typing import Any

import pytest

import actorflow as af
import actorflow.compat.v1 as tf


class Sums(tf.test.Benchmark):
    def benchmark_sum(self) -> Any:
        with tf.Graph().as_default(), tf.Session(config=tf.test.benchmark_config()) as session:
            x = tf.placeholder(tf.float32)
            return self.run_op_benchmark(session, x + 1.0, {x: 2.0}, min_iters=4, name="sum", extras={"a": 1}, mbs=1)


def test_a_benchmark_times_an_operation(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("TEST_REPORT_FILE_PREFIX", f"{tmp_path}/report_")
    result = Sums().benchmark_sum()
    assert (result["iters"], result["name"], result["extras"]) == (4, "sum", {"a": 1})
    assert result["wall_time"] > 0 and result["throughput"] == 1 / result["wall_time"]
    report = json.loads(capsys.readouterr().out.removeprefix("entry "))
    assert report == json.loads((tmp_path / "report_sum").read_text()) and report["iters"] == 4
    assert tf.test.Benchmark.is_abstract() and not Sums.is_abstract()


class Parent:
    level = 1

    @staticmethod
    def call() -> str:
        return "former"


class Child(Parent):
    pass


def test_stubs_put_former_values_back() -> None:
    module = types.SimpleNamespace(value=1)
    with tf.test.StubOutForTesting() as stubs:
        stubs.Set(module, "value", 2)
        stubs.Set(module, "value", 3)
        stubs.SmartSet(Child, "level", 5)
        stubs.Set(Parent, "call", staticmethod(lambda: "new"))
        assert (module.value, Parent.level, Child().call()) == (3, 5, "new")
        with pytest.raises(AttributeError):
            stubs.Set(module, "other", 2)
        with pytest.raises(AttributeError, match="other"):
            stubs.SmartSet(Child(), "other", 2)
    assert (module.value, Parent.level, Child().call()) == (1, 1, "former")
    assert "level" not in vars(Child)


def test_a_status_block_and_a_status_message(caplog: pytest.LogCaptureFixture) -> None:
    with tf.errors.raise_exception_on_not_ok_status() as status:
        assert status is None
    tf.logging.TaskLevelStatusMessage("task 3 waits")
    assert [(each.levelname, each.message) for each in caplog.records] == [("ERROR", "task 3 waits")]


def test_evaluate_takes_the_default_session_or_eager_values() -> None:
    benchmark = tf.test.Benchmark()
    with tf.Graph().as_default(), tf.Session():
        assert benchmark.evaluate({"a": tf.constant(1.0) + 1.0}) == {"a": 2.0}
    with af.eager():
        assert benchmark.evaluate([af.constant(3)]) == [3]
