"""Graphs as TensorFlow's messages, so that they pass between TensorFlow and actorflow.

attributes.py  attributes of nodes as `AttrValue` messages, and back.
cluster_protos.py  `ClusterDef` and the other messages for clusters.
export.py  `Graph.as_graph_def`, `Operation.node_def`, `train.write_graph`.
importing.py  `import_graph_def`.
inputs.py  inputs as messages name them.
late_reads.py  reads of reference variables behind writes.
ops.py  which op of actorflow stands for which of TensorFlow's.
partial.py  what of a message can be read, for saved models.
protos.py  `GraphDef`, `NodeDef`, `MetaGraphDef` and the other messages.
rewrites/  nodes that are several nodes in TensorFlow, or have other inputs there.
saving.py  the nodes that save and restore, under TensorFlow's ops.
subgraphs.py  `graph_util`.
type_names.py  the attributes of TensorFlow's ops that say the types of inputs.
"""
