"""Files of models as graphs with signatures. The kinds of files are plug-ins (group `actorflow.model_files`).

functions.py   `source_of`: traced functions as a graph with signatures
inspection.py  `inspected`: nodes and parameters of a signature
kinds.py       saved models, frozen graphs, checkpoints with their graph
signature.py   `Signature`: inputs and outputs by name, and the check of a request's values
source.py      `Source`: a graph, its signatures, and the values of its variables; `read` finds the kind of a file
"""
