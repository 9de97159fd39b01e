"""`Writer`: summaries from plain Python, without a graph."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from actorflow.base.records import summaries
from actorflow.models.summary import pages
from actorflow.models.summary.file_writer import FileWriter
from actorflow.public import public


@public("af.summary")
class Writer(FileWriter):
    """A `FileWriter` with a function for each of TensorBoard's pages, for values that a program has at hand.

    A run with `hparams` is marked as failed where its block ends with an error.

    Example:
        >>> with af.summary.Writer("logs/run1") as writer:
        ...     writer.scalar("loss", 0.5, step=1)
        ...     writer.histogram("weights", np.random.normal(size=100), step=1)
        >>> sum(len(event.summary.value) for event in af.summary.read_events("logs/run1"))
        2
    """

    def __init__(self, logdir: str | os.PathLike[str], **options: Any) -> None:
        """
        Args:
            logdir: the folder; each run has its own.
            options: keywords of `FileWriter`.
        """
        super().__init__(logdir, **options)
        self._has_hparams = False

    def scalar(self, tag: str, value: float, step: int = 0) -> None:
        """A point of a curve.

        Example:
            >>> with af.summary.Writer("logs") as writer:
            ...     writer.scalar("train/loss", 0.5, step=1)
            >>> [value.tag for event in af.summary.read_events("logs") for value in event.summary.value]
            ['train/loss']

        Args:
            tag: the curve's name; what stands before its last `/` is its group.
            value: a number.
            step: the training step.
        """
        self._add(5, summaries.scalar(tag, value), step)

    def histogram(self, tag: str, values: Any, step: int = 0, buckets: int = 30, description: str = "") -> None:
        """A distribution; see `pages.histogram`.

        Example:
            >>> with af.summary.Writer("logs") as writer:
            ...     writer.histogram("weights", np.arange(10), step=1)
            >>> [value.tag for event in af.summary.read_events("logs") for value in event.summary.value]
            ['weights']

        Args:
            tag: its name.
            values: real numbers; those that are not finite are left out.
            step: the training step.
            buckets: how many buckets of equal width there are.
            description: a text in Markdown.
        """
        self.add_summary(pages.histogram(tag, values, buckets, description), step)

    def image(self, tag: str, images: Any, step: int = 0, max_outputs: int = 3, description: str = "") -> None:
        """Images.

        Example:
            >>> with af.summary.Writer("logs") as writer:
            ...     writer.image("digit", np.zeros([1, 28, 28, 1], np.uint8), step=1)
            >>> [value.tag for event in af.summary.read_events("logs") for value in event.summary.value]
            ['digit']

        Args:
            tag: their name.
            images: `[batch, height, width, channels]` with 1 to 4 channels; uint8, or floats from 0 to 1.
            step: the training step.
            max_outputs: how many of them are written.
            description: a text in Markdown.

        Raises:
            ValueError: the shape is another.
        """
        self.add_summary(pages.image(tag, images, max_outputs, description), step)

    def audio(
        self, tag: str, clips: Any, sample_rate: float, step: int = 0, max_outputs: int = 3, description: str = ""
    ) -> None:
        """Sound.

        Example:
            >>> with af.summary.Writer("logs") as writer:
            ...     writer.audio("tone", np.zeros([1, 800, 1]), sample_rate=8000, step=1)
            >>> [value.tag for event in af.summary.read_events("logs") for value in event.summary.value]
            ['tone']

        Args:
            tag: its name.
            clips: `[batch, frames, channels]`, from -1 to 1.
            sample_rate: frames a second.
            step: the training step.
            max_outputs: how many clips are written.
            description: a text in Markdown.

        Raises:
            ValueError: the shape is another.
        """
        self.add_summary(pages.audio(tag, clips, sample_rate, max_outputs, description), step)

    def text(self, tag: str, texts: Any, step: int = 0, description: str = "") -> None:
        """Markdown: a text, or a list or matrix of texts, which becomes a table.

        Example:
            >>> with af.summary.Writer("logs") as writer:
            ...     writer.text("notes", "Trained **well**.", step=1)
            >>> [value.tag for event in af.summary.read_events("logs") for value in event.summary.value]
            ['notes']

        Args:
            tag: its name.
            texts: a str or bytes, or nested lists of them.
            step: the training step.
            description: a text in Markdown.
        """
        self.add_summary(pages.text(tag, texts, description), step)

    def pr_curve(
        self, tag: str, labels: Any, predictions: Any, step: int = 0, num_thresholds: int = 201, weights: Any = None
    ) -> None:
        """Precision and recall by threshold.

        Example:
            >>> with af.summary.Writer("logs") as writer:
            ...     writer.pr_curve("digits", [True, False], [0.9, 0.2], step=1)
            >>> [value.tag for event in af.summary.read_events("logs") for value in event.summary.value]
            ['digits']

        Args:
            tag: its name.
            labels: True where an example belongs to the class.
            predictions: the probability that it does; of the shape of `labels`.
            step: the training step.
            num_thresholds: how many thresholds there are, from 0 to 1.
            weights: how much each example counts; 1 unless given.

        Raises:
            ValueError: shapes that don't fit, or predictions beyond 0 and 1.
        """
        self.add_summary(pages.pr_curve(tag, labels, predictions, num_thresholds, weights), step)

    def mesh(
        self,
        tag: str,
        vertices: Any,
        faces: Any = None,
        colours: Any = None,
        step: int = 0,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        """Point clouds or surfaces.

        Example:
            >>> with af.summary.Writer("logs") as writer:
            ...     writer.mesh("cloud", np.zeros([1, 5, 3]), step=1)
            >>> [value.tag for event in af.summary.read_events("logs") for value in event.summary.value]
            ['cloud_VERTEX']

        Args:
            tag: their name.
            vertices: `[batch, n, 3]`.
            faces: `[batch, m, 3]`, vertices by number, or None.
            colours: uint8 `[batch, n, 3]`, or None.
            step: the training step.
            config: settings of three.js.

        Raises:
            ValueError: the vertices have another shape.
        """
        self.add_summary(pages.mesh(tag, vertices, faces, colours, config), step)

    def custom_scalars(self, layout: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
        """Charts of several tags: {category: {title: [patterns of tags]}}.

        Example:
            >>> with af.summary.Writer("logs") as writer:
            ...     writer.custom_scalars({"losses": {"both": ["train/loss", "test/loss"]}})
            >>> [value.tag for event in af.summary.read_events("logs") for value in event.summary.value]
            ['custom_scalars__config__']
        """
        self.add_summary(pages.custom_scalars(layout))

    def hparams(self, values: Mapping[str, Any], metrics: Sequence[str] = ()) -> None:
        """The run's hyperparameters. The writer's `close` then writes that the run succeeded, or failed.

        Example:
            >>> with af.summary.Writer("logs") as writer:
            ...     writer.hparams({"rate": 0.1, "layers": 2}, metrics=["loss"])
            >>> [value.tag for event in af.summary.read_events("logs") for value in event.summary.value]
            ['_hparams_/experiment', '_hparams_/session_start_info', '_hparams_/session_end_info']

        Args:
            values: names to texts, numbers and truth values.
            metrics: the tags of scalars by which runs are compared.

        Raises:
            TypeError: a value is none of these.
        """
        self.add_summary(pages.hparams(values, metrics))
        self._has_hparams = True

    def close(self, status: str = "success") -> None:
        """Writes what waits and closes the file; a run with hyperparameters ends with `status`.

        Example:
            >>> writer = af.summary.Writer("logs")
            >>> writer.hparams({"rate": 0.1})
            >>> writer.close("failure")  # of a `with` block that ends with an error

        Args:
            status: "success", "failure" or "running".
        """
        if self._has_hparams and not self._closed:
            self._has_hparams = False
            self.add_summary(pages.hparams_end(status))
        super().close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close("success" if kind is None else "failure")

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is not None and self._has_hparams and not self._closed:
            self._has_hparams = False
            self.add_summary(pages.hparams_end("failure"))
        await self.aclose()
