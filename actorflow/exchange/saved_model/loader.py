"""`load`: a folder's graph and values go into a session (`tf.saved_model.loader`)."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from actorflow import blocking
from actorflow.base.process import machine
from actorflow.engine.formats import installed
from actorflow.engine.session.session import Session
from actorflow.errors import NotFoundError, UnimplementedError
from actorflow.exchange.saved_model.folder import SavedFolder, contains_saved_model, read
from actorflow.exchange.saved_model.needed import Needed, main_op_name
from actorflow.exchange.saved_model.restoring import restored_names
from actorflow.graph.graph import Graph
from actorflow.graph.graphdef.protos import GraphDef, MetaGraphDef
from actorflow.graph.graphdef.rewrites.functions import CALLS, inlined
from actorflow.graph.graphdef.subgraphs import extract_sub_graph
from actorflow.graph.ops.array.constant import placeholder
from actorflow.graph.ops.state.variable import assign_target
from actorflow.graph.tensor import Operation, Tensor
from actorflow.graph.variables.collections import GraphKeys
from actorflow.models.train.saving.checkpoints import load_checkpoint
from actorflow.models.train.saving.meta_graph import add_meta_graph
from actorflow.models.train.saving.saver import Saver
from actorflow.pending_calls import pending_if_awaited
from actorflow.public import public

public("af.saved_model:loader")

maybe_saved_model_directory = contains_saved_model


@public("af.saved_model")
@pending_if_awaited
def load(
    sess: Any,
    tags: Collection[str],
    export_dir: str | os.PathLike[str],
    import_scope: str | None = None,
    **saver_kwargs: Any,
) -> Any:
    """Adds a saved model to the graph of a session, and gives its variables their values (`tf.saved_model.loader.load`).

    With a blocking session the call does without `await`. Files of TensorFlow's and of the standard form are read.

    Example:
        >>> x = af.placeholder(af.float32, [None], name="x")
        >>> await af.saved_model.simple_save(session, "models/triple/1", {"x": x}, {"y": x * 3.0})
        >>> async with af.Session(graph=af.Graph()) as other:
        ...     model = await af.saved_model.load(other, ["serve"], "models/triple/1")
        ...     signature = model.signature_def["serving_default"]
        ...     print(await other.run(signature.outputs["y"].name, {signature.inputs["x"].name: [1.0, 2.0]}))
        [3. 6.]

    Args:
        sess: the session.
        tags: the tags of the graph.
        export_dir: the folder.
        import_scope: a scope for the names of all nodes.
        saver_kwargs: options of the `Saver` that restores.

    Returns:
        The graph as a `MetaGraphDef`, with `signature_def`.

    Raises:
        OSError: there is no saved model.
        RuntimeError: none of its graphs is for these tags.
        DataLossError: a file is damaged.
        ValueError, UnknownNameError: the graph can't be imported; see `import_graph_def`.
    """
    if isinstance(sess, blocking.Session):
        return sess._call(lambda: _load(sess._inner, tags, export_dir, import_scope, saver_kwargs))
    return _load(sess, tags, export_dir, import_scope, saver_kwargs)


async def _load(
    session: Session,
    tags: Collection[str],
    export_dir: str | os.PathLike[str],
    import_scope: str | None,
    saver_kwargs: dict[str, Any],
) -> MetaGraphDef:
    folder = await machine.on_thread(lambda: read(export_dir))
    message = folder.meta_graph(tags)
    saver = await machine.on_thread(lambda: add_to(session.graph, message, import_scope, saver_kwargs))
    await start(session, folder, message, saver, import_scope)
    return message


def add_to(
    graph: Graph, message: MetaGraphDef, import_scope: str | None = None, saver_kwargs: dict[str, Any] | None = None
) -> Saver | CheckpointAssignments | None:
    """Adds a saved graph to a graph; gives the saver of its variables, None if it has no saver.

    Args:
        graph: the graph.
        message: the saved graph.
        import_scope: a scope for the names of all nodes.
        saver_kwargs: options of the saver.
    """
    with graph.as_default():
        if any(node.op in CALLS for node in message.graph_def.node):
            return _add_functions(graph, message, import_scope)
        needed = Needed.of(message)

        def add(graph_def: GraphDef, prefix: str) -> None:
            needed.import_from(graph_def, prefix)

        saver = add_meta_graph(message, False, import_scope, saver_kwargs, add)
        names = restored_names(message)
        if saver is None or names is None:
            return saver
        prefix = f"{import_scope}/" if import_scope else ""
        variables = {v.op.name: v for v in graph.get_collection(GraphKeys.GLOBAL_VARIABLES)}
        there = {key: prefix + name for name, key in names.items() if prefix + name in graph.nodes}
        if set(there.values()) - variables.keys():
            return saver
        return Saver({key: variables[name] for key, name in there.items()}, **(saver_kwargs or {}))


@dataclass(frozen=True, slots=True)
class CheckpointAssignments:
    """Gives values of a checkpoint to variables that have no nodes of their own to restore them, as in TensorFlow 2's graphs."""

    graph: Graph
    places: Mapping[str, tuple[Tensor, Operation]]
    """For each key of the checkpoint the placeholder of its value, and the assignment."""

    async def restore(self, session: Session, path: str) -> None:
        """Reads the values, and assigns them."""

        def values() -> dict[str, Any]:
            reader = load_checkpoint(path)
            return {key: reader.get_tensor(key) for key in self.places}

        arrays = await machine.on_thread(values)
        feeds = {placeholder: arrays[key] for key, (placeholder, _) in self.places.items()}
        await session.run([assign for _, assign in self.places.values()], feeds)


def _add_functions(graph: Graph, message: MetaGraphDef, import_scope: str | None) -> CheckpointAssignments | None:
    """Adds the part of TensorFlow 2's graph that signatures and the main operation need, with its functions inlined."""
    keys, needed = restored_names(message), Needed.of(message)
    part = extract_sub_graph(inlined(needed.part_of(message.graph_def)), needed.nodes)
    variables = [node.name for node in part.node if node.op == "VarHandleOp"]
    if keys is None and variables:
        raise UnimplementedError(
            f"The saved model has variables, such as {variables[0]!r}, but its nodes do not say which tensor of the checkpoint "
            "each of them takes."
        )
    needed.import_from(part, import_scope or "")
    prefix = f"{import_scope}/" if import_scope else ""
    places = {}
    with graph.name_scope("restore"):
        for name, key in (keys or {}).items():
            if f"{prefix}{name}" in graph.nodes:
                handle = graph.get_tensor_by_name(f"{prefix}{name}:0")
                value = placeholder(handle.dtype.base_dtype, handle.static_shape)
                places[key] = value, assign_target(handle, value)
    return CheckpointAssignments(graph, places) if places else None


async def start(
    session: Session,
    folder: SavedFolder,
    message: MetaGraphDef,
    saver: Saver | CheckpointAssignments | None,
    import_scope: str | None = None,
) -> None:
    """Gives the variables of an added graph their values, and runs its main operation.

    Args:
        session: a session on the graph.
        folder: the saved model.
        message: its graph that was added.
        saver: the saver that `add_to` gave.
        import_scope: the scope that it was given.

    Raises:
        NotFoundError: there are no values for them, as while the folder is copied.
    """
    prefix = f"{import_scope}/" if import_scope else ""
    stored = await machine.on_thread(lambda: installed.at(folder.checkpoint))
    if saver is not None:
        if stored is None:
            raise NotFoundError(f"There are no values at {folder.checkpoint!r}, but the graph has variables.")
        await saver.restore(session, folder.checkpoint)
    operation = main_op_name(message)
    if operation is not None:
        paths = {f"{prefix}{name}": path for name, path in folder.assets(message).items()}
        feeds = {name: path for name, path in paths.items() if name.partition(":")[0] in session.graph.nodes}
        await session.run(f"{prefix}{operation}", feeds)
