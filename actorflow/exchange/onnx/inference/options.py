"""`SessionOptions`, `RunOptions` and their enumerations, by the names of onnxruntime."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from actorflow.base.process import forks
from actorflow.errors import CancelledError, NotFoundError, UnimplementedError
from actorflow.exchange.onnx.inference.names import nearest
from actorflow.public import public


@public("af.onnx")
class GraphOptimizationLevel(enum.IntEnum):
    """How far a graph is rewritten. `ORT_DISABLE_ALL` runs its nodes as they are; the other levels are one here.

    Example:
        >>> options = af.onnx.SessionOptions()
        >>> options.graph_optimization_level = af.onnx.GraphOptimizationLevel.ORT_DISABLE_ALL
        >>> options.graph_optimization_level.name
        'ORT_DISABLE_ALL'
    """

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


@public("af.onnx")
class ExecutionMode(enum.IntEnum):
    """Whether nodes run in sequence. The runtime decides that by their costs, so both modes are the same.

    Example:
        >>> af.onnx.ExecutionMode.ORT_PARALLEL.name
        'ORT_PARALLEL'
    """

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class _Options:
    """Attributes of fixed names and types. Any other name, and a value of another type, is refused with a sentence."""

    _DEFAULTS: ClassVar[Mapping[str, Any]] = {}
    _WITHOUT_EFFECT_UNLESS_DEFAULT: ClassVar[Mapping[str, str]] = {}
    """Attributes that can't be followed, and what a program does instead."""

    def __init__(self) -> None:
        self.__dict__.update(self._DEFAULTS)
        self.__dict__["_entries"] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        kind = type(self).__name__
        if name not in self._DEFAULTS:
            raise AttributeError(f"{kind} has no attribute {name!r}.{nearest(name, self._DEFAULTS)}")
        expected = type(self._DEFAULTS[name])
        if expected is bool and isinstance(value, int):
            value = bool(value)
        if not isinstance(value, expected) or (expected is int and isinstance(value, bool)):
            raise TypeError(f"{kind}.{name} is of the type {expected.__name__}, but it was given {value!r:.60}.")
        if name in self._WITHOUT_EFFECT_UNLESS_DEFAULT and value != self._DEFAULTS[name]:
            raise UnimplementedError(
                f"{kind}.{name} can't be {value!r:.60}.", hint=self._WITHOUT_EFFECT_UNLESS_DEFAULT[name]
            )
        self.__dict__[name] = value

    def _add_entry(self, key: str, value: str) -> None:
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"An entry of {type(self).__name__} is two strings, but it was given {key!r}, {value!r}.")
        self.__dict__["_entries"][key] = value

    def _entry(self, key: str) -> str:
        entries: dict[str, str] = self.__dict__["_entries"]
        if key not in entries:
            raise NotFoundError(f"{type(self).__name__} has no entry {key!r}; it has {sorted(entries) or 'none'}.")
        return entries[key]

    def __repr__(self) -> str:
        changed = {name: self.__dict__[name] for name in self._DEFAULTS if self.__dict__[name] != self._DEFAULTS[name]}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"


@public("af.onnx")
class SessionOptions(_Options):
    """Options of a session: threads, rewrites of the graph, profiles, and sizes that a file leaves open.

    Arenas, memory patterns, logging and entries of configuration are taken, and change nothing: the runtime has its own.

    Example:
        >>> options = af.onnx.SessionOptions()
        >>> options.intra_op_num_threads = 2
        >>> options.add_free_dimension_override_by_name("batch", 8)
        >>> options
        SessionOptions(intra_op_num_threads=2)
    """

    _DEFAULTS: ClassVar = {
        "enable_cpu_mem_arena": True,
        "enable_mem_pattern": True,
        "enable_mem_reuse": True,
        "enable_profiling": False,
        "execution_mode": ExecutionMode.ORT_SEQUENTIAL,
        "graph_optimization_level": GraphOptimizationLevel.ORT_ENABLE_ALL,
        "inter_op_num_threads": 0,
        "intra_op_num_threads": 0,
        "log_severity_level": -1,
        "log_verbosity_level": 0,
        "logid": "",
        "optimized_model_filepath": "",
        "profile_file_prefix": "actorflow_profile_",
        "use_deterministic_compute": False,
        "use_per_session_threads": True,
    }
    _WITHOUT_EFFECT_UNLESS_DEFAULT: ClassVar = {
        "optimized_model_filepath": "Plans are kept in memory only: `af.onnx.save` writes a graph as an ONNX file."
    }

    enable_profiling: bool
    execution_mode: ExecutionMode
    graph_optimization_level: GraphOptimizationLevel
    inter_op_num_threads: int
    intra_op_num_threads: int
    profile_file_prefix: str

    def __init__(self) -> None:
        super().__init__()
        self.__dict__["sizes"] = {}
        self.__dict__["denotations"] = {}

    sizes: dict[str, int]
    """The sizes that a file leaves open, by their names."""
    denotations: dict[str, int]
    """The same, by what the file says that they stand for."""

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Keeps an entry, which changes nothing.

        Example:
            >>> options = af.onnx.SessionOptions()
            >>> options.add_session_config_entry("session.intra_op.allow_spinning", "0")

        Args:
            key, value: two strings.
        """
        self._add_entry(key, value)

    def get_session_config_entry(self, key: str) -> str:
        """An entry that was added. Raises NotFoundError.

        Example:
            >>> options = af.onnx.SessionOptions()
            >>> options.add_session_config_entry("session.intra_op.allow_spinning", "0")
            >>> options.get_session_config_entry("session.intra_op.allow_spinning")
            '0'
        """
        return self._entry(key)

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Fixes a size that the file leaves open.

        Example:
            >>> options = af.onnx.SessionOptions()
            >>> options.add_free_dimension_override_by_name("batch", 8)

        Args:
            name: the name of the size in the file.
            size: the size.

        Raises:
            ValueError: the size is negative.
        """
        self.sizes[name] = _size(name, size)

    def add_free_dimension_override_by_denotation(self, denotation: str, size: int) -> None:
        """Fixes the sizes of which the file says that they stand for the same, such as `DATA_BATCH`.

        Example:
            >>> options = af.onnx.SessionOptions()
            >>> options.add_free_dimension_override_by_denotation("DATA_BATCH", 8)

        Args:
            denotation: what the sizes stand for.
            size: the size.

        Raises:
            ValueError: the size is negative.
        """
        self.denotations[denotation] = _size(denotation, size)

    def register_custom_ops_library(self, path: str) -> None:
        """Refuses libraries that were made for onnxruntime.

        Example:
            >>> af.onnx.SessionOptions().register_custom_ops_library("ops.so")
            Traceback (most recent call last):
            ...
            actorflow.errors.UnimplementedError: The library 'ops.so' has kernels of onnxruntime, which can't ...
        """
        raise UnimplementedError(
            f"The library {path!r} has kernels of onnxruntime, which can't run here.",
            hint="Write the op for actorflow: the guide docs/guides/op.md shows how.",
        )


def _size(name: str, size: int) -> int:
    if isinstance(size, bool) or not isinstance(size, int):
        raise TypeError(f"The size {name!r} is a whole number, but it was given {size!r:.60}.")
    if size < 0:
        raise ValueError(f"The size {name!r} is 0 or more, but it was given {size}.")
    return size


@public("af.onnx")
class RunOptions(_Options):
    """Options of a run. `terminate = True`, set by any thread, stops the runs that have these options.

    Example:
        >>> options = af.onnx.RunOptions()
        >>> options.terminate
        False
    """

    _DEFAULTS: ClassVar = {
        "log_severity_level": -1,
        "log_verbosity_level": 0,
        "logid": "",
        "only_execute_path_to_fetches": False,
        "terminate": False,
    }

    terminate: bool

    def __init__(self) -> None:
        super().__init__()
        self.__dict__["_lock"], self.__dict__["_stops"] = forks.new_lock(), []

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "terminate" and self.terminate:
            with self.__dict__["_lock"]:
                stops = [*self.__dict__["_stops"]]
            for stop in stops:
                stop()

    @contextmanager
    def stopped_by(self, stop: Callable[[], object]) -> Iterator[None]:
        """A block in which `terminate` calls a function, from the thread that sets it; at once if it is set already."""
        stops: list[Callable[[], object]] = self.__dict__["_stops"]
        with self.__dict__["_lock"]:
            stops.append(stop)
        try:
            if self.terminate:
                stop()
            yield
        finally:
            with self.__dict__["_lock"]:
                stops.remove(stop)

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Keeps an entry, which changes nothing.

        Example:
            >>> af.onnx.RunOptions().add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")

        Args:
            key, value: two strings.
        """
        self._add_entry(key, value)

    def get_run_config_entry(self, key: str) -> str:
        """An entry that was added. Raises NotFoundError.

        Example:
            >>> options = af.onnx.RunOptions()
            >>> options.add_run_config_entry("gpu_graph_id", "1")
            >>> options.get_run_config_entry("gpu_graph_id")
            '1'
        """
        return self._entry(key)


def terminated() -> CancelledError:
    """The error of a run that was stopped by `terminate`."""
    return CancelledError(
        "The run ended, because terminate of its RunOptions is True.",
        hint="Set it to False, or make new RunOptions, before the next run.",
    )
