"""TensorFlow's messages for clusters: `ClusterDef` and its jobs, and `ServerDef`."""

from __future__ import annotations

from typing import ClassVar

from actorflow.base.records.messages.message import Message
from actorflow.base.records.messages.values import Field
from actorflow.public import public


@public("tf.train")
class JobDef(Message):
    """`tf.train.JobDef`: the addresses of a job's tasks by their numbers.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.train.JobDef(name="worker").name
        'worker'
    """

    FIELDS: ClassVar[dict[str, Field]] = {"name": Field(1, "string"), "tasks": Field(2, "string", key="int")}


@public("tf.train")
class ClusterDef(Message):
    """`tf.train.ClusterDef`: the jobs of a cluster, as `ClusterSpec.as_cluster_def` gives them and `ClusterSpec` takes them.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> definition = af.ClusterSpec({"worker": ["machine:7070"]}).as_cluster_def()
        >>> [(job.name, dict(job.tasks)) for job in definition.job], isinstance(definition, tf.train.ClusterDef)
        ([('worker', {0: 'machine:7070'})], True)
    """

    FIELDS: ClassVar[dict[str, Field]] = {"job": Field(1, JobDef, repeated=True)}


@public("tf.train")
class ServerDef(Message):
    """`tf.train.ServerDef`: a cluster, and which of its tasks a server is. The session's configuration is kept as it came.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> definition = tf.train.ServerDef(job_name="worker", task_index=1, protocol="grpc")
        >>> definition.job_name, definition.task_index
        ('worker', 1)
    """

    FIELDS: ClassVar[dict[str, Field]] = {
        "cluster": Field(1, ClusterDef),
        "job_name": Field(2, "string"),
        "task_index": Field(3, "int"),
        "protocol": Field(5, "string"),
    }
