"""Fourier transforms (`tf.signal`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorflow.lazy import lazily

if TYPE_CHECKING:
    from actorflow.ops.fft import (
        fft,
        fft2d,
        fft3d,
        fftshift,
        ifft,
        ifft2d,
        ifft3d,
        ifftshift,
        irfft,
        irfft2d,
        irfft3d,
        rfft,
        rfft2d,
        rfft3d,
    )

__getattr__, __dir__ = lazily(__name__, __file__)

__all__ = [
    "fft",
    "fft2d",
    "fft3d",
    "fftshift",
    "ifft",
    "ifft2d",
    "ifft3d",
    "ifftshift",
    "irfft",
    "irfft2d",
    "irfft3d",
    "rfft",
    "rfft2d",
    "rfft3d",
]
