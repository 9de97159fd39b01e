"""`quantize`: measures ranges, puts weights of int8 into a frozen graph, and compares both graphs."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import replace as with_changes
from typing import Any, NamedTuple, get_args

import numpy as np

from actorflow.engine.session.session import Session
from actorflow.errors import InvalidArgumentError
from actorflow.exchange.export.messages import Messages, split
from actorflow.exchange.export.quantization.calibration import CalibrationHistogram, Method
from actorflow.exchange.export.quantization.report import OutputError, QuantizationReport, QuantizedNode
from actorflow.exchange.export.quantization.rewriting import QuantizedSite, Shared, replace, sites
from actorflow.graph.graph import Graph
from actorflow.graph.graphdef.importing import import_graph_def
from actorflow.graph.graphdef.protos import GraphDef
from actorflow.graph.graphdef.subgraphs import extract_sub_graph
from actorflow.public import public


class QuantizedGraph(NamedTuple):
    """A graph with weights of int8, and the report on it."""

    graph_def: GraphDef
    report: QuantizationReport


@public("af.export")
async def quantize(
    graph_def: GraphDef,
    outputs: Sequence[str],
    calibration: Any = None,
    *,
    method: Method = "minmax",
    percentile: float = 99.99,
    evaluation: Any = None,
    keep: Collection[str] = (),
    smallest: int = 0,
) -> QuantizedGraph:
    """A frozen graph with int8 in the place of float32 in the weights of its products and convolutions.

    Each output channel has a scale of its own. Inputs become 8 bits as well, by a range that is measured on the data of
    `calibration` (static), or without it in each run, for each row or image by itself (dynamic). A bias and a ReLU behind a
    product are taken into it. Other nodes stay as they are, and the report says why.

    Example:
        >>> images = af.placeholder(af.float32, [None, 8], name="images")
        >>> scores = af.matmul(images, af.Variable(af.random_normal([8, 4])), name="scores")
        >>> await session.run(af.global_variables_initializer())
        >>> frozen = await af.export.freeze(session, [scores], [images])
        >>> batches = [{"images": np.random.normal(size=[16, 8]).astype(np.float32)}]
        >>> small, report = await af.export.quantize(frozen, ["scores"], calibration=batches)
        >>> report.method, [(name, error.relative < 0.05) for name, error in report.outputs.items()]
        ('minmax', [('scores:0', True)])

    Args:
        graph_def: a frozen graph, which stays as it is.
        outputs: names of nodes or tensors.
        calibration: feeds to measure ranges on: dicts of arrays by the inputs' names, or the arrays of the only input. A list, a
            dataset, or any other iterable, asynchronous or not. Feeds may be the first of pairs whose second are labels.
        method: which range of the values is kept: all of them (`minmax`), the part `percentile` of their magnitudes, or as much
            as loses the least information when it is rounded (`entropy`).
        percentile: in percent, for the method `percentile`.
        evaluation: feeds on which both graphs are compared, or pairs of feeds and labels (a whole number for each row of the
            first output). By default it is `calibration`, if that can be read again like a list.
        keep: names of nodes that stay in float32. A bias or ReLU among them is not taken into the product before it.
        smallest: the fewest weights of a node that is replaced; all of them unless given, since that makes the model smallest.
            Small products are quicker in float32: with oneDNN, one row at a time, those of up to some 50,000 weights where ranges
            are known, and of up to some 250,000 where each run measures them.

    Returns:
        The graph, whose inputs and outputs have their names, and a `QuantizationReport`.

    Raises:
        InvalidArgumentError: there is no data in `calibration`, or it does not fit the inputs.
        ValueError: there is no such method or node.
    """
    if method not in get_args(Method):
        raise ValueError(f"The method is one of {', '.join(get_args(Method))}, not {method!r}.")
    if not 0 < percentile <= 100:
        raise ValueError(f"The percentile is a part in percent, not {percentile}.")
    ends = [split(text)[0] for text in outputs]
    part = extract_sub_graph(graph_def, ends)
    messages = Messages(part)
    if unknown := sorted(set(keep) - messages.nodes.keys()):
        raise ValueError(f"There is no node {unknown[0]!r} to keep.")
    site_list, left = sites(messages, ends, keep, smallest)
    histograms = None if calibration is None else await _measured(part, site_list, calibration)
    nodes, left_by_range = [], {}
    shared: Shared = {}
    for site in site_list:
        limit, signed = 0.0, not site.never_negative
        if histograms is not None:
            histogram = histograms[site.input]
            limit, signed = histogram.limit(method, percentile), histogram.is_signed
            if not limit:
                left_by_range[site.node.name] = "the calibration saw no value of its input but 0"
                continue
        replace(messages, site, limit, signed, shared)
        nodes.append(QuantizedNode(site.name, site.node.op, site.weights.size, limit, signed))
    small = extract_sub_graph(messages.message(), ends)
    report = QuantizationReport(
        method if calibration is not None else "dynamic",
        len(part.SerializeToString()),
        len(small.SerializeToString()),
        tuple(nodes),
        {**left, **left_by_range},
        {},
    )
    data = calibration if evaluation is None else evaluation
    if data is not None:
        report = await _compared(part, small, [text if ":" in text else f"{text}:0" for text in outputs], data, report)
    return QuantizedGraph(small, report)


async def _items(data: Any) -> AsyncIterator[tuple[Any, Any]]:
    """Feeds and labels; the labels are None if missing."""
    if isinstance(data, AsyncIterable):
        async for item in data:
            yield item if isinstance(item, tuple) else (item, None)
    elif isinstance(data, Iterable) and not isinstance(data, (Mapping, np.ndarray)):
        for item in data:
            yield item if isinstance(item, tuple) else (item, None)
    else:
        raise InvalidArgumentError(
            f"Data is an iterable of feeds, not a {type(data).__name__}.",
            hint="Put a single batch into a list: [batch].",
        )


def _opened(graph_def: GraphDef) -> tuple[Graph, dict[str, str]]:
    """A graph, and its placeholders: the names of their tensors by those of the nodes."""
    graph = Graph()
    with graph.as_default():
        import_graph_def(graph_def, name="")
    return graph, {node.name: f"{node.name}:0" for node in graph.nodes.values() if node.op == "Placeholder"}


def _feeds(inputs: Mapping[str, str], batch: Any) -> dict[str, Any]:
    if not isinstance(batch, Mapping):
        if len(inputs) != 1:
            raise InvalidArgumentError(
                f"The graph has the inputs {sorted(inputs)}; give a dict of arrays by their names."
            )
        return {next(iter(inputs.values())): batch}
    names = {str(key).removesuffix(":0"): value for key, value in batch.items()}
    if names.keys() != inputs.keys():
        raise InvalidArgumentError(f"The graph has the inputs {sorted(inputs)}, but the feeds are {sorted(names)}.")
    return {inputs[name]: value for name, value in names.items()}


async def _measured(
    graph_def: GraphDef, site_list: Sequence[QuantizedSite], data: Any
) -> dict[str, CalibrationHistogram]:
    """The values that go into each site, by the text of its input."""
    histograms = {site.input: CalibrationHistogram() for site in site_list}
    graph, inputs = _opened(graph_def)
    batches = 0
    async with Session(graph=graph) as session:
        fetched = [text if ":" in text else f"{text}:0" for text in histograms]
        async for feeds, _ in _items(data):
            batches += 1
            for histogram, values in zip(histograms.values(), await session.run(fetched, _feeds(inputs, feeds))):
                histogram.add(values)
    if not batches:
        raise InvalidArgumentError("The calibration has no data.")
    return histograms


async def _compared(
    before: GraphDef, after: GraphDef, outputs: Sequence[str], data: Any, report: QuantizationReport
) -> QuantizationReport:
    """The report with what the outputs of both graphs are on data."""
    (first, inputs), (second, _) = _opened(before), _opened(after)
    sums = {name: _Difference() for name in outputs}
    right, labelled = np.zeros(2, np.int64), 0
    async with Session(graph=first) as session_before, Session(graph=second) as other:
        async for batch, labels in _items(data):
            feeds = _feeds(inputs, batch)
            pairs = list(zip(await session_before.run(list(outputs), feeds), await other.run(list(outputs), feeds)))
            for difference, (expected, value) in zip(sums.values(), pairs):
                difference.add(expected, value)
            if labels is not None:
                truth = np.asarray(labels).reshape(-1)
                labelled += truth.size
                right += [int((_classes(value) == truth).sum()) for value in pairs[0]]
    rows = next(iter(sums.values())).rows if sums else 0
    accuracy = (right / labelled).tolist() if labelled else (None, None)
    return with_changes(
        report,
        outputs={name: difference.error() for name, difference in sums.items()} if rows else {},
        rows=rows,
        accuracy_before=accuracy[0],
        accuracy_after=accuracy[1],
    )


def _classes(value: Any) -> Any:
    return np.argmax(value, -1).reshape(-1) if value.ndim > 1 else value


class _Difference:
    """The differences of an output, batch by batch."""

    def __init__(self) -> None:
        self.rows = self._same = self._scored = 0
        self._squares = self._of_values = self._largest = 0.0

    def add(self, wanted: Any, found: Any) -> None:
        self.rows += len(wanted) if np.ndim(wanted) else 1
        if np.ndim(wanted) > 1 and wanted.shape[-1] > 1:
            self._same += int((_classes(wanted) == _classes(found)).sum())
            self._scored += _classes(wanted).size
        off = np.asarray(found, np.float64) - np.asarray(wanted, np.float64)
        self._squares += float((off**2).sum())
        self._of_values += float((np.asarray(wanted, np.float64) ** 2).sum())
        self._largest = max(self._largest, float(np.abs(off).max(initial=0.0)))

    def error(self) -> OutputError:
        relative = (self._squares / self._of_values) ** 0.5 if self._of_values else 0.0
        return OutputError(relative, self._largest, self._same / self._scored if self._scored else None)
