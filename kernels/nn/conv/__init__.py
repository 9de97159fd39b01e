"""Kernels of convolutions and what is shaped like them.

columns.py      convolutions as matrix products over the windows of images, written out as columns a block at a time
depthwise.py    convolutions of each channel by itself: one multiplication of images for each element of the window
functions.py    convolutions of two and three dimensions
morphology.py   grey-scale dilation: one pass over all windows for each element of the filter
"""
