"""Checkpoints by path: which there are, which is the latest, and what is in one (`tf.train.latest_checkpoint` and others).

A checkpoint is of the format that finds a checkpoint at its path (`actorflow.engine.formats`).
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from actorflow.base.paths import path_text
from actorflow.base.records.wire import BrokenMessageError
from actorflow.base.reports.logs import get_logger
from actorflow.engine.formats import installed
from actorflow.engine.formats.base import FormatReader
from actorflow.engine.formats.compare import RestoreRequest, compare
from actorflow.errors import DataLossError, NotFoundError, with_topic
from actorflow.public import public


@public("af.train")
@dataclass(frozen=True, slots=True)
class CheckpointState:
    """The content of the file `checkpoint` of a folder: the latest checkpoint, and all that are kept, oldest first.

    Example:
        >>> state = af.train.CheckpointState("models/run-2", ["models/run-1", "models/run-2"])
        >>> state.model_checkpoint_path
        'models/run-2'

    Args:
        model_checkpoint_path: the path of the latest checkpoint.
        all_model_checkpoint_paths: the paths of all that are kept, oldest first.
        all_model_checkpoint_timestamps: when each was saved, in seconds since 1970, if the file says so.
        last_preserved_timestamp: when the last checkpoint was kept for good; 0 if the file does not say so.
    """

    model_checkpoint_path: str = ""
    all_model_checkpoint_paths: Sequence[str] = field(default=())
    all_model_checkpoint_timestamps: Sequence[float] = field(default_factory=list)
    last_preserved_timestamp: float = 0.0


_CHECKSUM = "# crc32: "  # a comment in the text format of protocol buffers, which others pass over


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def folder_of(prefix: str) -> str:
    """The folder of a checkpoint's files."""
    return prefix.rpartition("/")[0] or ("/" if prefix.startswith("/") else ".")


@public("af.train")
def get_checkpoint_state(
    checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None
) -> CheckpointState | None:
    """The state in the folder's file `checkpoint`, None if there is none (`tf.train.get_checkpoint_state`).

    Example:
        >>> v = af.Variable(1.0)
        >>> await session.run(v.initializer)
        >>> saver = af.train.Saver()
        >>> for step in range(2):
        ...     path = await saver.save(session, "models/run", global_step=step)
        >>> af.train.get_checkpoint_state("models").all_model_checkpoint_paths
        ['models/run-0', 'models/run-1']

    Raises:
        DataLossError: it is damaged. Taken for none, it would make a program begin again that has checkpoints.
    """
    folder = path_text(checkpoint_dir, "checkpoint_dir")
    name = latest_filename or "checkpoint"
    try:
        text = installed.small_files().read_text(folder, name)
    except UnicodeDecodeError:
        raise _damaged(folder, name) from None
    if text is None:
        return None
    message = _state(text)
    if message is None:
        raise _damaged(folder, name)
    return CheckpointState(
        _in_folder(folder, message.model_checkpoint_path),
        [_in_folder(folder, path) for path in message.all_model_checkpoint_paths],
        list(message.all_model_checkpoint_timestamps),
        message.last_preserved_timestamp,
    )


def _in_folder(folder: str, path: str) -> str:
    """A path that is not absolute begins at the folder."""
    if "://" in path or os.path.isabs(path):
        return path
    return f"{folder.rstrip('/')}/{path}" if folder.strip("/") else f"{folder}{path}"


def _state(text: str) -> Any:
    """The message of the text. None where the file is cut, or its checksum is not right."""
    from actorflow.base.records.messages.text import read_text
    from actorflow.graph.graphdef.protos import CheckpointStateProto

    content, mark, checksum = text.replace("\r\n", "\n").rpartition(_CHECKSUM)
    if mark and checksum.rstrip("\n") != _checksum(content).removeprefix(_CHECKSUM):
        return None
    message = CheckpointStateProto()
    try:
        read_text(text, message)
    except BrokenMessageError:
        return None
    return message if message.model_checkpoint_path else None


def _checksum(content: str) -> str:
    return f"{_CHECKSUM}{zlib.crc32(content.encode()):08x}"


def _damaged(folder: str, name: str) -> DataLossError:
    return DataLossError(
        f"The file {name!r} of {folder}, which names the latest checkpoint, is damaged.",
        hint="Name the checkpoint to go on from: af.train.update_checkpoint_state(folder, path) writes the file anew.",
    )


@public("af.train")
def update_checkpoint_state(
    save_dir: str | os.PathLike[str],
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> None:
    """Writes the folder's file `checkpoint`, which names the latest checkpoint, by one atomic step
    (`tf.train.update_checkpoint_state`). Paths in the folder are written without it, so that the folder may be moved.

    Example:
        >>> import os
        >>> os.mkdir("models")
        >>> af.train.update_checkpoint_state("models", "models/run-2", ["models/run-1", "models/run-2"])
        >>> af.train.get_checkpoint_state("models").all_model_checkpoint_paths
        ['models/run-1', 'models/run-2']

    Args:
        save_dir: the folder.
        model_checkpoint_path: the path of the latest checkpoint.
        all_model_checkpoint_paths: the paths of all checkpoints that are kept, oldest first; the latest is added to
            them if it is not there.
        latest_filename: the name of the file; `checkpoint` unless given.
        all_model_checkpoint_timestamps: when each was saved, in seconds since 1970; left out unless given.
        last_preserved_timestamp: when the last checkpoint was kept for good; left out unless given.

    Raises:
        ValueError: the number of times is not that of the paths.
    """
    folder = path_text(save_dir, "save_dir")
    every = list(all_model_checkpoint_paths or ())
    if model_checkpoint_path not in every:
        every.append(model_checkpoint_path)
    times = list(all_model_checkpoint_timestamps or ())
    if times and len(times) != len(every):
        raise ValueError(
            f"Checkpoint timestamps and paths do not match: {len(times)} times are given for {len(every)} checkpoints."
        )
    begin = folder.rstrip("/") + "/"
    within = {path: path.removeprefix(begin) or "./" for path in every}  # a name may be empty: the folder itself
    lines = [f'model_checkpoint_path: "{_quoted(within[model_checkpoint_path])}"']
    lines += [f'all_model_checkpoint_paths: "{_quoted(path)}"' for path in within.values()]
    lines += [f"all_model_checkpoint_timestamps: {time!r}" for time in times]
    if last_preserved_timestamp is not None:
        lines.append(f"last_preserved_timestamp: {last_preserved_timestamp!r}")
    content = "\n".join(lines) + "\n"
    installed.small_files().write(folder, latest_filename or "checkpoint", f"{content}{_checksum(content)}\n".encode())


@public("af.train")
def latest_checkpoint(checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None) -> str | None:
    """The path of the latest checkpoint of a folder, or None without a checkpoint (`tf.train.latest_checkpoint`).

    Example:
        >>> v = af.Variable(1.0)
        >>> await session.run(v.initializer)
        >>> path = await af.train.Saver().save(session, "models/run", global_step=7)
        >>> af.train.latest_checkpoint("models"), af.train.latest_checkpoint("elsewhere")
        ('models/run-7', None)
    """
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None:
        return None
    for path in (state.model_checkpoint_path, *reversed(state.all_model_checkpoint_paths)):
        if checkpoint_exists(path):
            return path
    return None


@public("af.train")
def checkpoint_exists(checkpoint_prefix: str | os.PathLike[str]) -> bool:
    """Whether there is a checkpoint of that path (`tf.train.checkpoint_exists`).

    Example:
        >>> v = af.Variable(1.0)
        >>> await session.run(v.initializer)
        >>> path = await af.train.Saver().save(session, "model", global_step=5)
        >>> af.train.checkpoint_exists(path), af.train.checkpoint_exists("model-6")
        (True, False)
    """
    return installed.at(path_text(checkpoint_prefix, "checkpoint_prefix")) is not None


@public("af.train")
def get_checkpoint_mtimes(checkpoint_prefixes: Sequence[str]) -> list[float]:
    """When those of the checkpoints that exist were saved, in seconds since 1970 (`tf.train.get_checkpoint_mtimes`).

    Example:
        >>> import time
        >>> v = af.Variable(1.0)
        >>> await session.run(v.initializer)
        >>> path = await af.train.Saver().save(session, "model")
        >>> [time.time() - saved < 60 for saved in af.train.get_checkpoint_mtimes([path])]
        [True]
    """
    return [installed.of(path).open(path).saved_at for path in checkpoint_prefixes if checkpoint_exists(path)]


@public("af.train")
def remove_checkpoint(
    checkpoint_prefix: str | os.PathLike[str], checkpoint_format_version: int = 2, meta_graph_suffix: str = "meta"
) -> None:
    """Removes a checkpoint (`tf.train.remove_checkpoint`).

    Example:
        >>> v = af.Variable(1.0)
        >>> await session.run(v.initializer)
        >>> path = await af.train.Saver().save(session, "model")
        >>> af.train.remove_checkpoint(path)
        >>> af.train.checkpoint_exists(path)
        False

    Args:
        checkpoint_prefix: its path.
        checkpoint_format_version: changes nothing: the files say which format they have.
        meta_graph_suffix: the file of this ending goes with it.
    """
    path = path_text(checkpoint_prefix, "checkpoint_prefix")
    (installed.at(path) or installed.find(installed.STANDARD)).remove(path, (f".{meta_graph_suffix}",))


def find_checkpoint(ckpt_dir_or_file: str | os.PathLike[str]) -> str:
    """The checkpoint of that path, or the latest in that folder. Raises NotFoundError if there is no checkpoint."""
    path = path_text(ckpt_dir_or_file, "ckpt_dir_or_file")
    if checkpoint_exists(path):
        return path
    latest = latest_checkpoint(path)
    if latest is None:
        raise NotFoundError(
            f"There is no checkpoint {path!r}, and no folder of that name with one.",
            hint=with_topic("af.train.latest_checkpoint gives the newest one of a folder, or None.", "no-checkpoint"),
        )
    return latest


@public("af.train")
def load_checkpoint(ckpt_dir_or_file: str | os.PathLike[str]) -> FormatReader:
    """A reader of a checkpoint, or of the latest checkpoint in a folder (`tf.train.load_checkpoint`).

    Example:
        >>> v = af.Variable(3.0, name="v")
        >>> await session.run(v.initializer)
        >>> path = await af.train.Saver().save(session, "models/run")
        >>> af.train.load_checkpoint("models").get_tensor("v")
        3.0
    """
    path = find_checkpoint(ckpt_dir_or_file)
    return installed.of(path).open(path)


@public("af.train")
def NewCheckpointReader(filepattern: str | os.PathLike[str]) -> FormatReader:
    """A reader of a checkpoint (`tf.train.NewCheckpointReader`). Raises NotFoundError for a path without a checkpoint.

    Example:
        >>> v = af.Variable([1.0, 2.0], name="v")
        >>> await session.run(v.initializer)
        >>> reader = af.train.NewCheckpointReader(await af.train.Saver().save(session, "model"))
        >>> reader.get_variable_to_shape_map(), reader.get_tensor("v")
        ({'v': [2]}, [1. 2.])
    """
    path = path_text(filepattern, "filepattern")
    return installed.of(path).open(path)


@public("af.train")
def load_variable(ckpt_dir_or_file: str | os.PathLike[str], name: str) -> Any:
    """The value of a variable in a checkpoint (`tf.train.load_variable`). `name` may end in `:0`.

    Example:
        >>> v = af.Variable(3.0, name="v")
        >>> await session.run(v.initializer)
        >>> path = await af.train.Saver().save(session, "models/run")
        >>> af.train.load_variable("models", "v")
        3.0
    """
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


@public("af.train")
def list_variables(ckpt_dir_or_file: str | os.PathLike[str]) -> list[tuple[str, list[int]]]:
    """(name, shape) of each variable in a checkpoint, by name (`tf.train.list_variables`).

    Example:
        >>> v, w = af.Variable([1.0, 2.0], name="v"), af.Variable(3.0, name="w")
        >>> await session.run(af.global_variables_initializer())
        >>> af.train.list_variables(await af.train.Saver().save(session, "model"))
        [('v', [2]), ('w', [])]
    """
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def check_fits(path: str, wanted: Sequence[RestoreRequest], *, strict: bool, reshape: bool) -> None:
    """Raises one error with all differences between what is wanted and what the checkpoint has."""
    compare(path, installed.of(path).open(path).variables(), wanted, reshape=reshape).refuse(strict=strict)


def is_latest(path: str, folder: str, latest_filename: str | None) -> bool:
    """Whether the folder names this checkpoint as the latest. It may where that can't be read: somebody has damaged it since it
    was written a moment ago, which does not undo a save; the next one writes it again."""
    try:
        state = get_checkpoint_state(folder, latest_filename)
    except DataLossError as error:
        warn("a former checkpoint stays", path=path, reason=error.message)
        return True
    return state is not None and state.model_checkpoint_path == path


def warn(event: str, **values: str) -> None:
    """Tells the log."""
    get_logger("train").warning(event, **values)
