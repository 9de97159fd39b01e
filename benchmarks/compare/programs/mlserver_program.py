"""onnxruntime as a runtime of MLServer."""

import delays  # for the measure
import onnxruntime
from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceRequest, InferenceResponse


class Model(MLModel):
    async def load(self) -> bool:
        delays.watch()  # for the measure
        self.session = onnxruntime.InferenceSession(self.settings.parameters.uri, providers=["CPUExecutionProvider"])
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        rows = NumpyCodec.decode_input(payload.inputs[0])
        (scores,) = self.session.run(None, {"x": rows.astype("float32")})
        return InferenceResponse(model_name=self.name, outputs=[NumpyCodec.encode_output("y", scores)])
