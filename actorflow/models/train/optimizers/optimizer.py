"""`Optimizer`: from a loss to an operation that changes variables (`tf.train.Optimizer`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, TypeAlias

from actorflow.base import dialect, nest
from actorflow.base.dtypes import DType
from actorflow.base.reports.user_line import user_line
from actorflow.errors import describe, with_topic
from actorflow.graph.autodiff.gradients import gradients
from actorflow.graph.autodiff.reasons import why_none
from actorflow.graph.autodiff.walk import together
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.indexed_slices import IndexedSlices
from actorflow.graph.ops.state.variable import assign_add_target
from actorflow.graph.scopes import of
from actorflow.graph.tensor import Operation, Tensor
from actorflow.graph.variables.collections import GraphKeys
from actorflow.graph.variables.updates import updates_of
from actorflow.graph.variables.variable import Variable
from actorflow.models.train.optimizers.application import UpdateApplication
from actorflow.public import public

_MOST_SHOWN = 4
GradientAndVariable: TypeAlias = "tuple[Tensor | IndexedSlices | None, Variable]"


@public("af.train")
class Optimizer(UpdateApplication):
    """The base of optimizers. `minimize(loss)` is `compute_gradients(loss)`, then `apply_gradients`; between the two a
    program may clip or average gradients.

    A subclass gives `_apply_dense(grad, var)` and `_apply_sparse(grad, var)`, which return the operation that changes
    one variable; `_create_slots(var_list)`, which makes what it keeps for each; and `_prepare()`, which makes tensors
    of its parameters. Each variable is changed by one atomic operation on its own device, in no order among them.

    Example:
        >>> v = af.Variable([3.0, 4.0])
        >>> optimizer = af.train.GradientDescentOptimizer(1.0)
        >>> ((slope, _),) = optimizer.compute_gradients(af.nn.l2_loss(v), [v])
        >>> step = optimizer.apply_gradients([(af.clip_by_norm(slope, 1.0), v)])
        >>> await session.run(af.global_variables_initializer())
        >>> await session.run(step)
        >>> await session.run(v)
        [2.4 3.2]
    """

    GATE_NONE: ClassVar[int] = 0
    GATE_OP: ClassVar[int] = 1
    GATE_GRAPH: ClassVar[int] = 2
    _DTYPES: ClassVar[frozenset[str]] = frozenset(("bfloat16", "float16", "float32", "float64"))

    def __init__(self, use_locking: bool, name: str) -> None:
        """
        Args:
            use_locking: accepted for compatibility, without effect: updates are atomic.
            name: the prefix of the names of the operations and slots.

        Raises:
            ValueError: the name is empty.
        """
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking = use_locking
        self._name = name
        self._slots = {}
        self._non_slots = {}

    def get_name(self) -> str:
        """The name that the optimizer was given, or that of its kind.

        Example:
            >>> af.train.AdamOptimizer().get_name()
            'Adam'
        """
        return self._name

    def minimize(
        self,
        loss: Tensor,
        global_step: Variable | None = None,
        var_list: Sequence[Variable] | None = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Tensor | None = None,
    ) -> Operation:
        """An operation that changes variables so as to make `loss` smaller.

        It also runs the updates in UPDATE_OPS that belong to the loss. They are those of layers whose outputs the loss needs,
        such as the moving averages of a batch normalization, and those that need no placeholder beside the loss's own. Modules
        that import `actorflow.compat.v1` do that themselves, as with TensorFlow.

        Example:
            >>> v = af.Variable(3.0)
            >>> step = af.train.GradientDescentOptimizer(0.1).minimize(v * v)
            >>> await session.run(v.initializer)
            >>> await session.run(step)
            >>> await session.run(v)
            2.4

        Args:
            loss: a floating-point tensor, the sum of whose elements is minimised; in eager execution a function that gives it.
            global_step: a variable that is increased by 1 when all others have been changed.
            var_list: the variables to change; all trainable variables of the graph unless given.
            gate_gradients: GATE_NONE, GATE_OP or GATE_GRAPH; see `compute_gradients`.
            aggregation_method: a value of `af.AggregationMethod`; see `af.gradients`.
            colocate_gradients_with_ops: whether to place the gradient of each operation on the operation's device.
            name: the name of the operation; the optimizer's unless given.
            grad_loss: weights of the loss's elements, of the loss's shape; 1 unless given.

        Raises:
            ValueError: there is no variable to change, or none of them has a gradient.
            TypeError: the loss is not a floating-point tensor, or a variable has another type.
        """
        pairs = self.compute_gradients(
            loss,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        if all(gradient is None for gradient, _ in pairs):
            names = [v.name for _, v in pairs[:_MOST_SHOWN]] + ["..."] * (len(pairs) > _MOST_SHOWN)
            raise ValueError(
                describe(
                    "No gradients provided for any variable, check your graph for ops that do not support gradients, "
                    f"between variables {names} and loss {loss!r}.",
                    where=user_line(),
                    details=[]
                    if callable(loss)
                    else [f"{v.name}: {why_none([loss], v.handle)}" for _, v in pairs[:_MOST_SHOWN]],
                )
            )
        if callable(loss):
            return self.apply_gradients(pairs, global_step=global_step, name=name)
        updates = [] if dialect.speaks_v1() else updates_of(loss)
        if not updates:
            return self.apply_gradients(pairs, global_step=global_step, name=name)
        with loss.graph.control_dependencies(updates):
            return self.apply_gradients(pairs, global_step=global_step, name=name)

    def compute_gradients(
        self,
        loss: Tensor,
        var_list: Sequence[Variable] | None = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Tensor | None = None,
    ) -> list[GradientAndVariable]:
        """The pairs (gradient, variable) for the variables; the gradient is None where the loss does not depend on the
        variable.

        Args:
            loss: a floating-point tensor, the sum of whose elements is minimised; in eager execution a function that gives it.
            var_list: the variables, or a single variable; all trainable variables of the loss's graph unless given. A
                tensor among them gets its gradient too, but can't be updated.
            gate_gradients: GATE_GRAPH makes all gradients available at once. In TensorFlow GATE_OP keeps a variable
                from being changed while another gradient of the same op still reads it; here a read is a snapshot that
                no change touches, so GATE_OP adds nothing to GATE_NONE.
            aggregation_method: how several gradients of one tensor are added: a value of `af.AggregationMethod`.
            colocate_gradients_with_ops: whether to place the gradient of each operation on the operation's device.
            grad_loss: weights of the loss's elements, of the loss's shape; 1 unless given.

        Raises:
            ValueError: there is no variable, or `gate_gradients` is not one of the three.
            TypeError: `loss` or a variable does not have a floating-point type, or an entry of `var_list` is neither a
                variable nor a tensor.
        """
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH.  "
                f"Not {gate_gradients}"
            )
        if callable(loss):
            return self._of_function(loss, var_list, grad_loss)
        loss = convert_to_tensor(loss)
        self._check_type(loss.dtype, loss.name)
        if grad_loss is not None:
            self._check_type(convert_to_tensor(grad_loss).dtype, "grad_loss")
        if var_list is None:
            variables = loss.graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)
        else:
            variables = nest.listed(var_list)
        if not variables:
            raise ValueError(
                describe(
                    "No variables to optimize.",
                    where=user_line(),
                    hint=with_topic(
                        "Make what is to be learned with af.Variable or af.get_variable, with trainable=True, in the graph "
                        "of the loss.",
                        "nothing-to-train",
                    ),
                )
            )
        for variable in variables:
            if not isinstance(variable, (Variable, Tensor)):
                raise TypeError(f"Argument is not a variable: {variable!r:.80}")
        slopes = gradients(
            loss,
            variables,
            grad_ys=None if grad_loss is None else [grad_loss],
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            aggregation_method=aggregation_method,
        )
        if gate_gradients == self.GATE_GRAPH:
            slopes = together(slopes)
        for gradient, variable in zip(slopes, variables):
            if gradient is not None:
                self._check_type(variable.dtype, variable.name)
        return list(zip(slopes, variables))

    def _of_function(self, loss: Callable[[], Any], var_list: Any, grad_loss: Any) -> list[GradientAndVariable]:
        """The pairs for a function that gives the loss: what eager programs have in the place of a node."""
        from actorflow.engine.eager.tapes.gradient_tape import GradientTape

        with GradientTape() as tape:
            if var_list is not None:
                tape.watch(nest.listed(var_list))
            value = loss()
            self._check_type(value.dtype, "the loss")
            variables = list(tape.watched_variables()) if var_list is None else nest.listed(var_list)
        if not variables:
            raise ValueError(describe("No variables to optimize: the loss reads no trainable one.", where=user_line()))
        return list(zip(tape.gradient(value, variables, output_gradients=grad_loss), variables))

    def apply_gradients(
        self,
        grads_and_vars: Iterable[GradientAndVariable],
        global_step: Variable | None = None,
        name: str | None = None,
    ) -> Operation:
        """An operation that changes each variable by its gradient; pairs without a gradient are left out.

        Args:
            grads_and_vars: pairs (gradient, variable), as `compute_gradients` returns them.
            global_step: a variable that is increased by 1 when all others have been changed.
            name: the name of the operation; the optimizer's unless given.

        Raises:
            ValueError: there are no pairs, or none with a gradient.
            TypeError: an entry is not a pair of a tensor and a variable.
        """
        pairs = list(grads_and_vars)
        if not pairs:
            raise ValueError("No variables provided.")
        updates = [(_checked(gradient, variable), variable) for gradient, variable in pairs if gradient is not None]
        if not updates:
            raise ValueError(
                describe(
                    f"No gradients provided for any variable: {[str(v.name) for _, v in pairs]}.", where=user_line()
                )
            )
        variables = [variable for _, variable in updates]
        graph = variables[0].graph
        if (tower := of(graph).tower) is not None:
            return tower.apply(self, pairs, global_step, name)
        with graph.as_default():
            with graph.control_dependencies(None):
                self._create_slots(variables)
            with graph.name_scope(name or self._name) as scope:
                self._prepare()
                operations = []
                for gradient, variable in updates:
                    with graph.name_scope(f"update_{variable.op.name}"), graph.colocate_with(variable.handle):
                        operations.append(self._update(gradient, variable))
                if global_step is None:
                    train_op = self._finish(operations, scope)
                else:
                    with graph.control_dependencies([self._finish(operations, "update")]):
                        train_op = assign_add_target(global_step, 1, name=scope)
            graph.add_to_collection(GraphKeys.TRAIN_OP, train_op)
        return train_op

    def get_slot(self, var: Variable, name: str) -> Variable | None:
        """The variable that the optimizer keeps for `var` under this name (see `get_slot_names`), or None.

        Example:
            >>> v = af.Variable(3.0, name="v")
            >>> optimizer = af.train.MomentumOptimizer(0.1, 0.9)
            >>> step = optimizer.minimize(v * v)
            >>> slot = optimizer.get_slot(v, "momentum")
            >>> await session.run(slot.initializer)
            >>> await session.run(slot)
            0.0
        """
        return self._slots.get(name, {}).get(var)

    def get_slot_names(self) -> list[str]:
        """The names of what the optimizer keeps for each variable.

        Example:
            >>> with af.Graph().as_default():
            ...     v, optimizer = af.Variable(3.0), af.train.AdamOptimizer()
            ...     step = optimizer.minimize(v * v)
            >>> optimizer.get_slot_names()
            ['m', 'v']
        """
        return sorted(self._slots)

    def variables(self) -> list[Variable]:
        """All variables that the optimizer keeps, in the order of their names.

        Example:
            >>> with af.Graph().as_default():
            ...     v, optimizer = af.Variable(3.0, name="v"), af.train.MomentumOptimizer(0.1, 0.9)
            ...     step = optimizer.minimize(v * v)
            >>> [kept.name for kept in optimizer.variables()]
            ['v/Momentum:0']
        """
        kept = [*self._non_slots.values(), *(v for slots in self._slots.values() for v in slots.values())]
        return sorted(kept, key=lambda v: v.name)

    def _check_type(self, dtype: DType, what: str) -> None:
        if dtype.name not in self._DTYPES:
            raise TypeError(
                describe(
                    f"Invalid type {dtype} for {what}, expected: {sorted(self._DTYPES)}.",
                    where=user_line(),
                    hint="Only floating numbers have gradients: make the variables and the loss such, as af.Variable(1.0) does.",
                )
            )


def _checked(gradient: Any, variable: Any) -> Tensor | IndexedSlices:
    if not isinstance(variable, Variable):
        raise TypeError(f"Argument is not a variable: {variable!r:.80}")
    if isinstance(gradient, IndexedSlices):
        return gradient
    try:
        return convert_to_tensor(gradient, variable.dtype, graph=variable.graph)
    except (TypeError, ValueError) as error:
        raise TypeError(f"Gradient must be a Tensor, IndexedSlices, or None: {gradient!r:.80}. {error}") from None
