"""Values for TensorBoard's pages, as TensorFlow 2 writes them: scalars, histograms, images, PR curves, HParams, meshes.

Each function is pure: it gives one value of a `Summary` as bytes, with the metadata that says which page shows it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.base.dtypes import as_dtype, string
from actorflow.base.records import summaries
from actorflow.base.records.png import write_png
from actorflow.base.records.proto_tensor import write_tensor
from actorflow.base.records.wire import write_double, write_field, write_int

SCALAR, TENSOR, BLOBS = 1, 2, 3
_WAV = 11
STATUSES = {"success": 1, "failure": 2, "running": 3}


def metadata(page: str, content: bytes = b"", kind: int = 0, description: str = "", display_name: str = "") -> bytes:
    """A `SummaryMetadata`.

    Args:
        page: the name of TensorBoard's plug-in.
        content: what the plug-in wants to know of the tag.
        kind: SCALAR, TENSOR or BLOBS.
        description: a text in Markdown.
        display_name: what is shown in place of the tag.
    """
    plugin = write_field(1, page.encode()) + (write_field(2, content) if content else b"")
    parts = [write_field(1, plugin)]
    parts += [write_field(2, display_name.encode())] if display_name else []
    parts += [write_field(3, description.encode())] if description else []
    return b"".join([*parts, write_int(4, kind) if kind else b""])


def value(tag: str, array: Any, about: bytes) -> bytes:
    """A value of a summary: an array and its metadata."""
    return summaries.tensor(tag, write_tensor(array, as_dtype(array.dtype)), about)


def _strings(rows: Sequence[Any]) -> Any:
    """An array of byte strings."""
    cells = np.empty(np.shape(np.array(rows, object)), object)
    cells[...] = np.array(rows, object)
    return cells


def scalar(tag: str, number: float, description: str = "") -> bytes:
    """A number, for the page Scalars."""
    return value(tag, np.float32(number).reshape(()), metadata("scalars", b"", SCALAR, description))


def histogram(tag: str, values: Any, buckets: int = 30, description: str = "") -> bytes:
    """A distribution over equal buckets, for the pages Histograms and Distributions.

    Args:
        tag: its name.
        values: real numbers; those that are not finite are left out.
        buckets: how many buckets there are. If all values are equal, they are all in the last bucket.
        description: a text in Markdown.
    """
    flat = np.asarray(values, np.float64).reshape(-1)
    flat = flat[np.isfinite(flat)]
    rows = np.zeros((buckets, 3))
    if flat.size and buckets:
        low, high = flat.min(), flat.max()
        if low == high:
            rows[:, :2] = low
            rows[-1, 2] = flat.size
        else:
            counts, edges = np.histogram(flat, buckets, (low, high))
            rows[:, 0], rows[:, 1], rows[:, 2] = edges[:-1], edges[1:], counts
    return value(tag, rows, metadata("histograms", b"", TENSOR, description))


def image(tag: str, images: Any, max_outputs: int = 3, description: str = "") -> bytes:
    """Images, for the page Images.

    Args:
        tag: their name.
        images: `[batch, height, width, channels]` with 1 to 4 channels; uint8, or floats from 0 to 1, where what is beyond
            is cut off.
        max_outputs: how many of them are written.
        description: a text in Markdown.

    Raises:
        ValueError: the shape is another.
    """
    batch = np.asarray(images)
    if batch.ndim != 4 or batch.shape[3] not in (1, 2, 3, 4) or 0 in batch.shape[1:]:
        raise ValueError(
            f"Images are [batch, height, width, channels] with 1 to 4 channels, but the shape is {batch.shape}."
        )
    if batch.dtype != np.uint8:
        scaled = np.nan_to_num(batch.astype(np.float64), nan=0.0) * 255 + 0.5
        batch = np.clip(scaled, 0, 255).astype(np.uint8)
    sizes = [str(batch.shape[2]).encode(), str(batch.shape[1]).encode()]
    files = [write_png(pixels) for pixels in batch[:max_outputs]]
    return value(tag, _strings([*sizes, *files]), metadata("images", b"", BLOBS, description))


def audio(tag: str, clips: Any, sample_rate: float, max_outputs: int = 3, description: str = "") -> bytes:
    """Sound, for the page Audio.

    Args:
        tag: its name.
        clips: `[batch, frames, channels]`, from -1 to 1.
        sample_rate: frames a second.
        max_outputs: how many clips are written.
        description: a text in Markdown.

    Raises:
        ValueError: the shape is another.
    """
    batch = np.asarray(clips, np.float32)
    if batch.ndim != 3:
        raise ValueError(f"Sound is [batch, frames, channels], but the shape is {batch.shape}.")
    rows = [[summaries.write_wav(clip, sample_rate), b""] for clip in batch[:max_outputs]]
    array = _strings(rows) if rows else np.empty((0, 2), object)
    return value(tag, array, metadata("audio", write_int(2, _WAV), BLOBS, description))


def text(tag: str, texts: Any, description: str = "") -> bytes:
    """Markdown, for the page Text: a text, or a list or matrix of texts, which becomes a table."""
    array = np.array(texts, object)
    encoded = np.empty(array.shape, object)
    flat = [t.encode() if isinstance(t, str) else bytes(t) for t in array.reshape(-1).tolist()]
    encoded.reshape(-1)[:] = flat
    return summaries.tensor(tag, write_tensor(encoded, string), metadata("text", b"", TENSOR, description))


def pr_curve(tag: str, labels: Any, predictions: Any, num_thresholds: int = 201, weights: Any = None) -> bytes:
    """Precision and recall by threshold, for the page PR Curves.

    Args:
        tag: its name.
        labels: True where an example belongs to the class.
        predictions: the probability that it does, from 0 to 1; of the shape of `labels`.
        num_thresholds: how many thresholds there are, from 0 to 1; at least 2.
        weights: how much each example counts; 1 unless given.

    Raises:
        ValueError: shapes that don't fit, predictions beyond 0 and 1, or too few thresholds.
    """
    truth = np.asarray(labels).astype(bool).reshape(-1)
    guess = np.asarray(predictions, np.float64).reshape(-1)
    if truth.shape != guess.shape or num_thresholds < 2:
        raise ValueError(
            f"labels and predictions have one size (theirs are {truth.size} and {guess.size}), and there are at least two "
            f"thresholds, not {num_thresholds}."
        )
    if guess.size and not (0 <= guess.min() and guess.max() <= 1):
        raise ValueError(f"Predictions are from 0 to 1, but these are from {guess.min()} to {guess.max()}.")
    weight = np.ones(guess.size) if weights is None else np.broadcast_to(weights, guess.shape).astype(np.float64)
    places = np.floor(guess * (num_thresholds - 1)).astype(np.intp)
    # How much of either kind is at or above each threshold.
    positives, negatives = (
        np.bincount(places[kind], weight[kind], num_thresholds)[::-1].cumsum()[::-1] for kind in (truth, ~truth)
    )
    rows = np.stack(
        [
            positives,
            negatives,
            (negatives[0] if negatives.size else 0) - negatives,
            (positives[0] if positives.size else 0) - positives,
            positives / np.maximum(1e-7, positives + negatives),
            positives / np.maximum(1e-7, positives[0]),
        ]
    ).astype(np.float32)
    return value(tag, rows, metadata("pr_curves", write_int(2, num_thresholds), TENSOR))


def mesh(
    tag: str, vertices: Any, faces: Any = None, colours: Any = None, config: Mapping[str, Any] | None = None
) -> bytes:
    """Point clouds or surfaces, for the page Mesh.

    Args:
        tag: their name.
        vertices: float32 `[batch, n, 3]`.
        faces: int32 `[batch, m, 3]`, vertices by number, or None.
        colours: uint8 `[batch, n, 3]`, or None.
        config: settings of three.js, such as a camera.

    Raises:
        ValueError: the vertices have another shape.
    """
    points = np.asarray(vertices, np.float32)
    if points.ndim != 3 or points.shape[2] != 3:
        raise ValueError(f"Vertices are [batch, n, 3], but their shape is {points.shape}.")
    parts = [("VERTEX", 1, points)]
    parts += [("FACE", 2, np.asarray(faces, np.int32))] if faces is not None else []
    parts += [("COLOR", 3, np.asarray(colours, np.uint8))] if colours is not None else []
    components = sum(1 << (kind - 1) for _, kind, _ in parts)
    settings = json.dumps(dict(config or {})).encode()
    values = []
    for name, kind, array in parts:
        shape = b"".join([write_int(6, size) for size in array.shape])
        content = write_field(2, tag.encode()) + write_int(3, kind) + write_field(5, settings)
        content += shape + write_int(7, components)
        values.append(value(f"{tag}_{name}", array, metadata("mesh", content, TENSOR)))
    return b"".join(values)


def custom_scalars(layout: Mapping[str, Mapping[str, Sequence[str]]]) -> bytes:
    """Charts of several tags, for the page Custom Scalars: {category: {title: patterns of tags}}."""
    categories = []
    for category, charts in layout.items():
        body = write_field(1, category.encode())
        for title, patterns in charts.items():
            lines = b"".join([write_field(1, pattern.encode()) for pattern in patterns])
            body += write_field(2, write_field(1, title.encode()) + write_field(2, lines))
        categories.append(write_field(2, body))
    array = _strings([b"".join(categories)]).reshape(())
    return value("custom_scalars__config__", array, metadata("custom_scalars", b"", TENSOR))


# ---- HParams

_KINDS: dict[type, int] = {str: 1, bool: 2, int: 3, float: 3}
_NOTHING = np.zeros(0, np.float32)


def hparams(values: Mapping[str, Any], metrics: Sequence[str], started: float | None = None) -> bytes:
    """A run's hyperparameters, for the page HParams: what there is to choose, and what this run has chosen.

    Args:
        values: names to texts, numbers and truth values.
        metrics: the tags of scalars by which runs are compared.
        started: when the run began, in seconds since 1970; now unless given.

    Raises:
        TypeError: a value is none of these.
    """
    infos, chosen = b"", b""
    for name, setting in values.items():
        plain = setting.item() if isinstance(setting, np.generic) else setting
        kind = _KINDS.get(type(plain))
        if kind is None:
            raise TypeError(f"The hyperparameter {name!r} is a text, a number or a truth value, not {setting!r:.40}.")
        infos += write_field(4, write_field(1, name.encode()) + write_int(4, kind))
        content = (
            write_field(3, plain.encode())
            if kind == 1
            else write_int(4, plain)
            if kind == 2
            else write_double(2, plain)
        )
        chosen += write_field(1, write_field(1, name.encode()) + write_field(2, content))
    for tag in metrics:
        infos += write_field(5, write_field(1, write_field(2, tag.encode())))
    start = chosen + write_double(5, time.time() if started is None else started)
    return _session("experiment", write_field(2, infos)) + _session("session_start_info", write_field(3, start))


def hparams_end(status: str = "success", ended: float | None = None) -> bytes:
    """How a run has ended.

    Args:
        status: "success", "failure" or "running".
        ended: when, in seconds since 1970; now unless given.

    Raises:
        ValueError: it is another status.
    """
    if status not in STATUSES:
        raise ValueError(f"A run's status is one of {', '.join(STATUSES)}; not {status!r}.")
    body = write_int(1, STATUSES[status]) + write_double(2, time.time() if ended is None else ended)
    return _session("session_end_info", write_field(4, body))


def _session(tag: str, content: bytes) -> bytes:
    return value(f"_hparams_/{tag}", _NOTHING, metadata("hparams", content))
