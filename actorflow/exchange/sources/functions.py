"""`source_of`: functions that `af.function` has traced, as a graph with signatures that needs no eager execution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from actorflow.engine.eager.functions.concrete import ConcreteFunction
from actorflow.engine.session.session import Session
from actorflow.errors import InvalidArgumentError
from actorflow.exchange.sources.source import Source, stated
from actorflow.graph.graph import Graph
from actorflow.graph.graphdef.importing import import_graph_def
from actorflow.graph.ops.array.constant import constant, placeholder
from actorflow.graph.tensor import Tensor
from actorflow.graph.variables.variable import Variable


@dataclass(frozen=True, slots=True)
class FunctionEndpoint:
    """A function that becomes a signature.

    Args:
        function: such as `af.function(f).get_concrete_function(...)`.
        inputs: names for its tensors.
        outputs: names for its results.

    Raises:
        InvalidArgumentError: there are more or fewer names than tensors.
    """

    function: ConcreteFunction
    inputs: Sequence[str]
    outputs: Sequence[str]

    def __post_init__(self) -> None:
        counts = {"inputs": self.explicit, "outputs": len(self.function.outputs)}
        for (what, count), names in zip(counts.items(), (self.inputs, self.outputs)):
            if len(names) != count or len(set(names)) != count:
                raise InvalidArgumentError(
                    f"{self.function.name} has {count} {what}, and the names for them are {list(names)}."
                )

    @property
    def explicit(self) -> int:
        """How many tensors a call gives."""
        return len(self.function.inputs) - len(self.function.captured)


def source_of(endpoints: Mapping[str, FunctionEndpoint]) -> Source:
    """A graph of its own for functions. Their variables become variables of the graph, with the values of this moment.

    Args:
        endpoints: the functions by the names of their signatures. A variable that several functions use is there once.
    """
    graph, feeds, copies = Graph(), dict[Tensor, Any](), dict[int, Variable]()
    signatures = {}
    with graph.as_default():
        for name, endpoint in endpoints.items():
            function = endpoint.function
            places: dict[str, Tensor] = {}
            for symbol, value in zip(function.inputs[endpoint.explicit :], function.captured):
                places[symbol.name] = constant(value.numpy())
            for variable in function.variables:
                if id(variable) not in copies:
                    initial = placeholder(variable.dtype.base_dtype, variable.shape)
                    feeds[initial] = variable.numpy()
                    copies[id(variable)] = Variable(
                        initial, trainable=variable.trainable, name=variable.name.partition(":")[0]
                    )
                places[function.graph.handle_of(variable).name] = copies[id(variable)].op.outputs[0]
            inputs = {}
            for key, symbol in zip(endpoint.inputs, function.inputs):
                inputs[key] = places[symbol.name] = placeholder(symbol.dtype, symbol.static_shape, name=key)
            message = function.graph.as_graph_def()
            replaced = {place.partition(":")[0] for place in places}
            kept = [node for node in message.node if node.name not in replaced]
            del message.node[:]
            message.node.extend(kept)
            names = [tensor.name for tensor in function.outputs if tensor.name not in places]
            tensors: Sequence[Any] = import_graph_def(message, places, names, name="function") or ()
            places |= zip(names, tensors)
            fetches = [places[tensor.name] for tensor in function.outputs]
            signatures[name] = (inputs, dict(zip(endpoint.outputs, fetches)))
    initializers = [copy.initializer for copy in copies.values()]

    async def start(session: Session) -> None:
        await session.run(initializers, feeds)

    return Source(graph, stated(graph, signatures), start)
