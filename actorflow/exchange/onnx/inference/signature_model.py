"""`SignatureModel`: a signature of a saved model, a frozen graph or a checkpoint, as a model that an `InferenceSession` runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from actorflow.engine.session.session import Session
from actorflow.errors import NotFoundError
from actorflow.exchange.onnx.inference.arguments import ModelMetadata, node_arg
from actorflow.exchange.onnx.inference.interface import Interface, Variant
from actorflow.exchange.onnx.inference.names import nearest
from actorflow.exchange.onnx.types import ValueType
from actorflow.exchange.sources.signature import Port
from actorflow.exchange.sources.source import DEFAULT, Source


class SignatureModel(Interface):
    """One signature of a model.

    Args:
        source: the model.
        signature: the name of the signature; None for the default, or for the only signature.
        path: the path of its file.

    Raises:
        NotFoundError: the model has no such signature.
    """

    def __init__(self, source: Source, signature: str | None, path: str) -> None:
        signatures = source.signatures
        name = signature
        if name is None:
            name = DEFAULT if DEFAULT in signatures or len(signatures) != 1 else next(iter(signatures))
        if name not in signatures:
            names = ", ".join(map(repr, sorted(signatures))) or "none"
            raise NotFoundError(
                f"The model {path!r} has no signature {name!r}; it has {names}.{nearest(name, signatures)}",
                hint="Name a signature: af.load_model(path, signature=...)." if signatures else None,
            )
        ports, graph = signatures[name], source.graph
        self._source = source
        super().__init__(
            {key: _kind(port) for key, port in ports.inputs.items()},
            [node_arg(key, _kind(port)) for key, port in ports.inputs.items()],
            [],
            [node_arg(key, _kind(port)) for key, port in ports.outputs.items()],
            ModelMetadata("", name, "", "", "", 0, {"method": ports.method}),
            Variant(
                graph,
                {key: graph.get_tensor_by_name(port.tensor) for key, port in ports.inputs.items()},
                {key: graph.get_tensor_by_name(port.tensor) for key, port in ports.outputs.items()},
            ),
        )

    def variant(self, values: Mapping[str, Any]) -> Variant:
        assert self.plain is not None
        return self.plain

    async def start(self, session: Session) -> None:
        await self._source.start(session)


def _kind(port: Port) -> ValueType:
    return ValueType("tensor", port.dtype, port.shape)
