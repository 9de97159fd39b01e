"""`Interface`: the inputs and outputs of a model, the check of a feed, and the graph that a feed asks for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from actorflow.engine.session.session import Session
from actorflow.errors import InvalidArgumentError
from actorflow.exchange.onnx.inference.arguments import ModelMetadata, NodeArg
from actorflow.exchange.onnx.inference.feeding import fed
from actorflow.exchange.onnx.inference.names import nearest
from actorflow.exchange.onnx.types import ValueType
from actorflow.graph.graph import Graph


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """A graph of a model.

    Args:
        graph: the graph.
        inputs: what is fed, by name.
        outputs: what is fetched, by name.
    """

    graph: Graph
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]


class Interface(ABC):
    """A model as its callers see it. Threads may share it.

    Args:
        kinds: the types of all inputs, by name.
        inputs: the inputs that each run feeds.
        overridable: the weights that a run may feed.
        outputs: the outputs.
        metadata: the file's description of itself.
        plain: the graph of nearly all runs; None where values decide about it.
    """

    def __init__(
        self,
        kinds: Mapping[str, ValueType],
        inputs: Sequence[NodeArg],
        overridable: Sequence[NodeArg],
        outputs: Sequence[NodeArg],
        metadata: ModelMetadata,
        plain: Variant | None,
    ) -> None:
        self.kinds, self.inputs, self.overridable, self.outputs = kinds, inputs, overridable, outputs
        self.metadata, self.plain = metadata, plain
        self.required = [argument.name for argument in inputs]
        """The names of the inputs that each run feeds."""
        self.arguments = {argument.name: argument for argument in (*inputs, *overridable)}
        """All that a run may feed, by name."""
        self._names = [argument.name for argument in outputs]

    @abstractmethod
    def variant(self, values: Mapping[str, Any]) -> Variant:
        """The graph for these values, which are those of its inputs then and may be more."""

    async def start(self, session: Session) -> None:  # noqa: B027 - most models are constants
        """Gives the variables of a session their values. A model of constants has them."""

    def names(self, output_names: Any) -> tuple[str, ...]:
        """The outputs that a program names; all unless it names any.

        Raises:
            TypeError: these are no names.
            InvalidArgumentError: there is no such output.
        """
        if isinstance(output_names, (str, bytes)) or not isinstance(output_names, (Sequence, type(None))):
            raise TypeError(
                f"output_names is a list of names, such as {self._names[:1]}, or None for all, but it is {output_names!r:.60}."
            )
        for name in output_names or ():
            if name not in self._names:
                raise InvalidArgumentError(
                    f"The model has no output {name!r}; it has {', '.join(map(repr, self._names))}."
                    f"{nearest(name, self._names)}"
                )
        return tuple(output_names or self._names)

    def values(self, feed: Any) -> dict[str, Any]:
        """The values of a feed as arrays that fit, in the order of the inputs.

        Raises:
            TypeError: the feed is no dict.
            InvalidArgumentError: inputs are missing or unknown, or a value does not fit.
        """
        if not isinstance(feed, Mapping):
            raise TypeError(
                f"input_feed is a dict from the names of inputs to arrays, but it was given {type(feed).__name__}; the model "
                f"takes {self._told()}."
            )
        arguments = self.arguments
        values = {}
        for name in self.required:
            if name in feed:
                values[name] = fed(arguments[name], self.kinds[name], feed[name])
            elif self.kinds[name].kind == "optional":
                values[name] = None
            else:
                self._refuse_missing(feed)
        if len(values) != len(feed):
            for name, value in feed.items():
                if name not in arguments:
                    raise InvalidArgumentError(
                        f"The model has no input {name!r}; it takes {self._told()}.{nearest(name, arguments)}"
                    )
                values.setdefault(name, None)
                if values[name] is None:
                    values[name] = fed(arguments[name], self.kinds[name], value)
        return values

    def _refuse_missing(self, feed: Mapping[str, Any]) -> None:
        missing = [n for n in self.required if n not in feed and self.kinds[n].kind != "optional"]
        unknown = [name for name in feed if name not in self.arguments]
        raise InvalidArgumentError(
            f"The feed has no value for {', '.join(map(repr, missing))}; the model takes {self._told()}.",
            hint=f"{unknown[0]!r} is no input.{nearest(unknown[0], missing)}" if unknown else None,
        )

    def _told(self) -> str:
        return ", ".join(f"{a.name!r} ({a.type})" for a in self.arguments.values()) or "none"
