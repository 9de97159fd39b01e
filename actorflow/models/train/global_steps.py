"""The global step: the variable that counts a graph's training steps (`tf.train.get_or_create_global_step`)."""

from __future__ import annotations

from typing import Any

from actorflow.base.dtypes import int64
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.graph import Graph
from actorflow.graph.variables.collections import GraphKeys
from actorflow.graph.variables.initializers import Zeros
from actorflow.graph.variables.scope import get_variable
from actorflow.graph.variables.variable import Variable
from actorflow.public import public


@public("af.train")
def get_global_step(graph: Graph | None = None) -> Variable | None:
    """The global step of `graph` (the default graph), or None for a graph without a step.

    Example:
        >>> with af.Graph().as_default() as graph:
        ...     print(af.train.get_global_step())
        ...     step = af.train.create_global_step()
        None
        >>> af.train.get_global_step(graph) is step
        True

    Raises:
        ValueError: the collection GLOBAL_STEP holds several.
        TypeError: what it holds is no integer scalar.
    """
    graph = graph or get_default_graph()
    steps = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(steps) > 1:
        raise ValueError("Multiple tensors in global_step collection.")
    if not steps:
        steps = [v for v in graph.get_collection(GraphKeys.GLOBAL_VARIABLES) if v.name == "global_step:0"]
    if not steps:
        return None
    assert_global_step(steps[0])
    step: Variable = steps[0]
    return step


@public("af.train")
def create_global_step(graph: Graph | None = None) -> Variable:
    """Makes the global step, an int64 scalar that starts at 0. Raises ValueError if the graph has a global step.

    Example:
        >>> step = af.train.create_global_step()
        >>> await session.run(step.initializer)
        >>> await session.run(step.assign_add(1))
        1
    """
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default(), graph.name_scope(None):
        step: Variable = get_variable(
            GraphKeys.GLOBAL_STEP,
            shape=[],
            dtype=int64,
            initializer=Zeros(),
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )
    if not graph.get_collection(GraphKeys.GLOBAL_STEP):  # eager execution has no collections; this one variable is kept
        graph._collections[GraphKeys.GLOBAL_STEP] = [step]
    return step


@public("af.train")
def get_or_create_global_step(graph: Graph | None = None) -> Variable:
    """The global step, which is made if the graph has none.

    Example:
        >>> with af.Graph().as_default():
        ...     step = af.train.get_or_create_global_step()
        ...     print(step.name, af.train.get_or_create_global_step() is step)
        global_step:0 True
    """
    step = get_global_step(graph)
    return create_global_step(graph) if step is None else step


@public("af.train")
def assert_global_step(global_step_tensor: Any) -> None:
    """Raises TypeError unless it is a variable (or tensor) that holds one integer.

    Example:
        >>> af.train.assert_global_step(af.train.get_or_create_global_step())
        >>> af.train.assert_global_step(af.placeholder(af.float32, [2]))
        Traceback (most recent call last):
            ...
        TypeError: Existing "global_step" does not have integer type: float32
    """
    if not hasattr(global_step_tensor, "dtype") or not hasattr(global_step_tensor, "static_shape"):
        raise TypeError(f'Existing "global_step" must be a Variable or Tensor: {global_step_tensor!r:.80}.')
    if not global_step_tensor.dtype.base_dtype.is_integer:
        raise TypeError(f'Existing "global_step" does not have integer type: {global_step_tensor.dtype}')
    if global_step_tensor.static_shape not in ((), None):
        raise TypeError(f'Existing "global_step" is not scalar: {global_step_tensor.shape}')


@public("af.train")
def global_step(sess: Any, global_step_tensor: Any) -> int:
    """The number of steps so far, read through a blocking session.

    Example:
        >>> with af.Graph().as_default() as graph:
        ...     step = af.train.create_global_step()
        ...     with af.blocking.Session(graph=graph) as blocking:
        ...         blocking.run(step.initializer)
        ...         print(af.train.global_step(blocking, step))
        0
    """
    return int(sess.run(global_step_tensor))
