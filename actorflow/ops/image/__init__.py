"""Ops of images: their element types, sizes, colours and regions (`tf.image`).

An image is `[height, width, channels]`, and a batch of them `[batch, height, width, channels]`. Most functions here are made
of ops of other families; an op of its own stands where a loop over pixels, or a gradient of its own, needs one.

convert.py    images of another element type
glimpse.py    glimpses: windows around given points, which may lie partly outside
"""
