# `make names` writes this file from the marks in the sources.

"""Layers of neural networks that make their variables themselves (`tf.layers`).

A layer is an object. Its first call makes its variables, in a variable scope of the layer's name; each later call takes them.
A function such as `af.layers.dense` makes an object and calls it once; two calls with one `name` share variables as `reuse` of
variable scopes says. The names of variables are TensorFlow's, and so are the collections that losses of regularizers and
updates go into. An optimizer's `minimize` runs the updates of the layers that its loss needs, and `graph.lint` tells which
updates a training step leaves behind.

arguments.py        what layers take for their arguments: sizes, paddings, layouts, activations, and flags that a run may decide
batch_norm.py       `BatchNormalization`: the inputs with the mean and the variance of the batch taken out
convolution.py      convolutions, which differ by their rank alone, and what sliding windows have in common
dropping.py         `Dropout`: sets a part of the inputs to 0 in training
fully_connected.py  `Dense`: a product with a matrix of weights; and `Flatten`, which makes vectors for it
functions.py        the functions: each makes a layer and calls it, once
input_spec.py       `InputSpec`: which inputs a layer takes
layer.py            `Layer`: variables in a scope of their own, made at the first call and shared by all others
pooling.py          poolings: the largest element or the mean of each window
renorm.py           `Renorm`: the part of a batch normalization that corrects a batch's moments
separable.py        separable convolutions: each channel by itself, then a mix of channels at each place
state.py            `LayerState`: the values of a layer, and which losses and updates come of which inputs
transposed.py       transposed convolutions
"""

from actorflow.graph.tensor import Tensor
from actorflow.graph.tensor import TensorLike
from actorflow.models.layers.arguments import Activation
from actorflow.models.layers.arguments import Constraint
from actorflow.models.layers.arguments import Dtype
from actorflow.models.layers.arguments import Initializer
from actorflow.models.layers.arguments import Regularizer
from actorflow.models.layers.arguments import Sizes
from actorflow.models.layers.arguments import ZEROS
from actorflow.models.layers.batch_norm import BatchNormalization as BatchNormalization
from actorflow.models.layers.convolution import Conv1D as Conv1D
from actorflow.models.layers.convolution import Conv2D as Conv2D
from actorflow.models.layers.convolution import Conv3D as Conv3D
from actorflow.models.layers.dropping import Dropout as Dropout
from actorflow.models.layers.fully_connected import Dense as Dense
from actorflow.models.layers.fully_connected import Flatten as Flatten
from actorflow.models.layers.functions import batch_normalization as batch_normalization
from actorflow.models.layers.functions import dropout as dropout
from actorflow.models.layers.functions import flatten as flatten
from actorflow.models.layers.input_spec import InputSpec as InputSpec
from actorflow.models.layers.layer import Layer as Layer
from actorflow.models.layers.pooling import AveragePooling1D as AveragePooling1D
from actorflow.models.layers.pooling import AveragePooling2D as AveragePooling2D
from actorflow.models.layers.pooling import AveragePooling3D as AveragePooling3D
from actorflow.models.layers.pooling import MaxPooling1D as MaxPooling1D
from actorflow.models.layers.pooling import MaxPooling2D as MaxPooling2D
from actorflow.models.layers.pooling import MaxPooling3D as MaxPooling3D
from actorflow.models.layers.separable import SeparableConv1D as SeparableConv1D
from actorflow.models.layers.separable import SeparableConv2D as SeparableConv2D
from actorflow.models.layers.transposed import Conv2DTranspose as Conv2DTranspose
from actorflow.models.layers.transposed import Conv3DTranspose as Conv3DTranspose

def average_pooling1d(
    inputs: TensorLike,
    pool_size: Sizes,
    strides: Sizes | None,
    padding: str = 'valid',
    data_format: str = 'channels_last',
    name: str | None = None,
) -> Tensor:
    """The mean of each window of sequences [batch, steps, channels] (`tf.layers.average_pooling1d`).

    Makes an `af.layers.AveragePooling1D` and calls it.
    """

def average_pooling2d(
    inputs: TensorLike,
    pool_size: Sizes,
    strides: Sizes | None,
    padding: str = 'valid',
    data_format: str = 'channels_last',
    name: str | None = None,
) -> Tensor:
    """The mean of each window of images [batch, height, width, channels] (`tf.layers.average_pooling2d`).

    Makes an `af.layers.AveragePooling2D` and calls it.
    """

def average_pooling3d(
    inputs: TensorLike,
    pool_size: Sizes,
    strides: Sizes | None,
    padding: str = 'valid',
    data_format: str = 'channels_last',
    name: str | None = None,
) -> Tensor:
    """The mean of each window of volumes [batch, depth, height, width, channels] (`tf.layers.average_pooling3d`).

    Makes an `af.layers.AveragePooling3D` and calls it.
    """

def conv1d(
    inputs: TensorLike,
    filters: int,
    kernel_size: Sizes,
    strides: Sizes = 1,
    padding: str = 'valid',
    data_format: str = 'channels_last',
    dilation_rate: Sizes = 1,
    activation: Activation = None,
    use_bias: bool = True,
    kernel_initializer: Initializer = None,
    bias_initializer: Initializer = ZEROS,
    kernel_regularizer: Regularizer = None,
    bias_regularizer: Regularizer = None,
    activity_regularizer: Regularizer = None,
    kernel_constraint: Constraint = None,
    bias_constraint: Constraint = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
    dtype: Dtype = None,
) -> Tensor:
    """A convolution of sequences [batch, steps, channels] (`tf.layers.conv1d`).

    Makes an `af.layers.Conv1D` and calls it.
    """

def conv2d(
    inputs: TensorLike,
    filters: int,
    kernel_size: Sizes,
    strides: Sizes = 1,
    padding: str = 'valid',
    data_format: str = 'channels_last',
    dilation_rate: Sizes = 1,
    activation: Activation = None,
    use_bias: bool = True,
    kernel_initializer: Initializer = None,
    bias_initializer: Initializer = ZEROS,
    kernel_regularizer: Regularizer = None,
    bias_regularizer: Regularizer = None,
    activity_regularizer: Regularizer = None,
    kernel_constraint: Constraint = None,
    bias_constraint: Constraint = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
    dtype: Dtype = None,
) -> Tensor:
    """A convolution of images [batch, height, width, channels] (`tf.layers.conv2d`).

    Makes an `af.layers.Conv2D` and calls it.
    """

def conv2d_transpose(
    inputs: TensorLike,
    filters: int,
    kernel_size: Sizes,
    strides: Sizes = 1,
    padding: str = 'valid',
    data_format: str = 'channels_last',
    activation: Activation = None,
    use_bias: bool = True,
    kernel_initializer: Initializer = None,
    bias_initializer: Initializer = ZEROS,
    kernel_regularizer: Regularizer = None,
    bias_regularizer: Regularizer = None,
    activity_regularizer: Regularizer = None,
    kernel_constraint: Constraint = None,
    bias_constraint: Constraint = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
    dtype: Dtype = None,
) -> Tensor:
    """A transposed convolution of images [batch, height, width, channels] (`tf.layers.conv2d_transpose`).

    Makes an `af.layers.Conv2DTranspose` and calls it.
    """

def conv3d(
    inputs: TensorLike,
    filters: int,
    kernel_size: Sizes,
    strides: Sizes = 1,
    padding: str = 'valid',
    data_format: str = 'channels_last',
    dilation_rate: Sizes = 1,
    activation: Activation = None,
    use_bias: bool = True,
    kernel_initializer: Initializer = None,
    bias_initializer: Initializer = ZEROS,
    kernel_regularizer: Regularizer = None,
    bias_regularizer: Regularizer = None,
    activity_regularizer: Regularizer = None,
    kernel_constraint: Constraint = None,
    bias_constraint: Constraint = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
    dtype: Dtype = None,
) -> Tensor:
    """A convolution of volumes [batch, depth, height, width, channels] (`tf.layers.conv3d`).

    Makes an `af.layers.Conv3D` and calls it.
    """

def conv3d_transpose(
    inputs: TensorLike,
    filters: int,
    kernel_size: Sizes,
    strides: Sizes = 1,
    padding: str = 'valid',
    data_format: str = 'channels_last',
    activation: Activation = None,
    use_bias: bool = True,
    kernel_initializer: Initializer = None,
    bias_initializer: Initializer = ZEROS,
    kernel_regularizer: Regularizer = None,
    bias_regularizer: Regularizer = None,
    activity_regularizer: Regularizer = None,
    kernel_constraint: Constraint = None,
    bias_constraint: Constraint = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
    dtype: Dtype = None,
) -> Tensor:
    """A transposed convolution of volumes [batch, depth, height, width, channels] (`tf.layers.conv3d_transpose`).

    Makes an `af.layers.Conv3DTranspose` and calls it.
    """

def dense(
    inputs: TensorLike,
    units: int,
    activation: Activation = None,
    use_bias: bool = True,
    kernel_initializer: Initializer = None,
    bias_initializer: Initializer = ZEROS,
    kernel_regularizer: Regularizer = None,
    bias_regularizer: Regularizer = None,
    activity_regularizer: Regularizer = None,
    kernel_constraint: Constraint = None,
    bias_constraint: Constraint = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
    dtype: Dtype = None,
) -> Tensor:
    """activation(inputs · kernel + bias), over the last dimension of `inputs` (`tf.layers.dense`).

    Makes an `af.layers.Dense` and calls it.
    """

def max_pooling1d(
    inputs: TensorLike,
    pool_size: Sizes,
    strides: Sizes | None,
    padding: str = 'valid',
    data_format: str = 'channels_last',
    name: str | None = None,
) -> Tensor:
    """The largest element of each window of sequences [batch, steps, channels] (`tf.layers.max_pooling1d`).

    Makes an `af.layers.MaxPooling1D` and calls it.
    """

def max_pooling2d(
    inputs: TensorLike,
    pool_size: Sizes,
    strides: Sizes | None,
    padding: str = 'valid',
    data_format: str = 'channels_last',
    name: str | None = None,
) -> Tensor:
    """The largest element of each window of images [batch, height, width, channels] (`tf.layers.max_pooling2d`).

    Makes an `af.layers.MaxPooling2D` and calls it.
    """

def max_pooling3d(
    inputs: TensorLike,
    pool_size: Sizes,
    strides: Sizes | None,
    padding: str = 'valid',
    data_format: str = 'channels_last',
    name: str | None = None,
) -> Tensor:
    """The largest element of each window of volumes [batch, depth, height, width, channels] (`tf.layers.max_pooling3d`).

    Makes an `af.layers.MaxPooling3D` and calls it.
    """

def separable_conv1d(
    inputs: TensorLike,
    filters: int,
    kernel_size: Sizes,
    strides: Sizes = 1,
    padding: str = 'valid',
    data_format: str = 'channels_last',
    dilation_rate: Sizes = 1,
    depth_multiplier: int = 1,
    activation: Activation = None,
    use_bias: bool = True,
    depthwise_initializer: Initializer = None,
    pointwise_initializer: Initializer = None,
    bias_initializer: Initializer = ZEROS,
    depthwise_regularizer: Regularizer = None,
    pointwise_regularizer: Regularizer = None,
    bias_regularizer: Regularizer = None,
    activity_regularizer: Regularizer = None,
    depthwise_constraint: Constraint = None,
    pointwise_constraint: Constraint = None,
    bias_constraint: Constraint = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
    dtype: Dtype = None,
) -> Tensor:
    """A separable convolution of sequences [batch, steps, channels] (`tf.layers.separable_conv1d`).

    Makes an `af.layers.SeparableConv1D` and calls it.
    """

def separable_conv2d(
    inputs: TensorLike,
    filters: int,
    kernel_size: Sizes,
    strides: Sizes = 1,
    padding: str = 'valid',
    data_format: str = 'channels_last',
    dilation_rate: Sizes = 1,
    depth_multiplier: int = 1,
    activation: Activation = None,
    use_bias: bool = True,
    depthwise_initializer: Initializer = None,
    pointwise_initializer: Initializer = None,
    bias_initializer: Initializer = ZEROS,
    depthwise_regularizer: Regularizer = None,
    pointwise_regularizer: Regularizer = None,
    bias_regularizer: Regularizer = None,
    activity_regularizer: Regularizer = None,
    depthwise_constraint: Constraint = None,
    pointwise_constraint: Constraint = None,
    bias_constraint: Constraint = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
    dtype: Dtype = None,
) -> Tensor:
    """A separable convolution of images [batch, height, width, channels] (`tf.layers.separable_conv2d`).

    Makes an `af.layers.SeparableConv2D` and calls it.
    """

__all__ = [
    "AveragePooling1D",
    "AveragePooling2D",
    "AveragePooling3D",
    "BatchNormalization",
    "Conv1D",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Conv3DTranspose",
    "Dense",
    "Dropout",
    "Flatten",
    "InputSpec",
    "Layer",
    "MaxPooling1D",
    "MaxPooling2D",
    "MaxPooling3D",
    "SeparableConv1D",
    "SeparableConv2D",
    "average_pooling1d",
    "average_pooling2d",
    "average_pooling3d",
    "batch_normalization",
    "conv1d",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "dense",
    "dropout",
    "flatten",
    "max_pooling1d",
    "max_pooling2d",
    "max_pooling3d",
    "separable_conv1d",
    "separable_conv2d",
]
