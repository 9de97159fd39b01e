"""The helpers of test programs beside test cases: folders, devices, clusters, equal graphs."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import unittest
from collections.abc import Sequence
from functools import partial
from typing import Any
from unittest import mock as _mock

from actorflow.cluster.processes.listening import Reservation
from actorflow.compat.training.server import Server
from actorflow.compat.v1.sessions import Session
from actorflow.graph.default_graph import get_default_graph
from actorflow.public import public

mock = _mock
"""`unittest.mock`, as TensorFlow's tests find it."""
public("tf.test", of="mock")


@public("tf.test")
def main(argv: Sequence[str] | None = None) -> None:
    """Runs the tests of the main module, and exits."""
    unittest.main(argv=None if argv is None else list(argv))


@public("tf.test")
def get_temp_dir() -> str:
    """The folder for temporary files of the process (`TEST_TMPDIR` of the environment, else the system's).

    Example:
        >>> import os
        >>> import actorflow.compat.v1 as tf
        >>> os.path.isdir(tf.test.get_temp_dir())
        True
    """
    return os.environ.get("TEST_TMPDIR") or tempfile.gettempdir()


@public("tf.test")
def test_src_dir_path(relative_path: str) -> str:
    """A path below the folder of the program.

    Example:
        >>> import os
        >>> import actorflow.compat.v1 as tf
        >>> os.path.basename(tf.test.test_src_dir_path("data.txt"))
        'data.txt'
    """
    return os.path.join(os.path.dirname(os.path.abspath(sys.argv[0] or os.curdir)), relative_path)


@public("tf.test")
def is_built_with_cuda() -> bool:
    """False: kernels of GPUs come with an extra, and nothing is built.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.test.is_built_with_cuda()
        False
    """
    return False


@public("tf.test")
def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: Any = None) -> bool:
    """Whether the devices of a session have a GPU. Both arguments are accepted for compatibility.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     print(tf.test.is_gpu_available() == (tf.test.gpu_device_name() != ""))
        True
    """
    return bool(gpu_device_name())


@public("tf.test")
def gpu_device_name() -> str:
    """The name of the first GPU of a session, or an empty text.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     print(isinstance(tf.test.gpu_device_name(), str))
        True
    """
    with Session(graph=get_default_graph()) as session:
        names = [device.name for device in session.list_devices() if "/device:GPU:" in device.name]
    return names[0] if names else ""


@public("tf.test")
def assert_equal_graph_def(
    actual: Any, expected: Any, checkpoint_v2: bool = False, hash_table_shared_name: bool = False
) -> None:
    """Raises AssertionError unless two `GraphDef`s have equal nodes, in whatever order.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> one, two = tf.NodeDef(name="a", op="NoOp"), tf.NodeDef(name="b", op="NoOp")
        >>> tf.test.assert_equal_graph_def(tf.GraphDef(node=[one, two]), tf.GraphDef(node=[two, one]))

    Args:
        actual, expected: the messages.
        checkpoint_v2: whether the names of unfinished checkpoints, which are drawn, count as equal.
        hash_table_shared_name: whether names that hash tables were given at random count as equal.

    Raises:
        AssertionError: the graphs differ.
        TypeError: a graph is no GraphDef.
    """
    leave_out = partial(
        _without_drawn_names, checkpoint_v2=checkpoint_v2, hash_table_shared_name=hash_table_shared_name
    )
    for graph_def in (actual, expected):
        if not hasattr(graph_def, "node"):
            raise TypeError(f"A GraphDef is compared, not a {type(graph_def).__name__}.")
    mine, theirs = ({node.name: str(leave_out(node)) for node in graph.node} for graph in (actual, expected))
    if different := sorted(name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name)):
        name = different[0]
        raise AssertionError(
            f"The graphs differ in {len(different)} nodes, the first {name}:\n{mine.get(name)}\nexpected\n{theirs.get(name)}"
        )


def _without_drawn_names(node: Any, checkpoint_v2: bool, hash_table_shared_name: bool) -> Any:
    """A node without the attributes that hold names drawn at random."""
    plain = type(node)()
    plain.CopyFrom(node)
    for key in list(plain.attr):
        texts = list(plain.attr[key].tensor.string_val)
        if checkpoint_v2 and len(texts) == 1 and re.match(rb"_temp_[0-9a-z]{32}/part", texts[0]):
            del plain.attr[key]
    if hash_table_shared_name and plain.op == "HashTableV2" and "shared_name" in plain.attr:
        if re.match(rb"hash_table_[0-9a-z\-]+", plain.attr["shared_name"].s):
            del plain.attr["shared_name"]
    return plain


@public("tf.test")
def create_local_cluster(
    num_workers: int, num_ps: int, protocol: str = "grpc", worker_config: Any = None, ps_config: Any = None
) -> tuple[list[Any], list[Any]]:
    """Servers of a cluster in this process, which end with the program.

    Args:
        num_workers, num_ps: how many tasks the jobs `worker` and `ps` have.
        protocol: "grpc" or "tcp", which mean the same.
        worker_config, ps_config: accepted for compatibility; a session has its own.

    Returns:
        The servers of `worker`, and those of `ps`.
    """
    held = {job: [Reservation() for _ in range(count)] for job, count in (("worker", num_workers), ("ps", num_ps))}
    spec = {job: [f"127.0.0.1:{member.port}" for member in some] for job, some in held.items() if some}
    servers: dict[str, list[Any]] = {job: [] for job in held}
    for job, some in held.items():
        for index, server in enumerate(some):
            server.close()
            config = worker_config if job == "worker" else ps_config
            servers[job].append(Server(spec, job, index, protocol=protocol, config=config))
    return servers["worker"], servers["ps"]
