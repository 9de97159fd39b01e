"""`import tensorflow` over actorflow: aliases, inner modules, refusals, and `actorflow tf`."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import actorflow.compat.v1 as tf
from actorflow.compat.door import finder, modules, open_door, private, protos, refused
from actorflow.compat.v1 import behavior


@pytest.fixture(autouse=True)
def door(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An open door, which is shut again behind each test."""
    before = set(sys.modules)
    monkeypatch.setattr(sys, "meta_path", [each for each in sys.meta_path if not isinstance(each, finder.Finder)])
    monkeypatch.setattr(behavior, "_assumed", False)
    open_door()
    yield
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("tensorflow", "tensorflow_estimator"):
            del sys.modules[name]


# ---- aliases


@pytest.mark.parametrize(
    ("alias", "ours"),
    [
        ("tensorflow", "actorflow.compat.v1"),
        ("tensorflow.compat.v1", "actorflow.compat.v1"),
        ("tensorflow.compat", "actorflow.compat.v1.compat"),
        ("tensorflow.compat.v1.nn", "actorflow.compat.v1.nn"),
        ("tensorflow.app", "actorflow.compat.v1.app"),
        ("tensorflow.train", "actorflow.train"),
        ("tensorflow.python.platform.gfile", "actorflow.compat.files.gfile"),
        ("tensorflow.python.platform.flags", "actorflow.compat.v1.flags"),
        ("tensorflow.python.ops.distributions.distributions", "actorflow.compat.names.distributions"),
        ("tensorflow.python.framework.errors", "actorflow.compat.v1.errors"),
    ],
)
def test_an_alias_is_the_module_itself(alias: str, ours: str) -> None:
    expected = importlib.import_module(ours)
    spec = expected.__spec__
    module = importlib.import_module(alias)
    if ours == "actorflow.train":
        assert module is tf.train
    else:
        assert module is expected
    assert expected.__name__ == ours or ours == "actorflow.train"
    assert expected.__spec__ is spec


@pytest.mark.parametrize("name", sorted(modules.SPACES))
def test_each_module_of_the_table_is_imported(name: str) -> None:
    assert importlib.import_module(f"tensorflow.python.{name}")


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, names in sorted(private.NAMES.items()) for name in names]
)
def test_each_private_name_is_there(module: str, name: str) -> None:
    assert module in modules.SPACES
    place = private.NAMES[module][name]
    if not modules.SPACES[module].startswith("="):
        assert getattr(importlib.import_module(f"tensorflow.python.{module}"), name) is private.get(place)


@pytest.mark.parametrize(
    ("module", "name", "place"),
    [
        ("estimator", "Estimator", "estimator.Estimator"),
        ("mode_keys", "ModeKeys", "estimator.ModeKeys"),
        ("exporter", "BestExporter", "estimator.BestExporter"),
        ("early_stopping", "make_early_stopping_hook", "estimator.experimental.make_early_stopping_hook"),
        ("hooks.basic_session_run_hooks", "StopAtStepHook", "train.StopAtStepHook"),
        ("inputs.numpy_io", "numpy_input_fn", "estimator.inputs.numpy_input_fn"),
        ("export.export_lib", "PredictOutput", "estimator.export.PredictOutput"),
        ("canned.baseline", "BaselineClassifier", "estimator.BaselineClassifier"),
        ("canned.parsing_utils", "regressor_parse_example_spec", "estimator.regressor_parse_example_spec"),
    ],
)
def test_the_package_of_estimators_answers_too(module: str, name: str, place: str) -> None:
    inner = importlib.import_module(f"tensorflow_estimator.python.estimator.{module}")
    assert getattr(inner, name) is private.get(place)


def test_the_keys_of_estimators_are_those_of_the_metrics() -> None:
    keys = importlib.import_module("tensorflow.python.estimator.canned.metric_keys").MetricKeys
    predictions = importlib.import_module("tensorflow.python.estimator.canned.prediction_keys").PredictionKeys
    with tf.Graph().as_default():
        head = tf.estimator.BinaryClassHead(thresholds=[0.25])
        spec = head.create_estimator_spec({}, "eval", tf.constant([[1.0]]), tf.constant([[1]]))
        assert {keys.AUC, keys.AUC_PR, keys.LOSS_MEAN, keys.ACCURACY_AT_THRESHOLD % 0.25} <= set(spec.eval_metric_ops)
        assert {predictions.LOGITS, predictions.PROBABILITIES, predictions.CLASS_IDS} <= set(spec.predictions)


def test_variables_are_resources_that_can_be_initialized() -> None:
    resources = importlib.import_module("tensorflow.python.ops.resources")
    with tf.Graph().as_default():
        variables = [tf.Variable([1.0, 2.0]), tf.Variable(3)]
        with tf.Session() as session:
            resources.initialize_resources(variables).run()
            assert session.run(variables[1]) == 3


def test_the_global_step_grows_by_the_inner_name() -> None:
    training_util = importlib.import_module("tensorflow.python.training.training_util")
    with tf.Graph().as_default():
        grown = training_util._increment_global_step(5)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            assert [session.run(grown) for _ in range(2)] == [5, 10]


@pytest.mark.parametrize("module", sorted(protos._TABLE))
def test_each_message_is_there(module: str) -> None:
    messages = importlib.import_module(f"tensorflow.core.{module}")
    for name in protos.table(module) or ():
        assert getattr(messages, name) is not None


@pytest.mark.parametrize(
    ("module", "names"),
    [
        (
            "framework.ops",
            "Graph Tensor Operation RegisterGradient convert_to_tensor name_scope reset_default_graph uid",
        ),
        ("framework.dtypes", "float32 as_dtype DType"),
        ("framework.tensor_shape", "TensorShape Dimension unknown_shape"),
        ("framework.tensor_util", "constant_value make_tensor_proto MakeNdarray"),
        ("ops.array_ops", "expand_dims concat placeholder matrix_diag"),
        ("ops.math_ops", "add matmul reduce_sum sigmoid tanh cast"),
        ("ops.nn_ops", "softmax conv2d bias_add"),
        ("ops.rnn_cell_impl", "RNNCell LSTMStateTuple BasicLSTMCell _linear"),
        ("ops.variable_scope", "get_variable variable_scope VariableScope AUTO_REUSE"),
        ("ops.init_ops", "constant_initializer Zeros VarianceScaling truncated_normal_initializer"),
        ("training.moving_averages", "assign_moving_average ExponentialMovingAverage"),
        ("training.training_util", "get_global_step get_or_create_global_step"),
        ("client.device_lib", "list_local_devices"),
        ("client.timeline", "Timeline"),
    ],
)
def test_an_inner_module_has_the_names_of_its_own(module: str, names: str) -> None:
    inner = importlib.import_module(f"tensorflow.python.{module}")
    for name in names.split():
        assert getattr(inner, name) is not None


def test_shapes_of_a_module_that_imports_inner_modules_alone_have_dimensions() -> None:
    space: dict[str, object] = {"__name__": "program"}
    code = "from tensorflow.python.ops import array_ops\nsize = array_ops.zeros([3]).shape[0].value"
    run = vars(importlib.import_module("builtins"))["exec"]
    run(compile(code, "program.py", "exec"), space)
    assert space["size"] == 3


# ---- refusals


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            "import tensorflow.python.foo",
            r"tensorflow\.python\.foo is a private module .* asks for it: `import_it\(\)`|private",
        ),
        ("from tensorflow.python.ops import arry_ops", r"Did it mean tensorflow\.python\.ops\.array_ops\?"),
        (
            "from tensorflow.python.ops.array_ops import expand_dimz",
            r"has no expand_dimz\. Did you mean tf\.expand_dims\?",
        ),
        ("import tensorflow.keras", "Keras is not part of actorflow"),
        ("from tensorflow import matmull", r"tf has no matmull here\. Did you mean tf\.matmul"),
        ("from tensorflow.nn import sofmax", r"tf has no nn\.sofmax here\. Did you mean tf\.nn\.softmax"),
    ],
)
def test_a_module_that_is_not_there_is_refused_with_a_sentence(statement: str, message: str) -> None:
    run = vars(importlib.import_module("builtins"))["exec"]
    with pytest.raises(ImportError, match=message):
        run(statement)


def test_modules_that_programs_use_by_a_flag_are_refused_when_they_are_used() -> None:
    from tensorflow.python import debug as tf_debug  # type: ignore[import-not-found]
    from tensorflow.python.debug.wrappers.hooks import LocalCLIDebugHook  # type: ignore[import-not-found]

    for name in (tf_debug.LocalCLIDebugWrapperSession, LocalCLIDebugHook):
        with pytest.raises(NotImplementedError, match="tfdbg"):
            name(None)


@pytest.mark.parametrize("path", refused.AT_USE)
def test_modules_below_them_are_refused_when_they_are_used_too(path: str) -> None:
    inner = importlib.import_module(f"tensorflow.{path}.some.inner_module")
    with pytest.raises(NotImplementedError, match=r"is not offered by actorflow: .+"):
        inner.function(None)


# ---- actorflow tf


def tf_command(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environ = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    command = [sys.executable, "-m", "actorflow", "tf", *words]
    return subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True)


def test_a_script_runs_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("import tensorflow as tf\nthree = tf.constant(3)\n")
    (tmp_path / "script.py").write_text(
        "import sys\nimport tensorflow as tf\nfrom helper import three\n"
        "print(__name__, sys.argv[1:], tf.Session().run(three))\n"
    )
    done = tf_command("script.py", "-m", "--steps=3", cwd=tmp_path)
    assert (done.stdout, done.returncode) == ("__main__ ['-m', '--steps=3'] 3\n", 0)
    done = tf_command("-m", "script", "a", cwd=tmp_path)
    assert (done.stdout, done.returncode) == ("__main__ ['a'] 3\n", 0)


CHILDREN = """
import multiprocessing, subprocess, sys
import tensorflow as tf

def child(queue):
    import tensorflow as tf
    queue.put(tf.Session().run(tf.constant(5)))

if __name__ == "__main__":
    program = "import tensorflow as tf; print(tf.Session().run(tf.constant(4)))"
    print(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60).stdout.strip())
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    process.join(60)
    print(queue.get(timeout=1))
"""


def test_the_processes_that_a_script_starts_run_over_actorflow_too(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(CHILDREN)
    done = tf_command("script.py", cwd=tmp_path)
    assert (done.stdout, done.returncode) == ("4\n5\n", 0), done.stderr


@pytest.mark.parametrize(
    ("text", "status", "error"),
    [
        ("import sys; sys.exit(7)", 7, ""),
        ("raise SystemExit('stop')", 1, "stop\n"),
        ("1 / 0", 1, 'Traceback (most recent call last):\n  File "script.py", line 1, in <module>\n'),
        ("def f(:", 1, '  File "script.py", line 1\n'),
        ("import tensorflow as tf\ntf.matmull", 1, 'File "script.py", line 2, in <module>\n'),
    ],
)
def test_a_script_ends_as_under_python(text: str, status: int, error: str, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(text)
    done = tf_command("script.py", cwd=tmp_path)
    assert done.returncode == status
    assert error in done.stderr
    assert "actorflow/frontends/cli" not in done.stderr and "runpy" not in done.stderr


def test_a_script_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = tf_command("none.py", cwd=tmp_path)
    assert done.returncode == 2 and "none.py" in done.stderr
    assert "There is no script" in tf_command(cwd=tmp_path).stderr
