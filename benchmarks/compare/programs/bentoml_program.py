"""onnxruntime behind BentoML, in batches."""

import os
from pathlib import Path
from typing import Annotated

import bentoml
import numpy as np
import onnxruntime
from bentoml.validators import ContentType


@bentoml.service(workers=1, traffic={"timeout": 60})
class Model:
    def __init__(self) -> None:
        self.session = onnxruntime.InferenceSession(os.environ["MODEL"], providers=["CPUExecutionProvider"])
        self.shape = (-1, *self.session.get_inputs()[0].shape[1:])

    @bentoml.api(route="/json", batchable=True, max_batch_size=32, max_latency_ms=10000)
    def answer(self, instances: np.ndarray) -> np.ndarray:
        return self.session.run(None, {"x": np.float32(instances).reshape(self.shape)})[0]

    @bentoml.api(route="/bytes")
    def answer_bytes(self, rows: Annotated[Path, ContentType("application/octet-stream")], /) -> bytes:
        return self.session.run(None, {"x": np.fromfile(rows, np.float32).reshape(self.shape)})[0].tobytes()
