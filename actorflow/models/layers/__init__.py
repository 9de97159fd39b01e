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

from actorflow.public import namespace as _namespace

__getattr__, __dir__, __all__ = _namespace("af.layers", __name__)
