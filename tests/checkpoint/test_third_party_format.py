"""A format of checkpoints from outside: another package's, one zip file each, keeps the contract and serves clusters too."""

from __future__ import annotations

import logging
import os
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import installed_packages
import numpy as np
import pytest
from installed_packages import run
from patience import PATIENCE

import actorflow as af
from actorflow import errors
from actorflow.base.registry import plugins
from actorflow.engine.formats import installed
from actorflow.engine.formats.base import Groups
from actorflow.testing import format_contract
from actorflow.testing.format_contract import Subject

PACKAGE = Path(__file__).parents[1] / "third_party" / "format"

sys.path.insert(0, str(PACKAGE))
try:
    from archive import ARCHIVE, Archive  # type: ignore[import-not-found]
finally:
    sys.path.remove(str(PACKAGE))

OURS = Subject("standard", installed.find("standard"))


@pytest.fixture
def paths(tmp_path: Path) -> Iterator[str]:
    """The package is installed, here and in processes that this one starts. Gives what makes it so for others."""
    with installed_packages.installed(PACKAGE, tmp_path / "site") as found:
        yield found


def test_f66_it_is_short() -> None:
    assert len((PACKAGE / "archive.py").read_text(encoding="utf-8").splitlines()) <= 200


@format_contract.parametrize(Subject("archive", ARCHIVE), OURS)
async def test_f66_formats_keep_the_contract(subject: Subject, rule: format_contract.Rule[Subject]) -> None:
    await format_contract.try_rule(subject, rule)


def test_f66_its_author_can_try_it_without_a_test(paths: str) -> None:
    printed = run(paths, "-m", "actorflow.testing.format_contract", "archive")
    assert printed.startswith("The checkpoint format archive keeps all rules (")


def test_f66_any_tool_opens_it_and_the_commands_know_it(paths: str, tmp_path: Path) -> None:
    with af.Graph().as_default():
        v = af.Variable(np.arange(6, dtype=np.float32), name="v")
        saver = af.train.Saver(format="archive")
        with af.blocking.Session() as session:
            session.run(v.initializer)
            path = saver.save(session, f"{tmp_path}/model")
    with zipfile.ZipFile(f"{path}.zip") as opened:
        assert np.frombuffer(opened.read("0"), np.float32).tolist() == [0, 1, 2, 3, 4, 5]
    assert "v (float32) [6]" in run(paths, "-m", "actorflow", "checkpoint", "inspect", path)
    assert run(paths, "-m", "actorflow", "checkpoint", "verify", path) == f"{path}: good\n"


def test_f66_a_save_replaces_a_checkpoint_of_another_format(paths: str, tmp_path: Path) -> None:
    with af.Graph().as_default():
        v = af.Variable(0.0, name="v")
        value = af.placeholder(af.float32, [])
        change = v.assign(value)
        savers = [af.train.Saver(format=name) for name in ("standard", "archive")]
        with af.blocking.Session() as session:
            for number, saver in enumerate([savers[0], savers[1], savers[0]]):
                session.run(change, {value: number})
                path = saver.save(session, f"{tmp_path}/model", write_meta_graph=False)
                assert af.train.load_variable(path, "v") == number
                assert [f for f in os.listdir(tmp_path) if f.endswith((".zip", ".manifest"))] == [
                    f"model{'.zip' if number == 1 else '.manifest'}"
                ]


async def test_f66_f67_it_serves_a_supervisor_of_a_cluster(paths: str, tmp_path: Path, monkeypatch: Any) -> None:
    """Tasks of two processes save slices and state by it; after a loss the training goes on from the last checkpoint."""
    monkeypatch.setenv("PYTHONPATH", paths)
    graph = af.Graph()
    with graph.as_default():
        with af.device("/job:ps/task:0"):
            v = af.Variable(np.zeros(1000, np.float32), name="v")
            step = af.train.get_or_create_global_step()
        with af.device("/job:worker/task:0"):
            w = af.Variable(np.zeros(10, np.float64), name="w")
        train = af.group(v.assign_add(np.ones(1000, np.float32)), w.assign_add(np.ones(10)), step.assign_add(1))
        saver = af.train.Saver(format="archive")
    async with af.LocalCluster({"ps": 1, "worker": 1}, startup_seconds=PATIENCE) as cluster:
        folder = f"{tmp_path}/models"
        async with af.Supervisor(cluster, graph=graph, checkpoint_dir=folder, save_steps=2, saver=saver) as supervisor:
            killed = False
            async for attempt in supervisor.steps(until=6):
                async with attempt as number:
                    if number == 4 and not killed:
                        killed = True
                        await cluster.kill("/job:ps/task:0")
                    await supervisor.run(train)
            assert killed
        latest = af.train.latest_checkpoint(folder)
        assert latest is not None and installed.at(latest) is installed.find("archive")
        reader = af.train.load_checkpoint(folder)
        assert set(reader.get_tensor("v")) == {6.0} and set(reader.get_tensor("w")) == {6.0}


# ---- formats that are not there, or not as they should be


def test_an_unknown_format_is_refused_with_those_that_are_installed(paths: str) -> None:
    with af.Graph().as_default():
        v = af.Variable(0.0)
        with pytest.raises(errors.InvalidArgumentError) as refused:
            af.train.Saver([v], format="hdf5")
    said = str(refused.value)
    assert (
        "format='hdf5': no such format of checkpoints is installed; there are archive, standard, tensor_bundle." in said
    )
    assert "actorflow-hdf5" in said and "actorflow, actorflow-archive 1.0" in said


def test_a_checkpoint_that_is_not_there_is_told_with_the_formats_that_were_looked_for(
    paths: str, tmp_path: Path
) -> None:
    with pytest.raises(errors.NotFoundError, match=r"There is no checkpoint[\s\S]*standard, archive"):
        af.train.NewCheckpointReader(f"{tmp_path}/model")


@pytest.fixture
def broken(tmp_path: Path) -> Iterator[Callable[[str], None]]:
    """Installs a package whose module `somebodys` has a text, for the format `broken`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(tmp_path))

        def install(text: str) -> None:
            (tmp_path / "somebodys.py").write_text(text, encoding="utf-8")
            points = {"actorflow.checkpoint": {"broken": "somebodys:MADE"}}
            installed_packages.write_metadata(tmp_path, "somebodys", "2.5", points)
            plugins.look_again()

        yield install
    sys.modules.pop("somebodys", None)
    plugins.look_again()
    plugins._broken.clear()
    plugins._told.clear()


@pytest.mark.parametrize(("text", "why"), [("MADE = 1 / 0", "ZeroDivisionError"), ("MADE = 7", "lacks write, commit")])
def test_one_that_can_not_be_used_is_told_once_and_disturbs_nothing(
    broken: Callable[[str], None], caplog: pytest.LogCaptureFixture, tmp_path: Path, text: str, why: str
) -> None:
    broken(text)
    for _ in range(3):
        with pytest.raises(errors.FailedPreconditionError, match=why):
            installed.find("broken")
        assert list(installed.usable()) == ["standard", "tensor_bundle"]
        assert not af.train.checkpoint_exists(f"{tmp_path}/model")
        plugins.look_again()
    told = [record for record in caplog.records if record.name == "actorflow.plugins"]
    assert len(told) == 1 and told[0].levelno == logging.WARNING and why in caplog.text


class Hasty(Archive):  # type: ignore[misc]
    """It makes the checkpoint before the commit."""

    def write(self, prefix: str, groups: Groups, **options: Any) -> bytes:
        part: bytes = super().write(prefix, groups, **options)
        super().commit(prefix, [part], lambda: None)
        return part


class Forgetful(Archive):  # type: ignore[misc]
    """It writes past the stores, so that a crash may leave half a file."""

    def commit(self, prefix: str, parts: Any, check: Any) -> None:
        if os.path.isdir(os.path.dirname(prefix)):
            super().commit(prefix, parts, check)


@pytest.mark.parametrize(
    ("made", "rule"),
    [(Hasty, "nothing_is_there_before_the_commit"), (Forgetful, "a_crash_leaves_the_old_or_the_new")],
)
async def test_one_that_breaks_the_contract_is_named_by_the_first_rule_that_it_breaks(made: Any, rule: str) -> None:
    with pytest.raises(format_contract.Broken) as found:
        await format_contract.check(Subject("theirs", made()))
    assert str(found.value).startswith(f"The checkpoint format theirs breaks the rule {rule}:\n")
