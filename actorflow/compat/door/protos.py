"""The table of the messages below `tensorflow.core`, such as `tensorflow.core.framework.graph_pb2`."""

from __future__ import annotations

_GRAPH = "actorflow.graph.graphdef.protos"
_SUMMARY = "actorflow.models.summary.protos"
_CLUSTER = "actorflow.graph.graphdef.cluster_protos"
_CONFIG = "actorflow.compat.v1.options"
_EXAMPLE = "actorflow.base.records.example"
_TYPES = "actorflow.compat.door.standins"

_TABLE: dict[str, tuple[tuple[str, str], ...]] = {
    "framework.attr_value_pb2": ((_GRAPH, "AttrValue NameAttrList"),),
    "framework.function_pb2": ((_GRAPH, "FunctionDef FunctionDefLibrary"),),
    "framework.graph_pb2": ((_GRAPH, "GraphDef NodeDef"),),
    "framework.node_def_pb2": ((_GRAPH, "NodeDef"),),
    "framework.op_def_pb2": ((_GRAPH, "OpDef"),),
    "framework.step_stats_pb2": ((_SUMMARY, "StepStats DeviceStepStats NodeExecStats NodeOutput"),),
    "framework.summary_pb2": ((_SUMMARY, "Summary SummaryMetadata SummaryDescription HistogramProto"),),
    "framework.tensor_pb2": ((_GRAPH, "TensorProto"),),
    "framework.tensor_shape_pb2": ((_GRAPH, "TensorShapeProto"),),
    "framework.types_pb2": ((_TYPES, ""),),
    "framework.variable_pb2": ((_GRAPH, "VariableDef SaveSliceInfoDef"),),
    "framework.versions_pb2": ((_GRAPH, "VersionDef"),),
    "example.example_pb2": ((_EXAMPLE, "Example SequenceExample"),),
    "example.feature_pb2": ((_EXAMPLE, "Features Feature FeatureList FeatureLists BytesList FloatList Int64List"),),
    "protobuf.cluster_pb2": ((_CLUSTER, "ClusterDef JobDef"),),
    "protobuf.config_pb2": (
        (_CONFIG, "ConfigProto GPUOptions GraphOptions OptimizerOptions RPCOptions RunOptions ThreadPoolOptionProto"),
        (_SUMMARY, "RunMetadata"),
    ),
    "protobuf.meta_graph_pb2": ((_GRAPH, "MetaGraphDef CollectionDef SignatureDef TensorInfo AssetFileDef"),),
    "protobuf.queue_runner_pb2": ((_GRAPH, "QueueRunnerDef"),),
    "protobuf.rewriter_config_pb2": ((_CONFIG, "RewriterConfig"),),
    "protobuf.saved_model_pb2": ((_GRAPH, "SavedModel"),),
    "protobuf.saver_pb2": ((_GRAPH, "SaverDef"),),
    "protobuf.tensorflow_server_pb2": ((_CLUSTER, "ServerDef"),),
    "util.event_pb2": ((_SUMMARY, "Event SessionLog LogMessage TaggedRunMetadata"),),
}
"""The modules below `tensorflow.core`, with the modules of ours that have their messages."""

_TYPE_NUMBERS = (
    "DT_INVALID DT_FLOAT DT_DOUBLE DT_INT32 DT_UINT8 DT_INT16 DT_INT8 DT_STRING DT_COMPLEX64 DT_INT64 DT_BOOL DT_QINT8 DT_QUINT8 "
    "DT_QINT32 DT_BFLOAT16 DT_QINT16 DT_QUINT16 DT_UINT16 DT_COMPLEX128 DT_HALF DT_RESOURCE DT_VARIANT DT_UINT32 DT_UINT64"
)
"""The names of element types in messages; the place of each is its number."""


def table(path: str) -> dict[str, str] | None:
    """The places of the messages of the module `path` below `tensorflow.core`; None for an unknown module."""
    if path in ("framework", "example", "protobuf", "util", ""):
        return {}
    rows = _TABLE.get(path)
    if rows is None:
        return None
    if path == "framework.types_pb2":
        return {name: f"{_TYPES}:{name}" for name in ("DataType", *_TYPE_NUMBERS.split())}
    return {name: f"{home}:{name}" for home, names in rows for name in names.split()}


NUMBERS = {name: number for number, name in enumerate(_TYPE_NUMBERS.split())}
"""The numbers of element types in messages by their names."""
