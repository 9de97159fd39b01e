"""`eager`: where ops run at once. It is a question of which graph is the default one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import Any

from actorflow.errors import describe
from actorflow.graph import scopes
from actorflow.graph.graph import Graph, get_default_graph, set_process_graph
from actorflow.public import public
from actorflow.user_line import user_line


def eager_graph() -> Graph:
    """The graph that runs each node as it is made. It is imported when it is first asked for."""
    global _graph
    if _graph is None:
        import actorflow.eager.dispatch  # noqa: F401  (it tells the ops of tensors that have values)
        from actorflow.eager.graph import GRAPH

        _graph = GRAPH
    return _graph


_graph: Graph | None = None


@public("af")
class eager:
    """A block in which ops run at once, and give tensors that have their values.

        with af.eager():
            x = af.constant(3.0)
            while x > 1.0:
                x = x / 2.0
            print(float(x))

    It belongs to the coroutine or thread that enters it. Inside of `with graph.as_default():` ops add nodes to that graph
    again. Tensors keep their values after the block, and what is computed from them outside of any entered graph is
    computed at once too.
    """

    def __init__(self) -> None:
        self._entered: list[AbstractContextManager[Graph]] = []

    def __enter__(self) -> None:
        self._entered.append(eager_graph().as_default())
        self._entered[-1].__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered.pop().__exit__(kind, error, trace)


@public("af")
def enable_eager_execution(config: Any = None, device_policy: Any = None, execution_mode: Any = None) -> None:
    """From now on ops run at once in the whole process, wherever no graph is entered (`tf.enable_eager_execution`).

    It may be called at any time. Inside of `with graph.as_default():` ops add nodes as before. Prefer `with af.eager():`,
    which ends.

    Args:
        config, device_policy, execution_mode: accepted for compatibility, without effect.
    """
    set_process_graph(eager_graph())


@public("af")
def disable_eager_execution() -> None:
    """Takes `enable_eager_execution` back: ops add to a new default graph from now on (`tf.disable_eager_execution`)."""
    from actorflow.graph.graph import process_graph

    if process_graph().eager:
        set_process_graph(Graph())


@public("af")
def executing_eagerly() -> bool:
    """Whether an op that is called here runs at once: not inside of a graph, nor while a function is traced."""
    return get_default_graph().eager


@public("af")
@contextmanager
def init_scope() -> Iterator[None]:
    """A block that is outside of functions that are being traced (`tf.init_scope`): what is made in it is made once, at once, and
    no tape watches it. Inside of a graph that is entered it changes nothing."""
    from actorflow.eager.tapes import recording as tapes

    entered = scopes.entered_graph()
    if entered is not None and not entered.eager and not entered.takes_values:
        yield
        return
    with eager_graph().as_default(), tapes.only(()):
        yield


def eager_handle_graph() -> Any:
    """The graph of the function that is being traced here, or None where ops run at once.

    Raises:
        RuntimeError: another graph is entered.
    """
    found = graph_for_values()
    return None if found.eager else found


def graph_for_values() -> Graph:
    """The graph to which an op adds whose inputs have values.

    Raises:
        RuntimeError: a graph is entered that is neither eager nor of a function that is being traced.
    """
    entered = scopes.entered_graph()
    if entered is None or entered.eager:
        return _graph or eager_graph()
    if entered.takes_values:
        return entered
    raise RuntimeError(
        describe(
            "Attempting to capture an EagerTensor without building a function: a tensor that has its value can't be an "
            "input of a node of this graph.",
            where=user_line(),
            hint="Take its value in as a constant, af.constant(x.numpy()), or feed it; or compute outside of the graph.",
        )
    )
