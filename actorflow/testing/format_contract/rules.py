"""The rules on formats: what was saved is read, no moment shows a part of it, and damage is found."""

from __future__ import annotations

import errno
import os
import random
from pathlib import Path
from typing import Any

import numpy as np

import actorflow as af
from actorflow.base import dtypes
from actorflow.base.process import machine
from actorflow.engine.formats.base import ReadRequest, SavedTensor
from actorflow.errors import (
    CancelledError,
    DataLossError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    UnimplementedError,
)
from actorflow.graph.graph import Graph
from actorflow.testing.contract import Broken, Rule, got, raises, rule, same
from actorflow.testing.files import Crash, SimulatedFiles
from actorflow.testing.format_contract.subject import (
    DEVICE,
    Subject,
    content,
    equal,
    folder,
    known,
    nothing,
    number_of,
    on,
    put_file,
    rows,
    save,
    tensors,
    write,
)


def _each_type() -> dict[str, Any]:
    arrays: dict[str, Any] = {}
    for dtype in dtypes.ALL:
        try:
            if dtype.kind not in "SRV":
                arrays[dtype.name] = np.arange(12).reshape(3, 4).astype(dtype.numpy_dtype)
        except UnimplementedError:
            continue  # bfloat16 needs a package of its own
    arrays["transposed"] = np.arange(12.0).reshape(3, 4).T
    arrays["special"] = np.array([np.nan, np.inf, -0.0, 1e-45], np.float32)
    arrays["a/name with: odd [characters]"] = np.arange(3)
    arrays["large"] = np.arange(700_000, dtype=np.float64)
    return arrays | content(1.5)


@rule()
async def what_was_saved_is_read(subject: Subject) -> None:
    """A reader gives the bits, types and shapes of all that was saved, of each element type."""
    values = _each_type()
    with folder() as path:
        prefix = f"{path}/model-1"
        subject.format.commit(prefix, [write(subject, prefix, tensors(values))], nothing)
        same(subject.format.exists(prefix), True, "whether it exists")
        reader = subject.format.open(prefix)
        same(sorted(reader.variables()), sorted(values), "the variables")
        for name, value in values.items():
            stored = reader.variables()[name]
            same(
                (stored.element_type, tuple(stored.shape)),
                (dtypes.as_dtype(value.dtype), value.shape),
                f"{name}, as it is listed",
            )
            if not equal(reader.get_tensor(name), value):
                raise Broken(f"{name}: {reader.get_tensor(name)!r:.200} was read, but {value!r:.200} was saved")
        same(abs(reader.saved_at - machine.wall_time()) < 3600, True, "whether `saved_at` is about now")
        same(reader.damage(), [], "what is damaged")


@rule()
async def nothing_is_there_before_the_commit(subject: Subject) -> None:
    """Before its commit a save is no checkpoint, and `discard` leaves nothing of it."""
    with folder() as path:
        prefix = f"{path}/model"
        same(subject.format.exists(prefix), False, "whether it exists before the save")
        with raises(NotFoundError):
            subject.format.open(prefix)
        part = write(subject, prefix, tensors(content(1)))
        same(subject.format.exists(prefix), False, "whether it exists before the commit")
        with raises(NotFoundError):
            subject.format.open(prefix)
        subject.format.discard(prefix, part)
        same(os.listdir(path), [], "the files after `discard`")


@rule()
async def several_tasks_save_one_checkpoint(subject: Subject) -> None:
    """A commit makes one checkpoint of what several tasks have written, in slices too, which may be read in other slices."""
    whole = np.arange(60, dtype=np.float32).reshape(10, 6)
    with folder() as path:
        prefix = f"{path}/model"
        parts = [
            write(subject, prefix, [SavedTensor("t", "variable", whole[a : a + n], rows((10, 6), a, n))], step=step)
            for a, n, step in ((4, 6, None), (0, 4, 9))
        ]
        parts.append(write(subject, prefix, tensors({"own": np.float64(2.5)})))
        subject.format.commit(prefix, parts, nothing)
        reader = subject.format.open(prefix)
        same(tuple(reader.variables()["t"].shape), (10, 6), "the shape of a variable in slices")
        loaded = reader.load([ReadRequest("t", None), ReadRequest("t", rows((10, 6), 3, 4)), ReadRequest("own", None)])
        for name, actual, other in (
            ("whole", loaded[0], whole),
            ("slice", loaded[1], whole[3:7]),
            ("own", loaded[2], 2.5),
        ):
            if not np.array_equal(actual, other):
                raise Broken(f"{name}: {actual!r:.200} was read, but {other!r:.200} was saved")


@rule()
async def what_does_not_fit_together_is_refused(subject: Subject) -> None:
    """Two variables of one name and slices that are not all of a variable raise InvalidArgumentError, and leave nothing."""
    array = np.zeros((4, 2), np.float32)
    for several in (
        [[SavedTensor("v", "variable", array)], [SavedTensor("v", "variable", array)]],
        [
            [SavedTensor("v", "variable", array, rows((10, 2), 0, 4))],
            [SavedTensor("v", "variable", array, rows((10, 2), 5, 4))],
        ],
    ):
        with folder() as path:
            prefix = f"{path}/model"
            parts = [write(subject, prefix, group) for group in several]
            with raises(InvalidArgumentError, "v"):
                subject.format.commit(prefix, parts, nothing)
            same((subject.format.exists(prefix), os.listdir(path)), (False, []), "what is left")


@rule()
async def states_come_back(subject: Subject) -> None:
    """State of nodes and resources comes back. State that a task knows by hearsay counts if no task has it itself."""
    place = np.empty((), object)
    place[()] = b"\x00place"
    with folder() as path:
        prefix = f"{path}/model"
        first = [
            SavedTensor("n/a:counter", "node", np.int64(5)),
            SavedTensor("n/a:array", "node", np.arange(3.0)),
            SavedTensor("c:reader:r", "resource", place),
            SavedTensor("n/b:counter", "left node", np.int64(7)),
        ]
        second = [
            SavedTensor("n/b:counter", "node", np.int64(8)),
            SavedTensor("n/c:counter", "left node", np.int64(9)),
        ]
        parts = [write(subject, prefix, first, state=True), write(subject, prefix, second, state=True)]
        subject.format.commit(prefix, parts, nothing)
        reader = subject.format.open(prefix)
        same((reader.has_state, dict(reader.variables())), (True, {}), "whether there is state, and variables")
        nodes, resources = reader.states()
        same(nodes["n/a"].pop("array").tolist(), [0.0, 1.0, 2.0], "a node's array")
        same(
            {name: {key: int(v) for key, v in kept.items()} for name, kept in nodes.items()},
            {"n/a": {"counter": 5}, "n/b": {"counter": 8}, "n/c": {"counter": 9}},
            "the counters",
        )
        same(resources, {("c", "reader", "r"): b"\x00place"}, "the places")


@rule()
async def what_is_asked_for_wrongly_is_named(subject: Subject) -> None:
    """Variables that are not there raise NotFoundError with all names; a part of another shape raises InvalidArgumentError."""
    with folder() as path:
        save(subject, f"{path}/model", 3)
        reader = subject.format.open(f"{path}/model")
        with raises(NotFoundError, "(?s)absent.*gone"):
            reader.load([ReadRequest("absent", None), ReadRequest("w", None), ReadRequest("gone", None)])
        with raises(InvalidArgumentError, "w"):
            reader.load([ReadRequest("w", rows((40, 30), 0, 4))])


@rule()
async def a_save_that_is_stopped_leaves_nothing(subject: Subject) -> None:
    """If `check` raises, so does `write`, and nothing is left of the save."""

    def stop() -> None:
        raise CancelledError("stopped")

    with folder() as path:
        with raises(CancelledError, "stopped"):
            subject.format.write(
                f"{path}/model", {DEVICE: tensors(content(1))}, global_step=None, state=False, check=stop
            )
        same(os.listdir(path), [], "the files")


@rule()
async def a_save_replaces_the_one_before(subject: Subject) -> None:
    """A save under a name that is taken replaces what was there, and keeps no file of it."""
    with folder() as path:
        counts = []
        for number in (1, 2, 3):
            save(subject, f"{path}/model", number)
            same(number_of(subject.format.open(f"{path}/model")), number, "the values")
            counts.append(len(os.listdir(path)))
        same(counts, counts[:1] * 3, "the number of files after each save")


@rule()
async def what_is_removed_is_gone(subject: Subject) -> None:
    """`remove` takes all files of a checkpoint and those that are named, and no others. It may be called if there is none."""
    with folder() as path:
        for name in ("model-1", "model-12"):
            save(subject, f"{path}/{name}", 1)
            put_file(f"{path}/{name}.meta", b"graph")
        subject.format.remove(f"{path}/model-1", (".meta",))
        subject.format.remove(f"{path}/model-1", (".meta",))
        same(subject.format.exists(f"{path}/model-1"), False, "whether it exists")
        same(number_of(subject.format.open(f"{path}/model-12")), 1, "the other one")
        subject.format.remove(f"{path}/model-12", (".meta",))
        same(os.listdir(path), [], "the files when both are removed")


@rule()
async def killed_saves_are_cleaned_up(subject: Subject) -> None:
    """`clean` removes all that a save left which was killed before its commit, gives the files' names, and touches nothing
    else."""
    with folder() as path:
        save(subject, f"{path}/model-1", 1)
        put_file(f"{path}/notes.txt", b"mine")
        before = set(os.listdir(path))
        write(subject, f"{path}/model-2", tensors(content(2)))
        left = set(os.listdir(path)) - before
        same(set(subject.format.clean(path)), left, "what `clean` says that it removed")
        same(set(os.listdir(path)), before, "the files after `clean`")
        same(number_of(subject.format.open(f"{path}/model-1")), 1, "the other checkpoint")


def _operations(subject: Subject) -> int:
    """How many operations on files a save does."""
    files = SimulatedFiles()
    with on(files):
        save(subject, "models/model", 1)
        begun = len(files.operations)
        save(subject, "models/model", 2)
    if not begun:
        raise Broken(
            "a save does nothing with the machine's files: formats use `actorflow.checkpoint.stores.store.locate`, which finds "
            "URLs and simulated files as well"
        )
    return len(files.operations) - begun


@rule()
async def a_crash_leaves_the_old_or_the_new(subject: Subject) -> None:
    """Wherever the machine stops during a save, and whatever it forgets of what was not flushed, the old or the new
    checkpoint is there; after a save that has returned it is the new checkpoint."""
    count = _operations(subject)
    for number in range(1, count + 2):
        for seed in range(4):
            files = SimulatedFiles(chance=random.Random(seed))
            with on(files):
                save(subject, "models/model", 1)
                files.stop_after(number)
                ended = False
                try:
                    save(subject, "models/model", 2)
                    ended = True
                    files.stop()
                except Crash:
                    pass
                files.reboot()
                try:
                    value = number_of(subject.format.open("models/model"))
                except OpError as error:
                    raise Broken(f"after a crash in operation {number} of {count}: {error}") from error
                same(
                    value in ((2.0,) if ended else (1.0, 2.0)),
                    True,
                    f"whether {value:g} may be there after operation {number}",
                )
                save(subject, "models/model", 3)
                same(number_of(subject.format.open("models/model")), 3, "the save after a crash")


@rule()
async def a_failing_disk_leaves_the_old(subject: Subject) -> None:
    """Whichever operation on files fails during a save, the save raises OpError or has worked, and the old or the new
    checkpoint is there."""
    for number in range(1, _operations(subject) + 1):
        for kind in (errno.EIO, errno.ENOSPC):
            files = SimulatedFiles()
            with on(files):
                save(subject, "models/model", 1)
                files.fail_at, files.error = len(files.operations) + number, kind
                worked = False
                try:
                    save(subject, "models/model", 2)
                    worked = True
                except OpError:
                    pass
                value = number_of(subject.format.open("models/model"))
                same(
                    value in ((2.0,) if worked else (1.0, 2.0)),
                    True,
                    f"whether {value:g} may be there after operation {number}",
                )


@rule()
async def damage_is_found(subject: Subject) -> None:
    """Each byte of a checkpoint that is changed or cut off raises DataLossError when it is read, or does no harm."""
    with folder() as path:
        save(subject, f"{path}/model", 5)
        for name in sorted(os.listdir(path)):
            file = Path(path) / name
            whole = file.read_bytes()
            places = sorted(
                {*range(0, len(whole), max(1, len(whole) // 150)), *range(max(0, len(whole) - 30), len(whole))}
            )
            changed = [(at, whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1 :]) for at in places]
            for at, damaged in [*changed, *((at, whole[:at]) for at in places[::10])]:
                file.write_bytes(damaged)
                try:
                    same(
                        number_of(subject.format.open(f"{path}/model")),
                        5.0,
                        f"what is read where byte {at} of {name} is wrong",
                    )
                except DataLossError:
                    continue
            file.write_bytes(whole)
        same(number_of(subject.format.open(f"{path}/model")), 5.0, "what is read when all is as it was")


@rule()
async def a_saver_saves_and_restores(subject: Subject) -> None:
    """`Saver(format=...)` saves and restores variables, finds the latest checkpoint, and keeps as many as are wanted."""
    graph = Graph()
    with graph.as_default(), known(subject), folder() as path:
        v = af.Variable(np.zeros(5, np.float32), name="v")
        step = af.train.get_or_create_global_step()
        more = af.group(v.assign_add(np.ones(5, np.float32)), step.assign_add(1))
        saver = af.train.Saver(max_to_keep=2, format=subject.name)
        init = af.global_variables_initializer()
        async with af.Session(graph=graph) as session:
            await got(session.run(init))
            for _ in range(3):
                await got(session.run(more))
                await got(saver.save(session, f"{path}/model", global_step=step))
            await got(session.run(init))
            latest = af.train.latest_checkpoint(path)
            same(latest, f"{path}/model-3", "the latest checkpoint")
            await got(saver.restore(session, f"{path}/model-3"))
            same((await got(session.run(v))).tolist(), [3.0] * 5, "the variable")
        same(af.train.list_variables(path), [("global_step", []), ("v", [5])], "the variables of the latest one")
        same(af.train.load_variable(path, "v").tolist(), [3.0] * 5, "a variable of the latest one")
        same(af.train.checkpoint_exists(f"{path}/model-1"), False, "whether one too many is kept")


RULES: tuple[Rule[Subject], ...] = (
    what_was_saved_is_read,
    nothing_is_there_before_the_commit,
    several_tasks_save_one_checkpoint,
    what_does_not_fit_together_is_refused,
    states_come_back,
    what_is_asked_for_wrongly_is_named,
    a_save_that_is_stopped_leaves_nothing,
    a_save_replaces_the_one_before,
    what_is_removed_is_gone,
    killed_saves_are_cleaned_up,
    a_crash_leaves_the_old_or_the_new,
    a_failing_disk_leaves_the_old,
    damage_is_found,
    a_saver_saves_and_restores,
)
