"""Warm start: a training that begins with values of a checkpoint (`tf.estimator.WarmStartSettings`)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from actorflow.base.reports.logs import get_logger
from actorflow.exchange.saved_model.constants import (
    SAVED_MODEL_FILENAME_PB,
    SAVED_MODEL_FILENAME_PBTXT,
    VARIABLES_DIRECTORY,
    VARIABLES_FILENAME,
)
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.variables.collections import GraphKeys
from actorflow.models.train.saving.checkpoint_init import init_from_checkpoint
from actorflow.public import public
from actorflow.training.estimator.vocabulary import VocabInfo, begin_with_words

_LOG = get_logger("estimator")


@public("af.estimator")
@dataclass(frozen=True)
class WarmStartSettings:
    """Which variables begin with values of a checkpoint.

    Example:
        >>> settings = af.estimator.WarmStartSettings("models/old", vars_to_warm_start="embedding.*")
        >>> settings.vars_to_warm_start
        'embedding.*'

    Args:
        ckpt_to_initialize_from: the checkpoint, or a folder of checkpoints.
        vars_to_warm_start: a regular expression of names (all trainable variables unless given), a list of names or of
            variables, or None for none.
        var_name_to_vocab_info: the `VocabInfo` of variables whose vocabulary has changed, by their names.
        var_name_to_prev_var_name: names in the checkpoint, by the names now, if they differ.

    Raises:
        ValueError: no checkpoint is named.
    """

    ckpt_to_initialize_from: str
    vars_to_warm_start: str | Sequence[Any] | None = ".*"
    var_name_to_vocab_info: Mapping[str, VocabInfo] | None = None
    var_name_to_prev_var_name: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        if not self.ckpt_to_initialize_from:
            raise ValueError("`ckpt_to_initialize_from` MUST be set in WarmStartSettings")


def warm_start_settings(settings: Any) -> WarmStartSettings | None:
    """Settings, out of these or a path. Raises ValueError for anything else."""
    if settings is None or isinstance(settings, WarmStartSettings):
        return settings
    if isinstance(settings, (str, bytes)):
        return WarmStartSettings(_variables_of(settings if isinstance(settings, str) else settings.decode()))
    raise ValueError(f"warm_start_from must be a string or a WarmStartSettings, instead got {type(settings)}")


def _variables_of(path: str) -> str:
    """The checkpoint within a saved model; any other path as it is."""
    names = (SAVED_MODEL_FILENAME_PB, SAVED_MODEL_FILENAME_PBTXT)
    if any(os.path.exists(os.path.join(path, name)) for name in names):
        return os.path.join(path, VARIABLES_DIRECTORY, VARIABLES_FILENAME)
    return path


@public("af.train:warm_start")
def warm_start_from(
    ckpt_to_initialize_from: str,
    vars_to_warm_start: str | Sequence[Any] | None = ".*",
    var_name_to_vocab_info: Mapping[str, VocabInfo] | None = None,
    var_name_to_prev_var_name: Mapping[str, str] | None = None,
) -> None:
    """Makes the initializers of variables of the default graph take values of a checkpoint (`tf.train.warm_start`).

    Example:
        >>> async with af.Session(graph=af.Graph()) as session:
        ...     with session.graph.as_default():
        ...         v = af.get_variable("v", initializer=3.0)
        ...         await session.run(v.initializer)
        ...         path = await af.train.Saver().save(session, "models/old")
        >>> async with af.Session(graph=af.Graph()) as session:
        ...     with session.graph.as_default():
        ...         v = af.get_variable("v", [], initializer=af.zeros_initializer())
        ...         af.train.warm_start("models")
        ...         await session.run(v.initializer)
        ...         print(await session.run(v))
        3.0

    Args:
        ckpt_to_initialize_from, vars_to_warm_start: see `actorflow.estimator.WarmStartSettings`.
        var_name_to_vocab_info, var_name_to_prev_var_name: see `actorflow.estimator.WarmStartSettings`.

    Raises:
        NotFoundError: the checkpoint lacks variables; all are listed.
        ValueError: there is no variable of a name, or a vocabulary does not fit.
    """
    warm_start(
        WarmStartSettings(
            ckpt_to_initialize_from, vars_to_warm_start, var_name_to_vocab_info, var_name_to_prev_var_name
        )
    )


def warm_start(settings: WarmStartSettings) -> None:
    """Makes the initializers of the default graph's variables take the checkpoint's values."""
    theirs, words = settings.var_name_to_prev_var_name or {}, settings.var_name_to_vocab_info or {}
    trainable = _by_name(GraphKeys.TRAINABLE_VARIABLES)
    patterns = settings.vars_to_warm_start
    chosen = _chosen(patterns, trainable if isinstance(patterns, str) else _by_name(GraphKeys.GLOBAL_VARIABLES))
    if patterns is None:
        chosen = {name: variables for name, variables in trainable.items() if name in words}
    for argument, names in (("var_name_to_prev_var_name", theirs), ("var_name_to_vocab_info", words)):
        if unused := sorted(set(names) - set(chosen)):
            raise ValueError(
                f"You provided the following variables in {argument} that were not used: {unused}. Perhaps you misspelled "
                f"them? Here is the list of viable variable names: {sorted(chosen)}"
            )
    path = settings.ckpt_to_initialize_from
    _LOG.info("warm start", path=path, variables=sorted(chosen))
    for name, variables in chosen.items():
        key = theirs.get(name, name)
        if name in words:
            for variable in variables:
                begin_with_words(variable, words[name], path, key)
        else:
            init_from_checkpoint(path, {key: variables[0] if len(variables) == 1 else list(variables)})


def _by_name(collection: str) -> dict[str, list[Any]]:
    """The variables of a collection by name; the slices of one stand together."""
    variables: dict[str, list[Any]] = {}
    for variable in get_default_graph().get_collection(collection):
        info = variable._save_slice_info
        variables.setdefault(variable.op.name if info is None else info.full_name, []).append(variable)
    return variables


def _chosen(names: Any, variables_by_name: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """The variables that are asked for: by a regular expression, by several, or themselves."""
    if isinstance(names, str):
        return {name: variables for name, variables in variables_by_name.items() if re.match(names, name)}
    chosen: dict[str, list[Any]] = {}
    for entry in names or ():
        if not isinstance(entry, str):
            chosen[entry.op.name] = [entry]
            continue
        matching = {name: variables for name, variables in variables_by_name.items() if re.match(entry, name)}
        if not matching:
            raise ValueError(f"There is no variable {entry!r} to warm-start.")
        chosen |= matching
    return chosen
