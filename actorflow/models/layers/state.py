"""`LayerState`: what a layer tells of itself: its values, arguments and calls, and which losses and updates come of which
inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from actorflow.base import nest
from actorflow.base.dtypes import DType
from actorflow.base.shapes import ShapeLike, TensorShape
from actorflow.engine.eager.functions.signature import TensorSpec
from actorflow.engine.eager.scope import executing_eagerly
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.graph import Graph
from actorflow.graph.structure.module import Module
from actorflow.graph.tensor import Operation, Tensor
from actorflow.graph.variables.store import VariableScope
from actorflow.graph.variables.updates import ancestors
from actorflow.graph.variables.variable import Variable


class LayerState(Module):
    """Questions about a layer, most of them after it has been called."""

    trainable = True
    """Whether optimizers change the variables."""
    built = False
    """Whether `build` was called."""
    input_spec: Any = None
    """The demands on the inputs: an `InputSpec`, or a list of such."""
    activity_regularizer: Any = None
    """A function of the outputs that gives a loss."""
    supports_masking = False
    """Whether a mask of the inputs is a mask of the outputs too."""
    given_name: str | None = None
    _dtype: DType | None = None
    _reuse: Any = None
    _scope: VariableScope | None = None
    _graph: Graph | None = None
    _weights: list[tuple[Variable, bool]]
    _losses: list[Tensor]
    _updates: list[Operation | Tensor]
    _metrics: list[Any]
    _conditional: set[Tensor]
    """The losses that were added for certain inputs."""
    _calls: list[tuple[Any, Any]]
    """The inputs and outputs of all calls."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        layer = super().__new__(cls, *args, **kwargs)  # a class of one's own need not call __init__ of this class
        layer._weights, layer._losses, layer._updates, layer._metrics, layer._calls = [], [], [], [], []
        layer._conditional = set()
        return layer

    @property
    def weights(self) -> list[Variable]:
        """All variables."""
        raise NotImplementedError

    @property
    def losses(self) -> list[Tensor]:
        """The losses added so far, of all calls."""
        return list(self._losses)

    @property
    def updates(self) -> list[Operation | Tensor]:
        """The updates added so far, of all calls; none where the layer is not trainable."""
        return list(self._updates) if self.trainable else []

    @property
    def metrics(self) -> list[Any]:
        """The metrics that `add_metric` added."""
        return list(self._metrics)

    @property
    def dynamic(self) -> bool:
        """False: a layer's nodes are in the graph."""
        return False

    def add_metric(self, value: Any, aggregation: str | None = None, name: str | None = None) -> None:
        """Adds a number to `metrics`, which tells how training goes.

        Args:
            value: the number of this step.
            aggregation: `mean` for the mean over steps, whose update is added to the collection UPDATE_OPS; None for `value`.
            name: the name of the metric.

        Raises:
            ValueError: another aggregation.

        Example:
            >>> with af.Graph().as_default():
            ...     layer = af.layers.Dense(2)
            ...     layer.add_metric(af.reduce_sum(layer(af.ones([1, 3]))), name="total")
            ...     print(len(layer.metrics))
            1
        """
        from actorflow.graph.variables.collections import GraphKeys
        from actorflow.models.metrics.means import mean

        if aggregation not in (None, "mean"):
            raise ValueError(
                f"A layer's metric is the value of a step, or with 'mean' their mean, not {aggregation!r}."
            )
        if aggregation == "mean":
            value, _ = mean(value, updates_collections=GraphKeys.UPDATE_OPS, name=name)
        self._metrics.append(convert_to_tensor(value))

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the outputs: `mask`, if the class says that it `supports_masking`.

        Args:
            inputs: the inputs.
            mask: booleans that say which steps of the inputs count; None if all do.

        Raises:
            TypeError: there is a mask, and the class has no `supports_masking`.

        Example:
            >>> print(af.layers.Dense(2).compute_mask(af.ones([1, 3])))
            None
        """
        if mask is not None and not self.supports_masking:
            raise TypeError(f"Layer {self.name} does not support masking, but was passed an input_mask: {mask!r:.60}")
        return mask

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """The static shape of the output for an input of this shape, which builds nothing.

        Raises NotImplementedError where the layer does not say.

        Example:
            >>> af.layers.Dense(10).compute_output_shape([None, 3])
            TensorShape([None, 10])
            >>> af.layers.Flatten().compute_output_shape([None, 2, 3])
            TensorShape([None, 6])
        """
        raise NotImplementedError(f"{type(self).__name__} does not say the shape of its output: compute_output_shape.")

    def compute_output_signature(self, input_signature: Any) -> Any:
        """The shape and type of the output for an input of this shape and type.

        Args:
            input_signature: a `TensorSpec`.

        Raises:
            NotImplementedError: the layer does not say its `compute_output_shape`.

        Example:
            >>> af.layers.Dense(10).compute_output_signature(af.TensorSpec([None, 3], af.float32)).shape
            TensorShape([None, 10])
        """
        return TensorSpec(self.compute_output_shape(input_signature.shape), self._dtype or input_signature.dtype)

    # Arguments

    _UNNAMED: ClassVar[frozenset[str]] = frozenset({"self", "args", "kwargs", "reuse"})
    """Arguments that `get_config` leaves out."""

    def get_config(self) -> dict[str, Any]:
        """The arguments of another layer like this layer, for `from_config`: numbers and names as far as there are names.

        Example:
            >>> config = af.layers.Dense(10, activation=af.nn.relu).get_config()
            >>> config["units"], config["activation"], config["bias_initializer"]["class_name"]
            (10, 'relu', 'Zeros')
        """
        config = {"name": self.name, "trainable": self.trainable, "dtype": self._dtype and self._dtype.name}
        for name, value in self._named_arguments().items():
            if name not in self._UNNAMED and not name.startswith("_") and name not in config:
                config[name] = _described(name, getattr(self, name, getattr(self, f"_{name}", value)))
        return config

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """The layer of which another layer of this class gave the arguments by `get_config`; its variables are its own.

        Args:
            config: the arguments by their names.

        Example:
            >>> config = af.layers.Dense(10).get_config()
            >>> af.layers.Dense.from_config(config).units
            10
        """
        import inspect

        taken = inspect.signature(cls).parameters
        any_name = any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken.values())
        return cls(**{name: _restored(value) for name, value in config.items() if any_name or name in taken})

    # Calls

    def _record(self, inputs: Any, outputs: Any) -> None:
        """Keeps the tensors of a call; of calls that compute at once none, as these would hold the memory."""
        if not executing_eagerly():
            self._calls.append((inputs, outputs))

    def _call(self, index: int, part: int) -> Any:
        if not self._calls:
            raise RuntimeError(f"The layer {self.name!r} has never been called and thus has no inputs and outputs.")
        if not -len(self._calls) <= index < len(self._calls):
            raise ValueError(
                f"The layer {self.name!r} has been called {len(self._calls)} times: there is no call {index}."
            )
        return self._calls[index][part]

    def _only(self, part: int) -> Any:
        """The inputs or the outputs, which are the same in all calls. Raises AttributeError if there are others."""
        if len({id(leaf) for call in self._calls for leaf in nest.flatten(call[part])}) != len(
            nest.flatten(self._calls[0][part]) if self._calls else [0]
        ):
            raise AttributeError(
                f"The layer {self.name!r} has been called {len(self._calls)} times: ask for those of a call, such as "
                "get_output_at(0)."
            )
        return self._call(0, part)

    def get_input_at(self, node_index: int) -> Any:
        """The inputs of a call. Raises RuntimeError before the first call, and ValueError for a call that was not.

        Args:
            node_index: the number of the call, from 0.

        Example:
            >>> layer = af.layers.Dense(2)
            >>> y = layer(af.placeholder(af.float32, [None, 3]))
            >>> layer.get_input_at(0).shape, layer.get_output_at(0) is y
            (TensorShape([None, 3]), True)
            >>> layer.get_input_shape_at(0), layer.get_output_shape_at(0)
            (TensorShape([None, 3]), TensorShape([None, 2]))
        """
        return self._call(node_index, 0)

    def get_output_at(self, node_index: int) -> Any:
        """The outputs of a call; see `get_input_at`.

        Args:
            node_index: the number of the call, from 0.
        """
        return self._call(node_index, 1)

    def get_input_shape_at(self, node_index: int) -> Any:
        """The static shapes of the inputs of a call; see `get_input_at`.

        Args:
            node_index: the number of the call, from 0.
        """
        return _shapes(self._call(node_index, 0))

    def get_output_shape_at(self, node_index: int) -> Any:
        """The static shapes of the outputs of a call; see `get_input_at`.

        Args:
            node_index: the number of the call, from 0.
        """
        return _shapes(self._call(node_index, 1))

    def get_input_mask_at(self, node_index: int) -> Any:
        """None, for each input of a call: tensors carry no masks.

        Args:
            node_index: the number of the call, from 0.

        Example:
            >>> with af.Graph().as_default():
            ...     layer = af.layers.Flatten()
            ...     _ = layer(af.ones([2, 3]))
            >>> print(layer.get_input_mask_at(0), layer.get_output_mask_at(0))
            None None
        """
        return nest.map_structure(lambda tensor: None, self._call(node_index, 0))

    def get_output_mask_at(self, node_index: int) -> Any:
        """None, for each output of a call; see `get_input_mask_at`.

        Args:
            node_index: the number of the call, from 0.
        """
        return nest.map_structure(lambda tensor: None, self._call(node_index, 1))

    @property
    def input(self) -> Any:
        """The inputs, if they were the same in all calls."""
        return self._only(0)

    @property
    def output(self) -> Any:
        """The outputs of the only call."""
        return self._only(1)

    @property
    def input_shape(self) -> Any:
        """The static shapes of the inputs, if they were the same in all calls."""
        return _shapes(self._only(0))

    @property
    def output_shape(self) -> Any:
        """The static shapes of the outputs of the only call."""
        return _shapes(self._only(1))

    @property
    def input_mask(self) -> Any:
        """None, for each input of the only call."""
        return nest.map_structure(lambda tensor: None, self._only(0))

    @property
    def output_mask(self) -> Any:
        """None, for each output of the only call."""
        return nest.map_structure(lambda tensor: None, self._only(1))

    @property
    def inbound_nodes(self) -> list[Any]:
        """Empty: only layers of Keras models have such nodes."""
        return []

    outbound_nodes = inbound_nodes

    # Losses, updates and values

    def get_losses_for(self, inputs: Any) -> list[Tensor]:
        """The losses of these inputs, which depend on them; with None those that no inputs were given for, such as those of
        regularizers of weights.

        Example:
            >>> with af.Graph().as_default():
            ...     layer = af.layers.Dense(2, kernel_regularizer="l2", activity_regularizer="l2")
            ...     x = af.ones([1, 3])
            ...     _ = layer(x)
            ...     print(len(layer.get_losses_for(None)), len(layer.get_losses_for(x)))
            1 1
        """
        if inputs is None:
            return [loss for loss in self.losses if loss not in self._conditional]
        return _depending([loss for loss in self.losses if loss in self._conditional], nest.flatten(inputs))

    def get_updates_for(self, inputs: Any) -> list[Operation | Tensor]:
        """The updates that depend on these inputs; with None those that depend on no input of the layer.

        Example:
            >>> with af.Graph().as_default():
            ...     layer = af.layers.BatchNormalization()
            ...     x = af.ones([1, 3])
            ...     _ = layer(x, training=True)
            ...     print(len(layer.get_updates_for(None)), len(layer.get_updates_for(x)))
            0 2
        """
        if inputs is not None:
            return _depending(self.updates, nest.flatten(inputs))
        conditional = {
            id(update) for update in _depending(self.updates, nest.flatten([call[0] for call in self._calls]))
        }
        return [update for update in self.updates if id(update) not in conditional]

    def get_weights(self, session: Any = None) -> list[Any]:
        """The values of `weights`, in a blocking session: the innermost one unless given.

        Example:
            >>> with af.Graph().as_default(), af.blocking.Session() as blocking:
            ...     layer = af.layers.Dense(2)
            ...     layer.build([None, 3])
            ...     blocking.run(af.global_variables_initializer())
            ...     print([value.shape for value in layer.get_weights(blocking)])
            [(3, 2), (2,)]
        """
        return [weight.eval(session) for weight in self.weights]

    def set_weights(self, weights: Sequence[Any], session: Any = None) -> None:
        """Gives `weights` these values, in a blocking session: the innermost one unless given.

        Example:
            >>> with af.Graph().as_default(), af.blocking.Session() as blocking:
            ...     layer = af.layers.Dense(1, use_bias=False)
            ...     layer.build([None, 2])
            ...     layer.set_weights([[[1.0], [2.0]]], blocking)
            ...     print(layer.get_weights(blocking)[0].tolist())
            [[1.0], [2.0]]

        Raises:
            ValueError: there are more or fewer values than weights, or a value has another shape.
        """
        variables = self.weights
        if len(variables) != len(weights):
            raise ValueError(
                f"set_weights takes a value for each of the {len(variables)} weights of the layer, but there are {len(weights)}."
            )
        for variable, value in zip(variables, weights):
            if not variable.shape.is_compatible_with(np.shape(value)):
                raise ValueError(f"The weight {variable.name} has the shape {variable.shape}, not {np.shape(value)}.")
        for variable, value in zip(variables, weights):
            variable.load(value, session)


def _shapes(tensors: Any) -> Any:
    return nest.map_structure(lambda tensor: tensor.shape, tensors)


def _described(name: str, value: Any) -> Any:
    """An argument as `get_config` gives it: functions by name, objects by class and arguments, all else as it is."""
    if value is None and name == "activation":
        return "linear"
    if isinstance(value, DType):
        return value.name
    if hasattr(value, "get_config"):
        return {"class_name": type(value).__name__, "config": value.get_config()}
    if isinstance(value, list):
        return [_described(name, entry) for entry in value]
    return value.__name__ if callable(value) and name == "activation" and _public(value) else value


def _public(function: Any) -> bool:
    """Whether a function is known by its name alone."""
    import actorflow

    name = getattr(function, "__name__", "")
    return any(getattr(place, name, None) is function for place in (actorflow.nn, actorflow) if name)


def _restored(value: Any) -> Any:
    """An argument of `get_config` as a constructor takes it: a layer's description becomes a layer."""
    if isinstance(value, list):
        return [_restored(entry) for entry in value]
    if not isinstance(value, Mapping) or "class_name" not in value:
        return value
    kinds = [LayerState]
    for kind in kinds:
        if kind.__name__ == value["class_name"]:
            return kind.from_config(value["config"])
        kinds += kind.__subclasses__()
    return value


def _depending(elements: Iterable[Any], inputs: Iterable[Any]) -> list[Any]:
    """Those of some tensors and operations that are computed of these inputs."""
    names = {tensor.op.name for tensor in inputs if isinstance(tensor, Tensor)}
    chosen = []
    for element in elements:
        operation = element if isinstance(element, Operation) else element.op
        if names & ancestors(operation.graph.nodes, [operation.name]):
            chosen.append(element)
    return chosen
