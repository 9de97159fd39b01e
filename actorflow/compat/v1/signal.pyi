# `make names` writes this file from the marks in the sources.

from actorflow.compat.names.signal import dct as dct
from actorflow.compat.names.signal import frame as frame
from actorflow.compat.names.signal import hamming_window as hamming_window
from actorflow.compat.names.signal import hann_window as hann_window
from actorflow.compat.names.signal import idct as idct
from actorflow.compat.names.signal import inverse_stft as inverse_stft
from actorflow.compat.names.signal import inverse_stft_window_fn as inverse_stft_window_fn
from actorflow.compat.names.signal import linear_to_mel_weight_matrix as linear_to_mel_weight_matrix
from actorflow.compat.names.signal import mfccs_from_log_mel_spectrograms as mfccs_from_log_mel_spectrograms
from actorflow.compat.names.signal import overlap_and_add as overlap_and_add
from actorflow.compat.names.signal import stft as stft
from actorflow.graph.ops.signal.fft import fft as fft
from actorflow.graph.ops.signal.fft import fft2d as fft2d
from actorflow.graph.ops.signal.fft import fft3d as fft3d
from actorflow.graph.ops.signal.fft import fftshift as fftshift
from actorflow.graph.ops.signal.fft import ifft as ifft
from actorflow.graph.ops.signal.fft import ifft2d as ifft2d
from actorflow.graph.ops.signal.fft import ifft3d as ifft3d
from actorflow.graph.ops.signal.fft import ifftshift as ifftshift
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
    "fftshift",
    "frame",
    "hamming_window",
    "hann_window",
    "idct",
    "ifft",
    "ifft2d",
    "ifft3d",
    "ifftshift",
    "inverse_stft",
    "inverse_stft_window_fn",
    "irfft",
    "irfft2d",
    "irfft3d",
    "linear_to_mel_weight_matrix",
    "mfccs_from_log_mel_spectrograms",
    "overlap_and_add",
    "rfft",
    "rfft2d",
    "rfft3d",
    "stft",
]
