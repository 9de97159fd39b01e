"""actorflow: dataflow graphs inside async Python programs.

    import actorflow as af

    graph = af.Graph()
    with graph.as_default():
        a, b = af.placeholder(af.float32), af.placeholder(af.float32)
        total = a + b

    async with af.Session(graph=graph) as session:
        print(await session.run(total, {a: 3, b: 4.5}))      # 7.5

Names are TensorFlow 1's wherever the concept is.

The folders are the floors of a tower. Each imports from its own floor and from the floors below it:

compat      TensorFlow 1's names and its old spellings
testing     simulated clusters, and contracts of what other packages bring
frontends   the command, the page of a training, web services
training    programs that train: supervisors, monitored sessions, estimators
exchange    models in and out: SavedModel, ONNX, frozen graphs
models      what models are made of: data, layers, optimizers, checkpoints, summaries
cluster     masters and workers, which run a graph together
engine      runs a graph in one process: devices, placement, passes, plans, actors, sessions
graph       the language: nodes, ops, variables, control flow, gradients
base        element types, shapes, registries, formats of records, the machine, reports
"""

from actorflow.base.process import platforms as _platforms  # noqa: F401  (warns where actorflow is not tested)
from actorflow.base.reports.tracebacks import install as _install
from actorflow.engine.eager.scope import eager as eager
from actorflow.graph.default_graph import device as device
from actorflow.graph.ops import operators as _operators  # noqa: F401  (the operators of tensors)
from actorflow.public import namespace as _namespace

__version__ = "0.1.0"

_install()
__getattr__, __dir__, __all__ = _namespace("af", __name__)
