"""The functions that add summary ops to the graph: `scalar`, `histogram`, `image`, `audio`, `text`, `merge` (`tf.summary`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from actorflow.base.dtypes import float32, string
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.default_graph import get_default_graph, name_scope
from actorflow.graph.ops.io import summaries as ops
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.graph.variables.collections import GraphKeys, add_to_collections
from actorflow.public import public

if TYPE_CHECKING:
    from collections.abc import Iterator

    from actorflow.models.summary.protos import SummaryDescription, SummaryMetadata

_NOT_IN_TAGS = re.compile(r"[^-/\w\.]")


@public("af.summary")
def scalar(
    name: str, tensor: TensorLike, collections: Iterable[str] | None = None, family: str | None = None
) -> Tensor:
    """A summary of a number, a curve over the steps (`tf.summary.scalar`).

    Example:
        >>> made = af.summary.Summary.FromString(await session.run(af.summary.scalar("loss", 0.5)))
        >>> made.value[0].tag, made.value[0].simple_value
        ('loss', 0.5)

    Args:
        name: the node's name, with its scope also the tag.
        tensor: a real scalar.
        collections: the collections that the summary joins; `GraphKeys.SUMMARIES` unless given.
        family: what stands before the tag, by which TensorBoard groups.

    Returns:
        A scalar string: a serialised `Summary`.
    """
    with _named(name, family) as (tag, scope):
        return _collected(ops.scalar_summary(tag, tensor, name=scope), collections)


@public("af.summary")
def histogram(
    name: str, values: TensorLike, collections: Iterable[str] | None = None, family: str | None = None
) -> Tensor:
    """A summary of the distribution of a tensor's elements (`tf.summary.histogram`).

    Example:
        >>> made = af.summary.Summary.FromString(await session.run(af.summary.histogram("weights", [1.0, 2.0, 4.0])))
        >>> made.value[0].histo.num, made.value[0].histo.sum
        (3.0, 7.0)

    Args:
        name: the node's name, with its scope also the tag.
        values: a real tensor of any shape.
        collections: the collections that the summary joins; `GraphKeys.SUMMARIES` unless given.
        family: what stands before the tag.

    Raises:
        InvalidArgumentError: an element is NaN or infinite, in the run.
    """
    with _named(name, family, "HistogramSummary") as (tag, scope):
        return _collected(ops.histogram_summary(tag, values, name=scope), collections)


@public("af.summary")
def image(
    name: str,
    tensor: TensorLike,
    max_outputs: int = 3,
    collections: Iterable[str] | None = None,
    family: str | None = None,
) -> Tensor:
    """A summary of images (`tf.summary.image`). Each image of floats is scaled by itself; see `ImageSummary` of TensorFlow.

    Example:
        >>> made = await session.run(af.summary.image("digits", af.zeros([5, 28, 28, 1]), max_outputs=2))
        >>> [(value.tag, value.image.width) for value in af.summary.Summary.FromString(made).value]
        [('digits/image/0', 28), ('digits/image/1', 28)]

    Args:
        name: the node's name. With its scope, `/image` and, where `max_outputs` is above 1, a number it is the tag.
        tensor: `[batch, height, width, channels]` of uint8 or floats, with 1, 3 or 4 channels.
        max_outputs: how many images of the batch are written.
        collections: the collections that the summary joins; `GraphKeys.SUMMARIES` unless given.
        family: what stands before the tag.
    """
    with _named(name, family) as (tag, scope):
        return _collected(ops.image_summary(tag, tensor, max_images=max_outputs, name=scope), collections)


@public("af.summary")
def audio(
    name: str,
    tensor: TensorLike,
    sample_rate: TensorLike,
    max_outputs: int = 3,
    collections: Iterable[str] | None = None,
    family: str | None = None,
) -> Tensor:
    """A summary of sound (`tf.summary.audio`).

    Example:
        >>> tone = af.sin(af.linspace(0.0, 100.0, 8000))
        >>> made = af.summary.Summary.FromString(await session.run(af.summary.audio("tone", tone[None, :], sample_rate=8000)))
        >>> [(value.tag, value.audio.sample_rate) for value in made.value]
        [('tone/audio/0', 8000.0)]

    Args:
        name: the node's name. With its scope, `/audio` and, where `max_outputs` is above 1, a number it is the tag.
        tensor: float32 `[batch, frames]` or `[batch, frames, channels]`, from -1 to 1.
        sample_rate: frames a second, a float32 scalar.
        max_outputs: how many clips of the batch are written.
        collections: the collections that the summary joins; `GraphKeys.SUMMARIES` unless given.
        family: what stands before the tag.
    """
    with _named(name, family) as (tag, scope):
        rate = convert_to_tensor(sample_rate, float32, name="sample_rate")
        return _collected(ops.audio_summary(tag, tensor, rate, max_outputs=max_outputs, name=scope), collections)


@public("af.summary")
def tensor_summary(
    name: str,
    tensor: TensorLike,
    summary_description: str | None = None,
    collections: Iterable[str] | None = None,
    summary_metadata: SummaryMetadata | None = None,
    family: str | None = None,
    display_name: str | None = None,
) -> Tensor:
    """A summary of a tensor of any type and shape (`tf.summary.tensor_summary`).

    Example:
        >>> made = await session.run(af.summary.tensor_summary("table", [[1, 2], [3, 4]]))
        >>> af.make_ndarray(af.summary.Summary.FromString(made).value[0].tensor)
        [[1 2]
         [3 4]]

    Args:
        name: the node's name, with its scope also the tag.
        tensor: the tensor.
        summary_description: a text about it, in Markdown.
        collections: the collections that the summary joins; `GraphKeys.SUMMARIES` unless given.
        summary_metadata: which of TensorBoard's pages shows it.
        family: what stands before the tag.
        display_name: the name that is shown in place of the tag.
    """
    from actorflow.models.summary.protos import SummaryMetadata

    metadata = SummaryMetadata()
    if summary_metadata is not None:
        metadata.CopyFrom(summary_metadata)
    if summary_description is not None:
        metadata.summary_description = summary_description
    if display_name is not None:
        metadata.display_name = display_name
    with _named(name, family) as (tag, scope):
        summary = ops.tensor_summary_v2(tag, tensor, metadata.SerializeToString(), name=scope)
        return _collected(summary, collections)


@public("af.summary")
def text(name: str, tensor: Tensor | Any, collections: Iterable[str] | None = None) -> Tensor:
    """A summary of texts, which TensorBoard takes for Markdown (`tf.summary.text`).

    Example:
        >>> made = await session.run(af.summary.text("note", af.constant("**Begun** on Monday.")))
        >>> af.summary.Summary.FromString(made).value[0].tag
        'note'

    Args:
        name: the node's name, with its scope also the tag.
        tensor: strings; a vector or matrix becomes a table.
        collections: the collections that the summary joins; `GraphKeys.SUMMARIES` unless given.

    Raises:
        ValueError: the tensor is not of strings.
    """
    from actorflow.models.summary.protos import PluginData, SummaryMetadata

    tensor = convert_to_tensor(tensor)
    if tensor.dtype is not string:
        raise ValueError(f"Expected tensor {tensor.name} to have dtype string, got {tensor.dtype}.")
    metadata = SummaryMetadata(plugin_data=PluginData(plugin_name="text"))
    return tensor_summary(name, tensor, collections=collections, summary_metadata=metadata)


@public("af.summary")
def merge(inputs: Sequence[TensorLike], collections: Iterable[str] | None = None, name: str | None = None) -> Tensor:
    """Several summaries as one (`tf.summary.merge`).

    Example:
        >>> loss, rate = af.summary.scalar("loss", 0.5), af.summary.scalar("rate", 0.1)
        >>> made = await session.run(af.summary.merge([loss, rate]))
        >>> [value.tag for value in af.summary.Summary.FromString(made).value]
        ['loss', 'rate']

    Args:
        inputs: strings, each a serialised `Summary`.
        collections: the collections that the result joins; none unless given.
        name: the name of the scope.

    Raises:
        InvalidArgumentError: two have the same tag, in the run.
    """
    with name_scope(name, "Merge"):
        return _collected(ops.merge_summary(list(inputs)), collections or ())


@public("af.summary")
def merge_all(key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None) -> Tensor | None:
    """All summaries of the default graph as one (`tf.summary.merge_all`), or None without summaries.

    Example:
        >>> loss, rate = af.summary.scalar("loss", 0.5), af.summary.scalar("rate", 0.1)
        >>> made = await session.run(af.summary.merge_all())
        >>> [value.tag for value in af.summary.Summary.FromString(made).value]
        ['loss', 'rate']

    Args:
        key: the collection that they are in.
        scope: takes only those whose names begin with a match of this regular expression.
        name: the name of the scope.
    """
    summaries = get_default_graph().get_collection(key, scope)
    return merge(summaries, name=name) if summaries else None


@public("af.summary")
def get_summary_description(node_def: Any) -> SummaryDescription:
    """The description that a node of `TensorSummary` was given (`tf.summary.get_summary_description`).

    Example:
        >>> from actorflow.compat.v1 import NodeDef
        >>> node = NodeDef(name="weights", op="TensorSummary")
        >>> node.attr["description"].s = b'{"type_hint": "histogram"}'
        >>> af.summary.get_summary_description(node).type_hint
        'histogram'

    Raises:
        ValueError: the node is of another op.
    """
    from actorflow.models.summary.protos import SummaryDescription

    if node_def.op != "TensorSummary":
        raise ValueError(f"Can't get_summary_description on {node_def.op}.")
    description = SummaryDescription()
    encoded = node_def.attr["description"].s.decode()
    if encoded.strip():
        import json

        description.type_hint = json.loads(encoded).get("type_hint", json.loads(encoded).get("typeHint", ""))
    return description


@contextmanager
def _named(name: str, family: str | None, default: str | None = None) -> Iterator[tuple[str, str]]:
    """The tag of a summary, and the scope that is its node's name; both are unique."""
    name = _clean(name) or (default or "")
    family = _clean(family)
    with name_scope(name if not family else f"{family}/{name}") as scope:
        tag = scope.rstrip("/")
        yield (f"{family}/{tag}" if family else tag), scope


def _clean(name: str | None) -> str:
    """A name with `_` in place of what names of nodes can't have."""
    return "" if name is None else _NOT_IN_TAGS.sub("_", name).lstrip("/")


def _collected(summary: Tensor, collections: Iterable[str] | None) -> Tensor:
    add_to_collections([GraphKeys.SUMMARIES] if collections is None else list(collections), summary)
    return summary
