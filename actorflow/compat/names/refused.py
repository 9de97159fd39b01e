"""The names of TensorFlow 1.15 that are refused for good, each with the reason in a line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_QUANTIZED = "graphs with weights of int8 are written by the export of ONNX"
_TRACES = "a session's traces and `actorflow trace` show what a step waits for"
_CLUSTER = "services of clusters are not asked; name the tasks by SimpleClusterResolver or TF_CONFIG"

REASONS: dict[str, str] = {
    "LMDBReader": "files of LMDB are not read; write TFRecords",
    "config.experimental_connect_to_cluster": "a session's target names its task: tf.Session('grpc://host:port')",
    "config.experimental_connect_to_host": "a session's target names its task: tf.Session('grpc://host:port')",
    "data.experimental.DatasetStructure": "the structure of a dataset is its element_spec",
    "data.experimental.OptionalStructure": "the structure of a dataset is its element_spec",
    "data.experimental.RaggedTensorStructure": "data sets have no ragged tensors",
    "data.experimental.SparseTensorStructure": "the structure of a dataset is its element_spec",
    "data.experimental.SqlDataset": "databases are read in Dataset.from_generator",
    "data.experimental.StatsAggregator": "the metrics of a session count the records of datasets",
    "data.experimental.Structure": "the structure of a dataset is its element_spec",
    "data.experimental.TensorArrayStructure": "the structure of a dataset is its element_spec",
    "data.experimental.TensorStructure": "the structure of a dataset is its element_spec",
    "data.experimental.bytes_produced_stats": "the metrics of a session count the records of datasets",
    "data.experimental.from_variant": "datasets are no values of nodes",
    "data.experimental.latency_stats": "the metrics of a session count the records of datasets",
    "data.experimental.map_and_batch_with_legacy_function": "use map_and_batch",
    "data.experimental.to_variant": "datasets are no values of nodes",
    "distribute.cluster_resolver.GCEClusterResolver": _CLUSTER,
    "distribute.cluster_resolver.KubernetesClusterResolver": _CLUSTER,
    "distribute.cluster_resolver.SlurmClusterResolver": _CLUSTER,
    "distribute.cluster_resolver.TPUClusterResolver": "there are no TPUs",
    "estimator.BoostedTreesClassifier": "gradient boosted trees are offered by XGBoost and LightGBM",
    "estimator.BoostedTreesEstimator": "gradient boosted trees are offered by XGBoost and LightGBM",
    "estimator.BoostedTreesRegressor": "gradient boosted trees are offered by XGBoost and LightGBM",
    "estimator.experimental.KMeans": "k-means is offered by scikit-learn",
    "estimator.experimental.LinearSDCA": "dual coordinate ascent is not here; use LinearClassifier with tf.train.FtrlOptimizer",
    "estimator.tpu": "there are no TPUs; tf.contrib.tpu.TPUEstimator(use_tpu=False) runs on what there is",
    "experimental": "functions have one executor here",
    "io.decode_proto": "messages of other programs are read with their own library in tf.py_func",
    "io.encode_proto": "messages of other programs are written with their own library in tf.py_func",
    "layers.experimental": "layers have no style of Keras",
    "nn.quantized_avg_pool": _QUANTIZED,
    "nn.quantized_conv2d": _QUANTIZED,
    "nn.quantized_max_pool": _QUANTIZED,
    "nn.quantized_relu_x": _QUANTIZED,
    "profiler.AdviceProto": _TRACES,
    "profiler.OpLogProto": _TRACES,
    "profiler.advise": _TRACES,
    "profiler.write_op_log": _TRACES,
    "quantized_concat": _QUANTIZED,
    "qint16": _QUANTIZED,
    "dtypes.qint16": _QUANTIZED,
    "qint32": _QUANTIZED,
    "dtypes.qint32": _QUANTIZED,
    "qint8": _QUANTIZED,
    "dtypes.qint8": _QUANTIZED,
    "quint16": _QUANTIZED,
    "dtypes.quint16": _QUANTIZED,
    "quint8": _QUANTIZED,
    "dtypes.quint8": _QUANTIZED,
    "quantization.quantized_concat": _QUANTIZED,
    "RaggedTensorSpec": "data sets have no ragged tensors; pad rows and keep their lengths",
    "saved_model.experimental": "objects are saved with tf.train.Checkpoint, graphs with tf.saved_model.Builder",
    "saved_model.load_v2": "graphs are read with tf.saved_model.load",
    "saved_model.save": "graphs are saved with tf.saved_model.Builder or simple_save",
    "sparse_matmul": "use tf.matmul, or tf.sparse_tensor_dense_matmul",
    "strings.unicode_script": "the scripts of characters are tables of ICU; ask a library for them in tf.py_func",
    "tpu": "there are no TPUs",
    "train.do_quantize_training_on_graphdef": "there is no training of quantized graphs",
    "train.experimental": "there is no training in half precision by a switch",
    "train.sdca_fprint": "dual coordinate ascent is not here",
    "train.sdca_optimizer": "dual coordinate ascent is not here",
    "train.sdca_shrink_l1": "dual coordinate ascent is not here",
    "xla": "there is no XLA; cheap nodes are joined into tapes and loops without a switch",
}
"""Names below `tf`, of which all that lies below is refused too."""


def absent(path: str, module: str) -> Callable[[str], Any]:
    """`__getattr__` of a module, which says why a name of TensorFlow is refused.

    Args:
        path: the namespace below `tf`, such as `distribute`.
        module: the module's name.
    """

    def get(name: str) -> Any:
        why = "" if name.startswith("_") else reason(f"{path}.{name}")
        said = f"TensorFlow 1.15's tf.{path}.{name} is not offered by actorflow: {why}." if why else None
        raise AttributeError(said or f"module {module!r} has no attribute {name!r}", name=name)

    return get


def reason(path: str) -> str:
    """Why `path` below `tf` is refused; empty if it is not."""
    parts = path.split(".")
    for depth in range(len(parts), 0, -1):
        if (said := REASONS.get(".".join(parts[:depth]))) is not None:
            return said
    return ""
