"""Convolutions and what is shaped like them.

depthwise.py    convolutions of each channel by itself: depthwise, and separable, which mix the channels afterwards
functions.py    convolutions (`tf.nn.conv1d`, `conv2d`, `conv3d`, `convolution`, their backprops)
geometry.py     where the windows of convolutions and pools lie: output sizes, paddings, and what each tap of a window touches
morphology.py   grey-scale morphology: dilation and erosion of images by a structuring function (max-plus convolutions)
patches.py      patches: the window that a convolution would see at each place, as channels of that place
rules.py        the ops of convolutions of two and three dimensions
transpose.py    transposed convolutions, which are the gradients of convolutions for their input, and those with holes
"""
