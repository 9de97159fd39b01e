"""`Estimator.export_saved_model` as a program."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from actorflow.base.process import machine
from actorflow.exchange.saved_model.builder import SavedModelBuilder
from actorflow.exchange.saved_model.constants import TRAIN_OP_KEY
from actorflow.exchange.saved_model.tag_constants import EVAL, SERVING, TRAINING
from actorflow.graph.variables.collections import GraphKeys
from actorflow.models.train.saving.checkpoints import latest_checkpoint
from actorflow.training.estimator.export.outputs import export_outputs_of, signatures_of, supervised_signature
from actorflow.training.estimator.programs.hosts import KeptHost
from actorflow.training.estimator.spec import ModeKeys
from actorflow.training.monitored.commands import Await, Program
from actorflow.training.monitored.scaffold import Scaffold

if TYPE_CHECKING:
    from actorflow.training.estimator.core import Core

_EXTRA = "assets.extra"
_TAGS = {ModeKeys.PREDICT: SERVING, ModeKeys.TRAIN: TRAINING, ModeKeys.EVAL: EVAL}


def exporting(
    core: Core,
    export_dir_base: str,
    serving_input_receiver_fn: Callable[[], Any],
    assets_extra: Mapping[str, str] | None,
    as_text: bool,
    checkpoint_path: str | None,
    mode: str,
    format: str,
) -> Program[str]:
    """Writes the model with the values of a checkpoint or of a warm start to a numbered folder.

    See `Estimator.export_saved_model`.
    """
    if serving_input_receiver_fn is None:
        raise ValueError("An input_receiver_fn must be defined.")
    if mode not in _TAGS:
        raise ValueError(f"A saved model is for a mode of {sorted(_TAGS)}, but experimental_mode is {mode!r}.")
    path = checkpoint_path or latest_checkpoint(core.model_dir)
    if path is None and not core.starts_warm:
        raise ValueError(f"Couldn't find trained model at {core.model_dir}.")
    built, receiver = core.graphs.for_export(mode, serving_input_receiver_fn, warm=path is None)
    with built.graph.as_default():
        if mode == ModeKeys.PREDICT:
            signatures = signatures_of(receiver, export_outputs_of(built.spec))
        else:
            signatures = {mode: supervised_signature(built.spec, receiver.receiver_tensors)}
        if mode == ModeKeys.TRAIN:
            built.graph.add_to_collection(TRAIN_OP_KEY, built.spec.train_op)
        main_op = built.spec.scaffold.local_init_op if built.spec.scaffold is not None else None
        main_op = main_op if main_op is not None else Scaffold.default_local_init_op()
    number, passing = _folder(Path(os.fsdecode(export_dir_base)))
    try:
        builder = SavedModelBuilder(passing, format=format)
        host = KeptHost(built, "", core.session_options, path=path, keeps=False, face=core.face, fresh=True)
        try:
            yield Await(host.start)
            assets = built.graph.get_collection(GraphKeys.ASSET_FILEPATHS)
            yield Await(
                lambda: builder.add_meta_graph_and_variables(
                    host.session, [_TAGS[mode]], signatures, assets, main_op=main_op, saver=built.scaffold.saver
                )
            )
        finally:
            yield Await(host.close)
        yield Await(lambda: machine.on_thread(lambda: _finish(builder, passing, assets_extra or {}, as_text)))
        passing.rename(passing.parent / str(number))
    except BaseException:
        shutil.rmtree(passing, ignore_errors=True)
        raise
    return str(passing.parent / str(number))


def _folder(base: Path) -> tuple[int, Path]:
    """The number of a new export, the time in seconds or the next free number; and a folder that is written first."""
    base.mkdir(parents=True, exist_ok=True)
    number = int(machine.wall_time())
    while True:
        passing = base / f"temp-{number}"
        try:
            if not (base / str(number)).exists():
                passing.mkdir()
                return number, passing
        except FileExistsError:
            pass  # another export of this second
        number += 1


def _finish(builder: SavedModelBuilder, folder: Path, extra: Mapping[str, str], as_text: bool) -> None:
    for destination, source in extra.items():
        place = (folder / _EXTRA / destination).resolve()
        if not place.is_relative_to((folder / _EXTRA).resolve()):
            raise ValueError(f"assets_extra has the path {destination!r}, which leads out of the folder.")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, place)
    builder.save(as_text)
