"""Functions of layers.

activations.py  activations
convolution.py  convolutions, patches, blocks
pooling.py      pooling
losses.py       encodings of labels, crossentropies, normalization
attention.py    attention
sequences.py    labels that are not aligned
"""

from keras_actorflow.src.nn.activations import *  # noqa: F403
from keras_actorflow.src.nn.attention import dot_product_attention  # noqa: F401
from keras_actorflow.src.nn.convolution import (  # noqa: F401
    conv,
    conv_transpose,
    depth_to_space,
    depthwise_conv,
    fold,
    separable_conv,
    space_to_depth,
    unfold,
)
from keras_actorflow.src.nn.losses import *  # noqa: F403
from keras_actorflow.src.nn.pooling import (  # noqa: F401
    adaptive_average_pool,
    adaptive_max_pool,
    average_pool,
    max_pool,
)
from keras_actorflow.src.nn.sequences import ctc_decode, ctc_loss  # noqa: F401
