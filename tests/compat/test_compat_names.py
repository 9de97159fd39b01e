"""Namespaces, flags, logging and files of `actorflow.compat.v1`."""

from __future__ import annotations

import importlib
import logging
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow
import actorflow.compat.v1 as tf
from actorflow.compat.v1 import flags as tf_flags
from actorflow.compat.v1 import index

# ---- namespaces


@pytest.mark.parametrize(
    ("path", "same"),
    [
        ("nn.relu", actorflow.nn.relu),
        ("train.AdamOptimizer", actorflow.train.AdamOptimizer),
        ("losses.huber_loss", actorflow.losses.huber_loss),
        ("math.reduce_sum", actorflow.reduce_sum),
        ("math.divide_no_nan", actorflow.div_no_nan),
        ("math.softplus", actorflow.nn.softplus),
        ("linalg.matmul", actorflow.matmul),
        ("linalg.diag", actorflow.matrix_diag),
        ("linalg.tensor_diag", actorflow.diag),
        ("random.uniform", actorflow.random_uniform),
        ("random.set_random_seed", actorflow.set_random_seed),
        ("initializers.variance_scaling", actorflow.variance_scaling_initializer),
        ("initializers.global_variables", actorflow.global_variables_initializer),
        ("errors.NotFoundError", actorflow.errors.NotFoundError),
        ("dtypes.as_dtype", actorflow.as_dtype),
        ("debugging.check_numerics", actorflow.check_numerics),
        ("NoGradient", actorflow.NotDifferentiable),
        ("half", actorflow.float16),
        ("print", actorflow.print_),
        ("manip.roll", actorflow.roll),
        ("python_io.TFRecordWriter", actorflow.io.TFRecordWriter),
        ("quantization.dequantize", actorflow.dequantize),
        ("queue.FIFOQueue", actorflow.FIFOQueue),
        ("spectral.rfft", actorflow.signal.rfft),
        ("compat.v1", tf),
    ],
)
def test_tensorflows_name_is_actorflows_function(path: str, same: Any) -> None:
    found: Any = tf
    for part in path.split("."):
        found = getattr(found, part)
    assert found is same


def test_texts_and_bytes() -> None:
    assert tf.compat.as_bytes("größe") == "größe".encode() == tf.compat.as_bytes(bytearray("größe".encode()))
    assert tf.compat.as_text(b"abc") == tf.compat.as_str("abc") == tf.compat.as_str_any(b"abc") == "abc"
    assert tf.compat.as_str_any(12) == "12"
    for function in (tf.compat.as_bytes, tf.compat.as_text):
        with pytest.raises(TypeError, match="12 is neither text nor bytes"):
            function(12)


def test_a_name_that_a_namespace_lacks_is_named() -> None:
    with pytest.raises(AttributeError, match=r"tf\.math\.placeholder is not in actorflow"):
        _ = tf.math.placeholder
    with pytest.raises(AttributeError, match=r"tf\.losses\.composite is not in actorflow"):
        _ = tf.losses.composite
    assert not hasattr(tf.errors, "dataclass")
    assert not hasattr(tf.nn, "__wrapped__")


@pytest.mark.parametrize(
    "name",
    [
        "keras",
    ],
)
@pytest.mark.parametrize("package", ["v0", "v1"])
def test_a_part_of_tensorflow_that_is_missing_says_so_and_what_does_its_work(package: str, name: str) -> None:
    space: Any = importlib.import_module(f"actorflow.compat.{package}")
    with pytest.raises(AttributeError) as raised:
        for part in name.split("."):
            space = getattr(space, part)
    message = str(raised.value)
    assert f"tf.{name} is not in actorflow.compat.v1" in message
    _, refusal, instead = message.partition(f"TensorFlow's tf.{name} has no counterpart here. ")
    assert refusal and instead
    for named in re.findall(r"\baf(?:\.\w+)+", instead):
        found: Any = actorflow
        for part in named.split(".")[1:]:
            found = getattr(found, part)


def test_a_missing_name_of_an_inner_namespace_is_not_taken_for_a_part_of_tensorflow() -> None:
    with pytest.raises(AttributeError) as raised:
        _ = tf.losses.contrib
    assert "counterpart" not in str(raised.value)


@pytest.mark.parametrize("name", sorted(path.removeprefix("tf.") for path in index.NAMES if path != "tf"))
def test_what_a_namespace_lists_is_there(name: str) -> None:
    space = getattr(tf, name)
    assert getattr(tf, name) is space, "found once"
    assert all(hasattr(space, entry) for entry in dir(space))
    assert name in repr(space) and name in dir(tf)
    assert importlib.import_module(f"actorflow.compat.v1.{name}") is space


def test_numbers_of_errors() -> None:
    assert tf.errors.NOT_FOUND == tf.errors.NotFoundError.code == 5
    for code in range(1, 17):
        assert tf.errors.error_code_from_exception_type(tf.errors.exception_type_from_error_code(code)) == code
    with pytest.raises(KeyError):
        tf.errors.exception_type_from_error_code(99)


# ---- flags


@pytest.fixture
def flags(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`tf.flags` without the flags of other tests."""
    fresh = tf_flags.FlagValues()
    monkeypatch.setattr(tf_flags, "FLAGS", fresh)
    return tf_flags


def test_flags_are_read_from_the_command_line(flags: Any) -> None:
    flags.DEFINE_string("data_dir", "/tmp", "where 100% of the data is")
    flags.DEFINE_integer("steps", 10, "how many")
    flags.DEFINE_float("rate", 1, "how fast")
    flags.DEFINE_boolean("debug", False, "whether to")
    flags.DEFINE_bool("quiet", True)
    flags.DEFINE_enum("mode", "train", ["train", "test"])
    flags.DEFINE_list("layers", "1,2")
    rest = flags.FLAGS(["prog", "--steps=3", "--rate", "0.5", "--debug", "--noquiet", "--mode=test", "file"])
    assert rest == ["prog", "file"]
    assert flags.FLAGS.flag_values_dict() == {
        "data_dir": "/tmp",
        "steps": 3,
        "rate": 0.5,
        "debug": True,
        "quiet": False,
        "mode": "test",
        "layers": ["1", "2"],
    }
    assert flags.FLAGS(["prog", "--debug=false", "-layers=a, b"]) == ["prog"]
    assert flags.FLAGS.debug is False and flags.FLAGS.layers == ["a", "b"]


def test_flags_that_are_given_several_times(flags: Any) -> None:
    flags.DEFINE_multi_string("name", ["a"], "")
    flags.DEFINE_multi_integer("size", 3, "")
    flags.DEFINE_multi_float("rate", None, "")
    assert flags.FLAGS(["prog", "--name=x", "--name", "y", "--rate=0.5"]) == ["prog"]
    assert (flags.FLAGS.name, flags.FLAGS.size, flags.FLAGS.rate) == (["x", "y"], [3], [0.5])


def test_flags_that_are_required(flags: Any, capsys: pytest.CaptureFixture[str]) -> None:
    flags.DEFINE_string("data_dir", None, "")
    flags.DEFINE_integer("steps", None, "")
    flags.mark_flags_as_required(["data_dir", "steps"])
    with pytest.raises(SystemExit):
        flags.FLAGS(["prog", "--steps=1"])
    assert "required: --data_dir" in capsys.readouterr().err
    flags.FLAGS(["prog", "--steps=1", "--data_dir=d"])
    assert flags.FLAGS.data_dir == "d"
    with pytest.raises(AttributeError, match="no flag --stpes"):
        flags.mark_flag_as_required("stpes")


def test_a_flag_is_read_at_its_first_use(flags: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["prog", "--steps=7", "--of_another_library"])
    flags.DEFINE_integer("steps", 10, "")
    assert not flags.FLAGS.is_parsed()
    assert flags.FLAGS.steps == 7
    assert flags.FLAGS.is_parsed()
    flags.FLAGS.steps = 8
    assert flags.FLAGS.steps == 8


def test_flags_that_are_wrong(flags: Any, capsys: pytest.CaptureFixture[str]) -> None:
    flags.DEFINE_integer("steps", 10, "")
    flags.DEFINE_boolean("debug", False)
    for argument in ("--steps=many", "--debug=perhaps", "--stpes=1"):
        with pytest.raises(SystemExit):
            flags.FLAGS(["prog", argument])
    assert "unrecognized arguments: --stpes=1" in capsys.readouterr().err
    with pytest.raises(AttributeError, match="no flag --stpes"):
        _ = flags.FLAGS.stpes
    with pytest.raises(AttributeError, match="no flag --stpes"):
        flags.FLAGS.stpes = 1
    with pytest.raises(flags.DuplicateFlagError, match="declared already"):
        flags.DEFINE_string("steps", "", module_name="another")


def test_the_table_of_flags(flags: Any) -> None:
    flags.DEFINE_integer("epoch", 3, "how many")
    flags.DEFINE_string(flag_name="folder", default_value="d", docstring="where")
    values = flags.FLAGS
    assert sorted(getattr(values, "__flags")) == sorted(values._flags()) == sorted(values) == ["epoch", "folder"]
    assert {name: values[name].value for name in values} == {"epoch": 3, "folder": "d"}
    assert (values["epoch"].name, values["epoch"].default, values["epoch"].help) == ("epoch", 3, "how many")
    assert "epoch" in values and "steps" not in values and len(values) == 2
    assert values.flags_into_string() == "--epoch=3\n--folder=d\n"
    values(["prog", "--epoch=5"])
    assert (values["epoch"].present, values["folder"].present) == (True, False)
    values.unparse_flags()
    assert not values.is_parsed() and values["epoch"].value == 3


def test_a_cell_that_declares_its_flags_is_run_again(flags: Any) -> None:
    for default in (1, 2):
        flags.DEFINE_integer("epochs", default, "how many")
        flags.FLAGS(["prog"])
        assert flags.FLAGS.epochs == default
    for name in list(flags.FLAGS._flags()):
        delattr(flags.FLAGS, name)
    assert len(flags.FLAGS) == 0
    with pytest.raises(AttributeError, match="no flag --epochs"):
        _ = flags.FLAGS.epochs


def test_flags_have_bounds_and_validators(flags: Any, capsys: pytest.CaptureFixture[str]) -> None:
    flags.DEFINE_integer("steps", 10, "", lower_bound=1)
    flags.DEFINE_string("name", "a", "")
    flags.register_validator("name", lambda name: name != "b", "is not b")
    for argument in ("--steps=0", "--name=b"):
        with pytest.raises(SystemExit):
            flags.FLAGS(["prog", argument])
    said = capsys.readouterr().err
    assert "steps=0: 0 is not an integer >= 1" in said and "flag --name=b: is not b" in said
    flags.FLAGS.unparse_flags()
    with pytest.raises(flags.IllegalFlagValueError, match="is not b"):
        flags.FLAGS.name = "b"


def test_app_run_calls_main_and_exits(flags: Any) -> None:
    flags.DEFINE_integer("steps", 10, "")
    seen = []

    def main(argv: list[str]) -> int:
        seen.append((argv, flags.FLAGS.steps))
        return 3

    with pytest.raises(SystemExit) as exit:
        tf.app.run(main, ["prog", "--steps=2", "x"])
    assert exit.value.code == 3
    assert seen == [(["prog", "x"], 2)]
    assert tf.app.flags is tf.flags


# ---- logging


@pytest.fixture
def verbosity() -> Iterator[None]:
    yield
    tf.logging.set_verbosity(logging.NOTSET)
    logging.getLogger("actorflow").handlers.clear()


@pytest.mark.parametrize("logger", ["actorflow.compat.v1", "actorflow.estimator"])
@pytest.mark.parametrize("set_up", [False, True], ids=["plain", "basicConfig"])
def test_a_line_is_on_stderr_once(
    verbosity: None, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, set_up: bool, logger: str
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    if set_up:
        logging.basicConfig(level=logging.INFO)
    tf.logging.set_verbosity(tf.logging.INFO)
    say = tf.logging.info if logger == "actorflow.compat.v1" else logging.getLogger(logger).info
    say("progress %d", 50)
    tf.logging.set_verbosity(tf.logging.WARN)
    say("not shown")
    assert capfd.readouterr().err == f"INFO:{logger}:progress 50\n"


def test_messages_go_to_pythons_logging(verbosity: None, caplog: pytest.LogCaptureFixture) -> None:
    tf.logging.set_verbosity(tf.logging.INFO)
    assert tf.logging.get_verbosity() == tf.logging.INFO == logging.INFO
    tf.logging.debug("hidden")
    tf.logging.info("step %d", 3)
    tf.logging.warn("careful")
    tf.logging.error("wrong")
    tf.logging.fatal("over")
    tf.logging.log(tf.logging.WARN, "at a level")
    tf.logging.log_if(tf.logging.INFO, "chosen", True)
    tf.logging.log_if(tf.logging.INFO, "not chosen", False)
    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [
        ("INFO", "step 3"),
        ("WARNING", "careful"),
        ("ERROR", "wrong"),
        ("CRITICAL", "over"),
        ("WARNING", "at a level"),
        ("INFO", "chosen"),
    ]
    assert {r.filename for r in caplog.records} == {"test_compat_names.py"}
    tf.logging.set_verbosity("WARN")
    tf.logging.info("hidden")
    assert len(caplog.records) == 6
    tf.logging.flush()


def test_repeated_messages(verbosity: None, caplog: pytest.LogCaptureFixture) -> None:
    tf.logging.set_verbosity(tf.logging.INFO)
    for i in range(7):
        tf.logging.log_every_n(tf.logging.INFO, "every third: %d", 3, i)
        tf.logging.log_first_n(tf.logging.INFO, "first two: %d", 2, i)
    assert [r.getMessage() for r in caplog.records] == [
        "every third: 0",
        "first two: 0",
        "first two: 1",
        "every third: 3",
        "every third: 6",
    ]


# ---- files


def test_files(tmp_path: Path) -> None:
    folder = str(tmp_path / "a" / "b")
    with pytest.raises(tf.errors.NotFoundError):
        tf.gfile.MkDir(folder)
    tf.gfile.MakeDirs(folder)
    tf.gfile.MakeDirs(folder)
    assert tf.gfile.IsDirectory(folder) and tf.gfile.Exists(folder)
    name = f"{folder}/x.txt"
    with tf.gfile.GFile(name, "w") as file:
        file.write("ä\n")
    with tf.gfile.Open(name, "rb") as file:
        assert file.read() == b"\xc3\xa4\n"
    tf.gfile.Copy(name, f"{folder}/y.txt")
    with pytest.raises(tf.errors.AlreadyExistsError):
        tf.gfile.Copy(name, f"{folder}/y.txt")
    tf.gfile.Copy(name, f"{folder}/y.txt", overwrite=True)
    tf.gfile.Rename(name, f"{folder}/z.txt")
    assert sorted(tf.gfile.ListDirectory(folder)) == ["y.txt", "z.txt"]
    assert tf.gfile.Glob(f"{folder}/*.txt") == [f"{folder}/y.txt", f"{folder}/z.txt"]
    assert [files for _, _, files in tf.gfile.Walk(folder)] == [tf.gfile.ListDirectory(folder)]
    tf.gfile.Remove(f"{folder}/y.txt")
    tf.gfile.DeleteRecursively(str(tmp_path / "a"))
    for missing in (
        lambda: tf.gfile.GFile(name).read(),
        lambda: tf.gfile.ListDirectory(folder),
        lambda: tf.gfile.Copy(name, f"{tmp_path}/q"),
        lambda: tf.gfile.Rename(name, f"{tmp_path}/q"),
        lambda: tf.gfile.Remove(name),
        lambda: tf.gfile.DeleteRecursively(folder),
    ):
        with pytest.raises(tf.errors.NotFoundError, match="No such file"):
            missing()


def test_the_version_is_that_of_the_names() -> None:
    assert tf.__version__ == tf.VERSION == "1.15.5"
    np.testing.assert_equal(tf.float32.numpy_dtype, np.float32)
