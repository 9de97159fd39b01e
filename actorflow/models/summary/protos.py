"""TensorFlow's messages for summaries, events and the metadata of runs.

Field numbers are those of `tensorflow/core/framework/{summary,step_stats}.proto`, `util/event.proto` and `protobuf/config.proto`.
"""

from __future__ import annotations

from typing import ClassVar

from actorflow.base.records.messages.message import Message
from actorflow.base.records.messages.values import Field
from actorflow.graph.graphdef.protos import GraphDef, TensorProto, TensorShapeProto
from actorflow.public import public


class PluginData(Message):
    """Which of TensorBoard's pages shows a value, and what it has to know for it."""

    FIELDS: ClassVar[dict[str, Field]] = {"plugin_name": Field(1, "string"), "content": Field(2, "bytes")}


@public("tf")
class SummaryMetadata(Message):
    """`tf.SummaryMetadata`: how a tag is shown. Readers take the first of each tag.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> made = tf.Summary.FromString(await session.run(af.summary.text("note", af.constant("Begun."))))
        >>> made.value[0].metadata.plugin_data.plugin_name, isinstance(made.value[0].metadata, tf.SummaryMetadata)
        ('text', True)
    """

    PluginData = PluginData
    FIELDS: ClassVar[dict[str, Field]] = {
        "plugin_data": Field(1, PluginData),
        "display_name": Field(2, "string"),
        "summary_description": Field(3, "string"),
        "data_class": Field(4, "enum"),
    }


@public("af.summary")
class SummaryDescription(Message):
    """`tf.summary.SummaryDescription`: a hint of older versions; TensorBoard does not read it.

    Example:
        >>> af.summary.SummaryDescription(type_hint="scalar").type_hint
        'scalar'
    """

    FIELDS: ClassVar[dict[str, Field]] = {"type_hint": Field(1, "string")}


@public("tf")
class HistogramProto(Message):
    """`tf.HistogramProto`: counts of buckets, each with its upper limit.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> made = tf.Summary.FromString(await session.run(af.summary.histogram("weights", [1.0, 2.0, 4.0])))
        >>> isinstance(made.value[0].histo, tf.HistogramProto), made.value[0].histo.max
        (True, 4.0)
    """

    FIELDS: ClassVar[dict[str, Field]] = {
        "min": Field(1, "double"),
        "max": Field(2, "double"),
        "num": Field(3, "double"),
        "sum": Field(4, "double"),
        "sum_squares": Field(5, "double"),
        "bucket_limit": Field(6, "double", repeated=True),
        "bucket": Field(7, "double", repeated=True),
    }


class Image(Message):
    """An image as a PNG file."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "height": Field(1, "int"),
        "width": Field(2, "int"),
        "colorspace": Field(3, "int"),
        "encoded_image_string": Field(4, "bytes"),
    }


class Audio(Message):
    """A clip as a WAV file."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "sample_rate": Field(1, "float"),
        "num_channels": Field(2, "int"),
        "length_frames": Field(3, "int"),
        "encoded_audio_string": Field(4, "bytes"),
        "content_type": Field(5, "string"),
    }


class Value(Message):
    """One value of a summary; `WhichOneof("value")` says of which kind."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "tag": Field(1, "string"),
        "simple_value": Field(2, "float", oneof="value"),
        "obsolete_old_style_histogram": Field(3, "bytes", oneof="value"),
        "image": Field(4, Image, oneof="value"),
        "histo": Field(5, HistogramProto, oneof="value"),
        "audio": Field(6, Audio, oneof="value"),
        "node_name": Field(7, "string"),
        "tensor": Field(8, TensorProto, oneof="value"),
        "metadata": Field(9, SummaryMetadata),
    }


@public("af.summary", "tf")
class Summary(Message):
    """`tf.Summary`: what summary ops give, and what `FileWriter.add_summary` takes.

    summary = af.summary.Summary(value=[af.summary.Summary.Value(tag="loss", simple_value=0.5)])

    Example:
        >>> summary = af.summary.Summary(value=[af.summary.Summary.Value(tag="loss", simple_value=0.5)])
        >>> with af.summary.FileWriter("logs") as writer:
        ...     writer.add_summary(summary, global_step=1)
    """

    Value = Value
    Image = Image
    Audio = Audio
    FIELDS: ClassVar[dict[str, Field]] = {"value": Field(1, Value, repeated=True)}


@public("af.summary", "tf")
class SessionLog(Message):
    """`tf.SessionLog`: a session began, ended, or wrote a checkpoint.

    Example:
        >>> log = af.summary.SessionLog(status=af.summary.SessionLog.START)
        >>> with af.summary.FileWriter("logs") as writer:
        ...     writer.add_session_log(log, global_step=100)
        >>> [event.step for event in af.summary.read_events("logs") if event.WhichOneof("what") == "session_log"]
        [100]
    """

    STATUS_UNSPECIFIED, START, STOP, CHECKPOINT = range(4)
    FIELDS: ClassVar[dict[str, Field]] = {
        "status": Field(1, "enum", names=((0, "STATUS_UNSPECIFIED"), (1, "START"), (2, "STOP"), (3, "CHECKPOINT"))),
        "checkpoint_path": Field(2, "string"),
        "msg": Field(3, "string"),
    }


@public("tf")
class LogMessage(Message):
    """`tf.LogMessage`: a line of a log.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.LogMessage(level=tf.LogMessage.WARN, message="slow").level
        30
    """

    UNKNOWN, DEBUGGING, INFO, WARN, ERROR, FATAL = 0, 10, 20, 30, 40, 50
    FIELDS: ClassVar[dict[str, Field]] = {"level": Field(1, "enum"), "message": Field(2, "string")}


class SourceMetadata(Message):
    """The program that wrote a file."""

    FIELDS: ClassVar[dict[str, Field]] = {"writer": Field(1, "string")}


@public("af.summary")
class TaggedRunMetadata(Message):
    """`tf.summary.TaggedRunMetadata`: a serialised `RunMetadata` and its name.

    Example:
        >>> af.summary.TaggedRunMetadata(tag="step 100", run_metadata=b"").tag
        'step 100'
    """

    FIELDS: ClassVar[dict[str, Field]] = {"tag": Field(1, "string"), "run_metadata": Field(2, "bytes")}


@public("af.summary", "tf")
class Event(Message):
    """`tf.Event`: one record of an event file; `WhichOneof("what")` says what it holds.

    Example:
        >>> summary = af.summary.Summary(value=[af.summary.Summary.Value(tag="loss", simple_value=0.5)])
        >>> event = af.summary.Event(step=3, summary=summary)
        >>> af.summary.Event.FromString(event.SerializeToString()).WhichOneof("what")
        'summary'
    """

    FIELDS: ClassVar[dict[str, Field]] = {
        "wall_time": Field(1, "double"),
        "step": Field(2, "int"),
        "file_version": Field(3, "string", oneof="what"),
        "graph_def": Field(4, "bytes", oneof="what"),
        "summary": Field(5, Summary, oneof="what"),
        "log_message": Field(6, LogMessage, oneof="what"),
        "session_log": Field(7, SessionLog, oneof="what"),
        "tagged_run_metadata": Field(8, TaggedRunMetadata, oneof="what"),
        "meta_graph_def": Field(9, "bytes", oneof="what"),
        "source_metadata": Field(10, SourceMetadata),
    }


class AllocatorMemoryUsed(Message):
    """The bytes that a node took from an allocator."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "allocator_name": Field(1, "string"),
        "total_bytes": Field(2, "int"),
        "peak_bytes": Field(3, "int"),
        "live_bytes": Field(4, "int"),
        "allocator_bytes_in_use": Field(5, "int"),
    }


class AllocationDescription(Message):
    """The memory of a tensor."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "requested_bytes": Field(1, "int"),
        "allocated_bytes": Field(2, "int"),
        "allocator_name": Field(3, "string"),
    }


class TensorDescription(Message):
    """The type, shape and memory of a tensor."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "dtype": Field(1, "enum"),
        "shape": Field(2, TensorShapeProto),
        "allocation_description": Field(4, AllocationDescription),
    }


class NodeOutput(Message):
    """An output of a node."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "slot": Field(1, "int"),
        "tensor_description": Field(3, TensorDescription),
    }


class NodeExecStats(Message):
    """When a node ran, in microseconds and nanoseconds since its start, and what memory it took."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "node_name": Field(1, "string"),
        "all_start_micros": Field(2, "int"),
        "op_start_rel_micros": Field(3, "int"),
        "op_end_rel_micros": Field(4, "int"),
        "all_end_rel_micros": Field(5, "int"),
        "memory": Field(6, AllocatorMemoryUsed, repeated=True),
        "output": Field(7, NodeOutput, repeated=True),
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
    """The nodes that ran on a device."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "device": Field(1, "string"),
        "node_stats": Field(2, NodeExecStats, repeated=True),
        "thread_names": Field(3, "string", key="int"),
    }


class StepStats(Message):
    """The nodes that ran in a step."""

    FIELDS: ClassVar[dict[str, Field]] = {"dev_stats": Field(1, DeviceStepStats, repeated=True)}


@public("tf")
class RunMetadata(Message):
    """`tf.RunMetadata`: what ran when in one step. `FileWriter.add_run_metadata` shows it to TensorBoard.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> told = tf.RunMetadata()
        >>> with af.Graph().as_default(), tf.Session() as blocking:
        ...     y = af.square(af.placeholder(af.float32), name="y")
        ...     full = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        ...     blocking.run(y, {y.op.inputs[0]: 3.0}, options=full, run_metadata=told)
        9.0
        >>> [node.node_name for device in told.step_stats.dev_stats for node in device.node_stats]
        ['y']
    """

    FIELDS: ClassVar[dict[str, Field]] = {
        "step_stats": Field(1, StepStats),
        "partition_graphs": Field(3, GraphDef, repeated=True),
    }
