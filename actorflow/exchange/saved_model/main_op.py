"""`tf.saved_model.main_op`: operations that a loader runs when it has restored the variables."""

from __future__ import annotations

from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.ops.flow.control import group
from actorflow.graph.tensor import Operation
from actorflow.graph.variables.collections import global_variables_initializer, local_variables_initializer
from actorflow.models.lookup.tables import tables_initializer
from actorflow.public import public

public("af.saved_model:main_op")


def main_op() -> Operation:
    """Initialises all variables and tables of the default graph."""
    return group(global_variables_initializer(), local_variables_initializer(), tables_initializer())


@public("af.saved_model")
def main_op_with_restore(restore_op_name: str) -> Operation:
    """Initialises all variables and tables of the default graph, and then runs an operation that restores variables
    (`tf.saved_model.main_op_with_restore`).

    Example:
        >>> v = af.Variable(3.0)
        >>> main = af.saved_model.main_op_with_restore(v.assign(10.0).op)
        >>> await session.run(main)
        >>> await session.run(v)
        10.0

    Args:
        restore_op_name: the operation's name.
    """
    graph = get_default_graph()
    with graph.control_dependencies([main_op()]):
        return group(graph.as_graph_element(restore_op_name))
