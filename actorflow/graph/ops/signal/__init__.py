"""Ops of Fourier transforms (`tf.signal`).

fft.py   discrete Fourier transforms over the last 1, 2 or 3 dimensions
"""
