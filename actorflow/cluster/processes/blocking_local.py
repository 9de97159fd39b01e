"""`blocking.LocalCluster`: a local cluster for code without `await`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from actorflow.base.unpicklable import unpicklable
from actorflow.cluster.config.credentials import Target
from actorflow.cluster.config.spec import ClusterSpec
from actorflow.cluster.processes import local
from actorflow.cluster.processes.local_process import LocalProcess
from actorflow.engine.runtime.event_loops.driver import LoopDriver
from actorflow.engine.runtime.event_loops.facade import BlockingFacade, blocking, forwarded
from actorflow.engine.transport import installed
from actorflow.engine.transport.base import Reach
from actorflow.errors import InvalidArgumentError
from actorflow.public import public


@public("af.blocking")
class LocalCluster(BlockingFacade[local.LocalCluster]):
    """`actorflow.LocalCluster` for code without `await`; the arguments are the same, but it always has processes.

    Example:
        >>> with af.Graph().as_default() as graph, af.device("/job:worker/task:0"):
        ...     x = af.placeholder(af.float32)
        ...     y = x * 2.0
        >>> with af.blocking.LocalCluster({"worker": 1}) as cluster, af.blocking.Session(cluster.target, graph) as blocking:
        ...     print(blocking.run(y, {x: 3.0}))
        6.0

    Raises:
        InvalidArgumentError: the transport joins tasks of one process only; that needs an event loop that runs all the time.
    """

    __reduce_ex__ = unpicklable(
        "A local cluster is not pickled: its processes belong to this one. Hand over the address in its target, and a"
        " file with its keys."
    )

    def __init__(self, jobs: Mapping[str, int], **options: Any) -> None:
        transport = options.get("transport", installed.AUTO)
        if transport != installed.AUTO and installed.find(transport).reach is Reach.PROCESS:
            raise InvalidArgumentError(
                f'transport="{transport}" needs an event loop that runs all the time, so a blocking program can\'t have it.',
                hint="Leave it out, or take one that joins processes.",
            )
        self._inner = local.LocalCluster(jobs, **options)
        self._driver = LoopDriver()

    @property
    def spec(self) -> ClusterSpec:
        """See `actorflow.LocalCluster.spec`."""
        return self._inner.spec

    @property
    def target(self) -> Target:
        """See `actorflow.LocalCluster.target`."""
        return self._inner.target

    @property
    def processes(self) -> Mapping[str, LocalProcess]:
        """See `actorflow.LocalCluster.processes`."""
        return self._inner.processes

    @property
    def dashboard_link(self) -> str | None:
        """See `actorflow.LocalCluster.dashboard_link`."""
        return self._inner.dashboard_link

    start = blocking(local.LocalCluster.start)
    kill = blocking(local.LocalCluster.kill)
    restart = blocking(local.LocalCluster.restart)
    scale = blocking(local.LocalCluster.scale)
    allow_files = blocking(local.LocalCluster.allow_files)
    target_of = forwarded(local.LocalCluster.target_of)
    runs = forwarded(local.LocalCluster.runs)
    open_dashboard = forwarded(local.LocalCluster.open_dashboard)

    def close(self) -> None:
        """See `actorflow.LocalCluster.aclose`."""
        self._last_call(self._inner.aclose)

    def _close_driver(self) -> None:
        self._inner.close()
        super()._close_driver()

    def _repr_html_(self) -> str:
        return self._inner._repr_html_()
