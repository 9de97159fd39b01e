# `make names` writes this file from the marks in the sources.

"""Models with their signatures in a folder (`tf.saved_model`): what a training leaves, and a server takes up.

A folder holds graphs, each for a set of tags, with their variables, files and signatures: the names of inputs and outputs that
clients use. There are two forms, and a loader reads both. TensorFlow's own (`saved_model.pb`) passes between TensorFlow and us.
The standard one keeps the graph (`graph-0.pb`), safetensors shards with their manifest, and a description that can be read and
checked (`saved_model.json`). The file with the description is written last, so a folder is whole or no model.

builder.py               `Builder` and `simple_save`: a session's values and graph go into a folder
constants.py             the names of files and folders
description.py           signatures and files as JSON, in the standard form
folder.py                `SavedFolder`: the two forms on the disk
loader.py                `load`: a folder's graph and values go into a session
main_op.py               the operation that runs after a load
needed.py                `Needed`: what signatures need of a graph
restoring.py             which variable takes which tensor of a checkpoint, as a graph says it
signature_constants.py   the names of signatures, their methods, inputs and outputs
signature_def_utils.py   signatures for prediction, classification and regression
tag_constants.py         the names of tags
utils.py                 tensors as messages, and back
"""

from actorflow.exchange.saved_model import builder as builder
from actorflow.exchange.saved_model import constants as constants
from actorflow.exchange.saved_model import loader as loader
from actorflow.exchange.saved_model import main_op as main_op
from actorflow.exchange.saved_model import signature_constants as signature_constants
from actorflow.exchange.saved_model import signature_def_utils as signature_def_utils
from actorflow.exchange.saved_model import tag_constants as tag_constants
from actorflow.exchange.saved_model import utils as utils
from actorflow.exchange.saved_model.builder import SavedModelBuilder as Builder
from actorflow.exchange.saved_model.builder import simple_save as simple_save
from actorflow.exchange.saved_model.constants import ASSETS_DIRECTORY as ASSETS_DIRECTORY
from actorflow.exchange.saved_model.constants import ASSETS_KEY as ASSETS_KEY
from actorflow.exchange.saved_model.constants import LEGACY_INIT_OP_KEY as LEGACY_INIT_OP_KEY
from actorflow.exchange.saved_model.constants import MAIN_OP_KEY as MAIN_OP_KEY
from actorflow.exchange.saved_model.constants import SAVED_MODEL_FILENAME_PB as SAVED_MODEL_FILENAME_PB
from actorflow.exchange.saved_model.constants import SAVED_MODEL_FILENAME_PBTXT as SAVED_MODEL_FILENAME_PBTXT
from actorflow.exchange.saved_model.constants import SAVED_MODEL_SCHEMA_VERSION as SAVED_MODEL_SCHEMA_VERSION
from actorflow.exchange.saved_model.constants import VARIABLES_DIRECTORY as VARIABLES_DIRECTORY
from actorflow.exchange.saved_model.constants import VARIABLES_FILENAME as VARIABLES_FILENAME
from actorflow.exchange.saved_model.folder import contains_saved_model as contains_saved_model
from actorflow.exchange.saved_model.loader import load as load
from actorflow.exchange.saved_model.main_op import main_op_with_restore as main_op_with_restore
from actorflow.exchange.saved_model.signature_constants import CLASSIFY_INPUTS as CLASSIFY_INPUTS
from actorflow.exchange.saved_model.signature_constants import CLASSIFY_METHOD_NAME as CLASSIFY_METHOD_NAME
from actorflow.exchange.saved_model.signature_constants import CLASSIFY_OUTPUT_CLASSES as CLASSIFY_OUTPUT_CLASSES
from actorflow.exchange.saved_model.signature_constants import CLASSIFY_OUTPUT_SCORES as CLASSIFY_OUTPUT_SCORES
from actorflow.exchange.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY as DEFAULT_SERVING_SIGNATURE_DEF_KEY
from actorflow.exchange.saved_model.signature_constants import PREDICT_INPUTS as PREDICT_INPUTS
from actorflow.exchange.saved_model.signature_constants import PREDICT_METHOD_NAME as PREDICT_METHOD_NAME
from actorflow.exchange.saved_model.signature_constants import PREDICT_OUTPUTS as PREDICT_OUTPUTS
from actorflow.exchange.saved_model.signature_constants import REGRESS_INPUTS as REGRESS_INPUTS
from actorflow.exchange.saved_model.signature_constants import REGRESS_METHOD_NAME as REGRESS_METHOD_NAME
from actorflow.exchange.saved_model.signature_constants import REGRESS_OUTPUTS as REGRESS_OUTPUTS
from actorflow.exchange.saved_model.signature_def_utils import build_signature_def as build_signature_def
from actorflow.exchange.saved_model.signature_def_utils import classification_signature_def as classification_signature_def
from actorflow.exchange.saved_model.signature_def_utils import is_valid_signature as is_valid_signature
from actorflow.exchange.saved_model.signature_def_utils import predict_signature_def as predict_signature_def
from actorflow.exchange.saved_model.signature_def_utils import regression_signature_def as regression_signature_def
from actorflow.exchange.saved_model.tag_constants import GPU as GPU
from actorflow.exchange.saved_model.tag_constants import SERVING as SERVING
from actorflow.exchange.saved_model.tag_constants import TPU as TPU
from actorflow.exchange.saved_model.tag_constants import TRAINING as TRAINING
from actorflow.exchange.saved_model.utils import build_tensor_info as build_tensor_info
from actorflow.exchange.saved_model.utils import get_tensor_from_tensor_info as get_tensor_from_tensor_info

__all__ = [
    "ASSETS_DIRECTORY",
    "ASSETS_KEY",
    "Builder",
    "CLASSIFY_INPUTS",
    "CLASSIFY_METHOD_NAME",
    "CLASSIFY_OUTPUT_CLASSES",
    "CLASSIFY_OUTPUT_SCORES",
    "DEFAULT_SERVING_SIGNATURE_DEF_KEY",
    "GPU",
    "LEGACY_INIT_OP_KEY",
    "MAIN_OP_KEY",
    "PREDICT_INPUTS",
    "PREDICT_METHOD_NAME",
    "PREDICT_OUTPUTS",
    "REGRESS_INPUTS",
    "REGRESS_METHOD_NAME",
    "REGRESS_OUTPUTS",
    "SAVED_MODEL_FILENAME_PB",
    "SAVED_MODEL_FILENAME_PBTXT",
    "SAVED_MODEL_SCHEMA_VERSION",
    "SERVING",
    "TPU",
    "TRAINING",
    "VARIABLES_DIRECTORY",
    "VARIABLES_FILENAME",
    "build_signature_def",
    "build_tensor_info",
    "builder",
    "classification_signature_def",
    "constants",
    "contains_saved_model",
    "get_tensor_from_tensor_info",
    "is_valid_signature",
    "load",
    "loader",
    "main_op",
    "main_op_with_restore",
    "predict_signature_def",
    "regression_signature_def",
    "signature_constants",
    "signature_def_utils",
    "simple_save",
    "tag_constants",
    "utils",
]
