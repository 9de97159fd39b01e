"""`OnnxNode`: one node of an ONNX graph with the values of its inputs, and the table of what builds each op."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from actorflow.errors import InvalidArgumentError
from actorflow.exchange.onnx.tensors import DataFolders, array_of

if TYPE_CHECKING:
    from actorflow.exchange.onnx.importer import Scope

BuilderFunction = Callable[..., Any]
BUILDERS: dict[tuple[str, str], BuilderFunction] = {}
"""By domain ("" is ONNX's own) and op: `builder(node, *inputs)` gives a value, or a tuple of them for several outputs."""

IMPURE: set[str] = set()
"""Ops whose results are not known before a run, though their inputs are."""

ENLARGING: set[str] = set()
"""Ops whose results may be large though their inputs are small."""


@dataclass(slots=True)
class OnnxNode:
    """A node on its way into the graph. Upgrades change it before it is built.

    Args:
        op, domain, name: as in the file.
        opset: the version of the domain's ops that the file asks for.
        inputs: the values; None for an input that is left out.
        outputs: the names of the outputs; "" for an output that nothing asks for.
        attrs: numbers, text, lists of these, arrays, messages of graphs and types.
        scope: the names that its bodies may use.
    """

    op: str
    domain: str
    name: str
    opset: int
    inputs: list[Any]
    outputs: tuple[str, ...]
    attrs: dict[str, Any]
    scope: Scope = field(repr=False)

    def attr(self, name: str, default: Any = None) -> Any:
        """An attribute, or `default` unless given."""
        return self.attrs.get(name, default)

    def required(self, name: str) -> Any:
        """An attribute that has to be there. Raises InvalidArgumentError if it is missing."""
        if name not in self.attrs:
            raise InvalidArgumentError(f"The attribute {name!r} is missing in {self}.")
        return self.attrs[name]

    def input(self, at: int) -> Any:
        """An input, or None if it is left out."""
        return self.inputs[at] if at < len(self.inputs) else None

    def set_input(self, at: int, value: Any) -> None:
        self.inputs.extend([None] * (at + 1 - len(self.inputs)))
        self.inputs[at] = value

    def wants(self, at: int) -> bool:
        """Whether output `at` is asked for."""
        return at < len(self.outputs) and bool(self.outputs[at])

    def __str__(self) -> str:
        return f"the ONNX node {self.name!r} ({self.domain or 'ai.onnx'}.{self.op}, opset {self.opset})"


def onnx_op(
    *names: str, domain: str = "", impure: bool = False, enlarging: bool = False
) -> Callable[[BuilderFunction], BuilderFunction]:
    """Enters a builder of ops into the table.

    Args:
        names: the ops.
        domain: their domain; "" is ONNX's own.
        impure: the result is not known before a run.
        enlarging: the result may be large though the inputs are small.
    """

    def entered(function: BuilderFunction) -> BuilderFunction:
        for name in names:
            BUILDERS[domain, name] = function
            if impure:
                IMPURE.add(name)
            if enlarging:
                ENLARGING.add(name)
        return function

    return entered


def rows(table: Mapping[str, Callable[..., Any]]) -> None:
    """Enters ops that are functions of their inputs alone."""
    for name, function in table.items():
        BUILDERS["", name] = _plain(function)


def _plain(function: Callable[..., Any]) -> BuilderFunction:
    return lambda node, *inputs: function(*inputs)


_SINGLE = {1: "f", 2: "i", 3: "s", 4: "t", 5: "g", 11: "sparse_tensor", 13: "tp"}
_MANY = {6: "floats", 7: "ints", 8: "strings", 9: "tensors", 10: "graphs", 14: "type_protos"}


def attribute_value(proto: Any, folder: DataFolders | None) -> Any:
    """The value of an attribute. Strings are text, in which bytes that are no UTF-8 are kept as lone surrogates."""
    kind = proto.type
    if not kind:  # files of the first version say it by the field alone
        kind = next((k for k, name in (_SINGLE | _MANY).items() if proto._is_set(name)), 7)
    if kind in _SINGLE:
        value = getattr(proto, _SINGLE[kind])
        if kind == 3:
            return text(value)
        return array_of(value, folder) if kind == 4 else value
    if kind not in _MANY:
        raise InvalidArgumentError(f"The attribute {proto.name!r} is of type {kind}, which there is not.")
    values = list(getattr(proto, _MANY[kind]))
    if kind == 8:
        return [text(value) for value in values]
    return [array_of(value, folder) for value in values] if kind == 9 else values


def text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")


def raw(value: str) -> bytes:
    """The bytes that a text attribute was."""
    return value.encode("utf-8", "surrogateescape")
