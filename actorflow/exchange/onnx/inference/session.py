"""`InferenceSession`: a model that a program runs by onnxruntime's names, and awaits."""

from __future__ import annotations

import asyncio
import time
import weakref
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any

import anyio

from actorflow.base.process import forks
from actorflow.base.reports.tracebacks import leave_out
from actorflow.base.unpicklable import unpicklable
from actorflow.engine.batching.rows import Batching
from actorflow.engine.passes.options import PlanOptions
from actorflow.engine.runtime.diagnostics.trace import Trace
from actorflow.engine.runtime.event_loops.driver import LoopDriver
from actorflow.engine.session.awaitables import refuse_await
from actorflow.engine.session.settings import SessionLimits
from actorflow.errors import FailedPreconditionError
from actorflow.exchange.onnx.inference.arguments import ModelMetadata, NodeArg
from actorflow.exchange.onnx.inference.engine import InferenceEngine, check_rows
from actorflow.exchange.onnx.inference.interface import Interface, Variant
from actorflow.exchange.onnx.inference.model import OnnxModel
from actorflow.exchange.onnx.inference.options import (
    GraphOptimizationLevel,
    RunOptions,
    SessionOptions,
    terminated,
)
from actorflow.exchange.onnx.inference.providers import chosen
from actorflow.exchange.onnx.inference.values import IOBinding, OrtValue, values_of
from actorflow.public import public

_INSTEAD = "write `await session.run_async(...)`"


@public("af.onnx")
class InferenceSession:
    """A model in an ONNX file. `run` is onnxruntime's; `await session.run_async(...)` leaves the event loop free meanwhile.

    A session belongs to no thread and no event loop. `async with` and `with` close it; without them it ends with the object.

    Example:
        >>> x = af.placeholder(af.float32, [None, 3], name="x")
        >>> await af.onnx.save("double.onnx", session, {"y": x * 2.0}, {"x": x})
        >>> async with af.onnx.InferenceSession("double.onnx") as model:
        ...     print(model.get_inputs()[0].name, model.get_inputs()[0].type)
        ...     print(await model.run_async(None, {"x": np.ones([1, 3], np.float32)}, timeout=5.0))
        x tensor(float)
        [array([[2., 2., 2.]], dtype=float32)]

    Args:
        path_or_bytes: the path of an ONNX file, or its bytes. `af.load_model` opens files of other kinds.
        sess_options: options.
        providers: the names of execution providers, in the order of preference: hints on devices. The CPU unless given.
        provider_options: options of each provider. They change nothing.
        disabled_optimizers: without effect.
        batching: how calls of `run_async` that wait together are put together; each runs by itself unless given.
        limits: how many calls run at a time, how many wait, and their memory; see `SessionLimits`.

    Raises:
        TypeError: an argument is nothing of that kind.
        InvalidArgumentError: the file is no ONNX model, or `batching` is asked for and rows can't be put together.
        UnimplementedError: the model has ops that are not supported.
        OSError: the file can't be read.
    """

    __reduce_ex__ = unpicklable("An InferenceSession is not pickled: open the file where it is needed.")

    def __init__(
        self,
        path_or_bytes: Any,
        sess_options: SessionOptions | None = None,
        providers: Sequence[str | tuple[str, Mapping[Any, Any]]] | None = None,
        provider_options: Sequence[Mapping[Any, Any]] | None = None,
        *,
        disabled_optimizers: Sequence[str] | None = None,
        batching: Batching | None = None,
        limits: SessionLimits | None = None,
    ) -> None:
        self._closed = True
        if not isinstance(sess_options, (SessionOptions, type(None))):
            raise TypeError(f"sess_options is an af.onnx.SessionOptions, but it was given {sess_options!r:.60}.")
        self._options = sess_options or SessionOptions()
        self._providers = chosen(providers, provider_options)
        is_open = isinstance(path_or_bytes, Interface)
        self._model: Interface = path_or_bytes if is_open else OnnxModel(path_or_bytes, self._options)
        if batching is not None:
            check_rows(self._model.plain, batching)
        self._batching = batching
        self._limits = limits or SessionLimits(threads=max(0, self._options.intra_op_num_threads) or None)
        runs_plain = self._options.graph_optimization_level == GraphOptimizationLevel.ORT_DISABLE_ALL
        self._plans = PlanOptions(optimize=False) if runs_plain else PlanOptions()
        self._trace = Trace() if self._options.enable_profiling else None
        self._begun = time.monotonic_ns()
        self._lock = forks.new_lock()
        self._engines: dict[tuple[int, int], InferenceEngine] = {}
        self._driver: LoopDriver | None = None
        self._closed = False

    # The file

    def get_inputs(self) -> list[NodeArg]:
        """The inputs that each run feeds, in the order of the file."""
        return [*self._model.inputs]

    def get_outputs(self) -> list[NodeArg]:
        """The outputs, in the order of the file."""
        return [*self._model.outputs]

    def get_overridable_initializers(self) -> list[NodeArg]:
        """The weights that a run may feed, because the file lists them among its inputs."""
        return [*self._model.overridable]

    def get_modelmeta(self) -> ModelMetadata:
        """The file's description of itself."""
        return self._model.metadata

    def get_session_options(self) -> SessionOptions:
        """The options that the session was opened with."""
        return self._options

    def get_providers(self) -> list[str]:
        """The providers whose devices the session has."""
        return [*self._providers.options]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """The options of each provider."""
        return {name: dict(options) for name, options in self._providers.options.items()}

    def set_providers(self, providers: Any = None, provider_options: Any = None) -> None:
        """Takes other providers, for the runs from now on.

        Args:
            providers, provider_options: as for the class.

        Raises:
            TypeError: these are no names.
        """
        self._providers = chosen(providers, provider_options)
        with self._lock:
            self._engines.clear()

    def enable_fallback(self) -> None:
        """Does nothing: nodes without a kernel on a device run on the CPU in any case."""

    def disable_fallback(self) -> None:
        """Does nothing: nodes without a kernel on a device run on the CPU in any case."""

    # Running

    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: RunOptions | None = None
    ) -> list[Any]:
        """The outputs, in the order of their names; blocks the thread until they are there. Any number of threads may call it.

        Args:
            output_names: the names of the outputs; all for None.
            input_feed: arrays, lists or numbers by the names of the inputs.
            run_options: options; `terminate` of them stops the run.

        Returns:
            Arrays that the program may write. A sequence is a list, a map a dict, an absent optional None.

        Raises:
            TypeError: an argument is nothing of that kind; or the result is awaited, which `run_async` is for.
            InvalidArgumentError: an input is missing, unknown, or does not fit; an output is unknown.
            CancelledError: `terminate` of the options is True.
            OpError: a node failed; the error names it.
        """
        results: list[Any] = self._driven(lambda: self._run(output_names, input_feed, run_options, None))
        return results

    async def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: RunOptions | None = None,
        *,
        timeout: float | None = None,
    ) -> list[Any]:
        """The outputs, in the order of their names. Kernels that take long run on a thread of the runtime.

        A call that is cancelled stops its kernels. In a batch, it stops when all calls of the batch are cancelled.

        Args:
            output_names: the names of the outputs; all for None.
            input_feed: arrays, lists or numbers by the names of the inputs. Leave them as they are until the call ends.
            run_options: options; `terminate` of them stops the run.
            timeout: after how many seconds the answer has no use any more.

        Returns:
            Arrays that the program may write. A sequence is a list, a map a dict, an absent optional None.

        Raises:
            TypeError: an argument is nothing of that kind.
            InvalidArgumentError: an input is missing, unknown, or does not fit; an output is unknown.
            DeadlineExceededError: the time is up; the message says what the call waited for.
            Overloaded: too many calls run and wait already; see `limits` and `batching`.
            CancelledError: `terminate` of the options is True.
            OpError: a node failed; the error names it.
        """
        return await self._run(output_names, input_feed, run_options, timeout)

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, OrtValue],
        run_options: RunOptions | None = None,
    ) -> list[OrtValue]:
        """`run` with values of the type `OrtValue`.

        Args:
            output_names, run_options: as for `run`.
            input_dict_ort_values: values by the names of the inputs.

        Raises:
            TypeError: a value is an array; use `run` for these.
            OpError: see `run`.
        """
        results = self.run(output_names, values_of(input_dict_ort_values), run_options)
        return [OrtValue(value) for value in results]

    def io_binding(self) -> IOBinding:
        """An object that values are bound to, for `run_with_iobinding`."""
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        """Runs with the values that are bound. The binding has the outputs then.

        Args:
            iobinding: what `io_binding` of this session gave.
            run_options: as for `run`.

        Raises:
            ValueError: the binding is another session's, or no output is bound.
            InvalidArgumentError: a value does not fit, or memory for an output has another type or shape.
        """
        self._driven(lambda: self.run_with_iobinding_async(iobinding, run_options))

    async def run_with_iobinding_async(
        self, iobinding: IOBinding, run_options: RunOptions | None = None, *, timeout: float | None = None
    ) -> None:
        """`run_with_iobinding`, awaited.

        Args:
            iobinding: what `io_binding` of this session gave.
            run_options, timeout: as for `run_async`.

        Raises:
            ValueError: the binding is another session's, or no output is bound.
            InvalidArgumentError: a value does not fit, or memory for an output has another type or shape.
        """
        if iobinding.session is not self:
            raise ValueError("The binding is another session's: use what io_binding() of this session gives.")
        if not iobinding.targets:
            raise ValueError("No output is bound: call bind_output(name) for each that is wanted.")
        iobinding.take(await self._run([*iobinding.targets], iobinding.feed, run_options, timeout))

    async def _run(self, output_names: Any, feed: Any, options: Any, timeout: float | None) -> list[Any]:
        if not isinstance(options, (RunOptions, type(None))):
            what = "run_async is awaited and takes no callback" if callable(options) else "run_options is RunOptions"
            raise TypeError(f"{what}, but it was given {options!r:.60}; write `await session.run_async(names, feed)`.")
        names = self._model.names(output_names)
        values = self._model.values(feed)
        engine = self._engine(self._model.variant(values))
        if options is None:
            return await engine.run(names, values, timeout)
        if options.terminate:
            raise terminated()
        return await _unless_terminated(options, engine.run(names, values, timeout))

    def _engine(self, variant: Variant) -> InferenceEngine:
        """The engine for a variant on the running loop."""
        if self._closed:
            raise FailedPreconditionError(
                "The InferenceSession is closed.", hint="Open another one: af.onnx.InferenceSession(path)."
            )
        loop = asyncio.get_running_loop()
        key = id(loop), id(variant)
        engine = self._engines.get(key)
        if engine is not None and engine.loop is loop and engine.variant is variant:
            return engine
        with self._lock:
            self._engines = {k: kept for k, kept in self._engines.items() if not kept.loop.is_closed()}
            engine = self._engines[key] = InferenceEngine(
                variant,
                self._model.start,
                dict(self._providers.devices),
                self._limits,
                self._plans,
                self._batched(loop),
                self._trace,
            )
        return engine

    def _batched(self, loop: asyncio.AbstractEventLoop) -> Batching | None:
        """The batching on a loop. Calls of `run` are not put together: a thread waits for its own."""
        is_own = self._driver is not None and self._driver.drives(loop)
        return None if is_own else self._batching

    def _driven(self, start: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """Runs a coroutine on the session's own loop, which the calling thread drives."""
        try:
            if asyncio._get_running_loop() is not None:
                refuse_await("run", _INSTEAD)
            with self._lock:
                if self._driver is None:
                    self._driver = LoopDriver()
                    weakref.finalize(self, self._driver.close, wait=False).atexit = False
            return self._driver.call(start)
        except Exception as error:
            leave_out(error)
            raise

    # Profiles

    def end_profiling(self) -> str:
        """Writes the events of the runs so far to a file, for https://ui.perfetto.dev, and gives its name.

        Raises:
            FailedPreconditionError: the session was opened without `enable_profiling`.
        """
        if self._trace is None:
            raise FailedPreconditionError(
                "The session keeps no profile.", hint="Set SessionOptions.enable_profiling before it is opened."
            )
        name = f"{self._options.profile_file_prefix}_{time.strftime('%Y-%m-%d_%H-%M-%S')}.json"
        self._trace.save(name)
        self._trace = None
        with self._lock:
            self._engines.clear()
        return name

    def get_profiling_start_time_ns(self) -> int:
        """When the session was opened, in nanoseconds of the monotonic clock."""
        return self._begun

    # Opening and closing

    async def warm_up(self) -> None:
        """Makes the plan for all outputs, so that the first call is as quick as later calls. `async with` does so."""
        if self._model.plain is not None:
            await self._engine(self._model.plain).warm(self._model.names(None))

    async def aclose(self) -> None:
        """Stops what runs on this event loop, and closes the session. A second call does nothing."""
        loop = asyncio.get_running_loop()
        engines, self._engines = self._engines, {}
        for engine in engines.values():
            if engine.loop is loop:
                await engine.close()
        self._end()

    def close(self) -> None:
        """Closes the session for programs without an event loop: calls of `run` end first. A second call does nothing."""
        engines, self._engines = self._engines, {}
        driver = self._driver
        if driver is not None:
            for engine in engines.values():
                if driver.drives(engine.loop):
                    driver.call(engine.close)
        self._end()

    def _end(self) -> None:
        self._closed = True
        driver, self._driver = self._driver, None
        if driver is not None:
            driver.close()

    async def __aenter__(self) -> InferenceSession:
        await self.warm_up()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __enter__(self) -> InferenceSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        inputs = ", ".join(f"{argument.name}: {argument.type}" for argument in self._model.inputs)
        return f"<InferenceSession ({inputs}) -> {', '.join(argument.name for argument in self._model.outputs)}>"


async def _unless_terminated(options: RunOptions, run: Coroutine[Any, Any, list[Any]]) -> list[Any]:
    """A run that `terminate` of its options stops. Raises CancelledError of actorflow then."""
    loop, scope = asyncio.get_running_loop(), anyio.CancelScope()

    def stop() -> None:
        with suppress(RuntimeError):  # the loop is closed: no run is left
            loop.call_soon_threadsafe(scope.cancel)

    with options.stopped_by(stop):
        with scope:
            return await run
        raise terminated()
