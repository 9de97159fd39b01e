"""`Builder` and `simple_save`: a session's values and graph go into a folder (`tf.saved_model.Builder`)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from actorflow import blocking
from actorflow.base.paths import path_text
from actorflow.base.process import machine
from actorflow.engine.session.session import Session
from actorflow.exchange.saved_model import constants, signature_constants, tag_constants
from actorflow.exchange.saved_model.folder import STANDARD, TENSORFLOW, SavedFolder, copy_assets, write
from actorflow.exchange.saved_model.signature_def_utils import predict_signature_def
from actorflow.exchange.saved_model.utils import build_tensor_info
from actorflow.graph.constant_value import constant_value
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.graph import Graph
from actorflow.graph.graphdef.protos import CollectionDef, MetaGraphDef, SavedModel, SignatureDef
from actorflow.graph.tensor import Operation, Tensor
from actorflow.graph.variables.collections import GraphKeys
from actorflow.models.train.saving.meta_graph import export_meta_graph
from actorflow.models.train.saving.saver import Saver
from actorflow.pending_calls import pending_if_awaited
from actorflow.public import public

public("af.saved_model:builder")


@public("af.saved_model:Builder")
class SavedModelBuilder:
    """Writes a saved model: one graph with values, and any number of further graphs that use the same values
    (`tf.saved_model.Builder`).

    With a blocking session the same calls do without `await`. The folder is no saved model before `save` has returned.

    Example:
        >>> x = af.placeholder(af.float32, [None], name="x")
        >>> signature = af.saved_model.predict_signature_def({"x": x}, {"y": x * 3.0})
        >>> builder = af.saved_model.Builder("models/triple/1")
        >>> await builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature})
        >>> path = builder.save()
        >>> af.saved_model.contains_saved_model("models/triple/1")
        True
    """

    def __init__(self, export_dir: str | os.PathLike[str], *, format: str = TENSORFLOW) -> None:
        """Begins a folder.

        Args:
            export_dir: the folder, which must not be there, or be empty.
            format: `tensorflow` writes the form that TensorFlow loads too. `standard` writes safetensors, the graph, and a
                description in JSON with checksums.

        Raises:
            AssertionError: there are files in the folder.
            ValueError: there is no such form.
        """
        folder = path_text(export_dir, "export_dir")
        if format not in (TENSORFLOW, STANDARD):
            raise ValueError(f"format is {TENSORFLOW!r} or {STANDARD!r}, but it is {format!r}.")
        if os.path.isdir(folder) and os.listdir(folder):
            raise AssertionError(
                f"Export directory {folder} already exists, and isn't empty. Please choose a different export directory, or "
                "delete all the contents of the specified directory."
            )
        os.makedirs(folder, exist_ok=True)
        message = SavedModel(saved_model_schema_version=constants.SAVED_MODEL_SCHEMA_VERSION)
        self._folder = SavedFolder(folder, format, message)
        self._has_variables = False

    @pending_if_awaited
    def add_meta_graph_and_variables(
        self,
        sess: Any,
        tags: Sequence[str],
        signature_def_map: Mapping[str, SignatureDef] | None = None,
        assets_collection: Sequence[Tensor] | None = None,
        legacy_init_op: Operation | None = None,
        clear_devices: bool = False,
        main_op: Operation | None = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> Any:
        """Adds the graph of a session, and writes its variables. To be awaited with an asynchronous session.

        Args:
            sess: the session.
            tags: what the graph is for, such as `serve`.
            signature_def_map: signatures by their names.
            assets_collection: constants of type string that hold paths of files, which are copied along.
            legacy_init_op: runs after a load; `main_op` is its newer name.
            clear_devices: whether the devices that nodes ask for are left out.
            main_op: runs after a load, when the variables have their values, and files their paths.
            strip_default_attrs: changes nothing.
            saver: the variables that are written are those of this saver; all global variables unless given.

        Raises:
            AssertionError: values were written already; further graphs go by `add_meta_graph`.
            KeyError, TypeError, ValueError: a signature names a tensor that the graph does not have, or without a type.
            FailedPreconditionError: a variable has no value.
        """
        if self._has_variables:
            raise AssertionError(
                "Graph state including variables and assets has already been saved. Please invoke `add_meta_graph()` instead."
            )
        inner = sess._inner if isinstance(sess, blocking.Session) else sess
        writer = _writer(inner.graph, saver, self._folder.checkpoint_format)
        arguments = (inner.graph, tags, signature_def_map, assets_collection, main_op or legacy_init_op, clear_devices)

        async def save(session: Session) -> None:
            if writer is not None:
                await writer.save(session, self._folder.checkpoint, write_meta_graph=False, write_state=False)
            await machine.on_thread(lambda: self._add(*arguments))
            self._has_variables = True

        if isinstance(sess, blocking.Session):
            return sess._call(lambda: save(inner))
        return save(inner)

    def add_meta_graph(
        self,
        tags: Sequence[str],
        signature_def_map: Mapping[str, SignatureDef] | None = None,
        assets_collection: Sequence[Tensor] | None = None,
        legacy_init_op: Operation | None = None,
        clear_devices: bool = False,
        main_op: Operation | None = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:
        """Adds the default graph, which uses values that were written before.

        Example:
            >>> builder = af.saved_model.Builder("models/triple/1")
            >>> x = af.placeholder(af.float32, [None], name="x")
            >>> signature = af.saved_model.predict_signature_def({"x": x}, {"y": x * 3.0})
            >>> await builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature})
            >>> builder.add_meta_graph(["serve", "gpu"], {"serving_default": signature})
            >>> path = builder.save()

        Args:
            tags, signature_def_map, assets_collection, legacy_init_op, clear_devices, main_op, strip_default_attrs: see
                `add_meta_graph_and_variables`.
            saver: changes nothing; a load finds the values by the names of the variables.

        Raises:
            AssertionError: no values were written before.
        """
        if not self._has_variables:
            raise AssertionError(
                "Graph state including variables and assets has not been saved yet. Please invoke "
                "`add_meta_graph_and_variables()` first."
            )
        graph = get_default_graph()
        self._add(graph, tags, signature_def_map, assets_collection, main_op or legacy_init_op, clear_devices)

    def save(self, as_text: bool = False) -> str:
        """Writes the graphs, which makes the folder a saved model; gives the path of the file that says so.

        Args:
            as_text: whether the messages of TensorFlow's form are written as text.

        Raises:
            OSError: writing failed.
        """
        return write(self._folder, as_text)

    def _add(
        self,
        graph: Graph,
        tags: Sequence[str],
        signatures: Mapping[str, SignatureDef] | None,
        assets: Sequence[Tensor] | None,
        main_op: Operation | None,
        clear_devices: bool,
    ) -> None:
        meta_graph = export_meta_graph(graph=graph, clear_devices=clear_devices)
        meta_graph.meta_info_def.tags.extend([tags] if isinstance(tags, str) else tags)
        for name, signature in (signatures or {}).items():
            _check(graph, name, signature)
            meta_graph.signature_def[name].CopyFrom(signature)
        if main_op is not None:
            meta_graph.signature_def[constants.INIT_OP_SIGNATURE_KEY].outputs[
                constants.INIT_OP_SIGNATURE_KEY
            ].name = main_op.name
            entry = CollectionDef()
            entry.node_list.value.append(main_op.name)
            meta_graph.collection_def[constants.MAIN_OP_KEY].CopyFrom(entry)
        _add_assets(meta_graph, self._folder.path, graph, assets or ())
        self._folder.message.meta_graphs.append(meta_graph)


@public("af.saved_model")
@pending_if_awaited
def simple_save(
    session: Any,
    export_dir: str | os.PathLike[str],
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    legacy_init_op: Operation | None = None,
    *,
    format: str = TENSORFLOW,
) -> Any:
    """Writes a session's graph and values for serving, with one signature of the name `serving_default`
    (`tf.saved_model.simple_save`). To be awaited with an asynchronous session.

    Example:
        >>> x = af.placeholder(af.float32, [None], name="x")
        >>> await af.saved_model.simple_save(session, "models/triple/1", {"x": x}, {"y": x * 3.0})
        >>> af.saved_model.contains_saved_model("models/triple/1")
        True

    Args:
        session: the session.
        export_dir: the folder, which must not be there, or be empty.
        inputs: tensors by the names that clients use.
        outputs: the same for outputs.
        legacy_init_op: runs after a load.
        format: see `Builder`.

    Raises:
        AssertionError: there are files in the folder.
        FailedPreconditionError: a variable has no value.
    """
    signature = predict_signature_def(inputs, outputs)
    builder = SavedModelBuilder(export_dir, format=format)
    signatures = {signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: signature}
    graph = (session._inner if isinstance(session, blocking.Session) else session).graph
    assets = graph.get_collection(GraphKeys.ASSET_FILEPATHS)
    added = builder.add_meta_graph_and_variables(
        session, [tag_constants.SERVING], signatures, assets, main_op=legacy_init_op, clear_devices=True
    )
    if isinstance(session, blocking.Session):
        builder.save()
        return None

    async def finish() -> None:
        await added
        await machine.on_thread(builder.save)

    return finish()


def _writer(graph: Graph, saver: Saver | None, format: str) -> Saver | None:
    """The saver that writes the values in the folder's format."""
    variables = None if saver is None else saver._given
    if variables is None:
        variables = [
            *graph.get_collection(GraphKeys.GLOBAL_VARIABLES),
            *graph.get_collection(GraphKeys.SAVEABLE_OBJECTS),
        ]
    if not variables:
        return None
    with graph.as_default():
        return Saver(variables, format=format, state=False, max_to_keep=0)


def _check(graph: Graph, name: str, signature: SignatureDef) -> None:
    """Raises where a signature names something that the graph does not have, or that has no type."""
    for kind, several in (("inputs", signature.inputs), ("outputs", signature.outputs)):
        for key, info in several.items():
            what = f"The {kind} {key!r} of the signature {name!r}"
            encoding = info.WhichOneof("encoding")
            if encoding is None:
                raise AssertionError(f"{what} must have one of the `name` or `coo_sparse` fields populated.")
            if encoding == "name":
                if info.dtype == 0:
                    raise AssertionError(f"{what} must have a dtype: {info.name!r}.")
                graph.get_tensor_by_name(info.name)


def _add_assets(meta_graph: MetaGraphDef, folder: str, graph: Graph, assets: Sequence[Tensor]) -> None:
    paths = []
    for tensor in assets:
        value = constant_value(graph.nodes, tensor.tensor_id) if isinstance(tensor, Tensor) else None
        if value is None:
            raise ValueError(f"An asset is a constant that holds the path of a file, but it is {tensor!r:.80}.")
        path = value.item()
        paths.append((tensor.name, path.decode() if isinstance(path, bytes) else path))
    names = copy_assets(folder, paths)
    for tensor in assets:
        entry = meta_graph.asset_file_def.add(filename=names[tensor.name])
        entry.tensor_info.CopyFrom(build_tensor_info(tensor))
