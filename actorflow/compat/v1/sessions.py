"""`tf.Session` and `tf.InteractiveSession`: blocking sessions that can be the default session."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import actorflow as _af
from actorflow.compat.v1.options import SESSION, ConfigProto, RunOptions, run_timeout, session_options
from actorflow.engine.session import blocking as _blocking
from actorflow.engine.session.session import TARGET
from actorflow.engine.session.settings import check_target
from actorflow.graph import tensor as _tensor
from actorflow.graph.graphdef.protos import GraphDef
from actorflow.models.summary.protos import RunMetadata
from actorflow.models.summary.run_metadata import run_metadata_of
from actorflow.public import public

_default_session: ContextVar[Session | None] = ContextVar("actorflow_default_session", default=None)


@public("tf")
class Session(_blocking.Session):
    """`tf.Session`: the blocking session, with `feed_dict` as the second argument of `run`.

    Fetched arrays are the caller's, to be written. `config` is a `ConfigProto`; options of `actorflow.blocking.Session` may be
    given beside it, and go before it.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as sess:
        ...     x = tf.placeholder(tf.float32)
        ...     print(sess.run(tf.square(x), feed_dict={x: 3.0}))
        9.0
    """

    def __init__(
        self,
        target: str | None = None,
        graph: _af.Graph | None = None,
        config: ConfigProto | None = None,
        **options: Any,
    ) -> None:
        """
        Args:
            target: a task of a cluster (`grpc://` is taken for `tcp://`), or "" for this process; see
                `actorflow.Session`. A session whose target is a server of this process waits two minutes for other tasks,
                which may start later.
            graph: the graph to run; the default graph unless given.
            config: a `ConfigProto`.
            options: keywords of `actorflow.blocking.Session`; they go before those of `config`, a record as a whole.
        """
        meant, self._timeout = session_options(config)
        target = None if target is None else _address(target)
        if os.environ.get(TARGET) if target is None else target:
            meant.pop("devices", None)  # the servers have theirs
        if target:
            from actorflow.cluster.client.own_servers import serves_here
            from actorflow.cluster.wire.links import START_SECONDS

            if serves_here(target):  # this is a task, which may start before others
                meant.setdefault("connect_timeout", START_SECONDS)
        super().__init__(target, graph, **{**SESSION, **meant, **options})
        self._entered: list[Any] = []

    def run(  # type: ignore[override]
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> Any:
        """Runs what `fetches` needs, and gives their values in the same structure.

        A variable that is fetched beside its update has the value before it; see `actorflow.Session.run`.

        Args:
            fetches: a tensor, a variable, an operation (gives None), the name of any of these, or a list, tuple or dict of
                them.
            feed_dict: values for tensors, by tensor or name.
            options: `RunOptions`; their `timeout_in_ms` bounds the run.
            run_metadata: a `RunMetadata`, which gets what ran when if the options ask for a trace.

        Raises:
            errors.OpError: see `actorflow.Session.run`.
        """
        timeout = run_timeout(options, self._timeout)
        if run_metadata is None or options is None or not options.trace_level:
            return super().run(fetches, feed_dict, timeout=timeout)
        trace = _af.Trace()
        try:
            return super().run(fetches, feed_dict, timeout=timeout, trace=trace)
        finally:
            run_metadata.CopyFrom(run_metadata_of(trace))

    @property
    def graph_def(self) -> GraphDef:
        """The session's graph as a message."""
        return self.graph.as_graph_def()

    @staticmethod
    def reset(
        target: str = "",
        containers: Sequence[str] | None = None,
        config: ConfigProto | None = None,
        timeout: float | None = None,
    ) -> None:
        """Drops the state in these containers, on all tasks of a cluster; in all containers where none is named.

        Example:
            >>> import actorflow.compat.v1 as tf
            >>> tf.Session.reset("")

        Args:
            target: a task of the cluster (`grpc://` is taken for `tcp://`); "" is this process.
            containers: their names.
            config: its `operation_timeout_in_ms` is the longest time for a cluster's reply.
            timeout: that time in seconds, where `config` says none; ten unless given.
        """
        limit = 0.0 if config is None else config.operation_timeout_in_ms / 1000
        _blocking.Session.reset(_address(target), containers or (), timeout=limit or timeout)

    def partial_run(self, handle: Any, fetches: Any, feed_dict: Mapping[Any, Any] | None = None) -> Any:
        """Feeds a part of a step, and waits for a part of its fetches.

        Args:
            handle, fetches, feed_dict: see `actorflow.Session.partial_run`; `feed_dict` is its `feeds`.
        """
        return super().partial_run(handle, fetches, feed_dict)

    def make_callable(self, fetches: Any, feed_list: Sequence[Any] | None = None) -> Callable[..., Any]:
        """`actorflow.Session.make_callable`.

        Example:
            >>> import actorflow.compat.v1 as tf
            >>> with tf.Graph().as_default(), tf.Session() as sess:
            ...     x = tf.placeholder(tf.float32)
            ...     square = sess.make_callable(tf.square(x), [x])
            ...     print(square(3.0))
            9.0
        """
        if self._timeout is None:
            return super().make_callable(fetches, feed_list or ())
        feeds = list(feed_list or ())
        return lambda *values: self.run(fetches, dict(zip(feeds, values, strict=True)))

    @contextmanager
    def as_default(self) -> Iterator[Session]:
        """Makes this the session of `Tensor.eval` and `Operation.run`, inside the block."""
        token = _default_session.set(self)
        try:
            yield self
        finally:
            _default_session.reset(token)

    def __enter__(self) -> Session:
        for scope in (self.as_default(), self.graph.as_default()):
            scope.__enter__()
            self._entered.append(scope)
        return self

    def __exit__(self, *exc: Any) -> None:
        try:
            while self._entered:
                self._entered.pop().__exit__(*exc)
        finally:
            self.close()


def _address(target: str) -> str:
    check_target(target)
    return "tcp://" + target.removeprefix("grpc://") if target.startswith("grpc://") else target


@public("tf")
class InteractiveSession(Session):
    """A session that is the default session from its making to its `close`, which may come in another cell or thread; so is a
    `graph` that it is given.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> interactive = tf.InteractiveSession(graph=tf.Graph())
        >>> y = tf.square(tf.constant(3.0))
        >>> y.eval()
        9.0
        >>> interactive.close()
    """

    def __init__(
        self,
        target: str | None = None,
        graph: _af.Graph | None = None,
        config: ConfigProto | None = None,
        **options: Any,
    ) -> None:
        """
        Args:
            target, graph, config, options: see `Session`.
        """
        super().__init__(target, graph, config, **options)
        self._before = _default_session.get()
        _default_session.set(self)
        self._graph_scope = None if graph is None else graph.as_default()
        if self._graph_scope is not None:
            self._graph_scope.__enter__()

    def close(self) -> None:
        """Ends the session; the default session is that of before again, if it is still open."""
        if not self._closed:
            if _default_session.get() is self:
                _default_session.set(_still_open(self._before))
            if self._graph_scope is not None:
                try:
                    self._graph_scope.__exit__(None, None, None)
                except ValueError:
                    pass  # closed in another task or thread, which has scopes of its own
        super().close()


@public("tf")
def get_default_session() -> Session | None:
    """The innermost `with session:` or `with session.as_default():`, or None.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> with tf.Session(graph=tf.Graph()) as sess:
        ...     print(tf.get_default_session() is sess)
        True
        >>> tf.get_default_session() is None
        True
    """
    return _still_open(_default_session.get())


def _still_open(session: Session | None) -> Session | None:
    """`session`, or the default session before it if `session` is interactive and closed."""
    while isinstance(session, InteractiveSession) and session._closed:
        session = session._before
    return session


_tensor.default_session = get_default_session
