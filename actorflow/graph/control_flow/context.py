"""The context in which nodes are made: inside of a branch, or of a loop.

While a function of `cond` or `while_loop` runs, its context is the flow in force, and each new node passes through
`admit`. Tensors from outside are brought in by the primitive that the context has for it, once each. A node that would
depend on nothing inside waits for the context's pivot, so that the node runs just when the branch or iteration does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from actorflow.base.reports.user_line import user_line
from actorflow.errors import describe
from actorflow.graph import scopes
from actorflow.graph.analysis.frames import is_free
from actorflow.graph.graph import Graph
from actorflow.graph.node import TensorId
from actorflow.graph.ops.array.constant import constant
from actorflow.graph.ops.flow.control import identity
from actorflow.graph.tensor import Operation, Tensor


class Context:
    """The common part of branches and loops. `parent` is the context around it, None at the root."""

    def __init__(self, graph: Graph, name: str, parent: Context | None) -> None:
        self.graph = graph
        self.name = name
        self.parent = parent
        self.where = user_line()
        self.pivot: Operation | None = None
        self.captured: dict[TensorId, Tensor] = {}
        """The tensors that were brought in, by the outside tensor."""
        self.controls = scopes.of(graph).controls
        """The control dependencies under which it was made."""
        self.reads: dict[TensorId, Tensor] = {}
        """The reads of variables that wait for these, by the variable's handle."""
        self._tokens: dict[str, Tensor] = {}
        """For each outer node that an inner node waits for, the constant that waits for the outer node."""
        self.named: dict[TensorId, Tensor] = {}
        """The handles of the variables that its nodes take, by the read of each."""
        self.written_before: dict[TensorId, list[str]] | None = None
        """By handle, the nodes that it begins with and that are behind a write of the variable."""

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Nodes made inside the block are in this context."""
        with scopes.changed(self.graph, flow=self, controls=()):
            yield

    def admit(self, op: str, inputs: Sequence[Tensor], controls: Sequence[str]) -> tuple[list[Tensor], tuple[str, ...]]:
        """See `actorflow.graph.scopes.FlowScope`."""
        admitted = [self.capture(tensor) for tensor in inputs]
        kept = tuple(control for control in controls if self._keeps(control))
        entered = tuple(self._bring_control(c) for c in controls if c not in kept and not is_free(self.graph.nodes[c]))
        if op == "Const" and not kept and not entered or self.pivot is None:
            return admitted, kept + entered
        inside = any(not is_free(t.op.node) and not self.is_invariant(t) for t in admitted)
        if not inside and not any(self._holds(control) for control in kept):
            kept = (*kept, self.pivot.name)
        return admitted, kept + entered

    def _bring_control(self, control: str) -> str:
        """The name of an inner node that waits for an outer node: a constant that waits for that node is brought in."""
        token = self._tokens.get(control)
        if token is None:
            around = scopes.changed(self.graph, flow=self.graph.flow_of(control), controls=(), devices=(), colocate=())
            with around, self.graph.name_scope(f"{self.name}/"):
                with self.graph.control_dependencies([self.graph.get_operation_by_name(control)]):
                    token = self._tokens[control] = constant(0, name="after")
        return self.capture(token).op.name

    def capture(self, tensor: Tensor) -> Tensor:
        """`tensor` as it is inside. Raises ValueError for a tensor inside of another branch or loop."""
        flow = self.graph.flow_of(tensor.op.name)
        if flow is self or is_free(tensor.op.node) and not self._counts(tensor, flow):
            return tensor
        inner = self.captured.get(tensor.tensor_id)
        if inner is None:
            outer = self.parent.capture(tensor) if self.parent is not None else outside(tensor)
            inner = self.captured.get(outer.tensor_id)
            if inner is None:
                # no device: it is brought in for all who use it, and a handle has to stay with its variable
                around = scopes.changed(self.graph, flow=self.parent, controls=(), devices=(), colocate=())
                with around, self.graph.name_scope(f"{self.name}/"):
                    inner = self.captured[outer.tensor_id] = self.bring(outer)
            self.captured[tensor.tensor_id] = inner
        return inner

    def bring(self, outer: Tensor) -> Tensor:
        """Makes the node that brings `outer`, of the parent, in."""
        raise NotImplementedError

    def is_invariant(self, tensor: Tensor) -> bool:
        """Whether a tensor in here is there whatever the branch or iteration."""
        return False

    def starts(self) -> list[Tensor]:
        """The tensors of the parent without which it does not begin."""
        return []

    @property
    def loop(self) -> Context | None:
        """The innermost loop that this is in, or is."""
        return self.parent.loop if self.parent is not None else None

    def chain(self) -> list[Context]:
        """This context and the contexts around it, from the inside out."""
        contexts: list[Context] = []
        context: Context | None = self
        while context is not None:
            contexts.append(context)
            context = context.parent
        return contexts

    def _counts(self, constant: Tensor, flow: Context | None) -> bool:
        """Whether a constant is brought in like other tensors, though it is there everywhere: an outer constant that
        may have a gradient, which is the sum over the iterations or comes out of the branch."""
        return constant.dtype.kind in "fc" and (flow is None or flow in self.chain())

    def _holds(self, control: str) -> bool:
        """Whether what waits for a node runs just when this branch or iteration does."""
        return self.graph.flow_of(control) is self and not is_free(self.graph.nodes[control])

    def _keeps(self, control: str) -> bool:
        """Whether a control input stays: a node from around the loop has to be brought in."""
        owner: Context | None = self.graph.flow_of(control)
        around = owner.loop if owner is not None else None
        if around is self.loop:
            return True
        if around is None or around in self.chain():
            return False
        raise ValueError(
            describe(
                f"{control} is inside of {owner}, and nothing outside can wait for it.",
                where=user_line(),
                hint="Wait for an output of the loop.",
            )
        )


class _AsTheyAre:
    """A flow that lets inputs from inside of branches pass."""

    def admit(self, op: str, inputs: Sequence[Tensor], controls: Sequence[str]) -> tuple[list[Tensor], tuple[str, ...]]:
        return list(inputs), tuple(controls)


def join(graph: Graph, parent: Context | None, tensors: Sequence[Tensor]) -> Tensor:
    """A Merge, in the context `parent`, of tensors that are inside of its branches."""
    with scopes.changed(graph, flow=_AsTheyAre(), controls=()):
        merge = graph.create_op("Merge", tensors, {}, "Merge")
    graph.set_flow(merge, parent)
    return merge.outputs[0]


def outside(tensor: Tensor) -> Tensor:
    """`tensor` itself, which has to be in no branch or loop. Raises ValueError."""
    flow = tensor.graph.flow_of(tensor.op.name)
    if flow is not None:
        raise ValueError(
            describe(
                f"{tensor.name} is inside of {flow}, and can't be used outside.",
                node=tensor.op.name,
                where=tensor.where,
                hint="Return it from the function that makes it.",
            )
        )
    return tensor


def current(graph: Graph) -> Context | None:
    """The context in force for `graph` here."""
    flow: Any = scopes.of(graph).flow
    return flow  # type: ignore[no-any-return]


class CondContext(Context):
    """One branch of a `cond`: its nodes run where `pred` (a tensor of the parent) is `branch`."""

    def __init__(self, graph: Graph, name: str, parent: Context | None, pred: Tensor, branch: bool) -> None:
        super().__init__(graph, name, parent)
        self.pred = pred
        self.branch = branch
        self.twin: CondContext | None = None
        self.lifted: dict[TensorId, Tensor] = {}
        """The tensors that were made available outside, for gradients of a loop around."""

    @classmethod
    def pair(cls, graph: Graph, name: str, parent: Context | None, pred: Tensor) -> tuple[CondContext, CondContext]:
        """The contexts of the false and of the true branch. `name` is the scope of their nodes."""
        no, yes = (cls(graph, name, parent, pred, branch) for branch in (False, True))
        no.twin, yes.twin = yes, no
        for side in (no, yes):
            with side.entered():
                side.pivot = identity(pred, name="switch_t" if side.branch else "switch_f").op
        return no, yes

    def starts(self) -> list[Tensor]:
        return [self.pred]

    def bring(self, outer: Tensor) -> Tensor:
        switch = self.graph.create_op("Switch", [outer, self.pred], {}, "Switch")
        self.graph.set_flow(switch, self)
        return switch.outputs[self.branch]

    def __str__(self) -> str:
        return f"the {'true' if self.branch else 'false'} branch of the cond made at {self.where}"
