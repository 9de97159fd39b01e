# `make names` writes this file from the marks in the sources.

from actorflow.compat.names.signal import dct as dct
from actorflow.compat.names.signal import idct as idct
from actorflow.graph.ops.signal.fft import fft as fft
from actorflow.graph.ops.signal.fft import fft2d as fft2d
from actorflow.graph.ops.signal.fft import fft3d as fft3d
from actorflow.graph.ops.signal.fft import ifft as ifft
from actorflow.graph.ops.signal.fft import ifft2d as ifft2d
from actorflow.graph.ops.signal.fft import ifft3d as ifft3d
from actorflow.graph.ops.signal.fft import irfft as irfft
from actorflow.graph.ops.signal.fft import irfft2d as irfft2d
from actorflow.graph.ops.signal.fft import irfft3d as irfft3d
from actorflow.graph.ops.signal.fft import rfft as rfft
from actorflow.graph.ops.signal.fft import rfft2d as rfft2d
from actorflow.graph.ops.signal.fft import rfft3d as rfft3d

__all__ = [
    "dct",
    "fft",
    "fft2d",
    "fft3d",
    "idct",
    "ifft",
    "ifft2d",
    "ifft3d",
    "irfft",
    "irfft2d",
    "irfft3d",
    "rfft",
    "rfft2d",
    "rfft3d",
]
