"""Kernels of images.

glimpse.py    windows around given points
"""
