"""`MultiHead`: several heads on one model (`tf.estimator.MultiHead`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import actorflow as af
from actorflow.graph.tensor import Tensor
from actorflow.public import public
from actorflow.training.estimator.canned.heads.head import DEFAULT, Head, Metrics
from actorflow.training.estimator.export.outputs import ExportOutput, PredictOutput
from actorflow.training.estimator.spec import ModeKeys


@public("af.estimator")
class MultiHead(Head):
    """Several heads, whose losses are added. Labels and predictions are dicts.

    Logits are a dict by the names of heads, or one matrix that is divided among them in their order. The predictions have
    pairs for keys, the name of the head and that of the prediction, such as ("price", "predictions").

    Example:
        >>> head = af.estimator.MultiHead(
        ...     [af.estimator.MultiClassHead(3, name="kind"), af.estimator.RegressionHead(name="price")]
        ... )
        >>> head.logits_dimension
        4

    Args:
        heads: the heads, each with a name.
        head_weights: what the loss of each head is multiplied by; 1 unless given.

    Raises:
        ValueError: there are no heads, a head has no name, two have the same, their losses are reduced in
            other ways, or there is another number of weights.
    """

    def __init__(self, heads: Sequence[Head], head_weights: Sequence[float] | None = None) -> None:
        if not heads:
            raise ValueError(f"Must specify heads. Given: {heads}")
        if head_weights and len(head_weights) != len(heads):
            raise ValueError(
                f"heads and head_weights must have the same size. Given len(heads): {len(heads)}. "
                f"Given len(head_weights): {len(head_weights)}."
            )
        if len({head.loss_reduction for head in heads}) > 1:
            raise ValueError(
                f"The loss_reduction must be the same for different heads. Given: {[h.loss_reduction for h in heads]}"
            )
        names = [head.name for head in heads]
        if not all(names):
            raise ValueError(f"All given heads must have name specified. Given: {names}")
        if len(set(names)) < len(names):
            raise ValueError(f"The names of heads must differ. Given: {names}")
        super().__init__(sum(head.logits_dimension for head in heads), name="_".join(map(str, names)))
        self._heads = {str(head.name): head for head in heads}
        self._head_weights = list(head_weights or [1.0] * len(heads))

    def _key(self, name: str) -> str:
        return name

    def _split(self, logits: Any) -> dict[str, Any]:
        """The logits of each head."""
        if isinstance(logits, Mapping):
            self._refuse_missing("logits", logits)
            return {name: logits[name] for name in self._heads}
        sizes = [head.logits_dimension for head in self._heads.values()]
        shape = af.convert_to_tensor(logits).shape.as_list()
        if shape[-1] not in (None, self.logits_dimension):
            raise ValueError(
                f"Could not split logits of shape {shape} among the heads with individual logits dimensions: {sizes}. "
                f"The last dimension of the logits tensor should equal {self.logits_dimension} but is {shape[-1]}."
            )
        return dict(zip(self._heads, af.split(logits, sizes, -1), strict=True))

    def _refuse_missing(self, what: str, mapping: Any) -> None:
        if not isinstance(mapping, Mapping):
            raise ValueError(f"{what} must be a dict. Given: {mapping}")
        if missing := [name for name in self._heads if name not in mapping]:
            raise ValueError(f"{what} has missing values for head(s): {missing}")

    def predictions(self, logits: Any, keys: Sequence[Any] | None = None) -> dict[Any, Tensor]:
        """The predictions by the name of their head and their own.

        Args:
            logits: see `MultiHead`.
            keys: pairs of the name of a head and that of a prediction; all of them unless given.

        Raises:
            ValueError: there is no prediction of such a name.
        """
        parts = self._split(logits)
        predictions = {
            (name, key): value
            for name, head in self._heads.items()
            for key, value in head.predictions(parts[name]).items()
        }
        if wrong := [key for key in keys or () if key not in predictions]:
            raise ValueError(f"No head has a prediction {wrong[0]!r}. Those of all heads are {list(predictions)}.")
        return {key: predictions[key] for key in keys or predictions}

    def exports(self, predictions: Mapping[Any, Tensor]) -> dict[str, ExportOutput]:
        """Those of each head by its name, such as "price/regression"; the first head is the default."""
        outputs: dict[str, ExportOutput] = {}
        for name, head in self._heads.items():
            for key, output in head.exports({k: v for (of, k), v in predictions.items() if of == name}).items():
                outputs[name if key == DEFAULT else f"{name}/{key}"] = output
                if key == DEFAULT:
                    outputs.setdefault(DEFAULT, output)
        return {**outputs, "predict": PredictOutput({"/".join(key): value for key, value in predictions.items()})}

    def _measured(self, features: Any, logits: Any, labels: Any, mode: str | None) -> tuple[Tensor, Metrics]:
        self._refuse_missing("labels", labels)
        parts = self._split(logits)
        losses: list[Tensor] = []
        metrics: Metrics = {}
        for (name, head), weight in zip(self._heads.items(), self._head_weights, strict=True):
            loss, head_metrics = head._measured(features, parts[name], labels[name], mode)
            losses.append(loss if weight == 1.0 else loss * weight)
            if mode == ModeKeys.TRAIN:
                with af.name_scope(None):
                    af.summary.scalar(f"loss/{name}", loss)
            if mode == ModeKeys.EVAL:
                metrics |= {f"loss/{name}": af.metrics.mean(loss, name=f"loss/{name}"), **head_metrics}
        return af.add_n(losses), metrics
