"""A transport from outside: another package's, over plain TCP, keeps the contract and carries clusters."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import installed_packages
import pytest
from clusters import free_ports
from installed_packages import environ, run
from patience import PATIENCE

import actorflow as af
from actorflow import errors
from actorflow.engine.transport import installed
from actorflow.testing import transport_contract

ROOT = Path(af.__file__).parent.parent
PACKAGE = Path(__file__).parents[1] / "third_party" / "transport"
EXAMPLES = ROOT / "examples"

sys.path.insert(0, str(PACKAGE))
try:
    from streams import STREAMS  # type: ignore[import-not-found]
finally:
    sys.path.remove(str(PACKAGE))


@pytest.fixture
def paths(tmp_path: Path) -> Iterator[str]:
    """The package is installed, here and in processes that this one starts. Gives what makes it so for others."""
    with installed_packages.installed(PACKAGE, tmp_path / "site") as found:
        yield found


def test_f51_it_is_short() -> None:
    assert len((PACKAGE / "streams.py").read_text(encoding="utf-8").splitlines()) <= 300


@transport_contract.parametrize(STREAMS)
async def test_f51_it_keeps_the_contract(subject: transport_contract.Subject, rule: transport_contract.Rule) -> None:
    await transport_contract.try_rule(subject, rule)


def test_f51_its_author_can_try_it_without_a_test(paths: str) -> None:
    printed = run(paths, "-m", "actorflow.testing.transport_contract", "streams")
    assert printed.startswith("The transport streams keeps all rules (")


async def test_f51_f60_it_carries_a_local_cluster(paths: str) -> None:
    async with af.LocalCluster({"ps": 1, "worker": 1}, transport="streams", startup_seconds=PATIENCE) as cluster:
        assert cluster.target.address.startswith("streams://127.0.0.1:") and cluster.credentials is None
        graph = af.Graph()
        with graph.as_default():
            with af.device("/job:ps/task:0"):
                state = af.Variable([1.0] * 300_000, name="state")
            with af.device("/job:worker/task:0"):
                double = state + state
                back = state.assign(double)
        async with af.Session(cluster.target, graph) as session:
            await session.run(state.initializer)
            for _ in range(3):
                await session.run(back)
            assert (await session.run(double)).tolist() == [16.0] * 300_000
            assert {edge.transport for edge in await session.channels()} == {"streams"}
            await cluster.kill("/job:ps/task:0")
            with pytest.raises(errors.UnavailableError):
                await session.run(back)
            await cluster.restart("/job:ps/task:0")
            await session.run(state.initializer)
            assert (await session.run(double))[0] == 2.0


@pytest.mark.parametrize("script", [PACKAGE / "example.py", EXAMPLES / "adder.py", EXAMPLES / "linear_regression.py"])
def test_f51_f59_examples_run_over_it(paths: str, script: Path) -> None:
    printed = run(paths, "-m", "actorflow", "run", "--jobs", "ps=1,worker=2", "--transport", "streams", script)
    if script.name == "example.py":
        assert printed.splitlines() == ["250000.0", "['streams']"]
    elif script.name == "adder.py":
        assert printed.splitlines() == ["3 + 4.5 = 7.5", "[1, 3] + [2, 4] = [3. 7.]"]
    else:
        assert printed


@pytest.mark.parametrize("option", [["--transport", "streams"], []], ids=["named", "by its scheme"])
async def test_f51_f55_workers_are_started_with_it(paths: str, tmp_path: Path, option: list[str]) -> None:
    cluster = {"worker": [f"streams://localhost:{port}" for port in free_ports(2)]}
    (tmp_path / "cluster.json").write_text(json.dumps(cluster), encoding="utf-8")
    with contextlib.ExitStack() as stack:
        for task in range(2):
            stack.enter_context(worker(paths, tmp_path / "cluster.json", str(task), *option))
        graph = af.Graph()
        with graph.as_default():
            with af.device("/job:worker/task:1"):
                x = af.constant([3.0] * 1000)
            with af.device("/job:worker/task:0"):
                y = x * 2.0
        async with af.Session(cluster["worker"][0], graph) as session:
            assert (await session.run(y)).sum() == 6000.0


def test_f51_addresses_of_another_scheme_are_refused(paths: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=r"'streams' listens at .* is tcp://localhost:7") as e:
        af.Server({"ps": ["localhost:7"]}, "ps", 0, transport="streams")
    assert "Write streams:// before the addresses" in str(e.value)
    assert "streams" in installed.names()


@contextlib.contextmanager
def worker(paths: str, cluster: Path, task: str, *options: str) -> Iterator[Any]:
    process = subprocess.Popen(
        [sys.executable, "-m", "actorflow", "worker", "--cluster", cluster, "--job", "worker", "--task", task, *options],
        env=environ(paths), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        said: list[str] = []
        for line in process.stderr:
            said.append(line)
            if "versions" in line:
                break
        else:
            raise AssertionError("".join(said))
        yield process
    finally:
        process.kill()
        process.communicate()
