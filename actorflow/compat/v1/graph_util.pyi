# `make names` writes this file from the marks in the sources.

from actorflow.graph.graphdef.importing import import_graph_def as import_graph_def
from actorflow.graph.graphdef.subgraphs import convert_variables_to_constants as convert_variables_to_constants
from actorflow.graph.graphdef.subgraphs import extract_sub_graph as extract_sub_graph
from actorflow.graph.graphdef.subgraphs import must_run_on_cpu as must_run_on_cpu
from actorflow.graph.graphdef.subgraphs import remove_training_nodes as remove_training_nodes
from actorflow.graph.graphdef.subgraphs import tensor_shape_from_node_def_name as tensor_shape_from_node_def_name

__all__ = [
    "convert_variables_to_constants",
    "extract_sub_graph",
    "import_graph_def",
    "must_run_on_cpu",
    "remove_training_nodes",
    "tensor_shape_from_node_def_name",
]
