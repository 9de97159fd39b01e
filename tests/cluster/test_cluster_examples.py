"""The examples run unchanged on a cluster of processes, by `actorflow run`, and give what they give in one process; and on one
of two machines ("apart"), a millisecond from each other.

`ACTORFLOW_EXAMPLE_TRANSPORTS=all` runs each over each transport.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chaos.cable import are_possible
from cluster.two_machines import cluster_apart
from patience import PATIENCE, MachineTime

pytestmark = pytest.mark.timeout(180)
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TRANSPORTS = ("auto", "zmq", "shm")
APART = "apart"
NEEDS_CABLE = pytest.mark.skipif(
    not are_possible(), reason="needs root, `ip` and /dev/net/tun: see tests/chaos/cable.py"
)
ALL = os.environ.get("ACTORFLOW_EXAMPLE_TRANSPORTS") == "all"
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("ACTORFLOW_")} | {
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONWARNINGS": "error",
    "PYTHONPATH": str(EXAMPLES),  # where the tasks find the modules of --import
}
TIMES = re.compile(r" +\d+\.\d+ (?:m?s|steps/s)\b|, up to \d+ requests open|, after [\d.]+ s|/\S*/(?:here|cluster)\b")


def run(*command: str | Path, before: Sequence[str] = (), environ: Mapping[str, str] = ENVIRONMENT) -> str:
    done = subprocess.run(
        [*before, sys.executable, *command],
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0 and not done.stderr, f"{done.stdout}\n{done.stderr}"
    return TIMES.sub("", done.stdout)


def on_cluster(transport: str, script: str | Path, *arguments: str | Path, options: tuple[str, ...] = ()) -> str:
    """The output of a script that runs beside a cluster of three processes; times are left out."""
    if transport == APART:
        with tempfile.TemporaryDirectory() as folder, cluster_apart(Path(folder), "auto", ENVIRONMENT, options) as far:
            return run(script, *arguments, before=far.client, environ=far.environ)
    jobs = ("--jobs", "ps=1,worker=2", "--transport", transport)
    return run("-m", "actorflow", "run", *jobs, *options, script, *arguments)


def cases() -> Iterator[tuple[str, str]]:
    names = ("adder", "linear_regression", "concurrent_steps", "digits", "char_lstm", "records")
    chosen = itertools.product(names, TRANSPORTS) if ALL else zip(names, itertools.cycle(TRANSPORTS))
    return iter(chosen)


CASES = list(cases())


def transports_of(name: str) -> list[Any]:
    return [transport for found, transport in CASES if found == name] + [pytest.param(APART, marks=NEEDS_CABLE)]


@pytest.mark.parametrize("transport", transports_of("adder"))
def test_f59_adder(transport: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVIRONMENT, "TMPDIR", str(tmp_path))  # others make files in the system's folder meanwhile
    printed = on_cluster(transport, EXAMPLES / "adder.py")
    assert not [name for name in os.listdir(tmp_path) if name.startswith("actorflow-")], "the file of keys stays"
    assert printed.splitlines() == ["3 + 4.5 = 7.5", "[1, 3] + [2, 4] = [3. 7.]"]


@pytest.mark.parametrize("transport", transports_of("linear_regression"))
def test_f59_linear_regression(transport: str) -> None:
    script = EXAMPLES / "linear_regression.py"
    assert on_cluster(transport, script) == run(script)


@pytest.mark.parametrize("transport", transports_of("concurrent_steps"))
def test_f59_f102_concurrent_steps_with_an_op_that_the_tasks_import(transport: str) -> None:
    """Its kernel runs on the tasks; the service that it asks is theirs."""
    arguments = (EXAMPLES / "concurrent_steps.py", "--steps", "12", "--concurrent", "4")
    printed = on_cluster(transport, *arguments, options=("--import", "concurrent_steps"))
    assert printed == run(*arguments) and printed.count("at once:") == 2


def test_f59_an_op_that_no_task_imports_is_named() -> None:
    """The answer says what to do."""
    script = EXAMPLES / "concurrent_steps.py"
    done = subprocess.run(
        [sys.executable, "-m", "actorflow", "run", "--jobs", "worker=1", script, "--steps", "1"],
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 1 and "No op 'ExampleLookup' is registered in /job:worker/task:0" in done.stderr
    assert "--import" in done.stderr


@pytest.mark.parametrize("transport", transports_of("digits"))
def test_f59_digits_with_the_same_weights(transport: str, tmp_path: Path) -> None:
    arguments = (EXAMPLES / "digits.py", "--epochs", "2", "--seed", "3", "--output")
    printed = on_cluster(transport, *arguments, tmp_path / "cluster")
    assert printed == run(*arguments, tmp_path / "here")
    same_arrays(tmp_path / "cluster" / "weights.npz", tmp_path / "here" / "weights.npz")


CHAR_LSTM = """
import sys
import numpy as np
import char_lstm

async def write(session, model, begin, count):
    variables = model.graph.get_collection("trainable_variables")
    np.savez(path, **await session.run({variable.op.name: variable for variable in variables}))
    return begin[:count]

path = sys.argv.pop()
char_lstm.write = write
char_lstm.main()
"""


@pytest.mark.parametrize("transport", transports_of("char_lstm"))
def test_f59_char_lstm_with_the_same_weights(transport: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(CHAR_LSTM)
    arguments = (script, "--steps", "5", "--units", "24")
    printed = on_cluster(transport, *arguments, tmp_path / "cluster.npz")
    assert printed == run(*arguments, tmp_path / "here.npz") and "perplexity" in printed
    same_arrays(tmp_path / "cluster.npz", tmp_path / "here.npz")


@pytest.mark.parametrize("transport", transports_of("records"))
def test_f59_f82_f83_records_that_the_tasks_read(transport: str, tmp_path: Path) -> None:
    """Its queues are filled by several steps at once, so the order of batches is no result."""
    printed = on_cluster(
        transport,
        EXAMPLES / "records.py",
        "--epochs",
        "3",
        "--output",
        tmp_path,
        options=("--files", str(tmp_path)),
    )
    accuracy = re.search(r"test accuracy ([\d.]+)%", printed)
    assert accuracy and float(accuracy[1]) >= 85


TWO_MACHINES = """
import json
import actorflow as af

graph = af.Graph()
with graph.as_default():
    with af.device("/job:ps"):
        weights = af.get_variable("w", initializer=af.constant([1.0, 2.0]))
    with af.device("/job:worker/task:0"):
        once = weights + 1.0
    with af.device("/job:worker/task:1"):
        twice = once * 2.0

with af.blocking.Session(graph=graph) as session:
    session.run(weights.initializer)
    assert session.run(twice).tolist() == [4.0, 6.0]
    found = session.channels()
print(json.dumps(sorted([edge.source, edge.destination, edge.transport] for edge in found)))
"""


@NEEDS_CABLE
def test_f51_shared_memory_is_taken_on_one_machine_only(tmp_path: Path) -> None:
    """From one machine to the other, and on within that one."""
    script = tmp_path / "script.py"
    script.write_text(TWO_MACHINES)
    with cluster_apart(tmp_path, "auto", ENVIRONMENT) as far:
        edges = json.loads(run(script, before=far.client, environ=far.environ))
        assert far.cable.packets
    assert edges == [
        ["/job:ps/replica:0/task:0/device:CPU:0", "/job:worker/replica:0/task:0/device:CPU:0", "zmq"],
        ["/job:worker/replica:0/task:0/device:CPU:0", "/job:worker/replica:0/task:1/device:CPU:0", "shm"],
    ]


@NEEDS_CABLE
@pytest.mark.parametrize("tasks, session", [("shm", "auto"), ("auto", "shm"), ("zmq", "shm")])
def test_f51_shared_memory_that_is_insisted_on_refuses_another_machine(
    tasks: str, session: str, tmp_path: Path
) -> None:
    """Within five seconds, by the tasks or by the client."""
    script = tmp_path / "script.py"
    script.write_text(TWO_MACHINES.replace("graph=graph", f"graph=graph, transport={session!r}"))
    with cluster_apart(tmp_path, tasks, ENVIRONMENT) as far:
        given = MachineTime()
        with pytest.raises(AssertionError) as refused:
            run(script, before=far.client, environ=far.environ)
        assert given.seconds() < 5 + 10  # ten to start Python on a busy machine; without an answer it is a minute
    said = str(refused.value)
    assert re.search(r"FailedPreconditionError: /job:\w+/task:0 can't be reached over shm: \w+", said), said
    assert ("takes no tensors that way" if tasks == "zmq" else "in this network name space") in said
    assert "transport='auto' takes zmq where shm does not reach" in said


def same_arrays(one: Path, other: Path) -> None:
    with np.load(one, allow_pickle=False) as left, np.load(other, allow_pickle=False) as right:
        assert left.files == right.files and left.files
        for name in left.files:
            assert left[name].dtype == right[name].dtype and left[name].tobytes() == right[name].tobytes(), name


@pytest.mark.parametrize(
    ("jobs", "name", "arguments"),
    [
        ("ps=2,worker=3", "parameter_server.py", ("--mode", "sync", "--steps", "5")),
        ("ps=2,worker=3", "parameter_server.py", ("--mode", "in-graph", "--steps", "5")),
        ("ps=1,worker=3", "ring_all_reduce.py", ("--devices", "3", "--steps", "5")),
        ("worker=2", "model_parallel_lstm.py", ("--layers", "2", "--steps", "3")),
    ],
)
def test_examples_that_need_a_cluster_take_that_of_the_environment(
    jobs: str, name: str, arguments: tuple[str, ...]
) -> None:
    """They print what they print on devices of one process, but for how far sums in two orders are apart."""
    there = run("-m", "actorflow", "run", "--jobs", jobs, EXAMPLES / name, *arguments)
    here = run(EXAMPLES / name, *arguments)
    last_bits = re.compile(r"differ by \S+ at most")
    assert last_bits.sub("", there) == last_bits.sub("", here)


def test_the_supervised_example_has_a_cluster_of_its_own() -> None:
    """It kills tasks, which only the program that started them can. Beside another cluster it does the same."""
    printed = run(
        "-m", "actorflow", "run", "--jobs", "worker=1", EXAMPLES / "supervised.py", "--steps", "8", "--kills", "1"
    )
    assert "the same weights, bit by bit: True" in printed
