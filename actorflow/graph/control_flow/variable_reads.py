"""Reads of variables where a program names them: in loops, branches and functions.

All uses of a variable outside of `control_dependencies` share one read. A branch or a loop that begins behind a write of the
variable, since its predicate or a value that it starts from waits for that, has a read of its own.

Inside of a loop that changes the variable, each iteration reads it, when all values of the loop's variables are there. Whether a
loop does so shows at its end: until then its nodes take the read as it was before the loop.
"""

from __future__ import annotations

from actorflow.graph import scopes
from actorflow.graph.control_flow.context import Context, current
from actorflow.graph.control_flow.loop_context import WhileContext
from actorflow.graph.control_flow.writes import PASSING, written_before
from actorflow.graph.ops.state.variable import read_variable
from actorflow.graph.tensor import Tensor


def read_here(handle: Tensor, shared: Tensor) -> Tensor:
    """The tensor that a use of a variable takes in this place.

    Args:
        handle: the reference of the variable.
        shared: the read that its uses at the root share.
    """
    graph = handle.graph
    if scopes.of(graph).controls:
        return read_variable(handle, name="read")
    flow = current(graph)
    if flow is None:
        return shared
    around = flow.chain()
    waiting = next((context for context in around if context.controls or _behind(context, handle)), None)
    if waiting is not None:  # what is around it waits for more than the shared read does, and this use belongs to it
        if handle.tensor_id not in waiting.reads:
            controls = (*waiting.controls, scopes.ControlScope(_behind(waiting, handle)))
            with scopes.changed(graph, flow=waiting.parent, controls=controls):
                waiting.reads[handle.tensor_id] = read_variable(handle, name="read")
        shared = waiting.reads[handle.tensor_id]
    for context in around:
        context.named[shared.tensor_id] = handle
    return shared


def _behind(context: Context, handle: Tensor) -> tuple[str, ...]:
    """The nodes that a branch or a loop begins with, where a write of a variable is among their ancestors."""
    written = context.written_before
    if written is None:
        written = context.written_before = {}
        for start in context.starts():
            for variable in written_before(start.op):
                written.setdefault(variable, []).append(start.op.name)
    return tuple(written.get(handle.tensor_id, ()))


def read_in_each_iteration(loop: WhileContext) -> None:
    """Lets a finished loop read the variables that it names and changes again in each iteration."""
    for shared, handle in loop.named.items():
        inside = loop.captured.get(shared)
        if inside is not None and loop.is_invariant(inside) and _is_written(loop, handle):
            reference = loop.capture(handle)
            loop.graph.rewrite(
                inside.op,
                op=read_variable.definition.type,
                inputs=(reference.tensor_id,),
                controls=tuple(variable.merged.op.name for variable in loop.variables),
                attrs={},
            )
            loop.is_no_invariant(inside)


def _is_written(loop: WhileContext, handle: Tensor) -> bool:
    """Whether a node of the loop, or of a loop or branch in it, changes a variable."""
    graph = loop.graph
    passed = [handle]
    for tensor in passed:
        for operation in graph.consumers(tensor.tensor_id):
            if operation.type in PASSING:
                passed.extend(output for output in operation.outputs if output.dtype.is_ref)
            elif operation.definition.writes or operation.type == "Call":
                flow = graph.flow_of(operation.name)
                if flow is not None and loop in flow.chain():
                    return True
    return False
