"""`InferenceSession` beside onnxruntime's: the same calls on both objects, in a table of methods and mistakes."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from channels import until
from exchange.onnx.onnx_models import model, node

import actorflow as af
from actorflow.errors import CancelledError, InvalidArgumentError, UnimplementedError
from actorflow.exchange.onnx.protos import ModelProto, TypeProto

ort: Any = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
Y = np.ones(1, np.float32)


def written(proto: Any, version: int = 8) -> bytes:
    proto.ir_version = version
    return bytes(proto.SerializeToString())


def two(version: int = 8) -> bytes:
    """z = x + y, q = x * w; w is a weight that the file lists as an input too."""
    inputs = {"x": ("float32", (None, 3, None)), "y": ("float32", (1,)), "w": ("float32", (1,))}
    proto = model(
        [node("Add", "x y", "z"), node("Mul", "x w", "q")], inputs, "z q", {"w": np.full(1, 2, np.float32)}, opset=17
    )
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
    proto.graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    proto.graph.output[0].type.CopyFrom(proto.graph.input[0].type)
    proto.graph.output[1].type.CopyFrom(proto.graph.input[0].type)
    proto.producer_name, proto.domain, proto.doc_string, proto.model_version = "me", "org.example", "a text", 3
    proto.graph.doc_string = "a graph"
    proto.metadata_props.add(key="a", value="b")
    return written(proto, version)


def same(dtype: str, shape: Any = (None,)) -> bytes:
    proto = model([node("Identity", "x", "y")], {"x": (dtype, shape)}, "y", opset=17)
    proto.graph.output[0].type.CopyFrom(proto.graph.input[0].type)
    return written(proto)


def of_type(kind: str, elem: int = 1) -> bytes:
    """A sequence, or whether an optional has an element."""
    op = "Identity" if kind == "sequence" else "OptionalHasElement"
    proto = model([node(op, "x", "y")], {"x": ("float32", (2,))}, "y", opset=17)
    tensor = proto.graph.input[0].type
    outer = TypeProto()
    getattr(outer, f"{kind}_type").elem_type.CopyFrom(tensor)
    proto.graph.input[0].type.CopyFrom(outer)
    if kind == "sequence":
        proto.graph.output[0].type.CopyFrom(outer)
    else:
        proto.graph.output[0].type.tensor_type.elem_type = 9
    return written(proto)


def squeezed() -> bytes:
    """A model whose second input decides about its graph."""
    inputs = {"x": ("float32", (1, 2, 1)), "axes": ("int64", (1,))}
    proto = model([node("Squeeze", "x axes", "y")], inputs, "y", opset=17)
    proto.graph.output[0].type.tensor_type.elem_type = 1
    return written(proto)


BOTH = {"x": X, "y": Y}
DOUBLE = np.array([1.0, 2.0])
WORDS = np.array(["a", "bc"])


@dataclass(frozen=True)
class Call:
    """A call of `run` on a model."""

    source: bytes
    names: Any
    feed: Any
    refused: bool = False


CALLS = {
    "all outputs": Call(two(), None, BOTH),
    "an empty list is all outputs": Call(two(), [], BOTH),
    "one output": Call(two(), ["q"], BOTH),
    "outputs in another order": Call(two(), ["q", "z"], BOTH),
    "an output twice": Call(two(), ["q", "q"], BOTH),
    "a tuple of names": Call(two(), ("z",), BOTH),
    "a weight that is fed": Call(two(), None, {**BOTH, "w": np.full(1, 5, np.float32)}),
    "a list": Call(two(), None, {"x": X.tolist(), "y": [1.0]}),
    "an array in Fortran's order": Call(two(), None, {"x": np.asfortranarray(X), "y": Y}),
    "a view with strides": Call(two(), None, {"x": X[:, ::-1, ::2], "y": Y}),
    "no rows": Call(two(), None, {"x": X[:0], "y": Y}),
    "a list of integers": Call(same("int64"), None, {"x": [1, 2]}),
    "an empty list": Call(same("int64"), None, {"x": []}),
    "an array of rank 0": Call(same("bool", ()), None, {"x": np.array(True)}),
    "text": Call(same("string"), None, {"x": WORDS}),
    "a list of text": Call(same("string"), None, {"x": ["a", "bc"]}),
    "text as objects": Call(same("string"), None, {"x": WORDS.astype(object)}),
    "objects that are no text": Call(same("string"), None, {"x": np.array(["a", 1], object)}),
    "a sequence": Call(of_type("sequence"), None, {"x": [Y.repeat(2), Y.repeat(2)]}),
    "an optional": Call(of_type("optional"), None, {"x": Y.repeat(2)}),
    "an optional that is None": Call(of_type("optional"), None, {"x": None}),
    "an optional that is left out": Call(of_type("optional"), None, {}),
    "a value that decides": Call(squeezed(), None, {"x": X[:1, :2, :1].reshape(1, 2, 1), "axes": np.array([0])}),
    "names that are text": Call(two(), "q", BOTH, refused=True),
    "an unknown output": Call(two(), ["no"], BOTH, refused=True),
    "an input that is missing": Call(two(), None, {"x": X}, refused=True),
    "an unknown input": Call(two(), None, {**BOTH, "u": X}, refused=True),
    "a key that is no name": Call(two(), None, {1: X}, refused=True),
    "doubles for floats": Call(two(), None, {"x": X.astype(np.float64), "y": Y}, refused=True),
    "int32 for int64": Call(same("int64"), None, {"x": np.array([1], np.int32)}, refused=True),
    "bytes for bools": Call(same("bool"), None, {"x": np.array([1], np.uint8)}, refused=True),
    "numbers for text": Call(same("string"), None, {"x": np.array([1, 2])}, refused=True),
    "text for numbers": Call(same("float32"), None, {"x": "abc"}, refused=True),
    "a wrong size": Call(two(), None, {"x": X[:, :2], "y": Y}, refused=True),
    "a wrong rank": Call(two(), None, {"x": X[0], "y": Y}, refused=True),
    "None": Call(two(), None, {"x": None, "y": Y}, refused=True),
    "no feed": Call(two(), None, None, refused=True),
    "a list of arrays": Call(two(), None, [X, Y], refused=True),
    "a weight of a file before version 4": Call(two(3), None, {**BOTH, "w": Y}, refused=True),
    "a dictionary for an array": Call(two(), None, {"x": {}, "y": Y}, refused=True),
}


def agree(actual: Any, expected: Any) -> None:
    assert type(actual) is type(expected)
    if isinstance(expected, list):
        assert len(actual) == len(expected)
        for mine, theirs in zip(actual, expected):
            agree(mine, theirs)
    else:
        assert actual.dtype == expected.dtype and actual.shape == expected.shape
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("case", CALLS)
async def test_run_and_run_async_do_as_onnxruntime_does(case: str) -> None:
    call = CALLS[case]
    theirs = ort.InferenceSession(call.source, providers=["CPUExecutionProvider"])
    async with af.onnx.InferenceSession(call.source) as session:
        if call.refused:
            with pytest.raises(Exception):  # noqa: B017  (onnxruntime's errors have no common class)
                theirs.run(call.names, call.feed)
            with pytest.raises((InvalidArgumentError, TypeError), match=r"\w{3,}.*\.$") as caught:
                await session.run_async(call.names, call.feed)
            with pytest.raises(type(caught.value)):
                session.run(call.names, call.feed)
            return
        expected = theirs.run(call.names, call.feed)
        agree(await session.run_async(call.names, call.feed), expected)
        agree(session.run(call.names, call.feed), expected)


def facts(session: Any) -> dict[str, Any]:
    def arguments(listed: Any) -> list[Any]:
        return [(argument.name, argument.type, list(argument.shape)) for argument in listed]

    metadata = session.get_modelmeta()
    return {
        "inputs": arguments(session.get_inputs()),
        "outputs": arguments(session.get_outputs()),
        "weights": arguments(session.get_overridable_initializers()),
        "metadata": {name: getattr(metadata, name) for name in dir(metadata) if name[0] != "_" and name != "of"},
        "providers": session.get_providers(),
        "options of providers": session.get_provider_options(),
    }


TYPES = (
    *("float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64", "bool", "string"),
)
FILES = {
    "a file with all fields": two(),
    "a file before version 4": two(3),
    "a sequence": of_type("sequence"),
    "a shape that is open": same("float32", None),
    "a scalar": same("float32", ()),
    **{dtype: same(dtype, (2, None)) for dtype in TYPES},
}


@pytest.mark.parametrize("name", FILES)
def test_a_session_tells_what_onnxruntime_tells(name: str) -> None:
    theirs = ort.InferenceSession(FILES[name], providers=["CPUExecutionProvider"])
    assert facts(af.onnx.InferenceSession(FILES[name])) == facts(theirs)


def test_the_names_of_options_and_enumerations_are_onnxruntimes() -> None:
    for mine, theirs in (
        (af.onnx.SessionOptions(), ort.SessionOptions()),
        (af.onnx.RunOptions(), ort.RunOptions()),
    ):
        for name in vars(type(mine))["_DEFAULTS"]:
            if name == "profile_file_prefix":
                continue
            assert (
                getattr(mine, name) == getattr(theirs, name) or getattr(mine, name).name == getattr(theirs, name).name
            )
    for enum in ("GraphOptimizationLevel", "ExecutionMode"):
        mine = {name: int(value) for name, value in getattr(af.onnx, enum).__members__.items()}
        theirs = {name: int(getattr(value, "value", value)) for name, value in getattr(ort, enum).__members__.items()}
        assert mine == theirs


def bare(ours: Callable[[], Any], theirs: Callable[[], Any]) -> None:
    """Both are refused."""
    with pytest.raises(Exception):  # noqa: B017
        theirs()
    with pytest.raises((TypeError, ValueError, AttributeError, OSError, InvalidArgumentError, af.errors.OpError)):
        ours()


MISTAKES: dict[str, Callable[[Any], Any]] = {
    "a file that is not there": lambda lib: lib.InferenceSession("/no/such/file.onnx"),
    "no bytes": lambda lib: lib.InferenceSession(b""),
    "bytes of no model": lambda lib: lib.InferenceSession(b"abc"),
    "a number for a path": lambda lib: lib.InferenceSession(5),
    "None for a path": lambda lib: lib.InferenceSession(None),
    "options that are none": lambda lib: lib.InferenceSession(two(), 5),
    "options of a run that are none": lambda lib: lib.InferenceSession(two()).run(None, BOTH, {}),
    "an option of no such name": lambda lib: setattr(lib.SessionOptions(), "threads", 1),
    "an option of another type": lambda lib: setattr(lib.SessionOptions(), "intra_op_num_threads", "2"),
    "a mode that is a number": lambda lib: setattr(lib.SessionOptions(), "execution_mode", 0),
    "an entry that was not added": lambda lib: lib.SessionOptions().get_session_config_entry("a"),
    "an option of a run of no such name": lambda lib: setattr(lib.RunOptions(), "timeout", 1),
    "a binding of an unknown input": lambda lib: lib.InferenceSession(two()).io_binding().bind_cpu_input("no", X),
    "a run without bound outputs": lambda lib: _bound(lib, outputs=()),
    "bound memory of another shape": lambda lib: _bound(lib, np.zeros((2, 2), np.float32)),
    "another session's binding": lambda lib: lib.InferenceSession(two()).run_with_iobinding(
        lib.InferenceSession(two()).io_binding()
    ),
    "an array for an OrtValue": lambda lib: lib.InferenceSession(same("float32")).run_with_ort_values(None, {"x": Y}),
    "a list for an OrtValue": lambda lib: lib.OrtValue.ortvalue_from_numpy([1.0]),
    "no DLPack": lambda lib: lib.OrtValue.from_dlpack([1.0]),
    "an update of another size": lambda lib: lib.OrtValue.ortvalue_from_numpy(X).update_inplace(Y),
    "an update that is a list": lambda lib: lib.OrtValue.ortvalue_from_numpy(Y).update_inplace([1.0]),
    "memory of a device that is not there": lambda lib: lib.OrtValue.ortvalue_from_numpy(Y, "cuda"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_refused_by_both(name: str) -> None:
    bare(lambda: MISTAKES[name](af.onnx), lambda: MISTAKES[name](ort))


def _bound(lib: Any, memory: Any = None, outputs: tuple[str, ...] = ("z",)) -> Any:
    """The outputs of a run with bound values."""
    session = lib.InferenceSession(two())
    binding = session.io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_ortvalue_input("y", lib.OrtValue.from_dlpack(Y))
    for name in outputs:
        binding.bind_output(name) if memory is None else binding.bind_ortvalue_output(
            name, lib.OrtValue.ortvalue_from_numpy(memory)
        )
    session.run_with_iobinding(binding)
    assert [value.shape() for value in binding.get_outputs()] == [[2, 3, 4]] * len(outputs)
    return binding.copy_outputs_to_cpu()


VALUES: dict[str, Callable[[Any], Any]] = {
    "bound outputs": lambda lib: _bound(lib, outputs=("q", "z")),
    "bound memory": lambda lib: _bound(lib, np.zeros((2, 3, 4), np.float32)),
    "an OrtValue in a feed": lambda lib: lib.InferenceSession(two()).run(
        None, {"x": lib.OrtValue.ortvalue_from_numpy(X), "y": Y}
    ),
    "values of OrtValue": lambda lib: [
        value.numpy()
        for value in lib.InferenceSession(same("float32")).run_with_ort_values(
            None, {"x": lib.OrtValue.ortvalue_from_numpy(Y)}
        )
    ],
    "a value's facts": lambda lib: [
        (value := lib.OrtValue.ortvalue_from_shape_and_type([2], np.int64)).shape(),
        [np.array([ord(c) for c in value.data_type()]), np.array(value.element_type())],
        np.array(value.tensor_size_in_bytes()),
        np.from_dlpack(lib.OrtValue.ortvalue_from_numpy(X)),
        np.asarray(lib.OrtValue.from_dlpack(X)),
    ][1:],
    "memory at an address": lambda lib: _addressed(lib),
    "a size that options fix": lambda lib: np.array(
        [a for a in lib.InferenceSession(two(), _sized(lib)).get_inputs()[0].shape if a is not None]
    ),
}


def _addressed(lib: Any) -> Any:
    memory = np.zeros_like(Y)
    binding = (session := lib.InferenceSession(same("float32"))).io_binding()
    binding.bind_input("x", "cpu", 0, np.float32, Y.shape, Y.ctypes.data)
    binding.bind_output("y", "cpu", 0, np.float32, memory.shape, memory.ctypes.data)
    session.run_with_iobinding(binding)
    return memory


def _sized(lib: Any) -> Any:
    options = lib.SessionOptions()
    options.add_free_dimension_override_by_name("N", 5)
    return options


@pytest.mark.parametrize("name", VALUES)
def test_values_are_those_of_onnxruntime(name: str) -> None:
    agree(VALUES[name](af.onnx), VALUES[name](ort))


# ---- what onnxruntime has not


def product(size: int = 1024) -> bytes:
    """A chain of products that takes a second."""
    weight = np.zeros((size, size), np.float32)
    nodes = [node("MatMul", f"{'x' if at == 0 else f'h{at}'} w", f"h{at + 1}") for at in range(16)]
    proto = model(
        [*nodes, node("Identity", "h16", "y")], {"x": ("float32", (None, size))}, "y", {"w": weight}, opset=17
    )
    return bytes(ModelProto.FromString(proto.SerializeToString()).SerializeToString())


async def begun(session: Any) -> None:
    """Returns when a kernel runs on a thread."""
    (engine,) = session._engines.values()
    await until(lambda: any(task.state == "on a thread" for task in engine._session.tasks()))


SLOW = np.zeros((8192, 1024), np.float32)


@pytest.fixture(scope="module")
def slow() -> bytes:
    return product()


STOPS = ("cancelled", "deadline", "terminated by a thread")


@pytest.mark.parametrize("how", STOPS)
async def test_a_call_that_is_given_up_stops_its_kernels(how: str, slow: bytes) -> None:
    async with af.onnx.InferenceSession(slow) as session:
        options = af.onnx.RunOptions()
        timeout = 0.2 if how == "deadline" else None
        call = asyncio.ensure_future(session.run_async(None, {"x": SLOW}, options, timeout=timeout))
        await asyncio.sleep(0)
        if how != "deadline":
            await begun(session)
        if how == "cancelled":
            call.cancel()
        elif how != "deadline":
            threading.Thread(target=lambda: setattr(options, "terminate", True)).start()
        expected: Any = {"cancelled": asyncio.CancelledError, "deadline": af.errors.DeadlineExceededError}
        with pytest.raises(expected.get(how, CancelledError)):
            await call
        (engine,) = session._engines.values()
        statistics = engine._session.statistics()
        assert statistics.cancelled + statistics.failed >= 1 and statistics.inflight == 0


async def test_the_loop_is_free_while_kernels_run(slow: bytes) -> None:
    async with af.onnx.InferenceSession(slow) as session:
        call = asyncio.ensure_future(session.run_async(None, {"x": SLOW}))
        turns = 0
        while turns < 1000:
            assert not call.done()
            await asyncio.sleep(0)
            turns += 1
        call.cancel()
        await asyncio.wait([call])


async def test_no_thread_is_made_for_a_call() -> None:
    async with af.onnx.InferenceSession(two()) as session:
        await session.run_async(None, BOTH)
        before = threading.active_count()
        await asyncio.gather(*[session.run_async(None, BOTH) for _ in range(200)])
        assert threading.active_count() == before


async def test_calls_that_wait_together_go_through_one_step() -> None:
    batching = af.Batching(max_size=16)
    async with af.onnx.InferenceSession(same("float32", (None, 2)), batching=batching) as session:
        rows = [np.full((1 + at % 3, 2), at, np.float32) for at in range(12)]
        answers = await asyncio.gather(*[session.run_async(["y"], {"x": row}) for row in rows])
        for row, (answer,) in zip(rows, answers):
            np.testing.assert_array_equal(answer, row)
            answer += 1  # the program may write it
        (engine,) = session._engines.values()
        assert engine._session.statistics().steps < len(rows)


@pytest.mark.parametrize(
    ("source", "why"), [(two(), "'y' has no first size"), (squeezed(), "no first size|decide")], ids=["rows", "values"]
)
def test_batching_is_refused_where_rows_can_not_be_put_together(source: bytes, why: str) -> None:
    with pytest.raises(InvalidArgumentError, match=why):
        af.onnx.InferenceSession(source, batching=af.Batching())


async def test_rows_of_a_batch_have_to_be_as_many_for_all_inputs() -> None:
    proto = model([node("Add", "x y", "z")], {"x": ("float32", (None, 1)), "y": ("float32", (None, 1))}, "z", opset=17)
    async with af.onnx.InferenceSession(written(proto), batching=af.Batching()) as session:
        with pytest.raises(InvalidArgumentError, match="'x' has 2, 'y' has 1"):
            await session.run_async(None, {"x": np.zeros((2, 1), np.float32), "y": np.zeros((1, 1), np.float32)})


async def test_more_calls_than_the_limits_allow_are_refused(slow: bytes) -> None:
    limits = af.SessionLimits(max_inflight_steps=1, max_queued_steps=1)
    async with af.onnx.InferenceSession(slow, limits=limits) as session:
        calls = [asyncio.ensure_future(session.run_async(None, {"x": SLOW})) for _ in range(2)]
        await begun(session)
        with pytest.raises(af.errors.Overloaded):
            await session.run_async(None, {"x": SLOW})
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)


def test_a_session_serves_any_number_of_loops_and_threads() -> None:
    session = af.onnx.InferenceSession(two())
    for _ in range(3):
        agree(asyncio.run(session.run_async(["z"], BOTH)), [X + Y])
    answers: list[Any] = []
    threads = [threading.Thread(target=lambda: answers.append(session.run(["z"], BOTH))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    agree(answers, [[X + Y]] * 4)
    assert len(session._engines) <= 2
    session.close()


def test_a_session_ends_with_its_object() -> None:
    session: Any = af.onnx.InferenceSession(two())
    session.run(None, BOTH)
    dead = weakref.ref(session)
    del session
    gc.collect()
    assert dead() is None


async def test_a_closed_session_says_so() -> None:
    session = af.onnx.InferenceSession(two())
    async with session:
        await session.run_async(None, BOTH)
    with pytest.raises(af.errors.FailedPreconditionError, match="closed"):
        await session.run_async(None, BOTH)


async def test_a_run_that_is_awaited_says_what_to_write() -> None:
    async with af.onnx.InferenceSession(two()) as session:
        with pytest.raises(TypeError, match="run_async"):
            await session.run(None, BOTH)  # type: ignore[misc]
        with pytest.raises(TypeError, match="no callback"):
            await session.run_async(None, BOTH, print)  # type: ignore[arg-type]


def test_a_provider_that_is_not_here_is_named() -> None:
    with pytest.warns(UserWarning, match="'NoSuchProvider' is not here"):
        session = af.onnx.InferenceSession(two(), None, ["NoSuchProvider", "CPUExecutionProvider"])
    assert session.get_providers() == ["CPUExecutionProvider"]
    with pytest.raises(TypeError, match="list of names"):
        af.onnx.InferenceSession(two(), None, "CPUExecutionProvider")  # type: ignore[arg-type]


def test_what_can_not_be_followed_is_refused() -> None:
    options = af.onnx.SessionOptions()
    with pytest.raises(UnimplementedError, match="optimized_model_filepath"):
        options.optimized_model_filepath = "there.onnx"
    with pytest.raises(UnimplementedError, match="kernels of onnxruntime"):
        options.register_custom_ops_library("there.so")


def test_a_profile_is_written(tmp_path: Any) -> None:
    options = af.onnx.SessionOptions()
    options.enable_profiling, options.profile_file_prefix = True, str(tmp_path / "profile")
    session = af.onnx.InferenceSession(two(), options)
    session.run(None, BOTH)
    name = session.end_profiling()
    assert name.startswith(str(tmp_path)) and '"Add' in Path(name).read_text()
    with pytest.raises(af.errors.FailedPreconditionError, match="enable_profiling"):
        session.end_profiling()
