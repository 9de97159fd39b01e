# `make names` writes this file from the marks in the sources.

from actorflow.graphdef.importing import import_graph_def as import_graph_def

__all__ = [
    "import_graph_def",
]
