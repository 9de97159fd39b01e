"""`init_from_checkpoint`: variables that begin with values of a checkpoint (`tf.train.init_from_checkpoint`)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from actorflow.graph.graph import get_default_graph
from actorflow.ops import state
from actorflow.ops.save_ops import restore_v2
from actorflow.ops.source import constant
from actorflow.train.checkpoints import checkpoint_format, find_checkpoint
from actorflow.variables.store import store_of
from actorflow.variables.variable import Variable


def init_from_checkpoint(
    ckpt_dir_or_file: str | os.PathLike[str], assignment_map: Mapping[str, Any] | list[tuple[str, Any]]
) -> None:
    """Makes the initializers of variables take values of a checkpoint, or of the latest one in a folder.

    `assignment_map` says which, from names in the checkpoint to what they become: a name to a variable, or to the name of one
    made by `get_variable`; a scope (with `/` at its end; `/` is all) to a scope. Variables of such a scope that the
    checkpoint lacks are a mistake.

    Raises:
        NotFoundError: there is no checkpoint, or it lacks variables; all are listed.
        InvalidArgumentError: shapes or types differ; all are listed.
        ValueError: there is no variable of a name, or none in a scope.
    """
    path = find_checkpoint(ckpt_dir_or_file)
    pairs = list(assignment_map.items()) if isinstance(assignment_map, Mapping) else list(assignment_map)
    chosen: dict[str, list[Variable]] = {}
    for theirs, mine in pairs:
        for key, variable in _pairs(theirs, mine):
            chosen.setdefault(key, []).append(variable)
    wanted = [(key, v.dtype, v.static_shape) for key, variables in chosen.items() for v in variables]
    checkpoint_format().check(path, wanted, strict=False, reshape=False)
    for key, variables in chosen.items():
        for variable in variables:
            _begin_with(variable, path, key)


def _pairs(theirs: str, mine: Any) -> list[tuple[str, Variable]]:
    """(name in the checkpoint, variable) for one entry of an assignment map."""
    if isinstance(mine, Variable):
        return [(theirs, mine)]
    known = store_of(get_default_graph()).variables
    if not isinstance(mine, str):
        raise ValueError(f"A variable or the name of one was expected for {theirs!r}, but {mine!r:.80} was given.")
    if not theirs.endswith("/"):
        if mine not in known:
            raise ValueError(f"There is no variable {mine!r} that was made by get_variable.")
        return [(theirs, known[mine])]
    scope = "" if mine == "/" else mine
    if scope and not scope.endswith("/"):
        raise ValueError(f"The scope {theirs!r} becomes a scope, which ends in /, but {mine!r} was given.")
    begin = "" if theirs == "/" else theirs
    found = [(begin + name.removeprefix(scope), v) for name, v in known.items() if name.startswith(scope)]
    if not found:
        raise ValueError(f"There are no variables in the scope {mine!r}.")
    return found


def _begin_with(variable: Variable, path: str, key: str) -> None:
    graph = variable.graph
    with graph.as_default(), graph.control_dependencies(None), graph.name_scope("init_from_checkpoint"):
        with graph.device(variable.device or None):
            read: Any = restore_v2(constant(path), constant([key]), constant([""]), dtypes=[variable.dtype])
            read.set_shape(variable.static_shape)
            variable.begin_with(read, state.assign_target(variable.handle, read, name="Assign"))
