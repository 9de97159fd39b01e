"""Compares the architectures of `keras.applications` on two backends: their outputs, and the weights after a step of training.

python packages/keras-actorflow/tests/applications.py                          # all, beside TensorFlow
python packages/keras-actorflow/tests/applications.py MobileNetV2 ResNet50

Each architecture is built in a process for each backend, with the same weights and small images. The largest
difference, as a share of the largest number, has to stay below 1e-4. An architecture that is further apart is computed in float64
too, where a fault stays and an error of rounding goes: it counts as apart if it differs there by 1e-6 and more.
"""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

LIMIT = 1e-4
LIMIT_OF_FLOAT64 = 1e-6
"""TensorFlow's backend rounds constants of some layers, such as means of pixels, to float32."""
SIZES = {"InceptionV3": 75, "InceptionResNetV2": 75, "Xception": 71, "NASNetLarge": 331, "NASNetMobile": 224}
"""The sizes of images of architectures that refuse 32."""


def architectures() -> list[str]:
    """The names of all architectures."""
    import keras

    return sorted(name for name, kind in vars(keras.applications).items() if inspect.isfunction(kind))


def computed(name: str, floatx: str = "float32", weights: str = "") -> dict[str, Any]:
    """The outputs of an architecture, the loss of a step of training, the weights after it, and each weight before it.

    Args:
        name: the function of `keras.applications`.
        floatx: the type of numbers.
        weights: a file with the weights, or nothing for weights of its own.
    """
    import keras

    keras.config.set_floatx(floatx)
    keras.utils.set_random_seed(0)
    build = getattr(keras.applications, name)
    size = SIZES.get(name, 32)
    options = {"include_top": False} if name in SIZES else {"classes": 10}
    net = build(weights=None, input_shape=(size, size, 3), pooling="avg", **options)
    if weights:
        with np.load(weights) as file:
            net.set_weights([file[f"weight {at}"] for at in range(len(net.weights))])
    drawn = {f"weight {at}": weight for at, weight in enumerate(net.get_weights())}
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(8, size, size, 3)).astype(floatx)
    before = net.predict(x, verbose=0)
    for layer in net._flatten_layers():
        if isinstance(layer, keras.layers.Dropout):
            layer.rate = 0.0  # the backends draw other numbers
    target = rng.normal(size=before.shape).astype(floatx)
    net.compile(keras.optimizers.SGD(0.01), "mse")
    loss = net.train_on_batch(x, target)
    return {
        "before": before,
        "loss": np.float64(loss),
        "after": np.concatenate([w.ravel() for w in net.get_weights()]),
        **drawn,
    }


def _file(name: str, backend: str, floatx: str, folder: Path, weights: Path | str = "") -> tuple[Path, float]:
    path = folder / f"{name}-{backend}-{floatx}.npz"
    code = "import keras_actorflow\n" if backend == "actorflow" else ""
    call = f"runpy.run_path({__file__!r})['computed']({name!r}, {floatx!r}, {str(weights)!r})"
    code += f"import runpy, numpy; numpy.savez({str(path)!r}, **{call})"
    environment = os.environ | {"KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    begin = time.perf_counter()
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{name} on {backend} ends with {done.returncode}: {done.stderr[-1500:]}")
    return path, time.perf_counter() - begin


def _apart(name: str, floatx: str, folder: Path) -> tuple[float, str]:
    """The largest difference, and a line of all."""
    theirs, _ = _file(name, "tensorflow", floatx, folder)
    ours, seconds = _file(name, "actorflow", floatx, folder, theirs)  # the backends draw other weights
    with np.load(ours) as a, np.load(theirs) as b:
        apart = {
            key: float(np.abs(a[key] - b[key]).max() / max(1e-12, np.abs(b[key]).max()))
            for key in ("before", "loss", "after")
        }
    shares = "  ".join(f"{key} {value:.1e}" for key, value in apart.items())
    return max(apart.values()), f"{shares}  {seconds:.0f} s"


def _line(name: str, folder: Path) -> str:
    worst, text = _apart(name, "float32", folder)
    if worst < LIMIT:
        return f"ok    {text}"
    exact, exact_text = _apart(name, "float64", folder)
    return f"{'ROUND' if exact < LIMIT_OF_FLOAT64 else 'APART'} {text}; in float64 {exact_text}"


def main(names: list[str]) -> int:
    """Prints a line for each architecture, and gives the number of those that differ or fail."""
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names or architectures():
            try:
                line = _line(name, Path(folder))
            except RuntimeError as error:
                line = f"FAILS {error}"
            failures += not line.startswith(("ok", "ROUND"))
            print(f"{name:20} {line}", flush=True)
            for path in Path(folder).iterdir():
                path.unlink()
    print(f"{failures} architectures differ or fail")
    return failures


if __name__ == "__main__":
    sys.exit(min(1, main(sys.argv[1:])))
