"""The peer of `benchmarks.frontends.serving`: onnxruntime behind a plain ASGI application. It imports nothing of actorflow.

python benchmarks/frontends/serving_peer.py FOLDER PORT       with onnx, onnxruntime, uvicorn, httptools and uvloop
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import onnxruntime
import uvicorn
from onnx import TensorProto, helper, numpy_helper


def session(folder: str) -> Any:
    """An MLP with the weights of `weights.npz`, on one thread."""
    arrays = np.load(f"{folder}/weights.npz")
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Gemm", ["r", "w2", "b2"], ["l"]),
        helper.make_node("Softmax", ["l"], ["y"]),
    ]
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [None, s]) for n, s in (("x", 784), ("y", 10))]
    weights = [numpy_helper.from_array(arrays[name], name) for name in arrays.files]
    model = helper.make_model(helper.make_graph(nodes, "mlp", ports[:1], ports[1:], weights))
    model.ir_version = 8
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def application(model: Any) -> Any:
    """The application: JSON at `/json`, the bytes of one row at `/bytes`."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        if scope["path"] == "/json":
            x = np.array(json.loads(body)["instances"], np.float32)
            data = json.dumps({"predictions": model.run(None, {"x": x})[0].tolist()}).encode()
        else:
            data = model.run(None, {"x": np.frombuffer(body, np.float32).reshape(-1, 784)})[0].tobytes()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(data))]})
        await send({"type": "http.response.body", "body": data})

    return answer


if __name__ == "__main__":
    folder, port = sys.argv[1:]
    app = application(session(folder))
    uvicorn.run(app, port=int(port), log_level="error", access_log=False, lifespan="off")
