"""The modules inside the parts of `tf.contrib`, such as `tensorflow.contrib.rnn.python.ops.core_rnn_cell`.

Programs import names, and modules, from the folders of TensorFlow's sources. Such a module has the names of ours that is
called like it, and those of its part.
"""

from __future__ import annotations

import importlib
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

_TABLE: tuple[tuple[str, str, str], ...] = (
    ("crf", "ops", "crf"),
    (
        "data",
        "ops",
        "batching counter enumerate_ops error_ops get_single_element grouping interleave_ops iterator_ops parsing_ops "
        "prefetching_ops random_ops readers resampling scan_ops shuffle_ops sliding threadpool unique writers",
    ),
    ("eager", "", "datasets metrics network saver tfe"),
    ("framework", "framework", "checkpoint_utils experimental graph_util tensor_util"),
    ("framework", "ops", "arg_scope audio_ops checkpoint_ops ops prettyprint_ops script_ops sort_ops variables"),
    (
        "layers",
        "layers",
        "embedding_ops encoders feature_column feature_column_ops initializers layers normalization optimizers "
        "regularizers rev_block_lib summaries target_column utils",
    ),
    ("layers", "ops", "bucketization_op sparse_feature_cross_op sparse_ops"),
    (
        "learn",
        "learn",
        "basic_session_run_hooks evaluable experiment export_strategy graph_actions learn_runner metric_spec models "
        "monitored_session monitors session_run_hook summary_writer_cache trainable",
    ),
    ("learn", "learn.datasets", "base mnist synthetic text_datasets"),
    (
        "learn",
        "learn.estimators",
        "constants dnn dnn_linear_combined estimator head linear logistic_regressor metric_key model_fn prediction_key "
        "run_config",
    ),
    ("learn", "learn.learn_io", "data_feeder generator_io graph_io numpy_io pandas_io"),
    ("learn", "learn.ops", "embeddings_ops losses_ops seq2seq_ops"),
    ("learn", "learn.preprocessing", "categorical categorical_vocabulary text"),
    ("learn", "learn.utils", "export gc input_fn_utils inspect_checkpoint saved_model_export_utils"),
    ("legacy_seq2seq", "ops", "seq2seq"),
    ("losses", "losses", "loss_ops"),
    ("losses", "metric_learning", "metric_loss_ops"),
    ("metrics", "metrics", "classification"),
    ("metrics", "ops", "confusion_matrix_ops histogram_ops metric_ops set_ops"),
    (
        "opt",
        "training",
        "adamax addsign drop_stale_gradient_optimizer elastic_average_optimizer external_optimizer ggt lars_optimizer "
        "lazy_adam_optimizer model_average_optimizer moving_average_optimizer multitask_optimizer_wrapper nadam_optimizer "
        "powersign shampoo sign_decay variable_clipping_optimizer weight_decay_optimizers",
    ),
    ("rnn", "ops", "core_rnn core_rnn_cell core_rnn_cell_impl fused_rnn_cell gru_ops lstm_ops rnn rnn_cell"),
    (
        "seq2seq",
        "ops",
        "attention_wrapper basic_decoder beam_search_decoder beam_search_ops decoder helper loss sampler",
    ),
    ("slim", "slim", "evaluation learning model_analyzer queues summaries"),
    (
        "slim",
        "slim.data",
        "data_decoder data_provider dataset dataset_data_provider parallel_reader prefetch_queue tfexample_decoder",
    ),
    ("slim", "slim.nets", "alexnet inception overfeat resnet_utils resnet_v1 resnet_v2 vgg"),
    (
        "training",
        "training",
        "bucket_ops device_setter evaluation feeding_queue_runner hparam resample sampling_ops training tuner",
    ),
)
"""Parts, the folders below `python` in them, and the modules of each folder."""

_FOLDERS: dict[str, set[str]] = {}
for _part, _folder, _names in _TABLE:
    _path = f"{_part}.python"
    for _step in (*filter(None, _folder.split(".")), ""):
        _inside = _FOLDERS.setdefault(_path, set())
        if _step:
            _inside.add(_step)
            _path = f"{_path}.{_step}"
    _FOLDERS[_path] |= set(_names.split())

_CELLS = "rnn_cell_impl"
_PRIVATE = {
    "rnn.python.ops.core_rnn_cell": _CELLS,
    "rnn.python.ops.core_rnn_cell_impl": _CELLS,
    "rnn.python.ops.rnn_cell": _CELLS,
}
"""Modules of `tensorflow.python.ops` whose private names a module passes on."""


class Inner(ModuleType):
    """A folder or a module of a part. It has no code: its names are looked up.

    Args:
        path: the path below `tensorflow.contrib`, such as `rnn.python.ops.core_rnn_cell`.
        part: the module of the part.
    """

    def __init__(self, path: str, part: ModuleType) -> None:
        super().__init__(f"tensorflow.contrib.{path}", f"Names of TensorFlow 1.15's `tensorflow.contrib.{path}`.")
        self.__path__: list[str] = []
        self._path, self._part = path, part
        self._homes = [part]
        for step in path.split(".")[2:]:
            home = _file(self._homes[0], step)
            if home is not None:
                self._homes.insert(0, home)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name)
        if name in _FOLDERS.get(self._path, ()):  # first, since a part also has files of its own that are called so
            folder = inside(f"{self._path}.{name}", self._part)
            setattr(self, name, folder)
            return folder
        for home in [*self._homes, *self._private()]:
            thing = getattr(home, name, None)
            if thing is not None:
                return thing
        return getattr(self._part, name)  # raises the part's sentence

    def _private(self) -> list[ModuleType]:
        if (name := _PRIVATE.get(self._path)) is None:
            return []
        from actorflow.compat.door.finder import module_of

        return [module_of(f"tensorflow.python.ops.{name}")]

    def __dir__(self) -> list[str]:
        names = {*self.__dict__, *_FOLDERS.get(self._path, ())}
        return sorted(names.union(*map(dir, self._homes)))


def _file(home: ModuleType, step: str) -> ModuleType | None:
    """Our own file of a name in a package, loaded if need be, or None: the answer can't depend on earlier imports."""
    name = f"{home.__name__}.{step}"
    folders = getattr(home, "__path__", None)
    if not folders or PathFinder.find_spec(name, folders) is None:
        return None
    return importlib.import_module(name)


def inside(path: str, part: ModuleType) -> ModuleType:
    """The module for a path below `tensorflow.contrib`: a module of ours with its name, or an `Inner`.

    Args:
        path: the path, with `python` after the name of the part.
        part: the module of the part.

    Raises:
        ImportError: there is no such module.
    """
    folder, _, name = path.rpartition(".")
    is_listed = path in _FOLDERS or name in _FOLDERS.get(folder, ())
    if not is_listed and ".".join(path.split(".")[:2]) in _FOLDERS:
        getattr(part, name)  # raises the part's sentence, or else it is no module
        raise ModuleNotFoundError(f"tensorflow.contrib.{path} is not a module, but a name of {folder}.")
    return Inner(path, part)
