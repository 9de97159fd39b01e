"""`QuantizationReport`: nodes that were replaced, those that were left and why, size and accuracy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from actorflow.public import public


@public("af.export")
@dataclass(frozen=True, slots=True)
class QuantizedNode:
    """A node with weights of int8.

    Example:
        >>> af.export.QuantizedNode("scores", "MatMul", weights=32, limit=3.2, signed=True).limit
        3.2

    Args:
        name: its name.
        op: the op that it stands for.
        weights: how many weights it has.
        limit: the largest magnitude of its input that has a step; 0 where each run measures that.
        signed: whether its input has negative values.
    """

    name: str
    op: str
    weights: int
    limit: float
    signed: bool


@public("af.export")
@dataclass(frozen=True, slots=True)
class OutputError:
    """How far an output is from that of the float graph.

    Example:
        >>> error = af.export.OutputError(relative=0.004, largest=0.02, agreement=0.99)
        >>> error.agreement
        0.99

    Args:
        relative: the root of the mean square of the differences, as a part of that of the values.
        largest: the largest difference.
        agreement: the part of rows whose largest entry is at the same place; None for outputs that are no rows of scores.
    """

    relative: float
    largest: float
    agreement: float | None


@public("af.export")
@dataclass(frozen=True, slots=True)
class QuantizationReport:
    """The account of a call of `quantize`: `print(report)` shows it as a table.

    Example:
        >>> sizes = {"bytes_before": 4000, "bytes_after": 1100}
        >>> report = af.export.QuantizationReport("minmax", quantized=(), left={}, outputs={}, **sizes)
        >>> report.bytes_after / report.bytes_before
        0.275

    Args:
        method: how ranges were found: `dynamic`, `minmax`, `percentile` or `entropy`.
        bytes_before, bytes_after: the size of the graph as a message.
        quantized: the nodes with weights of int8.
        left: why products and convolutions stayed as they were, by name.
        outputs: for each output, how far it is from the float graph's; empty without data.
        rows: how many rows were compared.
        accuracy_before, accuracy_after: the part of rows that the first output classifies as their labels say; None without
            labels.
    """

    method: str
    bytes_before: int
    bytes_after: int
    quantized: tuple[QuantizedNode, ...]
    left: Mapping[str, str]
    outputs: Mapping[str, OutputError]
    rows: int = 0
    accuracy_before: float | None = None
    accuracy_after: float | None = None

    def __str__(self) -> str:
        share = self.bytes_after / max(self.bytes_before, 1)
        lines = [f"{len(self.quantized)} nodes have weights of int8 ({self.method}), {len(self.left)} were left."]
        lines.append(f"size      {self.bytes_before:,} bytes before, {self.bytes_after:,} after ({share:.2f})")
        if self.accuracy_before is not None and self.accuracy_after is not None:
            lost = self.accuracy_before - self.accuracy_after
            lines.append(
                f"accuracy  {self.accuracy_before:.2%} before, {self.accuracy_after:.2%} after ({lost:+.2%} lost)"
            )
        for name, error in self.outputs.items():
            same = (
                ""
                if error.agreement is None
                else f", {error.agreement:.2%} of {self.rows} rows have the same largest entry"
            )
            lines.append(f"{name}: {error.relative:.2%} off, by {error.largest:.3g} at most{same}")
        for node in self.quantized:
            ends = (
                ("-" if node.signed else "0 to ", f"{node.limit:.4g}") if node.limit else ("measured in each run", "")
            )
            lines.append(
                f"  int8   {node.name} ({node.op}), {node.weights:,} weights, input {''.join(ends).replace('-', '±')}"
            )
        lines += [f"  float  {name}: {reason}" for name, reason in self.left.items()]
        return "\n".join(lines)
