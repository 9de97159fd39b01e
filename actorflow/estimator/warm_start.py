"""Warm start: a training that begins with values of a checkpoint (`tf.estimator.WarmStartSettings`)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from actorflow.graph.graph import get_default_graph
from actorflow.logs import get_logger
from actorflow.public import public
from actorflow.train.saving.checkpoint_init import init_from_checkpoint
from actorflow.variables.collections import GraphKeys

_LOG = get_logger("estimator")


@public("af.estimator")
@dataclass(frozen=True)
class WarmStartSettings:
    """Which variables begin with values of a checkpoint.

    Args:
        ckpt_to_initialize_from: the checkpoint, or a folder of checkpoints.
        vars_to_warm_start: a regular expression of names (all trainable variables unless given), a list of names or of
            variables, or None for none.
        var_name_to_vocab_info: not supported: has to be None.
        var_name_to_prev_var_name: names in the checkpoint, by the names now, where they differ.

    Raises:
        ValueError: no checkpoint is named.
    """

    ckpt_to_initialize_from: str
    vars_to_warm_start: str | Sequence[Any] | None = ".*"
    var_name_to_vocab_info: Mapping[str, Any] | None = None
    var_name_to_prev_var_name: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        if not self.ckpt_to_initialize_from:
            raise ValueError("`ckpt_to_initialize_from` MUST be set in WarmStartSettings")
        if self.var_name_to_vocab_info:
            raise NotImplementedError(
                "A warm start with another vocabulary is not supported: make the new embedding's initializer take the "
                "rows of the old one."
            )


def warm_start_settings(given: Any) -> WarmStartSettings | None:
    """Settings, out of these or a path. Raises ValueError for anything else."""
    if given is None or isinstance(given, WarmStartSettings):
        return given
    if isinstance(given, (str, bytes)):
        return WarmStartSettings(given if isinstance(given, str) else given.decode())
    raise ValueError(f"warm_start_from must be a string or a WarmStartSettings, instead got {type(given)}")


@public("af.train:warm_start")
def warm_start_from(
    ckpt_to_initialize_from: str,
    vars_to_warm_start: str | Sequence[Any] | None = ".*",
    var_name_to_vocab_info: Mapping[str, Any] | None = None,
    var_name_to_prev_var_name: Mapping[str, str] | None = None,
) -> None:
    """Makes the initializers of variables of the default graph take values of a checkpoint (`tf.train.warm_start`).

    Args:
        ckpt_to_initialize_from, vars_to_warm_start: see `actorflow.estimator.WarmStartSettings`.
        var_name_to_vocab_info, var_name_to_prev_var_name: see `actorflow.estimator.WarmStartSettings`.

    Raises:
        NotFoundError: the checkpoint lacks variables; all are listed.
        ValueError: there is no variable of a name.
    """
    warm_start(
        WarmStartSettings(
            ckpt_to_initialize_from, vars_to_warm_start, var_name_to_vocab_info, var_name_to_prev_var_name
        )
    )


def warm_start(settings: WarmStartSettings) -> None:
    """Makes the initializers of the default graph's variables take the checkpoint's values."""
    graph = get_default_graph()
    theirs = settings.var_name_to_prev_var_name or {}
    wanted = settings.vars_to_warm_start
    key = GraphKeys.TRAINABLE_VARIABLES if isinstance(wanted, str) else GraphKeys.GLOBAL_VARIABLES
    variables = {variable.op.name: variable for variable in graph.get_collection(key)}
    if isinstance(wanted, str):
        chosen = {name: variable for name, variable in variables.items() if re.match(wanted, name)}
    else:
        chosen = {}
        for one in wanted or ():
            if not isinstance(one, str):
                chosen[one.op.name] = one
                continue
            matching = {name: variable for name, variable in variables.items() if re.match(one, name)}
            if not matching:
                raise ValueError(f"There is no variable {one!r} to warm-start.")
            chosen |= matching
    _LOG.info("warm start", path=settings.ckpt_to_initialize_from, variables=sorted(chosen))
    if chosen:
        init_from_checkpoint(
            settings.ckpt_to_initialize_from, {theirs.get(name, name): variable for name, variable in chosen.items()}
        )
