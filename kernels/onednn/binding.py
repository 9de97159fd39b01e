"""oneDNN's C interface: where the library is, how it is loaded, and what its calls are.

`interface.py` has the declarations as tables, which `tools/onednn_interface.py` writes: to parse C takes 10 ms.

It comes with the wheel `onednn-cpu-gomp`, or `onednn-cpu-tbb`, which goes first: its threads don't wait in a loop. That one
also needs the wheel `intel-cmplr-lib-rt`, and does not say so. Their interface is that of oneDNN 3.
"""

from __future__ import annotations

import functools
import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from typing import Any

from actorflow.base.process import forks, machine
from actorflow.base.reports.logs import get_logger
from actorflow.errors import InternalError, ResourceExhaustedError

from .interface import interface

_WHEELS = ("onednn-cpu-tbb", "onednn-cpu-gomp")
_SPINS = "4000"
"""How often a thread of OpenMP looks for work before it sleeps. Without a bound it holds its core for a whole slice of the
operating system's time when the thread that it waits for has none."""
_BEFORE_TBB = ("libintlc.so.5", "libimf.so", "libtbb.so.12")

UNIMPLEMENTED, LAST_REACHED = 3, 4
_OUT_OF_MEMORY = 1
_CPU = 1
_OPENMP_RUNTIME, _TBB_RUNTIME = 2, 4
_USER_SCRATCHPAD = 1
_ADDS_INT8 = 0x48
"""The bits of AVX2-VNNI and AVX512-VNNI among the sets of instructions."""


class Unsupported(Exception):
    """The library has no implementation of what was asked for."""


class Binding:
    """The loaded library, its engine, and the number of threads of its calls."""

    def __init__(self, ffi: Any, lib: Any, openmp: Any) -> None:
        self.ffi = ffi
        self.lib = lib
        self._openmp = openmp
        self._functions: tuple[int, int, int, int] | None = None
        self.engine = self.make("an engine", lib.dnnl_engine_create, _CPU, 0)
        self.attr = self.attributes()
        self.most_threads = min(openmp.omp_get_max_threads(), machine.usable_cores()) if openmp else 1

    @property
    def sums_are_exact(self) -> bool:
        """Whether the processor adds products of int8 as int32. Others add two of them as int16 first, which is too small."""
        return bool(self.lib.dnnl_get_effective_cpu_isa() & _ADDS_INT8)

    def attributes(self) -> Any:
        """Fresh attributes of primitives."""
        attr = self.make(
            "attributes", self.lib.dnnl_primitive_attr_create, destroy=self.lib.dnnl_primitive_attr_destroy
        )
        # Otherwise a primitive could run on the thread alone that made it.
        self.check(self.lib.dnnl_primitive_attr_set_scratchpad_mode(attr, _USER_SCRATCHPAD), "the scratchpad's mode")
        return attr

    def check(self, status: int, what: str) -> None:
        """Raises the error that a status stands for.

        Raises:
            Unsupported: the library can't do it.
            ResourceExhaustedError: there is no memory for it.
            InternalError: anything else.
        """
        if status == 0:
            return
        text = self.ffi.string(self.lib.dnnl_status2str(status)).decode()
        if status in (UNIMPLEMENTED, LAST_REACHED):
            raise Unsupported(f"{what}: {text}")
        if status == _OUT_OF_MEMORY:
            raise ResourceExhaustedError(f"oneDNN has no memory for {what}.")
        raise InternalError(
            f"oneDNN refuses {what}: {text}.", hint="Set ACTORFLOW_KERNELS=numpy to compute without the library."
        )

    def make(self, what: str, create: Any, *arguments: Any, destroy: Any = None) -> Any:
        """The object that a `create` function gives through its first argument; `destroy` ends it with its last user."""
        place = self.ffi.new("void **")
        with _creating:
            self.check(create(place, *arguments), what)
        return place[0] if destroy is None else self.ffi.gc(place[0], destroy)

    def pointer(self, array: Any) -> Any:
        """The address of a contiguous array, which the result keeps alive."""
        return self.ffi.from_buffer(array)

    def address(self, thing: Any) -> int:
        """The address of an object of the library, for functions in C."""
        return int(self.ffi.cast("intptr_t", thing))

    @property
    def functions(self) -> tuple[int, int, int, int]:
        """The addresses of the functions that run a primitive, bind an array, and say and set how many threads calls of the
        calling thread take. The last two are 0 where the library's threads are none of OpenMP's."""
        if self._functions is None:
            self._functions = self._looked_up()
        return self._functions

    def _looked_up(self) -> tuple[int, int, int, int]:
        pairs = [(self.lib, "dnnl_primitive_execute"), (self.lib, "dnnl_memory_set_data_handle")]
        if self._openmp is not None:
            pairs += [(self._openmp, "omp_get_max_threads"), (self._openmp, "omp_set_num_threads")]
        execute, bind, *threads = (self.address(self.ffi.addressof(*place)) for place in pairs)
        get_threads, set_threads = threads or (0, 0)
        return execute, bind, get_threads, set_threads

    def threads(self) -> int:
        """How many threads calls of this thread take."""
        return 1 if self._openmp is None else int(self._openmp.omp_get_max_threads())

    def addresses(self) -> tuple[int, int] | None:
        """Of `dnnl_sgemm`, and of the function that says how many threads calls of the calling thread take; None where
        the library's threads are none of OpenMP's."""
        if self._openmp is None:
            return None
        symbols = (self.lib, "dnnl_sgemm"), (self._openmp, "omp_set_num_threads")
        product_address, other = (int(self.ffi.cast("intptr_t", self.ffi.addressof(*place))) for place in symbols)
        return product_address, other

    def set_threads(self, count: int) -> int:
        """Lets calls of this thread take `count` threads. Returns how many it was before."""
        if self._openmp is None:
            return count
        own: int = self._openmp.omp_get_max_threads()
        if own != count:
            self._openmp.omp_set_num_threads(count)
        return own


def find() -> list[str]:
    """The paths of the libraries that are installed as wheels, the best one first."""
    paths = []
    for wheel in _WHEELS:
        try:
            files = metadata.distribution(wheel).files or []
        except metadata.PackageNotFoundError:
            continue
        for file in files:
            if file.name == "libdnnl.so.3":
                paths.append(os.path.realpath(str(file.locate())))
    return paths


_loading = forks.new_lock()
_creating = forks.new_library_lock()
"""The library's cache of primitives has a lock."""


def loaded() -> Binding | None:
    """The library, or None if it is not installed or can't be loaded (which is then logged, once)."""
    with _loading:
        return _load()


@functools.cache
def _load() -> Binding | None:
    for path in find():
        try:
            return _open(path)
        except (ImportError, OSError, AttributeError, InternalError, Unsupported) as error:
            get_logger("kernels").warning("onednn is installed but not used", path=path, reason=str(error))
    return None


def _open(path: str) -> Binding:
    ffi = interface()
    kept = ffi.RTLD_NOW | ffi.RTLD_NODELETE  # their threads outlive the interpreter
    with _bounded_spin():
        for name in _BEFORE_TBB:  # the TBB build does not say where to find what it needs
            for needed in glob.glob(os.path.join(os.path.dirname(path), name)):
                ffi.dlopen(needed, kept | ffi.RTLD_GLOBAL)
        lib = ffi.dlopen(path, kept)
        version = lib.dnnl_version()
        if version.major != 3 or version.cpu_runtime not in (_OPENMP_RUNTIME, _TBB_RUNTIME):
            raise OSError(f"it is version {version.major}.{version.minor} with runtime {version.cpu_runtime}")
        openmp = ffi.dlopen("libgomp.so.1", kept) if version.cpu_runtime == _OPENMP_RUNTIME else None
    return Binding(ffi, lib, openmp)


@contextmanager
def _bounded_spin() -> Iterator[None]:
    """OpenMP reads its settings as it is loaded. The user's own stay, and children inherit nothing of ours."""
    if "GOMP_SPINCOUNT" in os.environ or "OMP_WAIT_POLICY" in os.environ:
        yield
        return
    os.environ["GOMP_SPINCOUNT"] = _SPINS
    try:
        yield
    finally:
        del os.environ["GOMP_SPINCOUNT"]
