"""`tf.saved_model.signature_def_utils`: signatures for prediction, classification and regression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from actorflow.base.dtypes import float32, string
from actorflow.exchange.saved_model import signature_constants as names
from actorflow.exchange.saved_model.utils import build_tensor_info
from actorflow.graph.graphdef.protos import BY_CODE, SignatureDef, TensorInfo
from actorflow.public import public

public("af.saved_model:signature_def_utils")


@public("af.saved_model")
def build_signature_def(
    inputs: Mapping[str, TensorInfo] | None = None,
    outputs: Mapping[str, TensorInfo] | None = None,
    method_name: str | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> SignatureDef:
    """A signature out of messages (`tf.saved_model.build_signature_def`).

    Example:
        >>> info = af.saved_model.build_tensor_info(af.placeholder(af.float32, [None], name="x"))
        >>> signature = af.saved_model.build_signature_def({"x": info}, {"y": info}, "my/method")
        >>> signature.method_name, sorted(signature.inputs)
        ('my/method', ['x'])

    Args:
        inputs: `TensorInfo` messages by the names that clients use.
        outputs: the same for outputs.
        method_name: for what it is used, such as `PREDICT_METHOD_NAME`.
        defaults: `TensorProto` messages, the values of inputs that a client leaves out.
    """
    signature = SignatureDef(method_name=method_name or "")
    for place, several in ((signature.inputs, inputs), (signature.outputs, outputs), (signature.defaults, defaults)):
        for name, message in (several or {}).items():
            place[name].CopyFrom(message)
    return signature


@public("af.saved_model")
def predict_signature_def(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> SignatureDef:
    """The signature of a prediction: any tensors in, any tensors out (`tf.saved_model.predict_signature_def`).

    Example:
        >>> x = af.placeholder(af.float32, [None], name="x")
        >>> signature = af.saved_model.predict_signature_def({"x": x}, {"y": af.square(x, name="y")})
        >>> signature.inputs["x"].name, signature.outputs["y"].name
        ('x:0', 'y:0')

    Args:
        inputs: tensors by the names that clients use.
        outputs: the same for outputs.

    Raises:
        ValueError: there are no inputs, or no outputs.
    """
    if not inputs:
        raise ValueError("Prediction `inputs` cannot be None or empty.")
    if not outputs:
        raise ValueError("Prediction `outputs` cannot be None or empty.")
    return build_signature_def(_infos(inputs), _infos(outputs), names.PREDICT_METHOD_NAME)


@public("af.saved_model")
def classification_signature_def(examples: Any, classes: Any, scores: Any) -> SignatureDef:
    """The signature of a classification of serialised examples (`tf.saved_model.classification_signature_def`).

    Example:
        >>> examples, classes = af.placeholder(af.string, [None]), af.placeholder(af.string, [None, 3])
        >>> signature = af.saved_model.classification_signature_def(examples, classes, scores=None)
        >>> sorted(signature.inputs), sorted(signature.outputs)
        (['inputs'], ['classes'])

    Args:
        examples: the examples, a tensor of type string.
        classes: the classes, a tensor of type string; None for scores alone.
        scores: the scores, of type float32; None for classes alone.

    Raises:
        ValueError: a tensor has another type, or there is nothing to give.
    """
    if examples is None:
        raise ValueError("Classification `examples` cannot be None.")
    if classes is None and scores is None:
        raise ValueError("Classification `classes` and `scores` cannot both be None.")
    inputs = {names.CLASSIFY_INPUTS: _typed(examples, string, "Classification input tensors")}
    outputs = {}
    if classes is not None:
        outputs[names.CLASSIFY_OUTPUT_CLASSES] = _typed(classes, string, "Classification classes")
    if scores is not None:
        outputs[names.CLASSIFY_OUTPUT_SCORES] = _typed(scores, float32, "Classification scores")
    return build_signature_def(inputs, outputs, names.CLASSIFY_METHOD_NAME)


@public("af.saved_model")
def regression_signature_def(examples: Any, predictions: Any) -> SignatureDef:
    """The signature of a regression over serialised examples (`tf.saved_model.regression_signature_def`).

    Example:
        >>> examples, found = af.placeholder(af.string, [None]), af.placeholder(af.float32, [None])
        >>> sorted(af.saved_model.regression_signature_def(examples, found).outputs)
        ['outputs']

    Args:
        examples: the examples, a tensor of type string.
        predictions: the values, a tensor of type float32.

    Raises:
        ValueError: a tensor has another type, or is None.
    """
    if examples is None:
        raise ValueError("Regression `examples` cannot be None.")
    if predictions is None:
        raise ValueError("Regression `predictions` cannot be None.")
    inputs = {names.REGRESS_INPUTS: _typed(examples, string, "Regression input tensors")}
    outputs = {names.REGRESS_OUTPUTS: _typed(predictions, float32, "Regression output tensors")}
    return build_signature_def(inputs, outputs, names.REGRESS_METHOD_NAME)


@public("af.saved_model")
def is_valid_signature(signature_def: SignatureDef | None) -> bool:
    """Whether a signature has the inputs and outputs of its method, with their types (`tf.saved_model.is_valid_signature`).

    Example:
        >>> x = af.placeholder(af.float32, [None])
        >>> af.saved_model.is_valid_signature(af.saved_model.predict_signature_def({"x": x}, {"y": x * 2.0}))
        True

    Args:
        signature_def: the signature; None is not valid.
    """
    if signature_def is None:
        return False
    inputs = {name: info.dtype for name, info in signature_def.inputs.items()}
    outputs = {name: info.dtype for name, info in signature_def.outputs.items()}
    method = signature_def.method_name
    if method == names.PREDICT_METHOD_NAME:
        return bool(inputs and outputs)
    if method == names.REGRESS_METHOD_NAME:
        return inputs == {names.REGRESS_INPUTS: string.code} and outputs == {names.REGRESS_OUTPUTS: float32.code}
    if method == names.CLASSIFY_METHOD_NAME:
        outputs_allowed = {names.CLASSIFY_OUTPUT_CLASSES: string.code, names.CLASSIFY_OUTPUT_SCORES: float32.code}
        fits = all(outputs_allowed.get(name) == code for name, code in outputs.items())
        return inputs == {names.CLASSIFY_INPUTS: string.code} and bool(outputs) and fits
    return False


def _infos(tensors: Mapping[str, Any]) -> dict[str, TensorInfo]:
    return {name: build_tensor_info(tensor) for name, tensor in tensors.items()}


def _typed(tensor: Any, dtype: Any, what: str) -> TensorInfo:
    info = build_tensor_info(tensor)
    if info.dtype != dtype.code:
        actual = BY_CODE[info.dtype].name
        raise ValueError(f"{what} must be of type {dtype.name}. Found tensors with dtype {actual}.")
    return info
