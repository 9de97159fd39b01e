"""Kernels of images.

boxes.py     boxes
colors.py    colours
glimpse.py   windows around given points
regions.py   regions of images
resize.py    images of another size
"""
