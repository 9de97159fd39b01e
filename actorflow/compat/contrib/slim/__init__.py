"""`tf.contrib.slim`: layers, scopes of arguments, losses, readers, and loops of training and evaluation.

data/              readers of records
evaluation.py      evaluations of checkpoints
learning.py        loops of training
model_analyzer.py  tables of variables and of outputs
queues.py          threads of queues around a block
summaries.py       summaries of tensors under their own names
"""

from actorflow.compat.contrib.framework import PLACES as _FRAMEWORK
from actorflow.compat.contrib.layers import PLACES as _LAYERS
from actorflow.compat.contrib.parts import part as _part

_NETWORKS = (
    """nets alexnet inception inception_v1 inception_v2 inception_v3 overfeat resnet_utils resnet_v1 resnet_v2 vgg"""
)
_RECORDS = "data_decoder data_provider dataset dataset_data_provider parallel_reader prefetch_queue tfexample_decoder"

__getattr__, __dir__, __all__ = _part(
    "slim",
    {
        **_LAYERS,
        **{home: names for home, names in _FRAMEWORK.items() if home not in _LAYERS},
        ".slim.learning": "",
        ".slim.evaluation": "",
        ".slim.model_analyzer": "",
        ".slim.queues": "",
        ".slim.summaries": "",
        ".slim.data": "data=.",
        **{f".slim.data.{name}": "" for name in _RECORDS.split()},
        ".losses": "",
        ".metrics": "",
        ".layers": "",
        "tf": f"{_FRAMEWORK['tf']} recompute_grad",
    },
    {
        **dict.fromkeys(
            _NETWORKS.split(), "its networks moved to tf_slim.nets and to TensorFlow's repository of models"
        ),
    },
)
