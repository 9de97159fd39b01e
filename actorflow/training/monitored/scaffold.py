"""`Scaffold`: the parts of a graph that a training needs beside its steps (`tf.train.Scaffold`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from actorflow.base.reports.logs import get_logger
from actorflow.engine.formats import installed
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.ops.flow.control import group
from actorflow.graph.variables.collections import (
    GraphKeys,
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)
from actorflow.models.summary.ops import merge_all
from actorflow.models.train.saving.saver import Saver
from actorflow.public import public
from actorflow.training.supervisor.model_state import ModelState

_LOG = get_logger("training")
_FIELDS = (
    "init_op",
    "init_feed_dict",
    "ready_op",
    "ready_for_local_init_op",
    "local_init_op",
    "summary_op",
    "saver",
    "local_init_feed_dict",
)


@public("af.train")
class Scaffold:
    """Initial values, checks, summaries and the saver of a training. A part that is not given is found in the graph's
    collections, or made by `finalize`.

    Example:
        >>> v, w = af.Variable(3.0), af.Variable(0.0)
        >>> scaffold = af.train.Scaffold(init_op=af.group(v.initializer, w.assign(10.0)))
        >>> async with af.train.MonitoredSession(af.train.ChiefSessionCreator(scaffold)) as session:
        ...     print(*await session.run([v, w]))
        3.0 10.0

    Args:
        init_op: gives variables their initial values, if there is no checkpoint.
        init_feed_dict: values that are fed to it.
        init_fn: called as `init_fn(scaffold, session)` after it, if there is no checkpoint. It may be an `async def`.
            In a blocking training it is called on a thread of its own, with a blocking session.
        ready_op: gives the names of variables that have no value.
        ready_for_local_init_op: the same, asked before `local_init_op`.
        local_init_op: gives local variables and tables their values.
        summary_op: the summary of all of the graph.
        saver: saves and restores.
        copy_from_scaffold: what is not given is taken from this scaffold.
        local_init_feed_dict: values that are fed to `local_init_op`.

    Raises:
        TypeError: `copy_from_scaffold` is no Scaffold.
    """

    init_op: Any
    init_feed_dict: Mapping[Any, Any] | None
    ready_op: Any
    ready_for_local_init_op: Any
    local_init_op: Any
    summary_op: Any
    saver: Any
    local_init_feed_dict: Mapping[Any, Any] | None
    _user_init_fn: Callable[[Scaffold, Any], Any] | None

    def __init__(
        self,
        init_op: Any = None,
        init_feed_dict: Mapping[Any, Any] | None = None,
        init_fn: Callable[[Scaffold, Any], Any] | None = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        local_init_op: Any = None,
        summary_op: Any = None,
        saver: Any = None,
        copy_from_scaffold: Scaffold | None = None,
        local_init_feed_dict: Mapping[Any, Any] | None = None,
    ) -> None:
        if copy_from_scaffold is not None and not isinstance(copy_from_scaffold, Scaffold):
            raise TypeError("copy_from_scaffold is not a Scaffold instance.")
        arguments = locals()
        for field in _FIELDS:
            value = arguments[field]
            if value is None and copy_from_scaffold is not None:
                value = getattr(copy_from_scaffold, field)
            setattr(self, field, value)
        if init_fn is None and copy_from_scaffold is not None:
            init_fn = copy_from_scaffold._user_init_fn
        self._user_init_fn = init_fn
        self._format = installed.default()
        self.model: ModelState | None = None
        """The nodes that a supervisor runs, once they have been made."""

    @property
    def init_fn(self) -> Callable[[Any], Any] | None:
        """`init_fn`, as a function of the session alone."""
        function = self._user_init_fn
        return None if function is None else lambda session: function(self, session)

    def finalize(self) -> Scaffold:
        """Makes what is missing, and finalizes the default graph. Further calls do nothing.

        Example:
            >>> with af.Graph().as_default() as graph:
            ...     v = af.Variable(3.0)
            ...     scaffold = af.train.Scaffold().finalize()
            >>> scaffold.init_op.name, graph.finalized
            ('init', True)

        Raises:
            RuntimeError: a collection has several entries and may have only a single entry.
        """
        graph = get_default_graph()
        self.build()
        if not graph.finalized:
            graph.finalize()
            _LOG.debug("Graph was finalized.")
        return self

    def build(self) -> None:
        """Makes what is missing, in the default graph.

        Example:
            >>> with af.Graph().as_default() as graph:
            ...     scaffold = af.train.Scaffold()
            ...     scaffold.build()
            >>> scaffold.init_op is not None, graph.finalized
            (True, False)
        """
        for field, key, make in (
            ("init_op", GraphKeys.INIT_OP, global_variables_initializer),
            ("ready_op", GraphKeys.READY_OP, report_uninitialized_variables),
            (
                "ready_for_local_init_op",
                GraphKeys.READY_FOR_LOCAL_INIT_OP,
                lambda: report_uninitialized_variables(global_variables()),
            ),
            ("local_init_op", GraphKeys.LOCAL_INIT_OP, self.default_local_init_op),
            ("summary_op", GraphKeys.SUMMARY_OP, merge_all),
            ("saver", GraphKeys.SAVERS, lambda: Saver(sharded=True, allow_empty=True, format=self._format)),
        ):
            if getattr(self, field) is None:
                setattr(self, field, self.get_or_default(field, key, make))
        self.saver.build()

    @staticmethod
    def get_or_default(arg_name: str, collection_key: str, default_constructor: Callable[[], Any]) -> Any:
        """The content of a collection of the default graph; if it is empty, the result of `default_constructor`, which
        is added.

        Example:
            >>> with af.Graph().as_default() as graph:
            ...     ready = af.train.Scaffold.get_or_default("ready_op", "ready_op", af.report_uninitialized_variables)
            ...     print(graph.get_collection("ready_op") == [ready])
            True

        Args:
            arg_name: what the constructor of a Scaffold calls it.
            collection_key: the name of the collection.
            default_constructor: a function without arguments.

        Raises:
            RuntimeError: the collection has several.
        """
        graph = get_default_graph()
        collection = graph.get_collection(collection_key)
        if len(collection) > 1:
            raise RuntimeError(
                f'More than one item in the collection "{collection_key}". Please indicate which one to use by passing it '
                f"to the tf.Scaffold constructor as:  tf.Scaffold({arg_name}=item to use)"
            )
        if collection:
            return collection[0]
        default = default_constructor()
        if default is not None:
            graph.add_to_collection(collection_key, default)
        return default

    @staticmethod
    def default_local_init_op() -> Any:
        """An operation that gives local variables and lookup tables their values.

        Example:
            >>> with af.Graph().as_default():
            ...     count = af.get_local_variable("count", [], initializer=af.zeros_initializer())
            ...     async with af.Session() as opened:
            ...         await opened.run(af.train.Scaffold.default_local_init_op())
            ...         print(await opened.run(count))
            0.0
        """
        tables = get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
        return group(local_variables_initializer(), *tables)
