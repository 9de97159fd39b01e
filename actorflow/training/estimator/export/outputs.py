"""The outputs of a served model (`tf.estimator.export.PredictOutput` and the like), and the signatures that come of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from actorflow.base.dtypes import float32, string
from actorflow.base.reports.logs import get_logger
from actorflow.exchange.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from actorflow.exchange.saved_model.signature_def_utils import (
    classification_signature_def,
    is_valid_signature,
    predict_signature_def,
    regression_signature_def,
)
from actorflow.graph.convert import convert_to_tensor, is_symbolic
from actorflow.graph.default_graph import control_dependencies
from actorflow.graph.graphdef.protos import SignatureDef
from actorflow.graph.ops.array.constant import constant
from actorflow.graph.tensor import Operation, Tensor
from actorflow.public import public
from actorflow.training.estimator.spec import ModeKeys

_LOG = get_logger("estimator")
_METHODS = {ModeKeys.TRAIN: "tensorflow/supervised/training", ModeKeys.EVAL: "tensorflow/supervised/eval"}


@public("af.estimator.export")
class ExportOutput:
    """An output of a served model. Subclasses say which.

    Example:
        >>> issubclass(af.estimator.export.PredictOutput, af.estimator.export.ExportOutput)
        True
    """

    def as_signature_def(self, receiver_tensors: Mapping[str, Tensor]) -> SignatureDef:
        """The signature of this output.

        Example:
            >>> output = af.estimator.export.PredictOutput({"area": af.placeholder(af.float32, [None])})
            >>> signature = output.as_signature_def({"side": af.placeholder(af.float32, [None])})
            >>> list(signature.inputs), list(signature.outputs)
            (['side'], ['area'])

        Args:
            receiver_tensors: the inputs by name.

        Raises:
            ValueError: the inputs don't go with such an output.
        """
        raise NotImplementedError


@public("af.estimator.export")
class ClassificationOutput(ExportOutput):
    """Classes with scores.

    Example:
        >>> output = af.estimator.export.ClassificationOutput(scores=af.placeholder(af.float32, [None, 3]))
        >>> signature = output.as_signature_def({"examples": af.placeholder(af.string, [None])})
        >>> sorted(signature.outputs)
        ['scores']

    Args:
        scores: the scores, floating point, [batch, classes].
        classes: the names of the classes, of type string.

    Raises:
        ValueError: both are None, or an output has another type.
    """

    def __init__(self, scores: Tensor | None = None, classes: Tensor | None = None) -> None:
        if scores is None and classes is None:
            raise ValueError("At least one of scores and classes must be set.")
        if scores is not None and not scores.dtype.is_floating:
            raise ValueError(f"Classification scores must be a float32 Tensor; got {scores}.")
        if classes is not None and classes.dtype is not string:
            raise ValueError(f"Classification classes must be a string Tensor; got {classes}.")
        self.scores, self.classes = scores, classes

    def as_signature_def(self, receiver_tensors: Mapping[str, Tensor]) -> SignatureDef:
        """A classification. Its one input has serialised examples."""
        return classification_signature_def(_examples(receiver_tensors, "Classification"), self.classes, self.scores)


@public("af.estimator.export")
class RegressionOutput(ExportOutput):
    """A number for each example.

    Example:
        >>> af.estimator.export.RegressionOutput(af.placeholder(af.float32, [None, 1])).value.shape
        TensorShape([None, 1])

    Args:
        value: the numbers, floating point.

    Raises:
        ValueError: they are of another type.
    """

    def __init__(self, value: Tensor) -> None:
        if not value.dtype.is_floating:
            raise ValueError(f"Regression output value must be a float32 Tensor; got {value}.")
        self.value = value

    def as_signature_def(self, receiver_tensors: Mapping[str, Tensor]) -> SignatureDef:
        """A regression. Its one input has serialised examples.

        Example:
            >>> output = af.estimator.export.RegressionOutput(af.placeholder(af.float32, [None, 1]))
            >>> signature = output.as_signature_def({"examples": af.placeholder(af.string, [None])})
            >>> signature.method_name
            'tensorflow/serving/regress'
        """
        return regression_signature_def(_examples(receiver_tensors, "Regression"), self.value)


@public("af.estimator.export")
class PredictOutput(ExportOutput):
    """Any tensors by name.

    Example:
        >>> output = af.estimator.export.PredictOutput({"area": af.placeholder(af.float32, [None])})
        >>> sorted(output.outputs)
        ['area']

    Args:
        outputs: a dict of tensors, or one tensor, whose name is `output`.

    Raises:
        ValueError: a name is no string, or a value no tensor.
    """

    def __init__(self, outputs: Any) -> None:
        self.outputs: dict[str, Tensor] = dict(outputs) if isinstance(outputs, Mapping) else {"output": outputs}
        for name, output in self.outputs.items():
            if not isinstance(name, str):
                raise ValueError(f"Prediction output key must be a string; got {name}.")
            if not is_symbolic(output):
                raise ValueError(f"Prediction output value must be a Tensor; got {output!r:.80} for {name!r}.")

    def as_signature_def(self, receiver_tensors: Mapping[str, Tensor]) -> SignatureDef:
        """A prediction.

        Example:
            >>> output = af.estimator.export.PredictOutput(af.placeholder(af.float32, [None]))
            >>> list(output.as_signature_def({"side": af.placeholder(af.float32, [None])}).outputs)
            ['output']
        """
        return predict_signature_def(receiver_tensors, self.outputs)


def _examples(receiver_tensors: Mapping[str, Tensor], what: str) -> Tensor:
    tensors = list(receiver_tensors.values())
    if len(tensors) != 1 or tensors[0].dtype is not string:
        raise ValueError(f"{what} input must be a single string Tensor; got {dict(receiver_tensors)}.")
    return tensors[0]


def export_outputs_of(spec: Any) -> dict[str, ExportOutput]:
    """The outputs of an EstimatorSpec, with the default; its predictions if it names none.

    Raises:
        TypeError: an output is no ExportOutput.
        ValueError: there are several, and none has the default's name.
    """
    outputs = dict(spec.export_outputs or {DEFAULT_SERVING_SIGNATURE_DEF_KEY: PredictOutput(spec.predictions)})
    for name, output in outputs.items():
        if not isinstance(output, ExportOutput):
            raise TypeError(f"Values in export_outputs must be ExportOutput objects. {name!r} is {output!r:.80}.")
    if DEFAULT_SERVING_SIGNATURE_DEF_KEY not in outputs:
        if len(outputs) > 1:
            raise ValueError(
                "Multiple export_outputs were provided, but none of them is specified as the default. Do this by naming one of "
                f"them {DEFAULT_SERVING_SIGNATURE_DEF_KEY!r}."
            )
        outputs[DEFAULT_SERVING_SIGNATURE_DEF_KEY] = next(iter(outputs.values()))
    return outputs


def supervised_signature(spec: Any, receiver_tensors: Mapping[str, Tensor]) -> SignatureDef:
    """The signature of a training or an evaluation: `loss`, `predictions/...` and `metrics/...`, as TensorFlow names them.

    Args:
        spec: an EstimatorSpec for TRAIN or EVAL.
        receiver_tensors: features and labels by name.
    """
    predictions = spec.predictions if isinstance(spec.predictions, Mapping) else {"predictions": spec.predictions}
    outputs = {"loss": spec.loss, **{_within("predictions", name): tensor for name, tensor in predictions.items()}}
    for name, (value, update) in (spec.eval_metric_ops or {}).items():
        outputs[f"{_within('metrics', name)}/value"] = convert_to_tensor(value)
        outputs[f"{_within('metrics', name)}/update_op"] = _as_tensor(update)
    signature = predict_signature_def(receiver_tensors, outputs)
    signature.method_name = _METHODS[spec.mode]
    return signature


def _within(group: str, name: str) -> str:
    return name if name.startswith(group) else f"{group}/{name}"


def _as_tensor(update: Any) -> Tensor:
    if not isinstance(update, Operation):
        return convert_to_tensor(update)
    with control_dependencies([update]):
        return constant([], float32, name="metric_op_wrapper")


def signatures_of(receiver: Any, outputs: Mapping[str, ExportOutput]) -> dict[str, SignatureDef]:
    """All signatures that a receiver and outputs make together. Those that can't be are left out, and the log says why.

    Args:
        receiver: a `ServingInputReceiver`.
        outputs: the outputs by name.

    Raises:
        ValueError: there is none.
    """
    several = {"": receiver.receiver_tensors, **(receiver.receiver_tensors_alternatives or {})}
    signatures: dict[str, SignatureDef] = {}
    reasons = []
    for before, tensors in several.items():
        inputs = tensors if isinstance(tensors, Mapping) else {"input": tensors}
        for name, output in outputs.items():
            key = f"{before}:{name}" if before else name
            try:
                signature = output.as_signature_def(inputs)
            except ValueError as error:
                reasons.append(f"{key}: {error}")
                continue
            if is_valid_signature(signature):
                signatures[key] = signature
    if reasons:
        _LOG.info("signatures are left out of the saved model", reasons=reasons)
    if not signatures:
        raise ValueError("The model has no signature that can be served. " + " ".join(reasons))
    return signatures
