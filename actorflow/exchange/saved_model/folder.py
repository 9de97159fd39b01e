"""`SavedFolder`: the two forms of a saved model on the disk."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from actorflow.base.paths import path_text
from actorflow.base.records.messages.text import read_text
from actorflow.base.records.wire import BrokenMessageError
from actorflow.engine.formats import installed
from actorflow.errors import DataLossError, InvalidArgumentError
from actorflow.exchange.saved_model import constants
from actorflow.exchange.saved_model.description import FORMAT, VERSION, described, restored
from actorflow.graph.graphdef.protos import AssetFileDef, MetaGraphDef, SavedModel
from actorflow.public import public

TENSORFLOW, STANDARD = "tensorflow", "standard"
_CHECKPOINTS = {TENSORFLOW: "tensor_bundle", STANDARD: installed.STANDARD}
_FILES = (
    constants.SAVED_MODEL_FILENAME_PB,
    constants.SAVED_MODEL_FILENAME_PBTXT,
    constants.SAVED_MODEL_FILENAME_JSON,
)
_LONGEST_TEXT = 1 << 26


@dataclass(frozen=True, slots=True)
class SavedFolder:
    """A folder with a saved model: its path, its form (`tensorflow` or `standard`) and its graphs."""

    path: str
    format: str
    message: SavedModel

    @property
    def checkpoint(self) -> str:
        """The prefix of the variables' checkpoint, whether that exists or not."""
        return os.path.join(self.path, constants.VARIABLES_DIRECTORY, constants.VARIABLES_FILENAME)

    @property
    def checkpoint_format(self) -> str:
        """The name of the checkpoint's format."""
        return _CHECKPOINTS[self.format]

    def meta_graph(self, tags: Collection[str]) -> MetaGraphDef:
        """The graph for just these tags.

        Raises:
            RuntimeError: there is none.
        """
        tag_set = {tags} if isinstance(tags, str) else set(tags)
        meta_graph: MetaGraphDef
        for meta_graph in self.message.meta_graphs:
            if set(meta_graph.meta_info_def.tags) == tag_set:
                return meta_graph
        there = [sorted(message.meta_info_def.tags) for message in self.message.meta_graphs]
        raise RuntimeError(
            f"MetaGraphDef associated with tags {', '.join(map(repr, sorted(tag_set))) or '()'} could not be found in "
            f"SavedModel, with available tags {there} in {self.path!r}."
        )

    def assets(self, graph: MetaGraphDef) -> dict[str, str]:
        """The paths of a graph's files by the names of the tensors that get them.

        Raises:
            InvalidArgumentError: a name leads out of the folder.
        """
        entries = list(graph.asset_file_def)
        if not entries and constants.ASSETS_KEY in graph.collection_def:
            listed = graph.collection_def[constants.ASSETS_KEY].any_list.value
            entries = [AssetFileDef.FromString(entry.value) for entry in listed]
        folder = os.path.join(self.path, constants.ASSETS_DIRECTORY)
        return {entry.tensor_info.name: os.path.join(folder, _inner(entry.filename)) for entry in entries}


def _inner(name: str) -> str:
    """A name of a file below a folder. Raises InvalidArgumentError for a name that leads out of it."""
    if not name or os.path.isabs(name) or ".." in name.replace("\\", "/").split("/"):
        raise InvalidArgumentError(f"The saved model names the file {name!r:.200}, which lies outside of its folder.")
    return name


@public("af.saved_model", "tf.saved_model:maybe_saved_model_directory")
def contains_saved_model(export_dir: str | os.PathLike[str]) -> bool:
    """Whether a folder seems to hold a saved model, of either form (`tf.saved_model.contains_saved_model`).

    Example:
        >>> af.saved_model.contains_saved_model("models/nothing")
        False

    Args:
        export_dir: the folder.
    """
    return any(os.path.isfile(os.path.join(path_text(export_dir, "export_dir"), name)) for name in _FILES)


def read(export_dir: str | os.PathLike[str]) -> SavedFolder:
    """The saved model of a folder; variables and assets are not read.

    Raises:
        OSError: there is no saved model.
        DataLossError: its description, or a graph, is damaged.
    """
    folder = path_text(export_dir, "export_dir")
    for name in _FILES:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            with open(path, "rb") as file:
                data = file.read()
            if name == constants.SAVED_MODEL_FILENAME_JSON:
                return SavedFolder(folder, STANDARD, _read_standard(folder, data))
            return SavedFolder(folder, TENSORFLOW, _read_message(path, data))
    raise OSError(f"SavedModel file does not exist at: {folder}/{{{'|'.join(_FILES)}}}")


def _read_message(path: str, data: bytes) -> SavedModel:
    try:
        if not path.endswith(".pbtxt"):
            return SavedModel.FromString(data)
        saved_model = SavedModel()
        read_text(data, saved_model)
        return saved_model
    except (BrokenMessageError, UnicodeDecodeError) as error:
        raise DataLossError(f"{path!r} is no saved model: {error}") from None


def _read_standard(folder: str, data: bytes) -> SavedModel:
    path = os.path.join(folder, constants.SAVED_MODEL_FILENAME_JSON)
    saved_model = SavedModel(saved_model_schema_version=constants.SAVED_MODEL_SCHEMA_VERSION)
    try:
        if len(data) > _LONGEST_TEXT:
            raise ValueError(f"it has {len(data)} bytes")
        description = json.loads(data)
        if description.get("format") != FORMAT:
            raise ValueError(f"its format is {description.get('format')!r:.60}")
        if description["version"] != VERSION:
            raise ValueError(f"its version is {description['version']!r:.20}; version {VERSION} is known here")
        entries = [(entry, _inner(entry["graph"]), entry["sha256"]) for entry in description["graphs"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DataLossError(f"{path!r} is no description of a saved model: {error}.") from None
    for entry, name, checksum in entries:
        with open(os.path.join(folder, name), "rb") as file:
            graph = file.read()
        if hashlib.sha256(graph).hexdigest() != checksum:
            raise DataLossError(f"The file {os.path.join(folder, name)!r} is damaged: its checksum is another one.")
        try:
            message = MetaGraphDef.FromString(graph)
        except BrokenMessageError as error:
            raise DataLossError(f"{os.path.join(folder, name)!r} is no graph: {error}") from None
        saved_model.meta_graphs.add().CopyFrom(restored(entry, message))
    return saved_model


def write(folder: SavedFolder, as_text: bool) -> str:
    """Writes the graphs of a folder, the file that makes it a saved model last. Gives that file's path.

    Args:
        folder: the path, the form and the graphs.
        as_text: whether TensorFlow's form is written as text.
    """
    if folder.format == STANDARD:
        return _write(folder.path, constants.SAVED_MODEL_FILENAME_JSON, _standard(folder))
    if as_text:
        return _write(folder.path, constants.SAVED_MODEL_FILENAME_PBTXT, str(folder.message).encode())
    return _write(folder.path, constants.SAVED_MODEL_FILENAME_PB, folder.message.SerializeToString())


def _standard(folder: SavedFolder) -> bytes:
    """The description, with the graphs written beside it."""
    entries = []
    for index, message in enumerate(folder.message.meta_graphs):
        bare = MetaGraphDef.FromString(message.SerializeToString())
        bare.ClearField("signature_def")
        bare.ClearField("asset_file_def")
        name, data = f"graph-{index}.pb", bare.SerializeToString()
        _write(folder.path, name, data)
        entries.append(described(message, name, hashlib.sha256(data).hexdigest()))
    return json.dumps({"format": FORMAT, "version": VERSION, "graphs": entries}, indent=1).encode()


def _write(folder: str, name: str, data: bytes) -> str:
    installed.small_files().write(folder, name, data)
    return os.path.join(folder, name)


def copy_assets(folder: str, paths: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Copies files to the folder's assets; gives the names that they have there, by the tensors that stand for them.

    Args:
        folder: the folder of the saved model.
        paths: (name of the tensor, path of the file). Different files of one name get different names.
    """
    names: dict[str, str] = {}
    taken: dict[str, str] = {}
    for tensor, path in paths:
        base = os.path.basename(path)
        name, number = base, 0
        while taken.setdefault(name, path) != path:
            number += 1
            name = f"{base}_{number}"
        if name not in names.values():
            with open(path, "rb") as file:
                _write(os.path.join(folder, constants.ASSETS_DIRECTORY), name, file.read())
        names[tensor] = name
    return names
