"""Faults of what a machine has: memory that ends, disks that are full, files that are damaged. See `faults`."""

from __future__ import annotations

import errno
import functools
import resource
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import numpy as np

import actorflow as af
from actorflow.cluster.processes.local import LocalCluster
from actorflow.errors import AbortedError, ResourceExhaustedError, UnavailableError
from chaos.faults import Fault
from chaos.scene import PATIENCE, Scene

MIB = 1 << 20
_DISK_BYTES = 8 * MIB


def _limit(pid: int, what: int, most: int) -> None:
    resource.prlimit(pid, what, (most, resource.RLIM_INFINITY))


def _address_space(pid: int) -> int:
    """The mapped memory of a process, in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()[0]) * resource.getpagesize()


class MemoryBudget(Fault):
    """A task's devices may take so much, and no more. A large tensor is refused, and the task does its work as before."""

    name, loses, through = "memory budget", "none", "a budget"
    _LARGE, _SMALL = 320 * MIB, MIB
    """The first is more than a device keeps of the blocks that were freed, or it might have one of a former time."""

    @contextmanager
    def cluster(self, jobs: dict[str, int], folder: Path, **options: Any) -> Iterator[LocalCluster]:
        yield LocalCluster(jobs, memory_budget=64 * MIB, **options)

    async def inject(self, scene: Scene) -> None:
        self._task = scene.any_task()
        await self._is_refused(scene)

    async def _is_refused(self, scene: Scene) -> None:
        try:
            found = await self._fill(scene, self._LARGE)
        except ResourceExhaustedError as error:
            assert self._task in str(error).replace("/replica:0", ""), f"the error does not say where: {error}"
        else:
            raise AssertionError(f"{self._LARGE} bytes were had beyond the limit: {found}")
        assert await self._fill(scene, self._SMALL) == self._SMALL // 4

    async def _fill(self, scene: Scene, size: int) -> float:
        """Makes a tensor of `size` bytes on the task, and adds it up; once more if a restore comes in between."""
        with af.Graph().as_default() as graph, af.device(self._task):
            count = af.placeholder(af.int32, [1])
            total = af.reduce_sum(af.fill(count, np.float32(1.0)))
        with anyio.fail_after(PATIENCE):
            while True:
                try:
                    async with af.Session(scene.cluster.target, graph) as session:
                        return float(await session.run(total, {count: [size // 4]}))
                except (UnavailableError, AbortedError):
                    await anyio.sleep(0.05)


class MemoryLimit(MemoryBudget):
    """The system gives a task no more memory, until it does again. Shared memory that it has already is no part of that."""

    name, through, transport, lasts = "memory limit", "a resource limit", "zmq", (0.1, 0.5)
    _HEADROOM = 96 * MIB
    cluster = Fault.cluster

    async def inject(self, scene: Scene) -> None:
        self._task = scene.any_task()
        self._pid = scene.cluster.processes[self._task].pid
        _limit(self._pid, resource.RLIMIT_AS, _address_space(self._pid) + self._HEADROOM)
        await self._is_refused(scene)

    async def heal(self, scene: Scene) -> None:
        _limit(self._pid, resource.RLIMIT_AS, resource.RLIM_INFINITY)
        assert await self._fill(scene, self._LARGE) == self._LARGE // 4


class FullDisk(Fault):
    """There is no space for a checkpoint, until there is again."""

    name, loses, through, lasts, may_end_chief = "full disk", "none", "a small file system", (0.3, 1.0), True

    @contextmanager
    def cluster(self, jobs: dict[str, int], folder: Path, **options: Any) -> Iterator[LocalCluster]:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={_DISK_BYTES}", "chaos", str(folder)], check=True, capture_output=True
        )
        try:
            yield LocalCluster(jobs, **options)
        finally:
            subprocess.run(["umount", str(folder)], check=True, capture_output=True)

    async def inject(self, scene: Scene) -> None:
        self._filler = Path(scene.folder) / "filler"
        _fill_disk(self._filler)

    async def heal(self, scene: Scene) -> None:
        self._filler.unlink()


def _fill_disk(path: Path) -> None:
    """Makes a file that takes all space that is left."""
    with open(path, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError as error:
            assert error.errno == errno.ENOSPC, error


class FileLimit(Fault):
    """A task may write no file beyond a few bytes, until it may again. For machines where no one may mount a file system."""

    name, loses, through, lasts, may_end_chief = "full disk", "none", "a resource limit", (0.3, 1.0), True

    async def inject(self, scene: Scene) -> None:
        self._pids = [process.pid for task, process in scene.cluster.processes.items() if task.startswith("/job:ps")]
        for pid in self._pids:
            _limit(pid, resource.RLIMIT_FSIZE, 100)

    async def heal(self, scene: Scene) -> None:
        for pid in self._pids:
            _limit(pid, resource.RLIMIT_FSIZE, resource.RLIM_INFINITY)


@functools.cache
def mounts_are_allowed() -> bool:
    """Whether this machine lets us mount a small file system."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=4096", "chaos", folder], capture_output=True, check=False
        )
        if done.returncode == 0:
            subprocess.run(["umount", folder], check=True, capture_output=True)
    return done.returncode == 0


class Damage(Fault):
    """A file of the last checkpoint is changed, and a task that has variables is killed: what is restored is a whole one."""

    loses, through, most = "must", "files", 2

    async def inject(self, scene: Scene) -> None:
        await scene.until(lambda: len(scene.whole) > 1, "saves")  # else there would be none to go back to
        path = scene.last_checkpoint
        scene.damaged.add(path)
        files = [*sorted(Path(path).parent.glob(f"{Path(path).name}.*")), Path(path).with_name("checkpoint")]
        assert len(files) > 2, f"there is no file of {path}"
        file = scene.rng.choice(files)
        self._damage(scene, file)

    async def heal(self, scene: Scene) -> None:
        scene.send(scene.any_task("ps"), signal.SIGKILL)

    def _damage(self, scene: Scene, file: Path) -> None:
        with open(file, "r+b", buffering=0) as opened:
            self._change(scene, opened, file.stat().st_size)

    def _change(self, scene: Scene, file: Any, size: int) -> None:
        raise NotImplementedError


class Torn(Damage):
    """It ends too early."""

    name = "torn file"

    def _change(self, scene: Scene, file: Any, size: int) -> None:
        file.truncate(scene.rng.randrange(size))


class Flipped(Damage):
    """A bit of it is another one."""

    name = "flipped bit"

    def _change(self, scene: Scene, file: Any, size: int) -> None:
        file.seek(place := scene.rng.randrange(size))
        value = file.read(1)[0]
        file.seek(place)
        file.write(bytes([value ^ 1 << scene.rng.randrange(8)]))
