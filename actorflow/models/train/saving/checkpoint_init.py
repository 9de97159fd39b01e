"""`init_from_checkpoint`: variables that begin with values of a checkpoint (`tf.train.init_from_checkpoint`)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from actorflow.engine.formats.compare import RestoreRequest
from actorflow.errors import NotFoundError
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.ops.array.constant import constant
from actorflow.graph.ops.state import variable as state
from actorflow.graph.ops.state.checkpoint import restore_v2
from actorflow.graph.variables.partitioned import PartitionedVariable
from actorflow.graph.variables.store import store_of
from actorflow.graph.variables.variable import Variable
from actorflow.models.train.saving.checkpoints import check_fits, find_checkpoint
from actorflow.models.train.saving.saved_variables import SavedSlice, named_variables
from actorflow.public import public


class MissingVariablesError(NotFoundError, ValueError):
    """The checkpoint lacks variables. It is a ValueError too, which it is in TensorFlow."""


@public("af.train")
def init_from_checkpoint(
    ckpt_dir_or_file: str | os.PathLike[str], assignment_map: Mapping[str, Any] | list[tuple[str, Any]]
) -> None:
    """Makes the initializers of variables take values of a checkpoint, or of the latest in a folder. Slices of a partitioned
    variable take theirs of the whole; the list of all slices stands for that variable.

    `assignment_map` says which, from names in the checkpoint to what they become. A name becomes a variable, or the name of a
    variable made by `get_variable`; a scope (with `/` at its end; `/` is all) becomes a scope. Variables of such a scope that
    the checkpoint lacks are a mistake.

    Example:
        >>> async with af.Session(graph=af.Graph()) as session:
        ...     with session.graph.as_default():
        ...         old = af.get_variable("old", initializer=3.0)
        ...         await session.run(old.initializer)
        ...         path = await af.train.Saver().save(session, "model")
        >>> async with af.Session(graph=af.Graph()) as session:
        ...     with session.graph.as_default():
        ...         v = af.get_variable("v", [], initializer=af.zeros_initializer())
        ...         af.train.init_from_checkpoint(path, {"old": "v"})
        ...         await session.run(v.initializer)
        ...         print(await session.run(v))
        3.0

    Raises:
        NotFoundError: there is no checkpoint, or it lacks variables; all are listed.
        InvalidArgumentError: shapes or types differ; all are listed.
        ValueError: there is no variable of a name, or none in a scope.
    """
    path = find_checkpoint(ckpt_dir_or_file)
    pairs = list(assignment_map.items()) if isinstance(assignment_map, Mapping) else list(assignment_map)
    chosen = [saved for theirs, mine in pairs for saved in _pairs(theirs, mine)]
    requests = [RestoreRequest(saved.key, saved.variable.dtype, saved.shape, bool(saved.part)) for saved in chosen]
    try:
        check_fits(path, requests, strict=False, reshape=False)
    except NotFoundError as error:
        raise MissingVariablesError(error.message, details=error.details, hint=error.hint) from None
    for saved in chosen:
        _begin_with(saved, path)


def _pairs(theirs: str, mine: Any) -> list[SavedSlice]:
    """The variables with their names in the checkpoint, for one entry of an assignment map."""
    if isinstance(mine, (Variable, PartitionedVariable)):
        return named_variables({theirs: mine})
    if isinstance(mine, list):
        return _whole(theirs, mine)
    store = store_of(get_default_graph())
    variables: dict[str, Any] = {
        **{name: v for name, v in store.variables.items() if v._save_slice_info is None},
        **store.partitioned,
    }
    if not isinstance(mine, str):
        raise ValueError(f"A variable or the name of one was expected for {theirs!r}, but {mine!r:.80} was given.")
    if not theirs.endswith("/"):
        if mine not in variables:
            raise ValueError(f"There is no variable {mine!r} that was made by get_variable.")
        return named_variables({theirs: variables[mine]})
    scope = "" if mine == "/" else mine
    if scope and not scope.endswith("/"):
        raise ValueError(f"The scope {theirs!r} becomes a scope, which ends in /, but {mine!r} was given.")
    begin = "" if theirs == "/" else theirs
    in_scope = {begin + name.removeprefix(scope): v for name, v in variables.items() if name.startswith(scope)}
    if not in_scope:
        raise ValueError(f"There are no variables in the scope {mine!r}.")
    return named_variables(in_scope)


def _whole(theirs: str, slices: list[Any]) -> list[SavedSlice]:
    """All slices of a variable, under another name."""
    return [SavedSlice(theirs, part, part._save_slice_info.spec, part._save_slice_info.full_shape) for part in slices]


def _begin_with(saved: SavedSlice, path: str) -> None:
    variable = saved.variable
    graph = variable.graph
    with graph.as_default(), graph.control_dependencies(None), graph.name_scope("init_from_checkpoint"):
        with graph.device(variable.device or None):
            names, slices = constant([saved.key]), constant([saved.part])
            read: Any = restore_v2(constant(path), names, slices, dtypes=[variable.dtype])
            read.set_shape(variable.static_shape)
            variable.begin_with(read, state.assign_target(variable.handle, read, name="Assign"))
