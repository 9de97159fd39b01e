"""`Saver`: saves variables to checkpoints, restores them, and keeps as many as are wanted (`tf.train.Saver`)."""

from __future__ import annotations

import os
import weakref
from asyncio import AbstractEventLoop, get_running_loop
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import numpy as np

from actorflow import blocking
from actorflow.base.dtypes import string
from actorflow.base.paths import path_text
from actorflow.base.process import forks, machine
from actorflow.base.reports.user_line import user_line
from actorflow.base.unpicklable import unpicklable
from actorflow.engine.eager.functions.func_graph import FuncGraph
from actorflow.engine.eager.variable import EagerVariable
from actorflow.engine.formats import installed
from actorflow.engine.formats.compare import RestoreRequest
from actorflow.engine.session.session import Session
from actorflow.errors import (
    AbortedError,
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    describe,
    with_topic,
)
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.graph import Graph
from actorflow.graph.ops.array.constant import placeholder
from actorflow.graph.ops.flow.control import group
from actorflow.graph.ops.state.checkpoint import commit_checkpoint, restore_variables, save_variables, take_variables
from actorflow.graph.tensor import Operation, Tensor
from actorflow.graph.variables.partitioned import PartitionedVariable
from actorflow.graph.variables.variable import Variable
from actorflow.models.train.global_steps import get_global_step
from actorflow.models.train.saving.checkpoints import (
    check_fits,
    checkpoint_exists,
    folder_of,
    get_checkpoint_mtimes,
    is_latest,
    update_checkpoint_state,
    warn,
)
from actorflow.models.train.saving.homes import tasks_of
from actorflow.models.train.saving.kept_checkpoints import KeptCheckpoints
from actorflow.models.train.saving.saved_variables import (
    SavedSlice,
    by_task,
    in_this_process,
    named_variables,
    tasks_with_state,
)
from actorflow.models.train.saving.signatures import signature_messages
from actorflow.pending_calls import pending_if_awaited
from actorflow.public import public

if TYPE_CHECKING:
    from actorflow.graph.graphdef.protos import MetaGraphDef, SaverDef, SignatureDef


T = TypeVar("T")


_turns: weakref.WeakKeyDictionary[AbstractEventLoop, anyio.Lock] = weakref.WeakKeyDictionary()


def _files_of(path: str) -> str:
    """The files of a checkpoint, as servers are told to allow them: their paths begin with its path."""
    return f"{path if '://' in path else os.path.abspath(path)}*"


def _turn() -> anyio.Lock:
    """The lock that lets one save at a time go on, on this event loop."""
    return _turns.setdefault(get_running_loop(), anyio.Lock())


def _perform(session: Any, start: Callable[[Session], Coroutine[Any, Any, T]]) -> Any:
    """The coroutine of `start` for an asynchronous session, to be awaited; for a blocking one its result.

    A monitored session stands for the one within it."""
    session = getattr(session, "_monitored", session)
    if isinstance(session, blocking.Session):
        return session._call(lambda: start(session._inner))
    if not hasattr(session, "_engine"):
        raise TypeError(
            describe(
                f"`sess` is a session, but it is {session!r:.60}, of type {type(session).__name__}.",
                where=user_line(),
                hint="Look at the order of the arguments: the session comes first, then the path.",
            )
        )
    return start(session)


@public("af.train")
class Saver:
    """Nodes that save and restore variables, and the bookkeeping of checkpoints.

    With a blocking session the same calls do without `await`. Eager variables, which are given in `var_list`, have no session:
    `saver.save(None, path)`.

    A save takes the values of all variables at one instant, without a copy, and writes them on a thread while steps go
    on; a variable that is updated meanwhile gets a fresh buffer. One save goes on at a time; another one waits. The
    checkpoint appears at once, when all of it is on the disk. It also has the counters of random numbers and the places of
    readers, so that a run that is resumed goes on with the same numbers.

    Example:
        >>> v = af.Variable(3.0, name="v")
        >>> saver = af.train.Saver()
        >>> await session.run(v.initializer)
        >>> path = await saver.save(session, "models/run", global_step=1)
        >>> await session.run(v.assign(0.0))
        0.0
        >>> await saver.restore(session, path)
        >>> await session.run(v)
        3.0
    """

    default_format = installed.STANDARD

    __reduce_ex__ = unpicklable(
        "A saver is not pickled, for its nodes belong to a graph of this process: make it where that graph is made."
    )

    def __init__(
        self,
        var_list: Sequence[Variable | PartitionedVariable] | Mapping[str, Any] | None = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: SaverDef | None = None,
        builder: None = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: Any = None,
        pad_step_number: bool = False,
        save_relative_paths: bool = True,
        filename: None = None,
        *,
        format: str | None = None,
        state: bool = True,
        clock: Callable[[], float] = machine.wall_time,
    ) -> None:
        """Adds the nodes to the graph of the variables, unless `defer_build`.

        Args:
            var_list: the variables, under their own names; or a dict of variables by the names that they have in the
                checkpoint. All global variables of the default graph unless given. Slices of a partitioned variable are
                saved as parts of one tensor under its name, and restored from a tensor that was saved whole or in other slices.
            reshape: whether a value in a checkpoint may have another shape, if it has as many elements.
            sharded: accepted for compatibility, without effect: each device always has its file.
            max_to_keep: the number of checkpoints to keep; the oldest is removed. 0 or None keeps all.
            keep_checkpoint_every_n_hours: of the checkpoints that would be removed, one per this many hours is kept for
                good.
            name: the name scope of the nodes; `save` unless given.
            restore_sequentially: accepted for compatibility, without effect: values are always read in sequence.
            saver_def: a message that says how many checkpoints are kept.
            builder, filename: belong to TensorFlow's stored graphs; they have to be None.
            defer_build: whether to add the nodes later, in `build` or the first save or restore.
            allow_empty: whether a saver without variables is accepted.
            write_version: accepted for compatibility, without effect: there is one format.
            pad_step_number: whether to write the step in a path with eight digits.
            save_relative_paths: accepted for compatibility, without effect: a folder of checkpoints may always be
                moved.
            format: the name of the format of checkpoints that are saved, `standard` unless given; a format of another package
                is installed with it. Those that are restored may be of any format that is installed.
            state: whether to save and restore counters of random numbers and places of readers as well.
            clock: a function that returns the time in seconds.

        Raises:
            ValueError: there are no variables, two have the same name, or an argument that has to be None is not.
            TypeError: something in `var_list` is not a variable.
            InvalidArgumentError: there is no such format.
        """
        if builder is not None or filename is not None:
            raise ValueError("builder and filename belong to TensorFlow's stored graphs; they have to be None.")
        if saver_def is not None:
            max_to_keep = saver_def.max_to_keep
            keep_checkpoint_every_n_hours = saver_def.keep_checkpoint_every_n_hours or keep_checkpoint_every_n_hours
        if max_to_keep is not None and max_to_keep < 0:
            raise ValueError(f"max_to_keep is how many checkpoints are kept, but it is {max_to_keep}.")
        self._given = var_list
        self._format_name = format or self.default_format
        self._format = installed.find(self._format_name)
        self._reshape, self._state, self._clock = reshape, state, clock
        self._name, self._allow_empty, self._pad = name or "save", allow_empty, pad_step_number
        self._kept = KeptCheckpoints(max_to_keep, keep_checkpoint_every_n_hours, clock)
        self._lock = forks.new_lock()
        self._written: tuple[int, bytes] | None = None
        self._homes: Mapping[str, str] = {}
        self._variables: list[SavedSlice] | None = None
        self._graph: Graph
        self._here: list[Any] = []
        """Eager variables as they are saved; see `in_this_process`."""
        self._prefix: Tensor
        self._take_op: Operation | None = None
        self._save_op: Tensor | None = None
        self._restore_op: Operation | None = None
        self._writers: list[Operation] = []
        if not defer_build:
            self.build()

    def build(self) -> None:
        """Adds the nodes that `defer_build` left out.

        Example:
            >>> saver = af.train.Saver(defer_build=True)
            >>> v = af.Variable(1.0, name="v")
            >>> await session.run(v.initializer)
            >>> saver.build()
            >>> saver.writers != ()
            True
        """
        if self._variables is not None:
            return
        variables = named_variables(self._given)
        if not variables and not self._allow_empty:
            raise ValueError("There are no variables to save; make the saver after them, or pass var_list.")
        self._variables = variables
        if any(isinstance(saved.variable, EagerVariable) for saved in variables):
            self._here = [in_this_process(saved.variable) for saved in variables]
            variables = [replace(saved, variable=here) for saved, here in zip(variables, self._here)]
            self._graph, self._state = FuncGraph("saver", may_make=False, ordered=False), False
        else:
            self._graph = variables[0].variable.graph if variables else get_default_graph()
        if not variables:
            return
        step = get_global_step(self._graph)
        step_key = next((saved.key for saved in variables if saved.variable is step), "")
        with self._graph.as_default(), self._graph.control_dependencies(None), self._graph.name_scope(self._name):
            self._prefix = placeholder(string, [], name="prefix")
            takes, saves, restores = [], [], []
            tasks = by_task(variables, self._homes)
            if self._state:
                for task in (*tasks_with_state(self._graph), *self._homes.values()):
                    tasks.setdefault(task, [])
            for device, several in tasks.items():
                keys, handles = [saved.key for saved in several], [saved.variable.op for saved in several]
                with self._graph.device(device), self._graph.control_dependencies(handles):
                    names: dict[str, Any] = {"keys": keys, "handles": [h.name for h in handles], "state": self._state}
                    if any(saved.part for saved in several):
                        names["slices"] = [saved.part for saved in several]
                    take = take_variables(step_key=step_key if step_key in keys else "", name="TakeVariables", **names)
                    takes.append(take)
                    restores.append(
                        restore_variables(self._prefix, reshape=self._reshape, name="RestoreVariables", **names)
                    )
                with self._graph.device(device):
                    written = save_variables(
                        self._prefix, taken=take.name, format=self._format_name, name="SaveVariables"
                    )
                    saves.append(written)
            self._take_op = group(*takes, name="take_all")
            self._save_op = commit_checkpoint(self._prefix, saves, format=self._format_name, name="CommitCheckpoint")
            self._restore_op = group(*restores, name="restore_all")
            self._writers = [node.op for node in (*saves, self._save_op)]

    def _rebuild(self, homes: Mapping[str, str]) -> None:
        """Makes other nodes, for a session that has put variables, and nodes that keep something, on the tasks `homes`."""
        if homes != self._homes and not self._here:
            self._homes, self._variables = dict(homes), None
            finalized = self._graph.finalized
            self._graph._unsafe_unfinalize()
            try:
                with self._graph.as_default():
                    self.build()
            finally:
                if finalized:
                    self._graph.finalize()

    def _eagerly(self, call: Callable[[blocking.Session], T]) -> T:
        """The result of `call` with a session in which eager variables have their values."""
        self.build()
        if self._variables and not self._here:
            raise ValueError(
                describe(
                    "Variables of a graph have their values in a session, but none was given.",
                    where=user_line(),
                    hint="Give it: saver.save(session, path). Under af.eager() variables have values of their own.",
                )
            )
        if [id(in_this_process(saved.variable)) for saved in self._variables or ()] != [
            id(here) for here in self._here
        ]:
            self._variables = None  # a function has taken a variable to a task meanwhile
            self.build()
        with blocking.Session(graph=self._graph) as opened:
            return call(opened)

    @property
    def writers(self) -> Sequence[Operation]:
        """The nodes that write files of checkpoints, each in the task whose values it writes. None before `build`."""
        return tuple(self._writers)

    # Saving

    @pending_if_awaited
    def save(
        self,
        sess: Any,
        save_path: str | os.PathLike[str],
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        *,
        consistent: bool = False,
        taken: Callable[[], object] | None = None,
        signatures: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]] | None = None,
    ) -> Any:
        """Saves the variables of a session; gives the checkpoint's path. To be awaited with an asynchronous session.

        Example:
            >>> v = af.Variable(3.0, name="v")
            >>> saver = af.train.Saver()
            >>> await session.run(v.initializer)
            >>> await saver.save(session, "models/run", global_step=1)
            'models/run-1'

        Args:
            sess: the session, blocking or asynchronous, on the graph of the variables; None for eager variables.
            save_path: the beginning of the path, such as "models/model.ckpt"; a URL goes through `fsspec`.
            global_step: a number, or a tensor or variable that holds it, which is appended to the path.
            latest_filename: the file of the folder that names the latest checkpoint; `checkpoint` unless given.
            meta_graph_suffix: the suffix of the file that holds the graph.
            write_meta_graph: whether to write the graph's nodes beside the checkpoint, as `Graph.to_bytes` gives them.
            write_state: whether to write the file that names the latest checkpoint.
            consistent: whether to wait for the steps in flight and hold up others until the values are taken, so that
                each step's effects are in the checkpoint entirely or not at all. Without it, a step that runs may be
                halfway.
            taken: a function that is called when the values are taken; later changes are not in the checkpoint.
            signatures: the names under which `af.load_model` and `actorflow serve` find tensors of the graph, as (inputs,
                outputs) for each use: `{"serving_default": ({"x": x}, {"y": y})}`. They are written with the graph.

        Raises:
            FailedPreconditionError: variables have no value; all are named.
            AbortedError: a connection between tasks ended during the save, and the values that were taken are gone with
                it.
            ValueError: the path can't be that of checkpoints, or latest_filename has a folder; or a signature has no outputs or a
                tensor of another graph, or there are signatures and no file for them.
            TypeError: a signature names something that is no tensor.
            OpError: writing failed. Earlier checkpoints are unchanged.
        """
        if sess is None:
            number = int(global_step) if isinstance(global_step, EagerVariable) else global_step
            arguments = (save_path, number, latest_filename, meta_graph_suffix, False, write_state)
            return self._eagerly(lambda opened: self.save(opened, *arguments, taken=taken))
        path = path_text(save_path, "save_path")
        if latest_filename is not None and os.path.basename(latest_filename) != latest_filename:
            raise ValueError("latest_filename must not contain path components.")
        taken_name = global_step is None and path.rpartition("/")[2] == (latest_filename or "checkpoint")
        if not path or taken_name:
            raise ValueError(f"{path!r} can't be the path of checkpoints: it has to end in a name of its own.")
        suffix = meta_graph_suffix if write_meta_graph else None
        if signatures and suffix is None:
            raise ValueError("Signatures are written with the graph, so they need write_meta_graph=True.")
        self.build()
        messages = signature_messages(signatures or {}, self._graph)

        def save(opened: Session) -> Any:
            return self._save(
                opened, path, global_step, latest_filename, suffix, write_state, consistent, taken, messages
            )

        return _perform(sess, save)

    async def _save(
        self,
        session: Session,
        path: str,
        global_step: Any,
        latest_filename: str | None,
        meta_suffix: str | None,
        write_state: bool,
        consistent: bool,
        taken: Callable[[], object] | None,
        signatures: Mapping[str, SignatureDef],
    ) -> str:
        if self._save_op is None:
            return ""
        session._engine.allow_files(_files_of(path))
        async with _turn():
            if global_step is not None:
                number = int(
                    global_step if isinstance(global_step, (int, np.integer)) else await session.run(global_step)
                )
                path += f"-{number:08d}" if self._pad else f"-{number}"
            async with session._snapshot(consistent=consistent):
                await self._at_homes(session, lambda: session.run(self._take_op))
            if taken is not None:
                taken()
            try:
                await session.run(self._save_op, {self._prefix: path})
            except FailedPreconditionError as error:
                if error.op != "SaveVariables":
                    raise
                raise AbortedError(  # tasks keep what was taken for a connection
                    f"The values for a checkpoint were taken on {error.device}, and lost before they were written: a connection "
                    "has ended.",
                    hint="Save again. The checkpoints of before are as they were.",
                ) from error

            def finish() -> None:
                if meta_suffix is not None:
                    self._write_graph(path, meta_suffix, signatures)
                if write_state:
                    self._note(path, latest_filename, meta_suffix or "meta")

            with anyio.CancelScope(shield=True):  # the checkpoint is there, so it is noted as well
                await machine.on_thread(finish)
        return path

    def _write_graph(self, path: str, suffix: str, signatures: Mapping[str, SignatureDef]) -> None:
        try:
            data = self._meta_graph_bytes()
        except (TypeError, ValueError) as error:  # a node with a Python function, say
            warn("the graph can't be stored beside its checkpoint", reason=str(error))
            return
        if signatures:
            from actorflow.graph.graphdef.protos import MetaGraphDef

            data += MetaGraphDef(
                signature_def=signatures
            ).SerializeToString()  # messages that follow each other are merged
        installed.small_files().write(folder_of(path), f"{path.rpartition('/')[2]}.{suffix}", data)

    def _meta_graph_bytes(self) -> bytes:
        """The graph as it is now; a graph that has not grown since the last save is not written again."""
        version = self._graph.version
        if self._written is None or self._written[0] != version:
            self._written = version, self.export_meta_graph().SerializeToString()
        return self._written[1]

    def export_meta_graph(
        self,
        filename: str | os.PathLike[str] | None = None,
        collection_list: Sequence[str] | None = None,
        as_text: bool = False,
        export_scope: None = None,
        clear_devices: bool = False,
        clear_extraneous_savers: bool = False,
        strip_default_attrs: bool = False,
    ) -> MetaGraphDef:
        """The graph of this saver as a `MetaGraphDef`, which keeps as many checkpoints; see `train.export_meta_graph`.

        Example:
            >>> v = af.Variable(3.0, name="v")
            >>> await session.run(v.initializer)
            >>> af.train.Saver().export_meta_graph("model.meta").graph_def.node[0].name
            'v/initial_value'

        Args:
            filename: a file that gets the message too; None writes none.
            collection_list: the collections that are part of it; None means all.
            as_text: write the file as text.
            export_scope: must be None.
            clear_devices: leave the requested devices out.
            clear_extraneous_savers, strip_default_attrs: accepted for compatibility, without effect.
        """
        from actorflow.models.train.saving.meta_graph import export_meta_graph

        return export_meta_graph(
            filename,
            saver_def=self.as_saver_def(),
            collection_list=collection_list,
            as_text=as_text,
            graph=self._graph,
            export_scope=export_scope,
            clear_devices=clear_devices,
        )

    def as_saver_def(self) -> SaverDef:
        """How many checkpoints are kept, as a message (`tf.train.SaverDef`). Its names are empty: a MetaGraphDef has nodes of
        its own that save.

        Example:
            >>> v = af.Variable(3.0, name="v")
            >>> await session.run(v.initializer)
            >>> af.train.Saver(max_to_keep=3).as_saver_def().max_to_keep
            3
        """
        from actorflow.graph.graphdef.protos import SaverDef

        return SaverDef(
            max_to_keep=self._kept.most,
            keep_checkpoint_every_n_hours=self._kept.every_hours,
            version=SaverDef.V2,
        )

    @property
    def saver_def(self) -> SaverDef:
        """`as_saver_def()`."""
        return self.as_saver_def()

    @classmethod
    def from_proto(cls, saver_def: SaverDef, import_scope: str | None = None) -> Saver:
        """A saver of the default graph's variables that keeps as many checkpoints as a message says.

        Example:
            >>> with af.Graph().as_default():
            ...     v = af.Variable(3.0, name="v")
            ...     message = af.train.Saver(max_to_keep=3).to_proto()
            ...     print(af.train.Saver.from_proto(message).to_proto().max_to_keep)
            3

        Args:
            saver_def: the message, as `to_proto` gives it.
            import_scope: the name scope of the saver's nodes.
        """
        return cls(saver_def=saver_def, name=import_scope)

    def to_proto(self, export_scope: None = None) -> SaverDef:
        """`as_saver_def()`.

        Example:
            >>> v = af.Variable(3.0, name="v")
            >>> await session.run(v.initializer)
            >>> af.train.Saver(max_to_keep=3).to_proto().max_to_keep
            3
        """
        return self.as_saver_def()

    def _note(self, path: str, latest_filename: str | None, suffix: str) -> None:
        """Names the checkpoint the latest, and then removes those that are too many."""
        with self._lock:
            dropped = self._kept.add(path)
            folder = folder_of(path)
            update_checkpoint_state(folder, path, self.last_checkpoints, latest_filename)
            for old in dropped:
                if not is_latest(old, folder, latest_filename):  # another saver may have made it its latest
                    (installed.at(old) or self._format).remove(old, (f".{suffix}",))

    # Restoring

    @pending_if_awaited
    def restore(self, sess: Any, save_path: str | os.PathLike[str] | None, *, strict: bool = False) -> Any:
        """Gives the variables the values of a checkpoint. To be awaited with an asynchronous session.

        All values are read and checked first; if anything is wrong, no variable is changed.

        Example:
            >>> v = af.Variable(3.0, name="v")
            >>> saver = af.train.Saver()
            >>> await session.run(v.initializer)
            >>> path = await saver.save(session, "models/run")
            >>> await session.run(v.assign(0.0))
            0.0
            >>> await saver.restore(session, path)
            >>> await session.run(v)
            3.0

        Args:
            sess: the session, blocking or asynchronous, on the graph of the variables; None for eager variables.
            save_path: the path that `save` returned, such as "models/model.ckpt-100".
            strict: whether variables that only the checkpoint has are an error too.

        Raises:
            ValueError: there is no checkpoint of that path, or it is None.
            NotFoundError: it lacks variables; the message lists all differences, with the nearest names.
            InvalidArgumentError: variables have another type or shape in it; all are listed.
            DataLossError: it is damaged; the message names the tensor and the file.
        """
        if sess is None:
            self._eagerly(lambda opened: self.restore(opened, save_path, strict=strict))
            for saved, here in zip(self._variables or (), self._here):
                if here is not saved.variable:
                    saved.variable._put(here.numpy())  # type: ignore[attr-defined]
            return None
        if save_path is None:
            raise ValueError(
                describe(
                    "Can't load save_path when it is None: there is no checkpoint to restore.",
                    where=user_line(),
                    hint="latest_checkpoint gives None where a folder has none: look at its result, or at the folder.",
                )
            )
        path = path_text(save_path, "save_path")
        return _perform(sess, lambda s: self._restore(s, path, strict))

    async def _restore(self, session: Session, path: str, strict: bool) -> None:
        self.build()
        if self._restore_op is None:
            return

        def check() -> None:
            if not checkpoint_exists(path):
                raise ValueError(
                    with_topic(
                        f"The passed save_path is not a valid checkpoint: {path}. There is no such checkpoint; "
                        "af.train.latest_checkpoint(folder) gives the newest of a folder.",
                        "no-checkpoint",
                    )
                )
            requests = [RestoreRequest(s.key, s.variable.dtype, s.shape, bool(s.part)) for s in self._variables or ()]
            check_fits(path, requests, strict=strict, reshape=self._reshape)

        await machine.on_thread(check)
        session._engine.allow_files(_files_of(path))

        async def restore() -> None:
            node, prefix = self._in(session, self._restore_op), self._in(session, self._prefix)
            await session.run(node, {prefix: path})

        await self._at_homes(session, restore)

    async def _at_homes(self, session: Session, call: Callable[[], Awaitable[object]]) -> None:
        """Calls a function that runs nodes of this saver; and again, with other nodes, if variables have moved to other tasks."""
        try:
            await call()
        except (NotFoundError, FailedPreconditionError, InvalidArgumentError) as error:
            if error.op not in ("TakeVariables", "RestoreVariables") or session.graph is not self._graph:
                raise
            homes = await tasks_of(session, [saved.variable for saved in self._variables or ()])
            former, here = self._homes, str(DeviceSpec.parse(error.device or "").task_of())
            if homes and (former or {*homes.values()} != {here}):
                self._rebuild(homes)
            if self._homes == former:
                raise
            await call()

    def _in(self, session: Session, node: Any) -> Any:
        """A node, or its name for the session of another graph that has a saver of that name, as an imported graph has."""
        is_elsewhere = session.graph is not self._graph and node.name.partition(":")[0] in session.graph.nodes
        return node.name if is_elsewhere else node

    # The checkpoints that are kept

    @property
    def last_checkpoints(self) -> list[str]:
        """The paths of the checkpoints that this saver has made and not removed, oldest first."""
        return self._kept.paths

    def set_last_checkpoints(self, last_checkpoints: Sequence[str]) -> None:
        """Takes these for those made last, oldest first, as if they were made now.

        Example:
            >>> v = af.Variable(3.0, name="v")
            >>> await session.run(v.initializer)
            >>> saver = af.train.Saver()
            >>> saver.set_last_checkpoints(["models/run-1", "models/run-2"])
            >>> saver.last_checkpoints
            ['models/run-1', 'models/run-2']
        """
        self.set_last_checkpoints_with_time([(path, self._clock()) for path in last_checkpoints])

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time: Sequence[tuple[str, float]]) -> None:
        """Takes these paths, with their times, for those made last, oldest first.

        Example:
            >>> v = af.Variable(3.0, name="v")
            >>> await session.run(v.initializer)
            >>> saver = af.train.Saver()
            >>> saver.set_last_checkpoints_with_time([("models/run-1", 1.7e9)])
            >>> saver.last_checkpoints
            ['models/run-1']
        """
        with self._lock:
            self._kept.replace(last_checkpoints_with_time)

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str]) -> None:
        """Takes those of the paths that exist for those made last: what a restarted program calls, so that they count. A
        damaged one counts too, as made long ago, so that it goes in its turn.

        Example:
            >>> v = af.Variable(3.0, name="v")
            >>> await session.run(v.initializer)
            >>> path = await af.train.Saver().save(session, "models/run", global_step=1)
            >>> saver = af.train.Saver()  # of a program that was started again
            >>> saver.recover_last_checkpoints([path, "models/run-2"])
            >>> saver.last_checkpoints
            ['models/run-1']
        """
        pairs = []
        for path in checkpoint_paths:
            try:
                pairs += [(path, saved_at) for saved_at in get_checkpoint_mtimes([path])]
            except DataLossError:
                pairs.append((path, 0.0))
        self.set_last_checkpoints_with_time(pairs)
