"""Ops of images: their element types, sizes, colours and regions (`tf.image`).

An image is `[height, width, channels]`, and a batch of them `[batch, height, width, channels]`. Most functions here are made
of ops of other families. A function has an op of its own if it needs a loop over pixels, or a gradient of its own.

adjust.py     images made brighter, of more contrast, of another hue, at random too; and standardized
boxes.py      boxes: the best of those that overlap, drawn into images, and drawn at random
colors.py     images in other colours: hue, saturation and value, grey, YIQ and YUV
convert.py    images of another element type
crops.py      parts of images, and images with a frame
flips.py      images mirrored and turned
glimpse.py    glimpses: windows around given points, which may lie partly outside
quality.py    how alike images are, and how their pixels change
ranks.py      what functions of images share
regions.py    regions of images by boxes, in one size, and the gradients of that
resize.py     the ops that give images another size, and their gradients
resizing.py   `resize_images`: images of another size by any method
"""
