"""From features to logits: deep, linear, or a bias alone. Variables have TensorFlow's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import actorflow as af
from actorflow.graph.tensor import Tensor
from actorflow.training.estimator.canned import columns as _columns
from actorflow.training.estimator.spec import ModeKeys

Logits = Callable[[Any, str, int], Tensor]
"""A function of features, the mode and the number of logits."""


def deep(
    hidden_units: Sequence[int],
    feature_columns: Sequence[Any],
    activation: Callable[[Tensor], Tensor],
    dropout: float | None,
    batch_norm: bool,
    partitioner: Any = None,
) -> Logits:
    """Layers of units, each on the layer before, in the scope `dnn`."""

    def logits(features: Any, mode: str, units: int) -> Tensor:
        training = mode == ModeKeys.TRAIN
        glorot = af.glorot_uniform_initializer()
        with af.variable_scope("dnn"):
            with af.variable_scope("input_from_feature_columns", partitioner=partitioner):
                net = _columns.input_layer(features, feature_columns)
            for number, size in enumerate(hidden_units):
                net = af.layers.dense(
                    net, size, activation=activation, kernel_initializer=glorot, name=f"hiddenlayer_{number}"
                )
                if dropout is not None and training:
                    net = af.layers.dropout(net, rate=dropout, training=True)
                if batch_norm:
                    net = af.layers.batch_normalization(
                        net, momentum=0.999, training=training, name=f"hiddenlayer_{number}/batchnorm_{number}"
                    )
            return af.layers.dense(net, units, kernel_initializer=glorot, name="logits")

    return logits


def linear(feature_columns: Sequence[Any], sparse_combiner: str = "sum", partitioner: Any = None) -> Logits:
    """A weighted sum, in the scope `linear`."""

    def logits(features: Any, mode: str, units: int) -> Tensor:
        with af.variable_scope("linear", partitioner=partitioner):
            return _columns.linear_model(features, feature_columns, units, sparse_combiner)

    return logits


def baseline(features: Any, mode: str, units: int) -> Tensor:
    """A bias alone, which is the same for all examples."""
    with af.variable_scope("baseline"):
        bias = af.get_variable("bias", [units], initializer=af.zeros_initializer())
    first = features[min(features)] if isinstance(features, dict) else features
    size = af.shape(af.convert_to_tensor(first))[:1]
    return af.tile(af.expand_dims(bias, 0), af.concat([size, [1]], 0))
