"""`Layer`: variables in a scope of their own, made at the first call and shared by all others (`tf.layers.Layer`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base import nest
from actorflow.base.dtypes import DType, DTypeLike, as_dtype, float32
from actorflow.base.reports.user_line import user_line
from actorflow.base.shapes import ShapeLike
from actorflow.errors import describe
from actorflow.graph.convert import convert_to_tensor, graph_of
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.graph import Graph
from actorflow.graph.ops.array.shape import shape as shape_of
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.structure.module import snake_case
from actorflow.graph.tensor import Operation, Tensor
from actorflow.graph.variables.collections import GraphKeys
from actorflow.graph.variables.partitioned import PartitionedVariable
from actorflow.graph.variables.scope import get_variable, variable_scope
from actorflow.graph.variables.store import VariableScope, store_of
from actorflow.graph.variables.updates import LayerUpdates, record_updates
from actorflow.graph.variables.variable import Variable
from actorflow.models.layers.arguments import (
    Constraint,
    Initializer,
    Regularizer,
    constraint_of,
    initializer_of,
    regularizer_of,
)
from actorflow.models.layers.input_spec import first_spec
from actorflow.models.layers.state import LayerState
from actorflow.public import public


@public("af.layers")
class Layer(LayerState):
    """The base of layers: an object that makes its variables when it is first called, and takes them in all later calls.

    A layer of your own makes variables in `build` and computes in `call`.
    Losses and updates that it adds go into the graph's collections REGULARIZATION_LOSSES and UPDATE_OPS too.

    Example:
        >>> class Scale(af.layers.Layer):
        ...     def build(self, input_shape):
        ...         self.factor = self.add_weight("factor", [], initializer=af.constant_initializer(3.0))
        ...         super().build(input_shape)
        ...     def call(self, inputs):
        ...         return inputs * self.factor
        >>> y = Scale()(af.constant([1.0, 2.0]))
        >>> await session.run(af.global_variables_initializer())
        >>> await session.run(y)
        [3. 6.]
    """

    def __init__(
        self,
        trainable: bool = True,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        reuse: bool | None = None,
        activity_regularizer: Regularizer = None,
        _scope: str | VariableScope | None = None,
        _reuse: bool | None = None,
    ) -> None:
        """
        Args:
            trainable: whether optimizers change the variables, unless they are told which to change.
            name: the name of the variable scope; that of the class in snake case unless given. It is made unique.
            reuse: whether the variables exist already, in the scope of that name.
            dtype: the type of the variables; that of the first input unless given.
            activity_regularizer: `f(output)`, or its name, gives a loss that is divided by the size of the batch and added to
                `losses`.
            _scope: the variable scope, in place of a new scope.
            _reuse: the same as `reuse`.

        Raises:
            TypeError: `name` is not a string.
        """
        if name is not None and not isinstance(name, str):
            raise TypeError(f"{self._kind}: the argument `name` must be a string. Received: {name!r:.60}")
        self.trainable = trainable
        self.activity_regularizer = regularizer_of(activity_regularizer)
        self.given_name = name
        self._reuse = _reuse if reuse is None else reuse
        self._dtype = None if dtype is None else as_dtype(dtype)
        if _scope is not None:
            with variable_scope(_scope) as opened:
                self._scope, self._graph = opened, get_default_graph()

    # For subclasses

    def build(self, input_shape: Any) -> None:
        """Makes the variables, by `add_weight`; called once, before the first `call`, with the static shapes of the inputs.

        Example:
            >>> layer = af.layers.Dense(2)
            >>> layer.build([None, 3])
            >>> [v.shape.as_list() for v in layer.weights]
            [[3, 2], [2]]
        """
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The outputs for these inputs. A layer of your own overrides it.

        Args:
            inputs: tensors in the structure that the caller gave.
            args, kwargs: further arguments of the caller.

        Example:
            >>> class Twice(af.layers.Layer):
            ...     def call(self, inputs, times=2.0):
            ...         return inputs * times
            >>> Twice()(af.constant([1.0, 2.0])), Twice()(af.constant([1.0, 2.0]), times=3.0)
            ([2. 4.], [3. 6.])
        """
        return inputs

    def add_weight(
        self,
        name: str,
        shape: ShapeLike,
        dtype: DTypeLike | None = None,
        initializer: Initializer = None,
        regularizer: Regularizer = None,
        trainable: bool | None = None,
        constraint: Constraint = None,
        use_resource: bool | None = None,
        synchronization: Any = None,
        aggregation: Any = None,
        partitioner: Any = None,
    ) -> Variable:
        """Makes a variable in the layer's scope, or takes the variable that it reuses.

        Args:
            name: the name in the scope.
            shape: the shape, fully known.
            dtype: its type; that of the layer unless given, else float32.
            initializer: `f(shape, dtype)`, or its name; by default that of the variable scope, else glorot uniform.
            regularizer: `f(variable)` gives a loss, which is added to `losses` when the variable is made; or its name.
            trainable: whether optimizers change it, if they change the layer's at all; true unless given.
            constraint: a function that optimizers apply to the value after each update, or its name, such as "non_neg".
            use_resource, synchronization, aggregation: accepted for compatibility, without effect.
            partitioner: `f(shape, dtype)` says into how many slices it is cut along each dimension.

        Returns:
            The variable, or with a partitioner a `PartitionedVariable`.

        Raises:
            ValueError: the variable exists and should not, or does not and should; its shape or type differs; or a name
                is that of no initializer, regularizer or constraint.
        """
        loss_of = regularizer_of(regularizer)
        scope = self._opened(None)
        store = store_of(get_default_graph())
        learned = self.trainable and trainable is not False
        with variable_scope(scope, reuse=self.built or self._reuse, auxiliary_name_scope=False) as inner:
            full = f"{inner.name}/{name}" if inner.name else name
            before = len(store.variables) + len(store.partitioned)
            variable = get_variable(
                name,
                shape,
                dtype=self._dtype or float32 if dtype is None else dtype,
                initializer=initializer_of(initializer),
                trainable=learned,
                constraint=constraint_of(constraint),
                partitioner=partitioner,
            )
        # A getter may give the variable another name, so the store tells whether it is new; or something that is no variable.
        is_reused = before == len(store.variables) + len(store.partitioned)
        if loss_of is not None and not (is_reused and isinstance(variable, (Variable, PartitionedVariable))):
            for part in variable if isinstance(variable, PartitionedVariable) else [variable]:
                with get_default_graph().name_scope(None), get_default_graph().name_scope(f"{full}/Regularizer/"):
                    loss = loss_of(part)
                if loss is not None:
                    self.add_loss(loss)
        self._weights.append((variable, learned))
        return variable

    add_variable = add_weight

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Adds a loss, or a list of them, to `losses` and to the collection REGULARIZATION_LOSSES.

        With `inputs`, the loss is one of these: `get_losses_for` tells which.

        Example:
            >>> class Small(af.layers.Layer):
            ...     def call(self, inputs):
            ...         self.add_loss(af.reduce_sum(inputs) * 0.1)
            ...         return inputs
            >>> layer = Small()
            >>> _ = layer(af.placeholder_with_default([1.0, 2.0], [2]))
            >>> await session.run(layer.losses)
            [0.3]
        """
        for loss in losses if isinstance(losses, (list, tuple)) else [losses]:
            self._losses.append(convert_to_tensor(loss() if callable(loss) else loss))
            if inputs is not None:
                self._conditional.add(self._losses[-1])
            _collect(GraphKeys.REGULARIZATION_LOSSES, self._losses[-1])

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Adds an operation that has to run in each training step, or a list of them, to `updates`.

        After the call they are in the collection UPDATE_OPS, unless the layer is not trainable; an optimizer's `minimize` runs
        them. `inputs` is accepted for compatibility: the graph knows what an update depends on.

        Example:
            >>> class Counted(af.layers.Layer):
            ...     def build(self, input_shape):
            ...         self.calls = self.add_weight("calls", [], initializer=af.zeros_initializer(), trainable=False)
            ...     def call(self, inputs):
            ...         self.add_update(self.calls.assign_add(1.0))
            ...         return inputs
            >>> with af.Graph().as_default():
            ...     layer = Counted()
            ...     _ = layer(af.ones([2]))
            ...     print(len(layer.updates))
            1
        """
        for update in updates if isinstance(updates, (list, tuple)) else [updates]:
            self._updates.append(update() if callable(update) else update)

    # For its users

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The outputs for `inputs`, a tensor or a structure of such; the first call makes the variables.

        Args:
            inputs: what `call` takes first: tensors, or arrays that become constants.
            args, kwargs: what else `call` takes; and `scope`, in the first call the variable scope to use instead of a new scope.

        Raises:
            ValueError: the inputs are not as `input_spec` says, are of another graph than those of the first call, or a
                variable exists and should not.
        """
        scope = kwargs.pop("scope", None)
        graph = graph_of(nest.flatten(inputs))
        with graph.as_default():
            opened = self._opened(scope)
            reuse = True if self.built else self._reuse
            with (
                variable_scope(opened, reuse=reuse, auxiliary_name_scope=False) as inner,
                graph.name_scope(inner.original_name_scope),
            ):
                tensors = nest.map_structure(convert_to_tensor, inputs)
                flat = nest.flatten(tensors)
                self._check(flat)
                if not self.built:
                    if self._dtype is None and flat:
                        self._dtype = flat[0].dtype.base_dtype
                    self.build(nest.map_structure(lambda tensor: tensor.shape, tensors))
                    self.built = True
                before = len(self._updates)
                outputs = self.call(tensors, *args, **kwargs)
                if outputs is None:
                    raise ValueError(f"A layer's `call` method should return a Tensor, but {self.name}'s gave None.")
                self._record(tensors, outputs)
                self._regularize(outputs)
            if self.trainable:
                self._collect_updates(graph, inner.name, self._updates[before:], nest.flatten(outputs))
        return outputs

    def apply(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The same as calling the layer.

        Example:
            >>> af.layers.Flatten().apply(af.ones([2, 3, 4])).shape
            TensorShape([2, 12])

        Args:
            inputs: a tensor or a structure of such.
            args, kwargs: what else `call` takes.
        """
        return self(inputs, *args, **kwargs)

    @property
    def name(self) -> str:
        """The name of the scope that holds the variables, without the scopes around it."""
        return self.given_name or self._kind if self._scope is None else self._scope.name.rpartition("/")[2]

    @property
    def scope_name(self) -> str:
        """The full name of the variable scope. Raises ValueError before the first call, which decides it."""
        if self._scope is None:
            raise ValueError(
                f"The layer {self.name!r} has no scope name yet: its first call decides the scope, so call it before."
            )
        return self._scope.name

    @property
    def graph(self) -> Graph | None:
        """The graph of the first call's inputs; None before."""
        return self._graph

    @property
    def dtype(self) -> DType | None:
        """The type of the variables; None while the first input decides it."""
        return self._dtype

    @property
    def trainable_weights(self) -> list[Variable]:
        """The variables that optimizers change; none once `trainable` is false."""
        return [variable for variable, learned in self._weights if learned and self.trainable]

    @property
    def non_trainable_weights(self) -> list[Variable]:
        """The other variables."""
        return [variable for variable, learned in self._weights if not (learned and self.trainable)]

    @property
    def weights(self) -> list[Variable]:
        """All variables, those first that optimizers change."""
        return self.trainable_weights + self.non_trainable_weights

    trainable_variables = trainable_weights
    non_trainable_variables = non_trainable_weights
    variables = weights

    def count_params(self) -> int:
        """How many numbers the variables hold. Raises ValueError before they are made.

        Example:
            >>> layer = af.layers.Dense(10)
            >>> layer.build([None, 3])
            >>> layer.count_params()
            40
        """
        if not self.built:
            raise ValueError(f"The layer {self.name!r} has no variables yet: call it, or its `build`, before.")
        return sum(v.shape.num_elements() or 0 for v in self.weights)

    def __repr__(self) -> str:
        return f"<actorflow.layers.{type(self).__name__} {self.name!r}>"

    # Its own

    @property
    def _kind(self) -> str:
        """The name of the layer's function, and of the scope of a layer without a name."""
        return snake_case(type(self).__name__)

    def _opened(self, scope: str | VariableScope | None) -> VariableScope:
        """The layer's variable scope, chosen when it is first asked for."""
        graph = get_default_graph()
        if self._scope is None:
            name = self.given_name or self._kind
            chosen = name if self._reuse and scope is None else scope
            with variable_scope(chosen, default_name=name) as opened:
                self._scope, self._graph = opened, graph
        if self._graph is not graph:
            raise ValueError(
                describe(
                    f"Input graph and Layer graph are not the same: the variables of the layer {self.name!r} are in another.",
                    where=user_line(),
                    hint="Make a layer for each graph.",
                )
            )
        return self._scope

    def _check(self, inputs: Sequence[Tensor]) -> None:
        if self.input_spec is None:
            return
        specs = first_spec(self.input_spec)
        if len(specs) != len(inputs):
            raise ValueError(f"Layer {self.name!r} expects {len(specs)} input(s), but it received {len(inputs)}.")
        for index, (tensor, spec) in enumerate(zip(inputs, specs)):
            if spec is not None:
                spec.check(tensor, self.name, index)

    def _regularize(self, outputs: Any) -> None:
        if self.activity_regularizer is None:
            return
        with get_default_graph().name_scope("ActivityRegularizer"):
            for output in nest.flatten(outputs):
                loss = convert_to_tensor(self.activity_regularizer(output))
                self.add_loss(loss / cast(shape_of(output)[0], loss.dtype), inputs=output)

    def _collect_updates(
        self, graph: Graph, scope: str, updates: Sequence[Operation | Tensor], outputs: Sequence[Any]
    ) -> None:
        if updates:
            for update in updates:
                _collect(GraphKeys.UPDATE_OPS, update)
            tensors = tuple(output for output in outputs if isinstance(output, Tensor))
            record_updates(graph, LayerUpdates(scope, user_line(), tuple(updates), tensors))


def _collect(key: str, value: Any) -> None:
    """Adds `value` to a collection of the default graph, once."""
    graph = get_default_graph()
    if not any(stored is value for stored in graph.get_collection(key)):
        graph.add_to_collection(key, value)
