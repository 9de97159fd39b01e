"""Model functions out of logits, a head and optimizers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import actorflow as af
from actorflow.training.estimator.canned import logits as _logits
from actorflow.training.estimator.canned.heads.class_heads import BinaryClassHead, MultiClassHead
from actorflow.training.estimator.canned.heads.head import Head
from actorflow.training.estimator.spec import EstimatorSpec

_OPTIMIZERS: dict[str, Callable[[float], Any]] = {
    "Adagrad": lambda rate: af.train.AdagradOptimizer(rate),
    "Adam": lambda rate: af.train.AdamOptimizer(rate),
    "Ftrl": lambda rate: af.train.FtrlOptimizer(rate),
    "RMSProp": lambda rate: af.train.RMSPropOptimizer(rate),
    "SGD": lambda rate: af.train.GradientDescentOptimizer(rate),
}


def optimizer(choice: Any, rate: float) -> Any:
    """An optimizer, out of an optimizer, its name, or a function that makes it.

    Raises:
        ValueError: there is none of this name, or it is none of these.
    """
    if isinstance(choice, str):
        if choice not in _OPTIMIZERS:
            raise ValueError(f"Unsupported optimizer name: {choice}. Supported names are: {tuple(sorted(_OPTIMIZERS))}")
        return _OPTIMIZERS[choice](rate)
    instance = choice() if isinstance(choice, type) or not hasattr(choice, "minimize") and callable(choice) else choice
    if not hasattr(instance, "minimize"):
        raise ValueError(f"The given object is not an Optimizer instance. Given: {instance}")
    return instance


Part = tuple[_logits.Logits, Any, float, str]
"""Logits, their optimizer (or its name), its learning rate, and the scope of their variables."""


def model_fn(head: Head, parts: Sequence[Part]) -> Callable[..., EstimatorSpec]:
    """A model function whose logits are the sum of all parts, each of which is trained by its own optimizer."""

    def model(features: Any, labels: Any, mode: str) -> EstimatorSpec:
        terms = [make(features, mode, head.logits_dimension) for make, _, _, _ in parts]
        total = terms[0] if len(terms) == 1 else af.add_n(terms)

        def train(loss: Any) -> Any:
            step = af.train.get_or_create_global_step()
            if len(parts) == 1:
                return optimizer(parts[0][1], parts[0][2]).minimize(loss, global_step=step)
            ops = []
            for _, choice, rate, scope in parts:
                variables = af.get_collection(af.GraphKeys.TRAINABLE_VARIABLES, scope=scope)
                ops.append(optimizer(choice, rate).minimize(loss, var_list=variables))
            with af.control_dependencies(ops):
                return step.assign_add(1).op

        return head.create_estimator_spec(features, mode, total, labels, train_op_fn=train)

    return model


class Classifier:
    """A canned classifier, which makes its head."""

    _precision_recall: ClassVar[str] = "trapezoidal"
    """How the area under precision and recall is added up for two classes: by trapezia, as in TensorFlow 1."""

    def _class_head(self, n_classes: int, weight_column: Any, vocabulary: Any, reduction: str) -> Head:
        if n_classes != 2:
            return MultiClassHead(n_classes, weight_column, vocabulary, reduction)
        head = BinaryClassHead(weight_column, None, vocabulary, reduction)
        head._precision_recall = self._precision_recall
        return head
