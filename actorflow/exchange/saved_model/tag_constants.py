"""`tf.saved_model.tag_constants`: the names of tags."""

from __future__ import annotations

from actorflow.public import public

SERVING = "serve"
TRAINING = "train"
EVAL = "eval"
GPU = "gpu"
TPU = "tpu"

public("af.saved_model:tag_constants")
public("af.saved_model", of="SERVING TRAINING GPU TPU")
