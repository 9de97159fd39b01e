"""The clients of `tritonclient` that speak gRPC: blocking, with callbacks, and on asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest

triton: Any = pytest.importorskip("tritonclient.grpc.aio")

from frontends.generation.generating import write_letters  # noqa: E402
from frontends.grpc.calls import ROWS, serving  # noqa: E402
from patience import PATIENCE  # noqa: E402

pytestmark = pytest.mark.extras("tritonclient")


def rows(values: Any = ROWS) -> Any:
    tensor = triton.InferInput("x", list(values.shape), "FP32")
    tensor.set_data_from_numpy(values)
    return tensor


async def test_the_client_of_asyncio(tmp_path: Path) -> None:
    async with serving(tmp_path, control=True) as calls:
        client = triton.InferenceServerClient(calls.server.address.removeprefix("grpc://"))
        assert await client.is_server_live() and await client.is_server_ready() and await client.is_model_ready("line")
        assert (await client.get_server_metadata()).name == "actorflow"
        assert list((await client.get_model_metadata("line")).inputs[0].shape) == [-1, 3]
        config = (await client.get_model_config("line")).config
        assert config.max_batch_size == 32 and list(config.input[0].dims) == [3]
        answer = await client.infer("line", [rows()], request_id="7", outputs=[triton.InferRequestedOutput("y")])
        np.testing.assert_array_equal(answer.as_numpy("y"), 2 * ROWS)
        assert answer.get_response().id == "7"
        words = triton.InferInput("text", [2], "BYTES")
        words.set_data_from_numpy(np.array([b"a", b"\xff\0"], object))
        answer = await client.infer("words", [words], compression_algorithm="gzip")
        assert answer.as_numpy("same").tolist() == [b"a", b"\xff\0"] and answer.as_numpy("size").tolist() == [1, 2]
        assert (await client.get_inference_statistics("line")).model_stats[0].inference_count == 1
        assert {model.state for model in (await client.get_model_repository_index()).models} == {"READY"}
        await client.unload_model("line")
        assert not await client.is_model_ready("line")
        await client.load_model("line")
        with pytest.raises(triton.InferenceServerException, match="has no output"):
            await client.infer("line", [rows()], outputs=[triton.InferRequestedOutput("nothing")])
        await client.close()


async def test_a_stream_of_requests_and_of_tokens(tmp_path: Path) -> None:
    await write_letters(tmp_path / "letters" / "1")
    async with serving(tmp_path) as calls:
        client = triton.InferenceServerClient(calls.server.address.removeprefix("grpc://"))

        async def requests() -> AsyncIterator[dict[str, Any]]:
            for number in range(5):
                yield {
                    "model_name": "line",
                    "inputs": [rows(np.full((1, 3), number, np.float32))],
                    "request_id": str(number),
                }

        sums = [answer.as_numpy("y").sum() async for answer, _ in client.stream_infer(requests())]
        assert sums == [0, 6, 12, 18, 24]

        async def prompt() -> AsyncIterator[dict[str, Any]]:
            text = triton.InferInput("text_input", [1], "BYTES")
            text.set_data_from_numpy(np.array([b"a"], object))
            yield {"model_name": "letters", "inputs": [text], "parameters": {"max_tokens": 4, "temperature": 0.0}}

        texts = [answer.as_numpy("text_output")[0] async for answer, _ in client.stream_infer(prompt())]
        assert b"".join(texts) == b"bcde" and len(texts) == 5
        await client.close()


async def test_the_blocking_client_and_its_callbacks(tmp_path: Path) -> None:
    import tritonclient.grpc as blocking

    async with serving(tmp_path) as calls:
        address = calls.server.address.removeprefix("grpc://")

        def ask() -> Any:
            with blocking.InferenceServerClient(address) as client:
                tensor = blocking.InferInput("x", [2, 3], "FP32").set_data_from_numpy(ROWS)
                return client.infer("line", [tensor], client_timeout=PATIENCE).as_numpy("total")

        assert (await anyio.to_thread.run_sync(ask)).tolist() == [6.0, 24.0]
