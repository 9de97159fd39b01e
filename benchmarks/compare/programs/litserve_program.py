"""onnxruntime behind LitServe, in batches."""

import base64
import os
import sys

import litserve
import numpy as np
import onnxruntime


class Model(litserve.LitAPI):
    def setup(self, device):
        self.session = onnxruntime.InferenceSession(os.environ["MODEL"], providers=["CPUExecutionProvider"])
        self.shape = self.session.get_inputs()[0].shape[1:]

    def decode_request(self, request):
        if "base64" in request:
            return np.frombuffer(base64.b64decode(request["base64"]), np.float32).reshape(self.shape)
        return np.float32(request["instances"]).reshape(self.shape)

    def predict(self, rows):
        return self.session.run(None, {"x": rows})[0]

    def encode_response(self, scores):
        return {"predictions": scores.tolist()}


if __name__ == "__main__":
    api = Model(max_batch_size=32, batch_timeout=0.002)
    litserve.LitServer(api, accelerator="cpu").run(
        port=int(sys.argv[1]), log_level="warning", generate_client_file=False
    )
