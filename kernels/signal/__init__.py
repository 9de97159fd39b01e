"""Kernels of Fourier transforms (`tf.signal`).

fft.py   Fourier transforms
"""
