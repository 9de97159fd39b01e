"""Ops of Fourier transforms (`tf.signal`).

fft.py   discrete Fourier transforms over the last one, two or three dimensions
"""
