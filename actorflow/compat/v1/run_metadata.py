"""`tf.RunMetadata`: which node of a traced run ran where and when, as TensorFlow's messages."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import ClassVar

from actorflow.graph.graph import Graph
from actorflow.graphdef.message import Field, Message
from actorflow.graphdef.protos import GraphDef
from actorflow.public import public
from actorflow.runtime.diagnostics.trace import Event, Trace

_THREAD = 1


class NodeExecStats(Message):
    """The run of one node. Its times are since `all_start`: `op` is the kernel, and `scheduled` when the node was ready."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "node_name": Field(1, "string"),
        "all_start_micros": Field(2, "int"),
        "op_start_rel_micros": Field(3, "int"),
        "op_end_rel_micros": Field(4, "int"),
        "all_end_rel_micros": Field(5, "int"),
        "timeline_label": Field(8, "string"),
        "scheduled_micros": Field(9, "int"),
        "thread_id": Field(10, "int"),
        "all_start_nanos": Field(13, "int"),
        "op_start_rel_nanos": Field(14, "int"),
        "op_end_rel_nanos": Field(15, "int"),
        "all_end_rel_nanos": Field(16, "int"),
        "scheduled_nanos": Field(17, "int"),
    }


class DeviceStepStats(Message):
    """What ran on one device, in the order of its start."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "device": Field(1, "string"),
        "node_stats": Field(2, NodeExecStats, repeated=True),
        "thread_names": Field(3, "string", key="int"),
    }


class StepStats(Message):
    """What ran in one step."""

    FIELDS: ClassVar[dict[str, Field]] = {"dev_stats": Field(1, DeviceStepStats, repeated=True)}


@public("tf")
class RunMetadata(Message):
    """`tf.RunMetadata`: what a run tells of itself.

    metadata = tf.RunMetadata()
    session.run(loss, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
    for device in metadata.step_stats.dev_stats:
        for node in device.node_stats:
            print(device.device, node.node_name, node.op_end_rel_micros - node.op_start_rel_micros)
    """

    FIELDS: ClassVar[dict[str, Field]] = {
        "step_stats": Field(1, StepStats),
        "partition_graphs": Field(3, GraphDef, repeated=True),
    }


def step_stats(trace: Trace, graph: Graph) -> StepStats:
    """The events of a trace as a message. Its times are of the wall clock, since 1970.

    Args:
        trace: of a run that has ended, or failed.
        graph: its graph, for the inputs of the nodes.
    """
    epoch = time.time_ns() - time.monotonic_ns()
    devices: defaultdict[str, list[Event]] = defaultdict(list)
    for event in trace.events:
        devices[event.device].append(event)
    return StepStats(
        dev_stats=[
            DeviceStepStats(
                device=device,
                node_stats=[_node(event, epoch, graph) for event in sorted(events, key=lambda e: e.begun)],
                thread_names={0: "event loop", _THREAD: "device thread"},
            )
            for device, events in sorted(devices.items())
        ]
    )


def _node(event: Event, epoch: int, graph: Graph) -> NodeExecStats:
    start, took = event.begun + epoch, event.ended - event.begun
    ready = event.ready + epoch
    node = graph.nodes.get(event.node)
    inputs = () if node is None else [str(source).removesuffix(":0") for source in node.inputs]
    return NodeExecStats(
        node_name=event.node,
        all_start_micros=start // 1000,
        op_end_rel_micros=took // 1000,
        all_end_rel_micros=took // 1000,
        all_start_nanos=start,
        op_end_rel_nanos=took,
        all_end_rel_nanos=took,
        scheduled_micros=ready // 1000,
        scheduled_nanos=ready,
        timeline_label=f"{event.node} = {event.op}({', '.join(inputs)})",
        thread_id=_THREAD if event.thread else 0,
    )
