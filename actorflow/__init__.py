"""actorflow: dataflow graphs inside async Python programs.

    import actorflow as af

    graph = af.Graph()
    with graph.as_default():
        a, b = af.placeholder(af.float32), af.placeholder(af.float32)
        total = a + b

    async with af.Session(graph=graph) as session:
        print(await session.run(total, {a: 3, b: 4.5}))      # 7.5

Names are TensorFlow 1's wherever the concept is.
"""

import actorflow.engine.device as _device  # noqa: F401  (first: it sets the attribute `device`, which the function replaces)
import actorflow.engine.eager as _eager  # noqa: F401  (as well: the attribute `eager`)
from actorflow.base.process import platforms as _platforms  # noqa: F401  (warns where actorflow is not tested)
from actorflow.base.reports.tracebacks import install as _install
from actorflow.engine.eager.scope import eager as eager
from actorflow.graph.default_graph import device as device
from actorflow.graph.ops import operators as _operators  # noqa: F401  (the operators of tensors)
from actorflow.public import namespace as _namespace

__version__ = "0.1.0"

_install()
__getattr__, __dir__, __all__ = _namespace("af", __name__)
