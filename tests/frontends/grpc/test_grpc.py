"""The Open Inference Protocol over gRPC: answers, refusals, bounds, tokens, calls that are left, streams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest

grpc = pytest.importorskip("grpc")

from frontends.generation.generating import write_letters  # noqa: E402
from frontends.grpc.calls import ROWS, Calls, of_answer, parameter, rows, serving  # noqa: E402
from frontends.serving.served import application, write_line  # noqa: E402
from patience import PATIENCE  # noqa: E402

import actorflow as af  # noqa: E402
from actorflow.base.records import wire  # noqa: E402
from actorflow.engine.runtime.event_loops.step_result import StepResult  # noqa: E402
from actorflow.frontends.grpc import messages  # noqa: E402
from actorflow.frontends.grpc.messages import ModelInferRequest, ModelStreamInferResponse, Tensor  # noqa: E402
from actorflow.frontends.grpc.tensors import of_contents, to_contents  # noqa: E402
from actorflow.frontends.serving.protocols.pieces import USUAL  # noqa: E402


async def test_status_and_metadata(tmp_path: Path) -> None:
    async with serving(tmp_path, control=True) as calls:
        line = messages.NamedRequest(name="line")
        for method, request in (("ServerLive", b""), ("ServerReady", b""), ("ModelReady", line)):
            assert (await calls.call(method, request, messages.Truth)).value
        server = await calls.call("ServerMetadata", b"", messages.ServerMetadata)
        assert server.name == "actorflow" and "model_repository" in server.extensions
        model = await calls.call("ModelMetadata", line, messages.ModelMetadata)
        assert list(model.versions) == ["1"] and list(model.inputs[0].shape) == [-1, 3]
        config = (await calls.call("ModelConfig", line, messages.ModelConfig)).config
        assert (config.max_batch_size, config.input[0].data_type, list(config.input[0].dims)) == (32, 11, [3])
        await calls.infer(rows())
        counts = await calls.call("ModelStatistics", line, messages.Statistics)
        assert counts.model_stats[0].inference_count == 1
        entries = await calls.call("RepositoryIndex", b"", messages.RepositoryIndex)
        assert {(entry.name, entry.state) for entry in entries.models} == {("line", "READY"), ("words", "READY")}
        control = messages.ControlRequest(model_name="line")
        await calls.begin("RepositoryModelUnload", control)
        assert not (await calls.call("ModelReady", line, messages.Truth)).value
        await calls.begin("RepositoryModelLoad", control)
        assert (await calls.call("ModelReady", line, messages.Truth)).value


async def test_raw_bytes_and_typed_lists_have_answers_of_their_form(tmp_path: Path) -> None:
    async with serving(tmp_path) as calls:
        answer = await calls.infer(rows(id="7", outputs=[messages.RequestedOutput(name="y")]))
        assert (answer.id, answer.model_version) == ("7", "1") and [output.name for output in answer.outputs] == ["y"]
        np.testing.assert_array_equal(of_answer(answer, "y"), 2 * ROWS)
        tensor = Tensor(name="x", datatype="FP32", shape=[2, 3], contents=to_contents(ROWS, "FP32"))
        answer = await calls.infer(ModelInferRequest(model_name="line", inputs=[tensor]))
        outputs = {output.name: output for output in answer.outputs}
        total = of_contents("total", "FP32", [2], 2, outputs["total"].contents, USUAL)
        assert total.tolist() == [6.0, 24.0] and not answer.raw_output_contents
        texts = np.array([b"a", b"\xff\0"], object)
        tensor = Tensor(name="text", datatype="BYTES", shape=[2], contents=to_contents(texts, "BYTES"))
        answer = await calls.infer(ModelInferRequest(model_name="words", inputs=[tensor]))
        outputs = {output.name: output for output in answer.outputs}
        assert of_contents("same", "BYTES", [2], 2, outputs["same"].contents, USUAL).tolist() == texts.tolist()


EDGES: dict[str, list[Any]] = {
    "BOOL": [True, False], "INT8": [-128, 127], "INT16": [-32768, 32767], "INT32": [-(2**31), 2**31 - 1, 0],
    "INT64": [-(2**63), 2**63 - 1, -1, 127, 128], "UINT8": [0, 255], "UINT16": [65535, 1], "UINT32": [2**32 - 1, 300],
    "UINT64": [2**64 - 1, 2**63, 0], "FP32": [1.5, float("inf")], "FP64": [1e300, -0.0], "BYTES": [b"", b"ab"],
}  # fmt: skip


@pytest.mark.parametrize("kind", EDGES)
def test_typed_lists_keep_the_ends_of_their_range(kind: str) -> None:
    from actorflow.frontends.serving.protocols.kserve import TYPES

    array = np.array(EDGES[kind], object if kind == "BYTES" else TYPES[kind].numpy_dtype)
    back = of_contents("it", kind, [array.size], array.size, to_contents(array, kind), USUAL)
    assert back.dtype == array.dtype and back.tolist() == array.tolist()


def test_values_that_are_not_packed_are_the_same_list() -> None:
    data = wire.write_int(2, -5) + wire.write_field(2, wire.write_varint(300) + b"\x01")
    assert of_contents("it", "INT32", [3], 3, data, USUAL).tolist() == [-5, 300, 1]
    assert of_contents("it", "FP32", [1], 1, wire.write_float(6, 1.5), USUAL).tolist() == [1.5]


def described(**fields: Any) -> ModelInferRequest:
    tensor = {"name": "x", "datatype": "FP32", "shape": [2, 3], **fields}
    return ModelInferRequest(model_name="line", inputs=[Tensor(**tensor)])


REFUSED: dict[str, tuple[Any, str, str]] = {
    "no message": (b"\xff\xff", "INVALID_ARGUMENT", "no whole number"),
    "no model": (rows(model_name="x"), "NOT_FOUND", "The models here: line, words"),
    "no such version": (rows(model_version="7"), "NOT_FOUND", "Specific(line, 7)"),
    "a version of letters": (rows(model_version="new"), "INVALID_ARGUMENT", "Failed to convert version"),
    "no inputs": (ModelInferRequest(model_name="line"), "INVALID_ARGUMENT", "'x'"),
    "too few bytes": (rows(raw_input_contents=[b"1234"]), "INVALID_ARGUMENT", "'x' has 4 bytes, but its shape"),
    "more bytes than inputs": (rows(raw_input_contents=[ROWS.tobytes(), b""]), "INVALID_ARGUMENT", "belong to no input"),
    "no bytes": (described(), "INVALID_ARGUMENT", "'x' has 0 elements, but the shape [2, 3] has 6"),
    "another list": (
        described(contents=to_contents(np.arange(6), "INT64")), "INVALID_ARGUMENT", "belong in fp32_contents, not int64",
    ),
    "out of range": (
        described(datatype="INT8", contents=to_contents(np.arange(6) * 99, "INT64").replace(b"\x1a", b"\x12", 1)),
        "INVALID_ARGUMENT", "numbers that are no INT8",
    ),
    "a type without a list": (described(datatype="FP16", contents=b"\x32\0"), "INVALID_ARGUMENT", "raw_input_contents"),
    "both": (rows(inputs=[Tensor(name="x", datatype="FP32", shape=[2, 3], contents=b"\x32\0")]), "INVALID_ARGUMENT", "either"),
    "a negative size": (described(shape=[-1, 3]), "INVALID_ARGUMENT", "list of sizes"),
    "an unknown type": (described(datatype="F"), "INVALID_ARGUMENT", "datatype 'F'"),
    "an unknown output": (rows(outputs=[messages.RequestedOutput(name="z")]), "NOT_FOUND", "z"),
    "another shape": (rows(np.ones((2, 2))), "INVALID_ARGUMENT", "[?, 3] is expected"),
    "a timeout of letters": (rows(parameters={"timeout": parameter("x")}), "INVALID_ARGUMENT", "microseconds"),
    "a long description": (described(name="x" * (1 << 17)), "INVALID_ARGUMENT", "beside the values of its tensors"),
    "many inputs": (ModelInferRequest(inputs=[Tensor() for _ in range(9000)]), "INVALID_ARGUMENT", "beside the values"),
}  # fmt: skip


async def test_requests_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    async with serving(tmp_path) as calls:
        for name, (request, code, words) in REFUSED.items():
            refusal = await calls.fails("ModelInfer", request)
            assert refusal[0] == code and words in refusal[1], f"{name}: {refusal}"
        assert (await calls.fails("ModelReady", messages.NamedRequest(name="x")))[0] == "NOT_FOUND"
        refusal = await calls.fails("RepositoryModelLoad", messages.ControlRequest(model_name="line"))
        assert refusal[0] == "PERMISSION_DENIED"
        assert (await calls.fails("Nothing", b""))[0] == "UNIMPLEMENTED"
        np.testing.assert_array_equal(of_answer(await calls.infer(rows()), "y"), 2 * ROWS)


async def test_large_messages_are_counted_and_bounded(tmp_path: Path) -> None:
    async with serving(tmp_path, max_body=4 << 20, max_bodies=2 << 20) as calls:
        values = np.ones((1 << 14, 3), np.float32)
        np.testing.assert_array_equal(of_answer(await calls.infer(rows(values)), "y"), 2 * values)
        code, words = await calls.fails("ModelInfer", rows(np.ones((1 << 18, 3))))
        assert code == "RESOURCE_EXHAUSTED" and "2097152" in words
        assert (await calls.fails("ModelInfer", rows(np.ones((1 << 19, 3)))))[0] == "RESOURCE_EXHAUSTED"
        packed = rows(np.zeros((1 << 19, 3)))  # small on the wire, too large unpacked
        refusal = await calls.fails("ModelInfer", packed, compression=grpc.Compression.Gzip)
        assert refusal[0] == "RESOURCE_EXHAUSTED"
        assert (await calls.fails("ModelReady", b"\x0a" + bytes(2 << 20)))[0] == "INVALID_ARGUMENT"


async def test_a_token_is_asked_for_before_a_message_is_read(tmp_path: Path) -> None:
    token = "sixteen letters or more"
    async with serving(tmp_path, token=token) as calls:
        assert (await calls.call("ServerLive", b"", messages.Truth)).value
        for metadata in ((), (("authorization", "Bearer nothing"),)):
            for method in ("ModelInfer", "ServerReady", "RepositoryIndex"):
                assert (await calls.fails(method, rows(), metadata=metadata))[0] == "UNAUTHENTICATED"
        stream = calls.stream()  # it says nothing, and is refused all the same
        assert await stream.code() == grpc.StatusCode.UNAUTHENTICATED
        answer = await calls.infer(rows(), metadata=(("authorization", f"Bearer {token}"),))
        assert list(answer.outputs[1].shape) == [2, 3]


@pytest.mark.allow_leaks("fds")  # grpcio keeps four from the first port that was taken, however many follow
async def test_other_addresses_need_a_token(tmp_path: Path) -> None:
    write_line(tmp_path / "line" / "1", 2)
    async with application(tmp_path) as app:
        with pytest.raises(af.errors.InvalidArgumentError, match=r"not served on 0\.0\.0\.0"):
            af.serving.GrpcServer(app, "0.0.0.0", 0)
        async with af.serving.GrpcServer(app, port=0) as server:
            with pytest.raises(af.errors.UnavailableError, match="can't be listened on"):
                async with af.serving.GrpcServer(app, port=server.port):
                    pass


class Held:
    """The steps of `line` wait for a gate."""

    def __init__(self, calls: Calls) -> None:
        self.begun, self.gate, self.stopped = anyio.Event(), anyio.Event(), anyio.Event()
        batcher = calls.app.served["line"].find()[1]._batcher
        assert batcher is not None
        self._run = batcher._run
        batcher._run = lambda *arguments: StepResult.later(lambda: self._held(*arguments))

    async def _held(self, key: Any, arrays: Any, timeout: Any) -> Any:
        self.begun.set()
        try:
            await self.gate.wait()
        except BaseException:
            self.stopped.set()
            raise
        return await self._run(key, arrays, timeout)


@pytest.mark.parametrize("by", ["cancellation", "deadline", "stream"])
async def test_a_call_that_is_left_stops_its_step(by: str, tmp_path: Path) -> None:
    async with serving(tmp_path) as calls:
        held = Held(calls)
        with anyio.fail_after(PATIENCE):
            if by == "stream":
                call = calls.stream()
                await call.write(rows().SerializeToString())
            else:
                call = calls.begin("ModelInfer", rows(), timeout=0.5 if by == "deadline" else PATIENCE)
            await held.begun.wait()
            if by != "deadline":
                call.cancel()
            await held.stopped.wait()
            if by == "deadline":
                assert await call.code() == grpc.StatusCode.DEADLINE_EXCEEDED
            await calls.app.served["line"].find()[1].drain()


async def test_a_request_may_ask_for_less_time(tmp_path: Path) -> None:
    async with serving(tmp_path) as calls:
        held = Held(calls)
        request = rows(parameters={"timeout": parameter(1000)})
        assert (await calls.fails("ModelInfer", request))[0] == "DEADLINE_EXCEEDED"
        held.gate.set()


async def test_a_full_queue_says_when_to_come_again(tmp_path: Path) -> None:
    async with serving(tmp_path, batching=af.serving.Batching(max_size=2, max_queued=1)) as calls:
        held = Held(calls)
        first = calls.begin("ModelInfer", rows())
        await held.begun.wait()
        second = calls.begin("ModelInfer", rows())
        model = calls.app.served["line"].find()[1]
        with anyio.fail_after(PATIENCE):
            while model.queued < 1:
                await anyio.lowlevel.checkpoint()
        with pytest.raises(grpc.aio.AioRpcError) as failure:
            await calls.begin("ModelInfer", rows())
        assert failure.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert int(dict(failure.value.trailing_metadata())["grpc-retry-pushback-ms"]) > 0
        held.gate.set()
        await first
        await second


async def test_a_stream_answers_in_order_and_goes_on_behind_a_failure(tmp_path: Path) -> None:
    async with serving(tmp_path) as calls:
        stream = calls.stream()
        for number in range(100):
            request = rows(np.full((1, 3), number), id=str(number), model_name="line" if number != 50 else "nothing")
            await stream.write(request.SerializeToString())
        await stream.done_writing()
        answers = [ModelStreamInferResponse.FromString(data) async for data in stream]
        assert [answer.infer_response.id for answer in answers] == [str(number) for number in range(100)]
        assert "Servable not found" in answers[50].error_message
        del answers[50]
        assert not any(answer.error_message for answer in answers)
        assert [float(of_answer(answer.infer_response, "y")[0, 0]) for answer in answers[:3]] == [0.0, 2.0, 4.0]
        assert (await stream.code()) == grpc.StatusCode.OK


def text(prompt: Any, **parameters: Any) -> ModelInferRequest:
    values = {key: parameter(value) for key, value in {"max_tokens": 4, "temperature": 0.0, **parameters}.items()}
    data = to_contents(np.array([prompt], object), "BYTES")
    tensor = Tensor(name="text_input", datatype="BYTES", shape=[1], contents=data)
    return ModelInferRequest(model_name="letters", id=repr(prompt), inputs=[tensor], parameters=values)


def text_of(answer: Any) -> str:
    (output,) = answer.outputs
    return bytes(of_contents("it", "BYTES", [1], 1, output.contents, USUAL)[0]).decode()


async def test_text_is_generated_whole_and_streamed(tmp_path: Path) -> None:
    await write_letters(tmp_path / "letters" / "1")
    async with serving(tmp_path) as calls:
        answer = await calls.infer(text(b"a"))
        assert text_of(answer) == "bcde" and answer.parameters["finish_reason"].string_param == "length"
        stream = calls.stream()
        for prompt in (b"a", b"k"):
            await stream.write(text(prompt).SerializeToString())
        await stream.write(text(b"a", top=1).SerializeToString())
        await stream.done_writing()
        texts: dict[str, list[str]] = {}
        failures = []
        async for data in stream:
            part = ModelStreamInferResponse.FromString(data)
            if part.error_message:
                failures.append(part.error_message)
                continue
            texts.setdefault(part.infer_response.id, []).append(text_of(part.infer_response))
        assert texts == {"b'a'": ["b", "c", "d", "e", ""], "b'k'": ["l", "m", "n", "o", ""]}
        assert len(failures) == 1 and "no field 'top'" in failures[0]


async def test_a_stream_that_is_left_frees_its_blocks(tmp_path: Path) -> None:
    await write_letters(tmp_path / "letters" / "1")
    async with serving(tmp_path) as calls:
        engine = calls.app.served["letters"].find()[1].parts[0]
        free = engine.scheduler.blocks.free
        stream = calls.stream()
        await stream.write(text(b"a", max_tokens=40).SerializeToString())
        with anyio.fail_after(PATIENCE):
            await stream.read()
            stream.cancel()
            await engine.drain()
        assert engine.scheduler.blocks.free == free


@pytest.mark.parametrize("method", ["ModelInfer", "ModelStreamInfer"])
async def test_an_answer_that_is_not_taken_ends_its_call(method: str, tmp_path: Path) -> None:
    async with serving(tmp_path) as calls:
        calls.server._taken_seconds = 0.01
        call = calls.stream(method)
        request = rows(np.ones((1 << 20, 3))).SerializeToString()
        with anyio.fail_after(PATIENCE):
            await call.write(request)
            while calls.app.measures.counts("line")[1] == 0:
                await anyio.lowlevel.checkpoint()
            assert calls.app.large.held == 0  # though its client has taken nothing
            with pytest.raises(grpc.aio.AioRpcError, match="not taken within"):
                [_ async for _ in call]
            assert await call.code() == grpc.StatusCode.ABORTED


def test_the_command(tmp_path: Path) -> None:
    from frontends.serving.test_server import serving as command

    write_line(tmp_path / "line" / "1", 2)
    with command(str(tmp_path), "--grpc-port", "0", line=1) as address:
        assert address.startswith("grpc://127.0.0.1:")
        with grpc.insecure_channel(address.removeprefix("grpc://")) as channel:
            call = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
            answer = messages.ModelInferResponse.FromString(call(rows().SerializeToString(), timeout=PATIENCE))
            np.testing.assert_array_equal(of_answer(answer, "y"), 2 * ROWS)
