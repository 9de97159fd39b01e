"""Models that are a bias alone (`tf.estimator.BaselineClassifier` and the like), as constructors that are shared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.graph.losses.weighted import Reduction
from actorflow.training.estimator.canned import logits as _logits
from actorflow.training.estimator.canned.heads.head import Head
from actorflow.training.estimator.canned.heads.number_heads import RegressionHead
from actorflow.training.estimator.canned.model_fn import Classifier, model_fn

_RATE = 0.3


class BaselineClassifierModel(Classifier):
    """A classifier that knows the shares of the classes alone (`tf.estimator.BaselineClassifier`).

    Example:
        >>> estimator = af.estimator.BaselineClassifier()
        >>> batch = {"x": np.zeros([4, 1])}, np.array([1, 1, 1, 0])
        >>> async with estimator:
        ...     _ = await estimator.train([batch] * 10)
        ...     print((await estimator.evaluate([batch]))["accuracy"])
        0.75

    Args:
        model_dir, config: see `Estimator`.
        n_classes: how many classes there are.
        label_vocabulary: the labels, if they are strings.
        weight_column: the key of a feature that weighs examples.
        optimizer: an optimizer, its name, or a function that makes it.
        loss_reduction: how the losses of a batch become one loss.
    """

    def __init__(
        self,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        loss_reduction: str = Reduction.SUM,
    ) -> None:
        head = self._class_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        part = (_logits.baseline, optimizer, _RATE, "baseline")
        super().__init__(model_fn(head, [part]), model_dir=model_dir, config=config)  # type: ignore[call-arg]


class BaselineRegressorModel:
    """A regression that knows the mean of the labels alone (`tf.estimator.BaselineRegressor`).

    Example:
        >>> estimator = af.estimator.BaselineRegressor(optimizer=af.train.GradientDescentOptimizer(0.2))
        >>> batch = {"x": np.zeros([2, 1])}, np.array([2.0, 4.0])
        >>> async with estimator:
        ...     _ = await estimator.train([batch] * 20)
        ...     print([answer["predictions"] async for answer in estimator.predict([{"x": np.zeros([1, 1])}])])
        [array([3.], dtype=float32)]

    Args:
        model_dir, config: see `Estimator`.
        label_dimension: how many numbers are predicted for an example.
        weight_column: the key of a feature that weighs examples.
        optimizer: an optimizer, its name, or a function that makes it.
        loss_reduction: how the losses of a batch become one loss.
    """

    def __init__(
        self,
        model_dir: Any = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        loss_reduction: str = Reduction.SUM,
    ) -> None:
        head = RegressionHead(label_dimension, weight_column, loss_reduction)
        part = (_logits.baseline, optimizer, _RATE, "baseline")
        super().__init__(model_fn(head, [part]), model_dir=model_dir, config=config)  # type: ignore[call-arg]


class BaselineEstimatorModel:
    """A model that is a bias alone, with a head of one's own (`tf.estimator.BaselineEstimator`).

    Example:
        >>> estimator = af.estimator.BaselineEstimator(af.estimator.RegressionHead(label_dimension=2))
        >>> _ = await estimator.train([({"x": np.zeros([2, 1])}, np.array([[1.0, 2.0], [3.0, 4.0]]))] * 2)
        >>> estimator.latest_checkpoint().endswith("model.ckpt-2")
        True

    Args:
        head: a head, such as `af.estimator.MultiLabelHead`.
        model_dir, config: see `Estimator`.
        optimizer: an optimizer, its name, or a function that makes it.
    """

    def __init__(self, head: Head, model_dir: Any = None, optimizer: Any = "Ftrl", config: Any = None) -> None:
        part = (_logits.baseline, optimizer, _RATE, "baseline")
        super().__init__(model_fn(head, [part]), model_dir=model_dir, config=config)  # type: ignore[call-arg]
