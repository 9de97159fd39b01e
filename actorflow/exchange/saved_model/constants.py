"""`tf.saved_model.constants`: the names of files and folders of a SavedModel."""

from __future__ import annotations

from actorflow.public import public

SAVED_MODEL_SCHEMA_VERSION = 1
SAVED_MODEL_FILENAME_PB = "saved_model.pb"
SAVED_MODEL_FILENAME_PBTXT = "saved_model.pbtxt"
SAVED_MODEL_FILENAME_JSON = "saved_model.json"
ASSETS_DIRECTORY = "assets"
ASSETS_KEY = "saved_model_assets"
VARIABLES_DIRECTORY = "variables"
VARIABLES_FILENAME = "variables"
MAIN_OP_KEY = "saved_model_main_op"
LEGACY_INIT_OP_KEY = "legacy_init_op"
TRAIN_OP_KEY = "saved_model_train_op"
INIT_OP_SIGNATURE_KEY = "__saved_model_init_op"
TRAIN_OP_SIGNATURE_KEY = "__saved_model_train_op"

public("af.saved_model:constants")
public(
    "af.saved_model",
    of="SAVED_MODEL_SCHEMA_VERSION SAVED_MODEL_FILENAME_PB SAVED_MODEL_FILENAME_PBTXT ASSETS_DIRECTORY ASSETS_KEY "
    "VARIABLES_DIRECTORY VARIABLES_FILENAME MAIN_OP_KEY LEGACY_INIT_OP_KEY",
)
