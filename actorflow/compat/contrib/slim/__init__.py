"""`tf.contrib.slim`: layers, scopes of arguments, losses, and loops of training and evaluation.

evaluation.py      evaluations of checkpoints
learning.py        loops of training
model_analyzer.py  tables of variables and of outputs
queues.py          threads of queues around a block
"""

from actorflow.compat.contrib.framework import PLACES as _FRAMEWORK
from actorflow.compat.contrib.layers import PLACES as _LAYERS
from actorflow.compat.contrib.parts import part as _part

__getattr__, __dir__, __all__ = _part(
    "slim",
    {
        **_LAYERS,
        **{home: names for home, names in _FRAMEWORK.items() if home not in _LAYERS},
        ".slim.learning": "",
        ".slim.evaluation": "",
        ".slim.model_analyzer": "",
        ".slim.queues": "",
        ".losses": "",
        ".metrics": "",
        ".layers": "",
        "tf": f"{_FRAMEWORK['tf']} recompute_grad",
    },
    {
        "nets": "its networks moved to tf_slim.nets and to the models of TensorFlow's research repository",
        "tfexample_decoder": "read records with tf.data and tf.parse_single_example",
        "dataset": "read records with tf.data",
        "dataset_data_provider": "read records with tf.data",
        "prefetch_queue": "use tf.data.Dataset.prefetch",
    },
)
