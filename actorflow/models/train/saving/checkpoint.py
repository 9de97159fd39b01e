"""`Checkpoint`: the variables of a program's objects in files, by the ways to them (`tf.train.Checkpoint`)."""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np

from actorflow.base.paths import path_text
from actorflow.base.reports.user_line import user_line
from actorflow.base.shapes import compatible, show
from actorflow.base.unpicklable import unpicklable
from actorflow.engine.eager.scope import eager_graph
from actorflow.engine.eager.variable import EagerVariable, when_used
from actorflow.engine.formats import installed
from actorflow.engine.formats.base import FormatReader
from actorflow.errors import describe
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.variables.variable import Variable
from actorflow.models.train.saving.checkpoints import checkpoint_exists, load_checkpoint, warn
from actorflow.models.train.saving.object_graph import GRAPH, ObjectKeys, ObjectSlot, graph_of, keys_of
from actorflow.models.train.saving.objects import Reached, ResumableObject, reached_from, variables_of
from actorflow.models.train.saving.saver import Saver
from actorflow.public import public

_COUNTER = "save_counter"


@public("af.train")
class Checkpoint:
    """The variables of objects, saved and restored by the names of attributes that lead to them (`tf.train.Checkpoint`).

    Objects are those of any class, lists, dicts, variables, optimizers, and iterators of datasets, which go on at their place;
    another attribute may be added at any time. Two
    programs that reach equal variables in equal ways read each other's files; one may be eager, and the other build graphs. The
    format and its promises are those of `af.train.Saver`: a checkpoint appears at once when all of it is on the disk, and damage
    is found.

    Example:
        >>> v = af.Variable(3.0)
        >>> checkpoint = af.train.Checkpoint(v=v)
        >>> path = checkpoint.save("models/run")
        >>> v.assign(0.0)
        0.0
        >>> status = checkpoint.restore(path)
        >>> path, v
        ('models/run-1', 3.0)

    Args:
        kwargs: the objects by the names with which the ways begin.
    """

    default_format = installed.STANDARD

    __reduce_ex__ = unpicklable("A checkpoint of objects is not pickled: save it, and hand over the path.")

    def __init__(self, **kwargs: Any) -> None:
        for name, value in kwargs.items():
            setattr(self, name, value)
        self._checkpoint_saver: tuple[Any, Saver] | None = None
        self._checkpoint_restoring: Restoring | None = None
        self._checkpoint_message: tuple[Variable, Any] | None = None

    @property
    def save_counter(self) -> Variable:
        """A variable: how often the objects were saved."""
        counter: Variable | None = self.__dict__.get(_COUNTER)
        if counter is None:
            with get_default_graph().home.as_default():
                counter = self.__dict__[_COUNTER] = Variable(0, trainable=False, name=_COUNTER, dtype="int64")
        return counter

    def save(self, file_prefix: str | os.PathLike[str], session: Any = None) -> str:
        """Saves to `<file_prefix>-<number>`, where the number grows by 1 each time; gives the path.

        Example:
            >>> checkpoint = af.train.Checkpoint(v=af.Variable(1.0))
            >>> checkpoint.save("run"), checkpoint.save("run")
            ('run-1', 'run-2')

        Args:
            file_prefix: the beginning of the path.
            session: the blocking session whose values are saved, for variables of a graph; not for eager variables.

        Raises:
            ValueError: there is no session for variables of a graph.
            OpError: writing failed. Earlier checkpoints are unchanged.
        """
        counter = self.save_counter
        if isinstance(counter, EagerVariable):
            counter.assign_add(1)
            number = int(counter)
        else:
            number = int(self._session(session).run(counter)) + 1
            self._session(session).run(counter.initializer, {counter.initializer.inputs[1]: number})
        return self.write(f"{path_text(file_prefix, 'file_prefix')}-{number}", session, write_state=True)

    def write(self, file_prefix: str | os.PathLike[str], session: Any = None, *, write_state: bool = False) -> str:
        """Saves to just this path, without counting.

        Example:
            >>> af.train.Checkpoint(v=af.Variable(1.0)).write("weights")
            'weights'

        Args:
            file_prefix: the path.
            session: see `save`.
            write_state: whether the folder names it the latest checkpoint.

        Raises:
            ValueError: there is nothing to save, or no session for variables of a graph.
            OpError: writing failed.
        """
        self.save_counter  # noqa: B018  (it is part of what is saved)
        reached = reached_from(self)
        variables = reached.variables
        for way, resumable in reached.resumable.items():
            variables[way] = _holder(resumable)
        eager = [v for v in variables.values() if isinstance(v, EagerVariable)]
        if eager and len(eager) < len(variables):
            raise ValueError(
                describe("Variables of graphs and eager ones can't be in one checkpoint.", where=user_line())
            )
        key = tuple((way, id(variable)) for way, variable in variables.items())
        opened: Any = None if eager else self._session(session)
        if self._checkpoint_saver is None or self._checkpoint_saver[0] != key:
            saved = variables if self.default_format == installed.STANDARD else self._as_objects(reached, opened)
            format = self.default_format
            self._checkpoint_saver = key, Saver(saved, max_to_keep=None, state=not eager, format=format)
        if not eager and (message := self._checkpoint_message) is not None:
            opened.run(message[0].initializer, {message[0].initializer.inputs[1]: message[1]})
        path: str = self._checkpoint_saver[1].save(opened, file_prefix, write_meta_graph=False, write_state=write_state)
        return path

    def restore(self, save_path: str | os.PathLike[str] | None) -> Restoring:
        """Gives the variables the values of a checkpoint; those that are made later get theirs when they are first used.

        Example:
            >>> v = af.Variable(1.0)
            >>> checkpoint = af.train.Checkpoint(v=v)
            >>> path = checkpoint.save("run")
            >>> v.assign(5.0)
            5.0
            >>> status = checkpoint.restore(path).assert_consumed()
            >>> v
            1.0

        Args:
            save_path: the path that `save` gave. It may be a path of TensorFlow's `tf.train.Checkpoint`, whose objects are
                found by the same names, or of a `Saver`, whose names are those of variables. None, which
                `latest_checkpoint` gives for an empty folder, restores nothing.

        Returns:
            A status: what was restored, and what was not. For variables of a graph its method `run_restore_ops(session)` does
            the work.

        Raises:
            ValueError: there is no such checkpoint, or a variable has another shape or type in it; none is changed then.
            DataLossError: it is damaged.
        """
        reader = None
        if save_path is not None:
            path = path_text(save_path, "save_path")
            if not checkpoint_exists(path):
                raise ValueError(
                    describe(f"The passed save_path is not a valid checkpoint: {path}.", where=user_line())
                )
            reader = load_checkpoint(path)
        status = Restoring(self, reader)
        self._checkpoint_restoring = status
        status.restore()
        if reader is not None:
            when_used(weakref.WeakMethod(status.used))
        return status

    read = restore

    def _as_objects(self, reached: Reached, session: Any) -> dict[str, Variable]:
        """The variables by TensorFlow's keys, and its message of objects as a variable."""
        keys = keys_of(reached.variables, reached.slots)
        names = {way: variable.op.name for way, variable in reached.variables.items()}
        data = np.array(graph_of(keys, names, reached.slots), object)
        graph = get_default_graph().home if session is None else session.graph
        with (eager_graph() if session is None else graph).as_default():
            message = Variable(data, trainable=False, name="objects", dtype="string", collections=[])
        self._checkpoint_message = message, data
        return {**{keys[way]: variable for way, variable in reached.variables.items()}, GRAPH: message}

    @staticmethod
    def _session(session: Any) -> Any:
        if session is None:
            raise ValueError(
                describe(
                    "Variables of a graph have their values in a session: give it as session=...",
                    where=user_line(),
                    hint="Under af.eager() variables have values of their own.",
                )
            )
        return session


def _holder(resumable: Any) -> EagerVariable:
    """A variable with the state of an object that has no variables."""
    holder: Any = getattr(resumable, "_checkpoint_holder", None)
    if holder is None:
        with eager_graph().as_default():
            holder = Variable(b"", trainable=False, name="state", dtype="string")
        resumable._checkpoint_holder = holder
    holder.assign(resumable.state())
    variable: EagerVariable = holder
    return variable


class Restoring:
    """The status of `Checkpoint.restore`: which values of the checkpoint are wanted, and which were given."""

    def __init__(self, checkpoint: Checkpoint, reader: FormatReader | None) -> None:
        self._checkpoint = checkpoint
        self._reader = reader
        names: Mapping[str, Any] = {} if reader is None else reader.get_variable_to_shape_map()
        self._keys = None
        if reader is not None and GRAPH in names:
            self._keys = ObjectKeys(np.asarray(reader.get_tensor(GRAPH), object).item())
        self._names = set(names) if self._keys is None else self._keys.every() & set(names)
        self._by_way = reader is None or self._keys is not None or _COUNTER in self._names
        self._done: dict[int, str] = {}
        self._told = False

    # Actions

    def restore(self) -> None:
        """Gives values to all eager variables that are reached by now and have none yet. Raises ValueError for a value that
        does not fit."""
        if self._reader is None:
            return
        if self._by_way and self._key(_COUNTER) in self._names:
            self._checkpoint.save_counter  # noqa: B018
        matches = self._matches()
        fresh = [
            (name, variable)
            for name, variable in matches.items()
            if isinstance(variable, EagerVariable) and id(variable) not in self._done
        ]
        self._tell_of_nothing(matches)
        values = [(variable, self._value(name, variable)) for name, variable in fresh]
        for variable, value in values:
            variable._put(value)
        self._done.update({id(variable): name for name, variable in fresh})
        for way, resumable in self._resumable().items():
            if id(resumable) not in self._done:
                resumable.restore(np.asarray(self._reader.get_tensor(str(self._key(way))), object).item())
                self._done[id(resumable)] = way

    def used(self, variable: EagerVariable) -> None:
        """Called when a variable is used first that was made after the restore."""
        if self._checkpoint._checkpoint_restoring is self:
            self.restore()

    def run_restore_ops(self, session: Any = None) -> None:
        """Restores variables of a graph in a session. Under eager execution it is done already."""
        matches = {n: v for n, v in self._matches().items() if not isinstance(v, EagerVariable)}
        if self._reader is None or not matches:
            return
        session = Checkpoint._session(session)
        for name, variable in matches.items():
            session.run(variable.initializer, {variable.initializer.inputs[1]: self._value(name, variable)})
            self._done[id(variable)] = name

    def initialize_or_restore(self, session: Any = None) -> None:
        """Restores what the checkpoint has, and initializes the other variables of a graph."""
        others = [v for v in self._variables().values() if not isinstance(v, EagerVariable)]
        restored = {id(v) for v in self._matches().values()}
        for variable in others:
            if id(variable) not in restored:
                Checkpoint._session(session).run(variable.initializer)
        self.run_restore_ops(session)

    # Questions

    def assert_consumed(self) -> Restoring:
        """Raises AssertionError unless all values of the checkpoint, and all variables, found each other."""
        self.assert_existing_objects_matched()
        taken = {self._key(way) for way in self._resumable()}
        left = sorted(self._names - set(self._matches()) - taken)
        if left:
            raise AssertionError(
                f"Unresolved object in checkpoint: {', '.join(left[:10])}: no variable is there for it."
            )
        return self

    def assert_existing_objects_matched(self) -> Restoring:
        """Raises AssertionError where a variable has no value in the checkpoint."""
        self.restore()
        restored = {id(v) for v in self._matches().values()}
        left = [way for way, v in self._variables().items() if id(v) not in restored and way != _COUNTER]
        if left:
            raise AssertionError(f"Object not assigned a value from checkpoint: {', '.join(sorted(left)[:10])}.")
        return self

    def assert_nontrivial_match(self) -> Restoring:
        """Raises AssertionError where nothing was restored but the counter."""
        if not set(self._matches()) - {self._key(_COUNTER)}:
            raise AssertionError("Nothing to load: no variable has a value in the checkpoint.")
        return self

    def expect_partial(self) -> Restoring:
        """Says that values may be left over. There is no warning that it would silence."""
        return self

    def _variables(self) -> dict[str, Variable]:
        return variables_of(self._checkpoint)

    def _resumable(self) -> dict[str, ResumableObject]:
        """The objects that are reached and have a state in the checkpoint, by the ways to them."""
        several = reached_from(self._checkpoint).resumable
        return {way: resumable for way, resumable in several.items() if self._key(way) in self._names}

    def _matches(self) -> dict[str, Variable]:
        """The variables that are reached, by their names in the checkpoint: ways, or names of variables for a `Saver`."""
        reached = reached_from(self._checkpoint)
        named = {
            (self._key(way, reached.slots.get(way)) if self._by_way else variable.op.name): variable
            for way, variable in reached.variables.items()
        }
        return {name: variable for name, variable in named.items() if name is not None and name in self._names}

    def _key(self, way: str, slot: ObjectSlot | None = None) -> str | None:
        """The key in the checkpoint of what is at a way."""
        return way if self._keys is None else self._keys.key(way, slot)

    def _tell_of_nothing(self, matches: Mapping[str, Variable]) -> None:
        """Tells the log, once, if there are variables and values, and no variable has a value."""
        ways = [way for way in self._variables() if way != _COUNTER]
        there = sorted(self._names - {_COUNTER, self._key(_COUNTER)})
        if self._told or not ways or not there or any(v is not self._checkpoint.save_counter for v in matches.values()):
            return
        self._told = True
        assert self._reader is not None
        warn(
            "nothing of a checkpoint was restored",
            path=self._reader.prefix,
            wanted=", ".join(ways[:5]),
            there=", ".join(there[:5]),
        )

    def _value(self, name: str, variable: Variable) -> Any:
        assert self._reader is not None
        value = self._reader.get_tensor(name)
        dtype = self._reader.get_variable_to_dtype_map()[name]
        if dtype is not variable.dtype or not compatible(variable.static_shape, value.shape):
            raise ValueError(
                describe(
                    f"{name} is {dtype} of shape {value.shape} in {self._reader.prefix}, but the variable is {variable.dtype} "
                    f"of shape {show(variable.static_shape)}.",
                    where=user_line(),
                )
            )
        return value
