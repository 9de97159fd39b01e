"""The inputs of a saved model: `ServingInputReceiver`, a receiver for labels as well, and functions that make them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from actorflow.base.dtypes import string
from actorflow.graph.convert import convert_to_tensor, is_symbolic
from actorflow.graph.ops.array.constant import placeholder
from actorflow.graph.ops.io.parsing import parse_example
from actorflow.graph.sparse_tensor import SparseTensor
from actorflow.graph.tensor import Tensor
from actorflow.public import public


@public("af.estimator.export")
@dataclass(frozen=True)
class ServingInputReceiver:
    """The inputs of a served model, and the features that come of them.

    Example:
        >>> x = af.placeholder(af.float32, [None, 1])
        >>> receiver = af.estimator.export.ServingInputReceiver(features={"x": x / 255.0}, receiver_tensors={"pixels": x})
        >>> sorted(receiver.features), sorted(receiver.receiver_tensors)
        (['x'], ['pixels'])

    Args:
        features: the features for the model function, by name; one tensor becomes `{"feature": tensor}`.
        receiver_tensors: the tensors that are fed, by the names that clients use; one tensor becomes `{"input": tensor}`.
        receiver_tensors_alternatives: further sets of tensors that may be fed instead, by a name for each set.

    Raises:
        ValueError: something is no tensor, or nothing is fed.
    """

    features: Any
    receiver_tensors: Any
    receiver_tensors_alternatives: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.features is None:
            raise ValueError("features must be defined.")
        features = _named(self.features, "feature")
        for name, feature in features.items():
            if not isinstance(name, (str, int)):
                raise ValueError(f"feature keys must be strings or ints: {name}.")
            _check_feature(feature, f"feature {name}")
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "receiver_tensors", _receivers(self.receiver_tensors))

    def __iter__(self) -> Iterator[Any]:
        """The three parts in turn: TensorFlow's receiver is a named tuple, which programs unpack."""
        return iter((self.features, self.receiver_tensors, self.receiver_tensors_alternatives))


@public("af.estimator.export")
@dataclass(frozen=True)
class TensorServingInputReceiver(ServingInputReceiver):
    """A `ServingInputReceiver` for a model function whose features are one tensor, which stays a tensor.

    Example:
        >>> x = af.placeholder(af.float32, [None, 1])
        >>> af.estimator.export.TensorServingInputReceiver(features=x, receiver_tensors={"x": x}).features is x
        True

    Args:
        features: the tensor.
        receiver_tensors, receiver_tensors_alternatives: see `ServingInputReceiver`.

    Raises:
        ValueError: `features` is no single tensor.
    """

    def __post_init__(self) -> None:
        if self.features is None:
            raise ValueError("features must be defined.")
        _check_feature(self.features, "feature", "; ServingInputReceiver takes several")
        object.__setattr__(self, "receiver_tensors", _receivers(self.receiver_tensors))


def _named(tensors: Any, name: str) -> dict[str, Any]:
    return dict(tensors) if isinstance(tensors, Mapping) else {name: tensors}


def _receivers(tensors: Any) -> dict[str, Any]:
    """The tensors that are fed, by name."""
    if tensors is None or isinstance(tensors, Mapping) and not tensors:
        raise ValueError("receiver_tensors must be defined.")
    receivers = _named(tensors, "input")
    for name, tensor in receivers.items():
        if not isinstance(name, str):
            raise ValueError(f"receiver_tensor keys must be strings: {name}.")
        if not isinstance(tensor, Tensor):
            raise ValueError(f"receiver_tensor {name} must be a Tensor, but it is {tensor!r:.80}.")
    return receivers


def _check_feature(feature: Any, what: str, hint: str = "") -> None:
    if not is_symbolic(feature) and not isinstance(feature, SparseTensor):
        raise ValueError(f"{what} must be a Tensor, SparseTensor, or RaggedTensor. It is {feature!r:.80}{hint}.")


@public("af.estimator.export")
def build_raw_serving_input_receiver_fn(
    features: Mapping[str, Tensor], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """A function that makes a receiver whose inputs are the features themselves.

    Example:
        >>> features = {"x": af.placeholder(af.float32, [None, 3])}
        >>> receiver = af.estimator.export.build_raw_serving_input_receiver_fn(features)()
        >>> receiver.features["x"].shape
        TensorShape([None, 3])

    Args:
        features: a tensor for each feature, of the type and shape that it is to have.
        default_batch_size: the number of examples of a batch; any unless given.
    """
    make = _placeholders(features, default_batch_size)

    def serving_input_receiver_fn() -> ServingInputReceiver:
        tensors = make()
        return ServingInputReceiver(tensors, tensors)

    return serving_input_receiver_fn


def _placeholders(tensors: Mapping[str, Tensor], batch: int | None) -> Callable[[], dict[str, Tensor]]:
    """A function that makes a placeholder for each tensor, for batches of `batch` examples."""
    forms = {
        name: (tensor.dtype.base_dtype, (batch, *(convert_to_tensor(tensor).static_shape or ())[1:]))
        for name, tensor in tensors.items()
    }
    return lambda: {name: placeholder(dtype, shape, name=name) for name, (dtype, shape) in forms.items()}


@dataclass(frozen=True)
class SupervisedInputReceiver:
    """The inputs of a saved training or evaluation, and the features and labels that come of them."""

    features: Any
    labels: Any
    receiver_tensors: Mapping[str, Tensor]


@public("af.estimator.export")
def build_raw_supervised_input_receiver_fn(
    features: Mapping[str, Tensor] | Tensor,
    labels: Mapping[str, Tensor] | Tensor,
    default_batch_size: int | None = None,
) -> Callable[[], SupervisedInputReceiver]:
    """A function that makes a receiver whose inputs are features and labels, for the export of a training or an evaluation.

    Example:
        >>> x, y = af.placeholder(af.float32, [None, 3]), af.placeholder(af.float32, [None])
        >>> receiver = af.estimator.export.build_raw_supervised_input_receiver_fn({"x": x}, y)()
        >>> sorted(receiver.receiver_tensors), receiver.labels.shape
        (['label', 'x'], TensorShape([None]))

    Args:
        features: a tensor for each feature, of the type and shape that it is to have; or one tensor, whose name is `input`.
        labels: the same for labels; the name of one tensor is `label`.
        default_batch_size: the number of examples of a batch; any unless given.

    Raises:
        ValueError: a feature and a label have one name.
    """
    named, named_labels = _named(features, "input"), _named(labels, "label")
    if both := set(named) & set(named_labels):
        raise ValueError(f"Features and labels must have distinct keys. Found overlapping keys: {both}")
    make, make_labels = (_placeholders(tensors, default_batch_size) for tensors in (named, named_labels))

    def supervised_input_receiver_fn() -> SupervisedInputReceiver:
        tensors, made_labels = make(), make_labels()
        return SupervisedInputReceiver(
            tensors if isinstance(features, Mapping) else tensors["input"],
            made_labels if isinstance(labels, Mapping) else made_labels["label"],
            {**tensors, **made_labels},
        )

    return supervised_input_receiver_fn


@public("af.estimator.export")
def build_parsing_serving_input_receiver_fn(
    feature_spec: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """A function that makes a receiver whose input, `examples`, has serialised examples.

    Example:
        >>> spec = af.feature_column.make_parse_example_spec([af.feature_column.numeric_column("x")])
        >>> make = af.estimator.export.build_parsing_serving_input_receiver_fn(spec)
        >>> with af.Graph().as_default():
        ...     receiver = make()
        ...     print(sorted(receiver.receiver_tensors), receiver.features["x"].shape)
        ['examples'] (?, 1)

    Args:
        feature_spec: the features to find, as `parse_example` takes them.
        default_batch_size: the number of examples of a batch; any unless given.
    """

    def serving_input_receiver_fn() -> ServingInputReceiver:
        examples = placeholder(string, [default_batch_size], name="input_example_tensor")
        return ServingInputReceiver(parse_example(examples, dict(feature_spec)), {"examples": examples})

    return serving_input_receiver_fn
