"""The backend that Keras imports, with the names that it asks of every backend.

core.py      variables, conversions, symbolic outputs
control.py   branches and loops
slices.py    parts of tensors
numpy/       numpy's functions
nn/          layers' functions
math.py      segments, extremes, signals
linalg.py    linear algebra
image/       images
random.py    random numbers from seeds
rnn.py       recurrent layers
trainer.py   fit, evaluate, predict
data.py      data of `af.data`, and positions in data
layer.py     the layer of the backend
export.py    the export of the backend
"""

from keras.src.backend.common.name_scope import name_scope

import actorflow as _af
from actorflow.compat.names.switches import enable_tensor_equality as _enable_tensor_equality

_af.enable_eager_execution()
_enable_tensor_equality()

from keras_actorflow.src import core, numpy  # noqa: E402, I001  (numpy first: the others take its rules of types)
from keras_actorflow.src import image, linalg, math, nn, random  # noqa: E402
from keras_actorflow.src.core import (  # noqa: E402
    IS_THREAD_SAFE,
    SUPPORTS_COMPLEX_DTYPES,
    SUPPORTS_GRADIENT,
    SUPPORTS_RAGGED_TENSORS,
    SUPPORTS_SPARSE_TENSORS,
    Variable,
    cast,
    compute_output_spec,
    cond,
    convert_to_numpy,
    convert_to_tensor,
    device_scope,
    is_tensor,
    random_seed_dtype,
    shape,
    vectorized_map,
)
from keras_actorflow.src.rnn import (  # noqa: E402
    bidirectional_gru,
    bidirectional_lstm,
    cudnn_ok,
    gru,
    lstm,
    rnn,
)

distribution_lib = None

for _module in (core, image, linalg, math, nn, numpy):
    for _function in vars(_module).values():
        if getattr(_function, "__module__", "").startswith(__name__) and not isinstance(_function, type):
            _function.__annotations__ = {}  # Keras' tests compare signatures, and its own have no types

__all__ = [
    "IS_THREAD_SAFE",
    "SUPPORTS_COMPLEX_DTYPES",
    "SUPPORTS_GRADIENT",
    "SUPPORTS_RAGGED_TENSORS",
    "SUPPORTS_SPARSE_TENSORS",
    "Variable",
    "bidirectional_gru",
    "bidirectional_lstm",
    "cast",
    "compute_output_spec",
    "cond",
    "convert_to_numpy",
    "convert_to_tensor",
    "core",
    "cudnn_ok",
    "device_scope",
    "distribution_lib",
    "gru",
    "image",
    "is_tensor",
    "linalg",
    "lstm",
    "math",
    "name_scope",
    "nn",
    "numpy",
    "random",
    "random_seed_dtype",
    "rnn",
    "shape",
    "vectorized_map",
]
