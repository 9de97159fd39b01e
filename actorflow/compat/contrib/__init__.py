"""`tf.contrib`: the parts that programs use, over public names. The rest is refused by name, with the reason.

aliases.py      parts that are public names alone
crf.py          conditional random fields over sequences of tags
differentiating.py  gradients of Python functions
framework/      scopes of arguments, and variables of models
inner.py        the modules inside the parts, such as `rnn.python.ops.core_rnn_cell`
layers/         layers as functions that make their variables
learn/          modes, data sets, vocabularies
legacy_seq2seq.py  decoders of unrolled networks
losses.py       losses whose predictions come first
metrics.py      metrics whose predictions come first
moving.py       small functions of several parts
opt/            optimizers beside those of `tf.train`
parts.py        `part`: how a part finds its names
predictor.py    functions of arrays from a SavedModel or an estimator
rnn/            cells and wrappers of cells
seq2seq/        decoders, attention, beam search
slim/           readers, loops of training and evaluation
tensorboard/    the settings of TensorBoard's page of embeddings
tpu.py          `TPUEstimator` without a TPU
training/       settings of models, operations that train
transforming.py  transformations of data sets
"""

from actorflow.compat.contrib.aliases import ALIASES as _ALIASES
from actorflow.compat.contrib.aliases import register as _register
from actorflow.compat.contrib.parts import part as _part
from actorflow.public import public as _public

_public("tf:contrib")

_PARTS = (
    "crf",
    "framework",
    "layers",
    "learn",
    "legacy_seq2seq",
    "losses",
    "metrics",
    "opt",
    "predictor",
    "rnn",
    "seq2seq",
    "slim",
    "tensorboard",
    "tpu",
    "training",
)

__getattr__, __dir__, __all__ = _part(
    "",
    {f".{name}": "" for name in (*_PARTS, *_ALIASES)},
    {
        "boosted_trees": "gradient boosted trees are offered by libraries such as XGBoost and LightGBM",
        "tensor_forest": "random forests are offered by scikit-learn",
        "factorization": "k-means and matrix factorization are offered by scikit-learn",
        "cudnn_rnn": "use the cells of tf.nn.rnn_cell, which have the same values",
        "tensorrt": "export the model to ONNX, which TensorRT reads",
        "quantize": "weights of int8 are written by actorflow's export",
        "keras": "Keras is not part of actorflow",
        "gan": "it moved to the package tensorflow-gan",
        "bayesflow": "it moved to the package tensorflow-probability",
        "timeseries": "it was dropped by TensorFlow 2",
        "ffmpeg": "read audio with tf.audio, or with a library of its own",
        "model_pruning": "it moved to the package tensorflow-model-optimization",
        "bigtable": "there is no counterpart",
        "receptive_field": "it moved to a package of its own",
        "resampler": "it moved to tensorflow-addons",
        "kfac": "it moved to a package of its own",
        "distributions": "it moved to the package tensorflow-probability",
        "graph_editor": "graphs are rewritten by passes, and imported with tf.import_graph_def(input_map=...)",
        "image": "it moved to tensorflow-addons",
        "nccl": "gradients of replicas are added by tf.train.SyncReplicasOptimizer",
        "memory_stats": "a session's statistics say what memory it takes",
        "mpi_collectives": "gradients of replicas are added by tf.train.SyncReplicasOptimizer",
        "tfprof": "use tf.profiler",
        "solvers": "use scipy",
        "integrate": "use scipy.integrate",
    },
)
_register()
