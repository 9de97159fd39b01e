# `make names` writes this file from the marks in the sources.

from actorflow.models.layers import average_pooling1d as average_pooling1d
from actorflow.models.layers import average_pooling2d as average_pooling2d
from actorflow.models.layers import average_pooling3d as average_pooling3d
from actorflow.models.layers import conv1d as conv1d
from actorflow.models.layers import conv2d as conv2d
from actorflow.models.layers import conv2d_transpose as conv2d_transpose
from actorflow.models.layers import conv3d as conv3d
from actorflow.models.layers import conv3d_transpose as conv3d_transpose
from actorflow.models.layers import dense as dense
from actorflow.models.layers import max_pooling1d as max_pooling1d
from actorflow.models.layers import max_pooling2d as max_pooling2d
from actorflow.models.layers import max_pooling3d as max_pooling3d
from actorflow.models.layers import separable_conv1d as separable_conv1d
from actorflow.models.layers import separable_conv2d as separable_conv2d
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
