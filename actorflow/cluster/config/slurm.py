"""The cluster that Slurm's environment describes: `srun actorflow worker --from-slurm --jobs ps=1,worker=3`.

Slurm numbers the processes of a step from 0 and says how many run on which host. The first processes become the first
job's tasks, and so on; on each host the ports rise from a first port.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from actorflow.cluster.config.environment import TaskEnvironment
from actorflow.cluster.config.spec import ClusterSpec
from actorflow.errors import InvalidArgumentError

FIRST_PORT = 7070
_MOST_HOSTS = 1 << 16
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_REPEATED = re.compile(r"(\d+)(?:\(x(\d+)\))?")


def from_slurm(
    jobs: Mapping[str, int] | None = None, first_port: int = FIRST_PORT, environ: Mapping[str, str] | None = None
) -> TaskEnvironment:
    """The cluster of this Slurm step, and the place of this process in it.

    Args:
        jobs: how many tasks each job has; without it all processes are of the job `worker`.
        first_port: the port of the first process on each host.

    Raises:
        InvalidArgumentError: this is no Slurm step, or `jobs` has not as many tasks as the step has processes.
    """
    variables = os.environ if environ is None else environ

    def read(*names: str) -> str:
        for name in names:
            if value := variables.get(name):
                return value
        raise InvalidArgumentError(
            f"{names[0]} is not set: this process was not started by Slurm.",
            hint="Start it with `srun actorflow worker ...`.",
        )

    hosts = expand_hosts(read("SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"))
    counts = expand_counts(read("SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"))
    rank_text = read("SLURM_PROCID")
    if not rank_text.isdigit():
        raise InvalidArgumentError(f"SLURM_PROCID is {rank_text!r}, which is not a number.")
    if len(hosts) != len(counts):
        raise InvalidArgumentError(
            f"Slurm names {len(hosts)} hosts, but says for {len(counts)} how many tasks they run."
        )
    addresses = [f"{host}:{first_port + k}" for host, count in zip(hosts, counts) for k in range(count)]
    sizes = dict(jobs) if jobs else {"worker": len(addresses)}
    if sum(sizes.values()) != len(addresses):
        said = ", ".join(f"{job}={count}" for job, count in sizes.items())
        raise InvalidArgumentError(
            f"The jobs {said} have {sum(sizes.values())} tasks, but this Slurm step has {len(addresses)} processes.",
            hint=f"Start it with `srun --ntasks={sum(sizes.values())}`, or change the jobs.",
        )
    cluster: dict[str, list[str]] = {}
    places: list[tuple[str, int]] = []
    for job, count in sizes.items():
        cluster[job] = addresses[len(places) : len(places) + count]
        places += ((job, index) for index in range(count))
    rank = int(rank_text)
    if rank >= len(places):
        raise InvalidArgumentError(f"SLURM_PROCID is {rank}, but the step has only {len(places)} processes.")
    return TaskEnvironment(ClusterSpec(cluster), *places[rank])


def expand_hosts(text: str) -> list[str]:
    """`node[01-03,07],login` as ["node01", "node02", "node03", "node07", "login"], in this order.

    Several brackets in one name multiply, the last one runs fastest. Raises InvalidArgumentError.
    """
    hosts: list[str] = []
    for pattern in _split(text):
        names = [""]
        for literal, ranges in _pieces(pattern, text):
            if len(names) * len(ranges) + len(hosts) > _MOST_HOSTS:
                raise InvalidArgumentError(f"{text[:80]!r} stands for more than {_MOST_HOSTS:,} hosts.")
            names = [name + literal + number for name in names for number in ranges]
        hosts += names
    return hosts


def expand_counts(text: str) -> list[int]:
    """`2(x3),1` as [2, 2, 2, 1]. Raises InvalidArgumentError."""
    counts: list[int] = []
    for part in text.split(","):
        match = _REPEATED.fullmatch(part)
        if match is None or int(match[2] or 1) > _MOST_HOSTS:
            raise InvalidArgumentError(f"{text[:80]!r} is not a list of counts such as 2(x3),1.")
        counts += [int(match[1])] * int(match[2] or 1)
    return counts


def _split(text: str) -> Iterator[str]:
    """The parts between commas that are in no bracket."""
    depth = start = 0
    for at, character in enumerate(text):
        depth += {"[": 1, "]": -1}.get(character, 0)
        if depth not in (0, 1):
            raise InvalidArgumentError(f"{text[:80]!r} is not a list of hosts: its brackets don't match.")
        if character == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    if depth:
        raise InvalidArgumentError(f"{text[:80]!r} is not a list of hosts: its brackets don't match.")
    yield text[start:]


def _pieces(pattern: str, text: str) -> Iterator[tuple[str, list[str]]]:
    """Literal text and the numbers that follow it, piece by piece."""
    if not pattern or re.search(r"\s", pattern):
        raise InvalidArgumentError(f"{text[:80]!r} is not a list of hosts: a name is empty or has a blank.")
    rest = pattern
    while rest:
        literal, bracket, rest = rest.partition("[")
        inside, _, rest = rest.partition("]") if bracket else ("", "", "")
        yield literal, [number for part in inside.split(",") for number in _numbers(part, text)] if bracket else [""]


def _numbers(part: str, text: str) -> Iterator[str]:
    """`01-03` as 01, 02, 03: leading zeros stay."""
    match = _RANGE.fullmatch(part)
    if match is None:
        raise InvalidArgumentError(f"{text[:80]!r} is not a list of hosts: {part[:40]!r} is not a range such as 01-03.")
    first, last = match[1], match[2] or match[1]
    if int(last) < int(first) or int(last) - int(first) >= _MOST_HOSTS:
        raise InvalidArgumentError(f"{text[:80]!r} is not a list of hosts: {part[:40]!r} falls, or is too long.")
    for number in range(int(first), int(last) + 1):
        yield str(number).zfill(len(first))
