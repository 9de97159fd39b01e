"""The canned Estimators of version 2, such as `DNNClassifierV2`: the loss of a batch is a mean over its examples, and the
area under precision and recall is interpolated."""

from __future__ import annotations

from typing import Any

from actorflow.compat.estimator import canned
from actorflow.graph.losses.weighted import Reduction

_MEANS = (
    "BaselineClassifier BaselineRegressor DNNClassifier DNNLinearCombinedClassifier DNNLinearCombinedRegressor "
    "DNNRegressor LinearClassifier LinearRegressor"
)


def _second(first: type[Any]) -> type[Any]:
    """A class whose loss is a mean unless the program says otherwise."""

    class Second(first):  # type: ignore[misc]
        _precision_recall = "careful_interpolation"

        def __init__(self, *args: Any, loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE, **kwargs: Any) -> None:
            super().__init__(*args, loss_reduction=loss_reduction, **kwargs)

    Second.__name__ = Second.__qualname__ = f"{first.__name__}V2"
    Second.__doc__ = f"`{first.__name__}`, whose loss is a mean over the examples of a batch."
    return Second


CLASSES: dict[str, type[Any]] = {f"{name}V2": _second(getattr(canned, name)) for name in _MEANS.split()}
"""The classes by their names in TensorFlow's sources."""


def __getattr__(name: str) -> Any:
    if name in CLASSES:
        return CLASSES[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
