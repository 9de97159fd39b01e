"""`LayerState`: the part of a layer that reads and writes its values, and tells which losses and updates come of which inputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from actorflow.base import nest
from actorflow.graph.tensor import Operation, Tensor
from actorflow.graph.variables.updates import ancestors
from actorflow.graph.variables.variable import Variable


class LayerState:
    """Questions about a layer that has been called."""

    _conditional: set[Tensor]
    """The losses that were added for certain inputs."""
    _inputs: list[Any]
    """The tensors of all calls."""

    @property
    def weights(self) -> list[Variable]:
        raise NotImplementedError

    @property
    def losses(self) -> list[Tensor]:
        raise NotImplementedError

    @property
    def updates(self) -> list[Operation | Tensor]:
        raise NotImplementedError

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
        conditional = {id(update) for update in _depending(self.updates, self._inputs)}
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


def _depending(elements: Iterable[Any], inputs: Iterable[Any]) -> list[Any]:
    """Those of some tensors and operations that are computed of these inputs."""
    names = {tensor.op.name for tensor in inputs if isinstance(tensor, Tensor)}
    chosen = []
    for element in elements:
        operation = element if isinstance(element, Operation) else element.op
        if names & ancestors(operation.graph.nodes, [operation.name]):
            chosen.append(element)
    return chosen
