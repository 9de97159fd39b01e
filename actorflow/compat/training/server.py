"""`tf.train.Server`: a task of a cluster, with TensorFlow's names of its arguments."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from actorflow.cluster.config.spec import ClusterSpec
from actorflow.cluster.processes import blocking_server
from actorflow.public import public

if TYPE_CHECKING:
    from actorflow.graph.graphdef.cluster_protos import ClusterDef, ServerDef

FILES = "ACTORFLOW_FILES"
"""The variable of the environment with the folders in which nodes on the servers of a program may touch files."""


@public("tf.train")
class Server(blocking_server.Server):
    """`actorflow.blocking.Server`, whose first argument has TensorFlow's name (`tf.train.Server`).

    Args:
        server_or_cluster_def: all tasks; or a `tf.train.ServerDef`, which says which task this is too.
        job_name, task_index: which task this is. Each may be left out if there is one job, or the job has one task.
        protocol: "grpc" or "tcp", by which TensorFlow's programs mean what connects tasks here too.
        config: accepted for compatibility; a session has its own.
        start: False waits for `start()`.
        options: those of `actorflow.Server`. Its `file_roots` are the folders of `actorflow tf --files`, unless they are given.

    Raises:
        TypeError: `server_or_cluster_def` is none.
        ValueError: it is not clear which task this is, or there is no such protocol.
    """

    def __init__(
        self,
        server_or_cluster_def: ClusterSpec | Mapping[str, Any] | ServerDef | ClusterDef,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: Any = None,
        start: bool = True,
        **options: Any,
    ) -> None:
        if FILES in os.environ:
            options.setdefault("file_roots", os.environ[FILES].split(os.pathsep))
        super().__init__(server_or_cluster_def, job_name, task_index, protocol, config, start, **options)
