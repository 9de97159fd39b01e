"""A device from outside: another package's, whose kernels finish later, keeps the contract, trains, and works in a cluster."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import installed_packages
import numpy as np
import pytest
from fake_cupy import FakeCupy
from installed_packages import run
from patience import PATIENCE

import actorflow as af
from actorflow import errors
from actorflow.base.registry import plugins
from actorflow.base.registry.kernel import kernel
from actorflow.devices.cpu import CpuDevice
from actorflow.devices.cuda import CudaDevice
from actorflow.devices.simulated import SimulatedDevice
from actorflow.engine.device import installed
from actorflow.graph.ops.shape_rules import unchanged
from actorflow.testing import device_contract
from actorflow.testing.device_contract import Subject

pytestmark = pytest.mark.real_memory
PACKAGE = Path(__file__).parents[1] / "third_party" / "device"

plugins.load_kernels()
sys.path.insert(0, str(PACKAGE))
try:
    from later import LaterArray, LaterDevice  # type: ignore[import-not-found]
finally:
    sys.path.remove(str(PACKAGE))

GPU = Subject(CudaDevice, "GPU")


@pytest.fixture
def paths(tmp_path: Path) -> Iterator[str]:
    """The package is installed, here and in processes that this one starts. Gives what makes it so for others."""
    with installed_packages.installed(PACKAGE, tmp_path / "site") as found:
        yield found


def test_f38_it_is_short() -> None:
    assert len((PACKAGE / "later.py").read_text(encoding="utf-8").splitlines()) <= 300


@device_contract.parametrize(LaterDevice, CpuDevice, SimulatedDevice, GPU)
async def test_f38_devices_keep_the_contract(subject: Subject, rule: device_contract.Rule[Subject], seed: int) -> None:
    if subject is not GPU:
        await device_contract.try_rule(subject, rule)
        return
    gpus = FakeCupy(gpus=2, seed=seed)
    try:
        await device_contract.try_rule(Subject(partial(CudaDevice, cupy=gpus), "GPU"), rule)
    finally:
        gpus.close()
    assert not gpus.faults, gpus.faults


def test_f38_its_author_can_try_it_without_a_test(paths: str) -> None:
    printed = run(paths, "-m", "actorflow.testing.device_contract", "LATER")
    assert printed.startswith("The device type LATER keeps all rules (")


def test_f38_it_trains(paths: str) -> None:
    first, last = run(paths, PACKAGE / "train.py", "LATER").splitlines()[0].split()
    assert float(first) > 1.0 > 0.5 > float(last)


def test_f38_it_works_in_a_task_of_a_cluster(paths: str) -> None:
    options = ("--jobs", "ps=1,worker=1", "--devices", "LATER=1,CPU=1")
    command = ("-m", "actorflow", "run", *options, PACKAGE / "train.py", "LATER", "/job:worker/task:0")
    losses, place = run(paths, *command).splitlines()
    first, last = losses.split()
    assert float(first) > 1.0 > 0.5 > float(last)
    assert place == "/job:worker/replica:0/task:0/device:LATER:0"


async def test_f38_launches_run_ahead_of_their_values() -> None:
    """The event loop launches what needs a value before the value is there."""
    device = LaterDevice("/job:localhost/replica:0/task:0/device:LATER:0")
    begun, go = threading.Event(), threading.Event()
    device._queue(lambda: (begun.set(), go.wait(PATIENCE)))
    try:
        first = device.bring(np.ones(5000, np.float32))
        assert begun.wait(PATIENCE) and isinstance(first, LaterArray) and not first.future.done()
        found: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        device.take(first, lambda value, error: found.set_result(value))
        go.set()
        assert (await found).sum() == 5000
    finally:
        go.set()
        device.close()


@af.op("LaterFailure", shape=unchanged, gradient=None, work=1)
def later_failure(x: af.TensorLike, *, name: str | None = None) -> af.Tensor:
    """Fails when its kernel runs."""


@kernel("LaterFailure", device="LATER")
def fail(xp: Any, x: Any) -> Any:
    raise ValueError("the elements are wrong")


async def test_f38_a_kernel_that_fails_later_ends_its_own_step() -> None:
    graph = af.Graph()
    with graph.as_default(), graph.device("/device:LATER:0"):
        x = af.placeholder(af.float32, [100])
        wrong, right = later_failure(x, name="wrong") * 2.0, x * 2.0
    device = LaterDevice("/job:localhost/replica:0/task:0/device:LATER:0")
    cpu = CpuDevice("/job:localhost/replica:0/task:0/device:CPU:0")
    async with af.Session(graph=graph, devices=[device, cpu]) as session:
        for fetches in (wrong, wrong.op):
            with pytest.raises(errors.InvalidArgumentError, match="the elements are wrong") as raised:
                await session.run(fetches, {x: np.ones(100, np.float32)})
            assert (raised.value.node, raised.value.device) == ("wrong", device.name)
        assert (await session.run(right, {x: np.ones(100, np.float32)})).sum() == 200


# ---- devices that are not there, or not as they should be


@pytest.mark.parametrize(
    "ask",
    [
        lambda: af.Session(devices={"TPU": 1}, graph=af.Graph()),
        lambda: af.blocking.Session(devices={"TPU": 1}, graph=af.Graph()),
        lambda: installed.find("tpu"),
    ],
    ids=["session", "blocking session", "find"],
)
def test_an_unknown_type_is_refused_with_those_that_are_installed(paths: str, ask: Callable[[], object]) -> None:
    with pytest.raises(errors.InvalidArgumentError) as refused:
        ask()
    said = str(refused.value)
    assert "'TPU'" in said and "no such type of device is installed; there are CPU, GPU, LATER, SIM." in said
    assert "actorflow-tpu" in said and "actorflow, actorflow-later 1.0" in said


def test_a_misspelt_type_is_guessed() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="Is 'SIM' meant"):
        installed.find("sin")


@pytest.fixture
def broken(tmp_path: Path) -> Iterator[Callable[[str], None]]:
    """Installs a package whose module `somebodys` has a text, for the type BROKEN."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(tmp_path))

        def install(text: str) -> None:
            (tmp_path / "somebodys.py").write_text(text, encoding="utf-8")
            points = {"actorflow.devices": {"BROKEN": "somebodys:Made"}}
            installed_packages.write_metadata(tmp_path, "somebodys", "2.5", points)
            plugins.look_again()

        yield install
    sys.modules.pop("somebodys", None)
    plugins.look_again()
    plugins._broken.clear()


def test_one_that_fails_to_import_is_told_once_and_disturbs_nothing(
    broken: Callable[[str], None], caplog: pytest.LogCaptureFixture
) -> None:
    broken("Made = 1 / 0")
    for _ in range(3):
        with pytest.raises(plugins.PluginError, match=r"comes from the package somebodys 2.5.*ZeroDivisionError"):
            installed.find("BROKEN")
        assert installed.find("CPU") is CpuDevice
        plugins.look_again()
    told = [record for record in caplog.records if record.name == "actorflow.plugins"]
    assert len(told) == 1 and told[0].levelno == logging.WARNING and "Traceback" in caplog.text


def test_what_makes_no_devices_of_its_type_is_refused_with_its_package(broken: Callable[[str], None]) -> None:
    broken("class Made:\n    type = 'OTHER'\n")
    with pytest.raises(errors.FailedPreconditionError, match=r"whose `type`[\s\S]*somebodys 2.5"):
        installed.find("BROKEN")


class Forgetful(CpuDevice):
    """Its allocator counts nothing."""

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        self.allocator.statistics = PLAIN.allocator.statistics  # type: ignore[method-assign]


class Nameless(CpuDevice):
    """It calls itself as it likes."""

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        self.name = "mine"


PLAIN = CpuDevice("/job:localhost/replica:0/task:0/device:CPU:0")


@pytest.mark.parametrize(
    ("made", "rule"), [(Nameless, "a_device_says_who_it_is"), (Forgetful, "live_memory_is_counted")]
)
async def test_one_that_breaks_the_contract_is_named_by_the_first_rule_that_it_breaks(made: Any, rule: str) -> None:
    with pytest.raises(device_contract.Broken) as found:
        await device_contract.check(made)
    assert str(found.value).startswith(f"The device type CPU breaks the rule {rule}:\n")
    assert "It was found that" in str(found.value)
