"""`tensorflow.contrib.PART.python`: folders and modules of TensorFlow's sources, by which programs import names."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterator

import pytest

import actorflow.compat.v1 as tf
from actorflow.compat import contrib
from actorflow.compat.contrib import inner
from actorflow.compat.door import finder, open_door
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
        if name.partition(".")[0] == "tensorflow":
            del sys.modules[name]


MODULES = [
    ("crf.python.ops", "crf", "crf_log_likelihood"),
    ("data.python.ops", "batching", "map_and_batch"),
    ("eager.python", "tfe", "Iterator"),
    ("framework.python.framework", "checkpoint_utils", "load_variable"),
    ("framework.python.ops", "variables", "get_or_create_global_step"),
    ("framework.python.ops", "variables", "get_variables_to_restore"),
    ("layers.python.layers", "embedding_ops", "safe_embedding_lookup_sparse"),
    ("layers.python.layers", "layers", "fully_connected"),
    ("layers.python.layers", "utils", "collect_named_outputs"),
    ("learn.python", "learn", "ModeKeys"),
    ("learn.python.learn.datasets", "mnist", "read_data_sets"),
    ("legacy_seq2seq.python.ops", "seq2seq", "rnn_decoder"),
    ("losses.python.losses", "loss_ops", "absolute_difference"),
    ("metrics.python.ops", "metric_ops", "streaming_mean"),
    ("opt.python.training", "external_optimizer", "ScipyOptimizerInterface"),
    ("rnn.python.ops", "core_rnn_cell", "BasicLSTMCell"),
    ("rnn.python.ops", "core_rnn_cell", "_linear"),
    ("rnn.python.ops", "rnn", "stack_bidirectional_dynamic_rnn"),
    ("rnn.python.ops", "rnn_cell", "LayerNormBasicLSTMCell"),
    ("seq2seq.python.ops", "attention_wrapper", "AttentionWrapper"),
    ("seq2seq.python.ops", "beam_search_ops", "gather_tree"),
    ("seq2seq.python.ops", "decoder", "dynamic_decode"),
    ("slim.python.slim", "learning", "train"),
    ("training.python.training", "evaluation", "evaluate_once"),
    ("training.python.training", "hparam", "HParams"),
]


def load_files_of_parts() -> None:
    """Imports each file of our own parts: some are called like modules of TensorFlow and have other names."""
    for info in pkgutil.walk_packages(contrib.__path__, f"{contrib.__name__}."):
        importlib.import_module(info.name)


@pytest.mark.parametrize("are_loaded", [False, True], ids=["fresh", "files-of-parts-loaded"])
@pytest.mark.parametrize(("folder", "module", "name"), MODULES)
def test_a_module_inside_a_part_is_imported_in_each_way(folder: str, module: str, name: str, are_loaded: bool) -> None:
    if are_loaded:
        load_files_of_parts()
    whole = f"tensorflow.contrib.{folder}"
    spaces = [{}, {}]
    exec(f"from {whole} import {module} as answer", spaces[0])
    exec(f"from {whole}.{module} import {name} as answer", spaces[1])
    by_module = getattr(spaces[0]["answer"], name)
    assert by_module is spaces[1]["answer"], whole
    thing = tf.contrib
    for step in f"{folder}.{module}.{name}".split("."):
        thing = getattr(thing, step)
    assert thing is by_module, whole
    assert name in dir(importlib.import_module(f"{whole}.{module}")) or name.startswith("_")


@pytest.mark.parametrize("path", sorted(inner._FOLDERS))
def test_each_folder_has_its_modules(path: str) -> None:
    folder = importlib.import_module(f"tensorflow.contrib.{path}")
    for name in inner._FOLDERS[path]:
        assert hasattr(folder, name), name
        assert importlib.import_module(f"tensorflow.contrib.{path}.{name}") is not None


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            "from tensorflow.contrib.rnn.python.ops import core_rnn_cells",
            "tf.contrib.rnn.core_rnn_cells is not offered",
        ),
        ("from tensorflow.contrib.rnn.python.ops.rnn_cell import LSTMs", "tf.contrib.rnn.LSTMs is not offered"),
        ("import tensorflow.contrib.slim.python.slim.nothing", "tf.contrib.slim.nothing is not offered"),
        ("import tensorflow.contrib.rnn.python.ops.LSTMCell", "is not a module, but a name of rnn.python.ops"),
        (
            "from tensorflow.contrib.boosted_trees.python.ops import x",
            "boosted_trees is not offered by actorflow: gradient",
        ),
    ],
)
def test_what_is_not_inside_a_part_is_refused_with_a_sentence(statement: str, message: str) -> None:
    with pytest.raises(ImportError) as caught:
        exec(statement, {})
    assert message in str(caught.value)
