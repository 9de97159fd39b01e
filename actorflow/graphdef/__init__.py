"""Graphs as TensorFlow's messages, so that they pass between TensorFlow and actorflow.

attributes: attributes of nodes as `AttrValue` messages, and back.
expansion: ops of actorflow's own as several of TensorFlow's.
export: `Graph.as_graph_def`, `Operation.node_def`, `train.write_graph`.
framed: constants of loops, as TensorFlow wants them.
importing: `import_graph_def`.
message: messages of Protocol Buffers as Python classes.
meta_graph: `train.export_meta_graph` and `train.import_meta_graph`, the `.meta` files.
ops: which op of actorflow stands for which of TensorFlow's.
protos: `GraphDef`, `NodeDef`, `MetaGraphDef` and the other messages.
saving: the nodes that save and restore, under TensorFlow's ops.
subgraphs: `graph_util`.
text: the text format.
type_names: the attributes of TensorFlow's ops that say the types of inputs.
"""
