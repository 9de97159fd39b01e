"""llvmlite (extra `jit`): from the text of a module to machine code, without llvmlite's own builder of such texts."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from actorflow.base.process import forks


@functools.cache
def available() -> bool:
    """Whether llvmlite is installed, and objects lie in memory as `emit` has them. It is not imported yet: that takes 30 to
    90 ms, on whatever thread first compiles."""
    if sys.implementation.name != "cpython" or sys.maxsize < 1 << 32:
        return False
    return importlib.util.find_spec("llvmlite") is not None


@dataclass(frozen=True, slots=True)
class Code:
    """Machine code, which lives as long as this object or a function that was bound from it."""

    engine: Any

    def bind(self, name: str, *types: Any, releases: bool) -> Callable[..., int]:
        """A function of the module, which gives an int. With `releases` other threads run Python meanwhile."""
        kind = (ctypes.CFUNCTYPE if releases else ctypes.PYFUNCTYPE)(ctypes.c_int, *types)
        function: Any = kind(self.engine.get_function_address(name))
        function.engine = self.engine
        return function  # type: ignore[no-any-return]


def compiled(text: str, unrolled: bool = True) -> Code:
    """Compiles a module for this machine, optimized for speed. LLVM's own work holds no other thread up. Without loops
    `unrolled` it takes half as long."""
    with _one_at_a_time:
        return _compiled(text, unrolled)


_one_at_a_time = forks.new_library_lock()


def _compiled(text: str, unrolled: bool) -> Code:
    llvm, machine = _llvm()
    module = llvm.parse_assembly(text)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = True
    options.loop_unrolling = unrolled
    builder = llvm.create_pass_builder(machine, options)
    manager = builder.getModulePassManager()
    manager.run(module, builder)
    engine = llvm.create_mcjit_compiler(module, _machine(llvm))
    engine.finalize_object()
    return Code(engine)


@functools.cache
def _llvm() -> tuple[Any, Any]:
    _load_library()
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm, _machine(llvm)


def _machine(llvm: Any) -> Any:
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=2, jit=True)


def _load_library() -> None:
    """Loads LLVM's 100 MB by a foreign call, which lets other threads run; Python's own loader would not."""
    spec = importlib.util.find_spec("llvmlite")
    if os.name != "posix" or spec is None or not spec.submodule_search_locations:
        return
    path = os.path.join(next(iter(spec.submodule_search_locations)), "binding", "libllvmlite.so")
    load = ctypes.CDLL(None).dlopen
    load.restype, load.argtypes = ctypes.c_void_p, (ctypes.c_char_p, ctypes.c_int)
    load(os.fsencode(path), os.RTLD_NOW)  # if it fails, the import that follows says why
