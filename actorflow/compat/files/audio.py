"""`tf.audio`: files of sound (WAV, 16 bits) as tensors and back."""

from __future__ import annotations

import io
import wave
from typing import Any, NamedTuple

import numpy as np

import actorflow as af
from actorflow.public import public

public("tf:audio")

__all__ = ["decode_wav", "encode_wav"]


class DecodeWav(NamedTuple):
    """The result of `tf.audio.decode_wav`: the sound, `[samples, channels]`, and its samples a second."""

    audio: Any
    sample_rate: Any


def decode_wav(
    contents: Any, desired_channels: int = -1, desired_samples: int = -1, name: str | None = None
) -> DecodeWav:
    """The sound of a WAV file of 16 bits, as numbers from -1 to 1 (`tf.audio.decode_wav`).

    Args:
        contents: the file's bytes, a scalar string.
        desired_channels: how many channels there are to be: the last channel is repeated, or channels are left out.
        desired_samples: how many samples there are to be: zeros are added, or samples are left out.

    Raises:
        InvalidArgumentError: in the run, for a file that is no WAV of 16 bits.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> sound = tf.audio.decode_wav(tf.audio.encode_wav([[0.0], [0.5], [-1.0]], 8000))
        >>> tf.squeeze(sound.audio), sound.sample_rate
        ([ 0.   0.5 -1. ], 8000)
    """

    def decode(data: bytes) -> tuple[Any, Any]:
        try:
            with wave.open(io.BytesIO(data)) as file:
                channels, width, rate = file.getnchannels(), file.getsampwidth(), file.getframerate()
                frames = file.readframes(file.getnframes())
        except (wave.Error, EOFError) as error:
            raise af.errors.InvalidArgumentError(f"These {len(data)} bytes are no WAV file: {error}.") from error
        if width != 2:
            raise af.errors.InvalidArgumentError(f"A WAV file of 16 bits is needed, and this has {8 * width}.")
        sound = np.frombuffer(frames, "<i2").reshape(-1, channels).astype(np.float32) / np.float32(32768)
        if desired_channels > 0:
            sound = sound[:, np.minimum(np.arange(desired_channels), channels - 1)]
        if desired_samples > 0:
            sound = np.pad(sound[:desired_samples], ((0, max(0, desired_samples - len(sound))), (0, 0)))
        return np.ascontiguousarray(sound), np.int32(rate)

    with af.name_scope(name, "DecodeWav", [contents]):
        audio, rate = af.py_func(decode, [contents], [af.float32, af.int32], stateful=False)
    audio.set_shape(
        [desired_samples if desired_samples > 0 else None, desired_channels if desired_channels > 0 else None]
    )
    rate.set_shape([])
    return DecodeWav(audio, rate)


def encode_wav(audio: Any, sample_rate: Any, name: str | None = None) -> Any:
    """The bytes of a WAV file of 16 bits with a sound (`tf.audio.encode_wav`).

    Args:
        audio: floating, `[samples, channels]`, from -1 to 1; numbers beyond that are cut.
        sample_rate: the samples a second, a scalar of int32.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.strings.length(tf.audio.encode_wav([[0.0], [1.0]], 8000))
        48
    """

    def encode(sound: Any, rate: Any) -> bytes:
        scaled = sound * np.float32(32768)
        rounded = np.trunc(scaled + np.copysign(np.float32(0.5), scaled))  # a half goes away from zero
        data = io.BytesIO()
        with wave.open(data, "wb") as file:
            file.setnchannels(sound.shape[1])
            file.setsampwidth(2)
            file.setframerate(int(rate))
            file.writeframes(np.clip(rounded, -32768, 32767).astype("<i2").tobytes())
        return data.getvalue()

    with af.name_scope(name, "EncodeWav", [audio, sample_rate]):
        inputs = [af.convert_to_tensor(audio, af.float32), af.convert_to_tensor(sample_rate, af.int32)]
        contents = af.py_func(encode, inputs, af.string, stateful=False)
    contents.set_shape([])
    return contents
