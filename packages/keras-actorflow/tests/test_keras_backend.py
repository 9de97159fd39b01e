"""The backend of Keras. Each test is a program of its own, since an import of Keras fixes its backend for the process."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ALONE = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in ("jax", "tensorflow", "torch"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
"""
"""No other framework is there, also where it is installed."""

pytestmark = [pytest.mark.extras, pytest.mark.timeout(300)]  # Keras is installed with the extras only

MODEL = """
import numpy as np
import keras_actorflow
import keras
keras.utils.set_random_seed(1)
x = np.random.default_rng(0).normal(size=(256, 8)).astype("float32")
y = (x @ np.random.default_rng(1).normal(size=(8, 3))).argmax(1)
def model():
    layers = [keras.Input((8,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(3, activation="softmax")]
    net = keras.Sequential(layers)
    net.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return net
"""


def printed(code: str, tmp_path: Path, **settings: str) -> str:
    """The last line that a program prints."""
    path = os.pathsep.join(map(str, [ROOT / "src", ROOT.parents[1]]))
    environment = os.environ | {"PYTHONPATH": path, "KERAS_HOME": str(tmp_path)} | settings
    done = subprocess.run(
        [sys.executable, "-c", ALONE + textwrap.dedent(code)],
        env=environment,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1]


def test_an_import_selects_the_backend(tmp_path: Path) -> None:
    assert printed("import keras_actorflow, keras; print(keras.backend.backend())", tmp_path) == "actorflow"


def test_each_place_where_keras_chooses_a_backend_is_as_the_hook_expects(tmp_path: Path) -> None:
    code = """
    import importlib.util
    from pathlib import Path
    from keras_actorflow.hook import BRANCHES, adapted
    folder = Path(importlib.util.find_spec("keras").origin).parent.parent
    for name in BRANCHES:
        path = folder.joinpath(*name.split("."))
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        assert adapted(name, path.read_text()) != path.read_text()
    print(len(BRANCHES))
    """
    assert printed(code, tmp_path) == "6"


def test_a_keras_that_chooses_in_another_way_is_refused_by_its_version(tmp_path: Path) -> None:
    code = """
    from keras_actorflow.hook import adapted
    try:
        adapted("keras.src.backend", "backends = load_all()")
    except ImportError as error:
        print(error)
    """
    assert "0 places instead of 3" in printed(code, tmp_path)


@pytest.mark.parametrize(
    "result",
    [
        "keras.ops.add(x, x)",
        "keras.ops.conv(x[None, None], x[None, None], padding='same')",
        "keras.layers.Dense(3, dtype='float64')(x)",
        "keras.ops.mean(x)",
        "keras.ops.convert_to_tensor([x, x])",
    ],
)
def test_numbers_of_64_bits_stay_so(result: str, tmp_path: Path) -> None:
    code = f"""
    import numpy as np, keras_actorflow, keras
    x = np.full((3, 3), 1 + 2**-40)
    result = keras.ops.convert_to_numpy({result})
    print(result.dtype, bool(np.any(result != result.astype("float32"))))
    """
    assert printed(code, tmp_path) == "float64 True"


def test_fit_learns_and_the_metrics_are_those_of_evaluate(tmp_path: Path) -> None:
    code = MODEL + (
        "net = model()\n"
        "history = net.fit(x, y, epochs=20, verbose=0, validation_split=0.25).history\n"
        "loss, accuracy = net.evaluate(x[192:], y[192:], verbose=0)\n"
        "assert abs(loss - history['val_loss'][-1]) < 1e-5, (loss, history)\n"
        "print(history['accuracy'][-1] > 0.8 and history['loss'][-1] < history['loss'][0] / 2)\n"
    )
    assert printed(code, tmp_path) == "True"


@pytest.mark.parametrize("option", ["run_eagerly=True", "steps_per_execution=4", "jit_compile=True"])
def test_a_way_to_run_gives_the_weights_of_the_plain_one(option: str, tmp_path: Path) -> None:
    code = MODEL + (
        "plain, other = model(), model()\n"
        "other.set_weights(plain.get_weights())\n"
        f"other.compile(keras.optimizers.Adam(0.01), 'sparse_categorical_crossentropy', {option})\n"
        "for net in (plain, other):\n"
        "    net.fit(x, y, epochs=2, shuffle=False, verbose=0)\n"
        "print(max(abs(a - b).max() for a, b in zip(plain.get_weights(), other.get_weights())) < 1e-5)\n"
    )
    assert printed(code, tmp_path) == "True"


def test_a_saved_model_predicts_the_same(tmp_path: Path) -> None:
    code = MODEL + (
        "net = model()\n"
        "net.fit(x, y, verbose=0)\n"
        "net.save('m.keras')\n"
        "again = keras.saving.load_model('m.keras')\n"
        "print((net.predict(x, verbose=0) == again.predict(x, verbose=0)).all())\n"
    )
    assert printed(code, tmp_path) == "True"


NETS = {
    "dense": ("[keras.Input((8,)), keras.layers.Dense(4, activation='softmax')]", (3, 8)),
    "convolution": (
        "[keras.Input((8, 8, 3)), keras.layers.Conv2D(4, 3), keras.layers.BatchNormalization(), keras.layers.Flatten(), "
        "keras.layers.Dropout(0.5), keras.layers.Dense(2)]",
        (3, 8, 8, 3),
    ),
    "cell": ("[keras.Input((5, 2)), keras.layers.LSTM(4), keras.layers.Dense(1)]", (3, 5, 2)),
}


@pytest.mark.parametrize("form", ["saved model", "onnx", "keras"])
@pytest.mark.parametrize("net", NETS)
def test_a_model_leaves_keras_and_answers_the_same(net: str, form: str, tmp_path: Path) -> None:
    layers, shape = NETS[net]
    code = (
        "import numpy as np, keras_actorflow, keras, actorflow as af\n"
        "from actorflow.exchange.sources import source\n"
        "from keras_actorflow.files import KIND\n"
        "installed = source.kinds()\n"
        "source.kinds = lambda: [*installed, KIND]  # as the entry point of an installed package adds it\n"
        f"net = keras.Sequential({layers})\n"
        f"x = np.random.default_rng(0).normal(size={shape}).astype('float32')\n"
        "path = {'saved model': 'm', 'onnx': 'm.onnx', 'keras': 'm.keras'}[FORM]\n"
        "{'saved model': net.export, 'onnx': lambda p: keras_actorflow.export_onnx(net, p), 'keras': net.save}[FORM](path)\n"
        "with af.load_model(path) as model:\n"
        "    (y,) = model.run(None, {model.get_inputs()[0].name: x})\n"
        "print(np.abs(y - net.predict(x, verbose=0)).max() < 1e-5)\n"
    ).replace("FORM", repr(form))
    assert printed(code, tmp_path) == "True"


def test_an_archive_has_several_endpoints_and_refuses_what_it_can_not_write(tmp_path: Path) -> None:
    code = MODEL + (
        "import actorflow as af\n"
        "archive, net = keras.export.ExportArchive(), model()\n"
        "try:\n"
        "    archive.write_out('m')\n"
        "except ValueError as error:\n"
        "    assert 'add_endpoint' in str(error)\n"
        "spec = [keras.InputSpec(shape=(None, 8), dtype='float32')]\n"
        "archive.track(net)\n"
        "archive.add_endpoint('answer', net, spec)\n"
        "archive.add_endpoint('best', lambda x: keras.ops.argmax(net(x), -1), spec)\n"
        "archive.write_out('m', verbose=False)\n"
        "with af.load_model('m', signature='best') as best, af.load_model('m') as first:\n"
        "    rows = {'args_0': x[:5]}\n"
        "    print((best.run(None, rows)[0] == first.run(None, rows)[0].argmax(-1)).all())\n"
    )
    assert printed(code, tmp_path) == "True"


def test_a_fit_that_is_cancelled_leaves_a_whole_model_and_the_loop_free(tmp_path: Path) -> None:
    code = MODEL + (
        "import anyio\n"
        "net = model()\n"
        "async def main():\n"
        "    ticks = 0\n"
        "    class Stop(keras.callbacks.Callback):\n"
        "        def on_train_batch_end(self, batch, logs=None):\n"
        "            if batch == 5: scope.cancel()\n"
        "    with anyio.CancelScope() as scope:\n"
        "        await keras_actorflow.fit(net, x, y, epochs=100, verbose=0, callbacks=[Stop()])\n"
        "    assert scope.cancelled_caught\n"
        "    steps = int(net.optimizer.iterations.numpy())\n"
        "    assert 5 < steps < 9, steps\n"
        "    await keras_actorflow.fit(net, x, y, epochs=1, verbose=0)\n"
        "    assert int(net.optimizer.iterations.numpy()) == steps + 8\n"
        "    return (await keras_actorflow.predict(net, x, verbose=0)).shape\n"
        "print(anyio.run(main))\n"
    )
    assert printed(code, tmp_path) == "(256, 3)"


def test_a_train_step_of_ones_own_runs_in_the_plan(tmp_path: Path) -> None:
    code = MODEL + (
        "import actorflow as af\n"
        "class Own(keras.Sequential):\n"
        "    def train_step(self, data):\n"
        "        x, y = data\n"
        "        with af.GradientTape() as tape:\n"
        "            loss = self.compute_loss(y=y, y_pred=self(x, training=True))\n"
        "        weights = self.trainable_weights\n"
        "        self.optimizer.apply(tape.gradient(loss, [w.value for w in weights]), weights)\n"
        "        return {'loss': loss}\n"
        "plain, own = model(), Own([keras.Input((8,)), keras.layers.Dense(16, activation='relu'),\n"
        "    keras.layers.Dense(3, activation='softmax')])\n"
        "own.set_weights(plain.get_weights())\n"
        "own.compile(keras.optimizers.Adam(0.01), 'sparse_categorical_crossentropy')\n"
        "for net in (plain, own):\n"
        "    net.fit(x, y, epochs=2, shuffle=False, verbose=0)\n"
        "print(max(abs(a - b).max() for a, b in zip(plain.get_weights(), own.get_weights())) < 1e-6)\n"
    )
    assert printed(code, tmp_path) == "True"


def test_a_convolution_and_a_recurrent_layer_train(tmp_path: Path) -> None:
    code = MODEL + (
        "layers = keras.layers\n"
        "image = np.random.default_rng(2).normal(size=(64, 24, 6, 1)).astype('float32')\n"
        "net = keras.Sequential([keras.Input((24, 6, 1)), layers.Conv2D(4, 3, padding='same', activation='relu'),\n"
        "    layers.BatchNormalization(), layers.MaxPooling2D((1, 2)), layers.Reshape((24, 12)), layers.LSTM(8),\n"
        "    layers.Dropout(0.1), layers.Dense(1)])\n"
        "net.compile('adam', 'mse')\n"
        "losses = net.fit(image, image.mean((1, 2, 3)) * 10, epochs=8, verbose=0).history['loss']\n"
        "print(losses[-1] < losses[0])\n"
    )
    assert printed(code, tmp_path) == "True"


@pytest.mark.parametrize("call", ["train_on_batch", "test_on_batch"])
def test_the_values_of_a_batch_are_its_own(call: str, tmp_path: Path) -> None:
    code = MODEL + (
        "net = model()\n"
        "net.compile(keras.optimizers.SGD(0.0), 'sparse_categorical_crossentropy', metrics=['accuracy'])\n"
        f"net.{call}(x[:9], y[:9])\n"
        f"after = net.{call}(x[9:12], y[9:12])\n"
        f"print(np.allclose(after, net.{call}(x[9:12], y[9:12]), atol=1e-6))\n"
    )
    assert printed(code, tmp_path) == "True"


@pytest.mark.parametrize("option", ["run_eagerly=True", "run_eagerly=False"])
def test_a_loss_of_ones_own_compares_with_the_operators_of_python(option: str, tmp_path: Path) -> None:
    code = MODEL + (
        "def loss(y, scores):\n"
        "    y = keras.ops.reshape(y, (-1,))\n"
        "    kept = keras.ops.cast((y != 0) & (y == y), 'float32')\n"
        "    return kept * keras.losses.sparse_categorical_crossentropy(y, scores)\n"
        "net = keras.Sequential([keras.Input((8,)), keras.layers.Dense(3, activation='softmax')])\n"
        f"net.compile('sgd', loss, {option})\n"
        "kept = keras.losses.sparse_categorical_crossentropy(y, net.predict(x, verbose=0)).numpy() * (y != 0)\n"
        "print(abs(net.evaluate(x, y, verbose=0) - kept.mean()) < 1e-6, net.optimizer.learning_rate == 0.01)\n"
    )
    assert printed(code, tmp_path).startswith("True actorflow.Tensor(True")


DATA = {
    "arrays": "dict(x=x, y=y)",
    "arrays in parts of epochs": "dict(x=x, y=y, steps_per_epoch=5)",
    "a generator": "dict(x=batches(), steps_per_epoch=6)",
    "a dataset": "dict(x=af.data.Dataset.from_tensor_slices((x, y)).shuffle(50, seed=4).batch(32))",
    "a PyDataset": "dict(x=Pairs())",
}


@pytest.mark.parametrize("data", DATA)
def test_a_killed_training_goes_on_to_the_same_bits(data: str, tmp_path: Path) -> None:
    code = MODEL + (
        "import hashlib, os, sys, actorflow as af\n"
        "def batches():\n"
        "    rng = np.random.default_rng(3)\n"
        "    while True:\n"
        "        rows = rng.integers(0, 256, 32)\n"
        "        yield x[rows], y[rows]\n"
        "class Pairs(keras.utils.PyDataset):\n"
        "    def __len__(self): return 8\n"
        "    def __getitem__(self, at): return x[at * 32 : at * 32 + 32], y[at * 32 : at * 32 + 32]\n"
        "class Kill(keras.callbacks.Callback):\n"
        "    def on_train_batch_end(self, batch, logs=None):\n"
        "        if int(self.model.optimizer.iterations) == int(os.environ['LAST']): print('killed', flush=True), os._exit(0)\n"
        "layers = [keras.Input((8,)), keras.layers.Dense(16, 'relu'), keras.layers.Dropout(0.3),\n"
        "    keras.layers.BatchNormalization(), keras.layers.Dense(3, 'softmax')]\n"
        "net = keras.Sequential(layers)\n"
        "net.compile(keras.optimizers.Adam(0.01), 'sparse_categorical_crossentropy', metrics=['accuracy'])\n"
        "backup = keras_actorflow.BackupAndRestore('backup', save_freq=3)\n"
        f"history = net.fit(**{DATA[data]}, epochs=3, verbose=0, callbacks=[backup, Kill()]).history\n"
        "weights = b''.join(w.tobytes() for w in net.get_weights())\n"
        "print(hashlib.sha256(weights).hexdigest(), history['loss'][-1], history['accuracy'][-1], os.path.exists('backup'))\n"
    )
    whole = printed(code, tmp_path, LAST="0")
    assert printed(code, tmp_path, LAST="13") == "killed"
    assert printed(code, tmp_path, LAST="0") == whole and whole.endswith("False")


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        ("open('backup/state.npz', 'wb').write(b'PK')", "state.npz can't be read"),
        ("net = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4)])", "is of another model"),
    ],
)
def test_a_backup_that_does_not_fit_is_refused_by_its_path(harm: str, message: str, tmp_path: Path) -> None:
    code = MODEL + (
        "net = model()\n"
        "backup = keras_actorflow.BackupAndRestore('backup', delete_checkpoint=False)\n"
        "net.fit(x, y, verbose=0, callbacks=[backup])\n"
        f"{harm}\n"
        "net.compile('adam', keras.losses.SparseCategoricalCrossentropy())\n"
        "try:\n"
        "    net.fit(x, y, verbose=0, callbacks=[backup])\n"
        "except ValueError as error:\n"
        "    print(error)\n"
    )
    assert message in printed(code, tmp_path)


def test_a_dataset_gives_its_own_targets(tmp_path: Path) -> None:
    code = MODEL + (
        "import actorflow as af\n"
        "net = model()\n"
        "rows = af.data.Dataset.from_tensor_slices((x, y)).batch(50)\n"
        "history = net.fit(rows, epochs=2, verbose=0, validation_data=rows, class_weight={0: 1.0, 1: 2.0, 2: 1.0}).history\n"
        "same = np.allclose(net.evaluate(rows, verbose=0), net.evaluate(x, y, verbose=0), atol=1e-5)\n"
        "same = same and np.allclose(net.predict(rows, verbose=0), net.predict(x, verbose=0), atol=1e-6)\n"
        "try:\n"
        "    net.fit(rows, y)\n"
        "except ValueError as error:\n"
        "    print(same, len(history['val_loss']), error)\n"
    )
    assert printed(code, tmp_path).startswith("True 2 Elements of an `af.data.Dataset`")


@pytest.mark.parametrize(
    ("layer", "values"),
    [
        ("layers.RandomFlip(seed=1)", "x"),
        ("layers.RandomRotation(0.2, seed=1)", "x"),
        ("layers.RandomBrightness(0.1, seed=1)", "x"),
        ("layers.CenterCrop(4, 4)", "x"),
        ("layers.Equalization()", "x"),
        ("layers.MixUp(seed=1)", "x"),
        ("layers.CategoryEncoding(3)", "np.array([[0, 2]])"),
        ("layers.Discretization([0.2, 0.6])", "x[:, 0, 0, :]"),
        ("layers.RandAugment(seed=1)", "x"),
        ("layers.RandomElasticTransform(1.0, 1.0, seed=1, dtype='float16')", "x"),
        ("layers.MelSpectrogram()", "np.ones((2, 4000), 'float32')"),
    ],
)
def test_a_layer_of_preprocessing_computes_here(layer: str, values: str, tmp_path: Path) -> None:
    code = (
        "import numpy as np, keras_actorflow, keras, actorflow as af\n"
        "from keras import layers\n"
        "x = np.random.default_rng(0).uniform(size=(2, 8, 8, 3)).astype('float32')\n"
        f"y = {layer}({values})\n"
        "print(isinstance(y, af.Tensor) and np.isfinite(np.asarray(y)).all())\n"
    )
    assert printed(code, tmp_path) == "True"


@pytest.mark.parametrize(
    ("example", "options", "expected"),
    [
        ("digits.py", "--epochs 1", "accuracy"),
        ("sentiment.py", "--epochs 1", "accuracy"),
        ("autoencoder.py", "--epochs 2", "at last"),
        ("fine_tuning.py", "--epochs 1", "from nothing"),
    ],
)
def test_an_example_runs_as_it_is_written(example: str, options: str, expected: str, tmp_path: Path) -> None:
    code = f"""
    import runpy, sys
    sys.argv[1:] = {options.split()}
    runpy.run_path({str(ROOT / "examples" / example)!r}, run_name="__main__")
    """
    assert expected in printed(code, tmp_path)


def test_the_service_answers_while_it_trains_and_stops(tmp_path: Path) -> None:
    pytest.importorskip("fastapi")
    code = f"""
    sys.path.insert(0, {str(ROOT / "examples")!r})
    from fastapi.testclient import TestClient
    from service import app
    rows = {{"x": [[0], [1], [2]], "y": [[1], [3], [5]]}}
    with TestClient(app) as client:
        assert client.post("/train", json=rows | {{"epochs": 10**6}}).json() == {{"examples": 3}}
        assert client.post("/train", json=rows).status_code == 409
        while client.get("/train").json()["steps"] < 200:
            assert len(client.post("/predict", json={{"x": [[10]]}}).json()["y"]) == 1
        stopped = client.delete("/train").json()
        (answer,) = client.post("/predict", json={{"x": [[10]]}}).json()["y"]
        assert client.get("/train").json() == stopped and not stopped["runs"]
        print(19 < answer[0] < 23)
    """
    assert printed(code, tmp_path) == "True"
