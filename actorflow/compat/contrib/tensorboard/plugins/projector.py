"""The settings of TensorBoard's page of embeddings. Field numbers are those of TensorBoard's `projector_config.proto`."""

from __future__ import annotations

import os
from typing import Any, ClassVar

import actorflow.compat.v1 as tf
from actorflow.base.records.messages.message import Message
from actorflow.base.records.messages.text import write_text
from actorflow.base.records.messages.values import Field


class SpriteMetadata(Message):
    """A picture that is made of a small image for each point."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "image_path": Field(1, "string"),
        "single_image_dim": Field(2, "uint32", repeated=True),
    }


class EmbeddingInfo(Message):
    """A tensor whose rows are shown as points, with the files of their labels and images."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "tensor_name": Field(1, "string"),
        "metadata_path": Field(2, "string"),
        "bookmarks_path": Field(3, "string"),
        "tensor_shape": Field(4, "uint32", repeated=True),
        "sprite": Field(5, SpriteMetadata),
        "tensor_path": Field(6, "string"),
    }


class ProjectorConfig(Message):
    """The embeddings, and the checkpoint that has them; the latest of the folder unless given."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "model_checkpoint_path": Field(1, "string"),
        "embeddings": Field(2, EmbeddingInfo, repeated=True),
        "model_checkpoint_dir": Field(3, "string"),
    }


def visualize_embeddings(summary_writer: Any, config: ProjectorConfig) -> None:
    """Writes the settings into the folder of a summary writer, from which TensorBoard reads them.

    Args:
        summary_writer: the writer.
        config: the settings.

    Raises:
        ValueError: the writer has no folder.
    """
    folder = summary_writer.get_logdir()
    if folder is None:
        raise ValueError("Summary writer must have a logdir: TensorBoard reads projector_config.pbtxt from there.")
    tf.gfile.MakeDirs(folder)
    with tf.gfile.GFile(os.path.join(folder, "projector_config.pbtxt"), "w") as file:
        file.write(write_text(config))
