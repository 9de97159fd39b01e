"""`Sealer` and `Opener`: the two ends of a lane whose parts are sealed by AES-GCM, with keys that come over a CURVE connection.

Each direction has keys of its own. A key seals parts in their order, each under the next number as its nonce, so a part that is
altered, repeated, missing or out of place does not open. A key serves for a bounded number of parts and bytes; the next key is
handed over before, and the number of the key, its generation, is in front of each head. Nothing here waits or does I/O.
"""

from __future__ import annotations

import os
import struct
from typing import Any, Final

import numpy as np

from actorflow.engine.transport.errors import ProtocolError

try:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
except ImportError:  # the extra `seal` is not installed
    AESGCM = None  # type: ignore[assignment,misc]

ENCRYPTED: Final = "aes-256-gcm"
"""Only the two ends can read the parts, and each change is noticed."""
AUTHENTICATED: Final = "aes-256-gmac"
"""Each change is noticed, but all who see the wire can read the parts."""
_CHOICES: dict[str, tuple[str, ...]] = {"encrypted": (ENCRYPTED,), "authenticated": (AUTHENTICATED,), "curve": ()}
SEAL: Final = "ACTORFLOW_SEAL"
"""The environment's variable that chooses."""
KEY_SIZE: Final = 32
TAG_SIZE: Final = 16
FIRST_KEY: Final = 1
"""The number of the first key of each direction."""
RENEWED_BYTES = 1 << 36
RENEWED_PARTS = 1 << 28
_GENERATION = struct.Struct("<I")
_NONCE = struct.Struct("<Q4x")
_MOST_GENERATIONS = 1 << 32


def seals_of(choice: str) -> tuple[str, ...]:
    """The ciphers that an endpoint offers: none where this process can't seal, or is to leave all to CURVE.

    Args:
        choice: "encrypted", "authenticated" or "curve".

    Raises:
        ValueError: it is another word.
    """
    if choice not in _CHOICES:
        raise ValueError(f"seal={choice!r}: large tensors travel {', '.join(_CHOICES)}; {SEAL} may say it too.")
    return () if AESGCM is None else _CHOICES[choice]


class _Cipher:
    """One key, and the number of its next part."""

    def __init__(self, cipher: str, key: bytes) -> None:
        assert AESGCM is not None
        self._encrypts = cipher == ENCRYPTED
        self._aead = AESGCM(key)
        self._number = 0
        self.bytes = 0

    @property
    def parts(self) -> int:
        return self._number

    def _nonce(self) -> bytes:
        number, self._number = self._number, self._number + 1
        return _NONCE.pack(number)

    def seal(self, data: bytes | memoryview) -> bytes:
        self.bytes += len(data)
        if self._encrypts:
            return self._aead.encrypt(self._nonce(), data, None)
        copy = bytes(data)
        return copy + self._aead.encrypt(self._nonce(), b"", copy)

    def seal_large(self, data: memoryview) -> memoryview:
        """`seal` without a copy, for data that are large."""
        self.bytes += len(data)
        sealed = _memory(len(data) + TAG_SIZE)
        if self._encrypts:
            self._aead.encrypt_into(self._nonce(), data, None, sealed)
        else:
            sealed[:-TAG_SIZE] = data
            sealed[-TAG_SIZE:] = self._aead.encrypt(self._nonce(), b"", sealed[:-TAG_SIZE])
        return sealed

    def open(self, part: memoryview) -> bytes:
        """The data of the next part. Raises InvalidTag."""
        if self._encrypts:
            return self._aead.decrypt(self._nonce(), part, None)
        if len(part) < TAG_SIZE:
            raise InvalidTag
        data = bytes(part[:-TAG_SIZE])
        self._aead.decrypt(self._nonce(), part[-TAG_SIZE:], data)
        return data

    def open_into(self, part: memoryview, place: memoryview) -> None:
        """Puts the data of the next part into `place`, which is as long. Raises InvalidTag; `place` holds anything then."""
        if self._encrypts:
            self._aead.decrypt_into(self._nonce(), part, None, place)
            return
        place[:] = part[:-TAG_SIZE]
        self._aead.decrypt(self._nonce(), part[-TAG_SIZE:], place)


class Sealer:
    """The sending end of one direction. It has no key that may be used until the peer has taken the first key.

    Args:
        cipher: `ENCRYPTED` or `AUTHENTICATED`.
    """

    def __init__(self, cipher: str) -> None:
        self._name = cipher
        self._generation = 0
        self._current: _Cipher | None = None
        self._offered: tuple[int, bytes] | None = None
        self.ready = False
        """Whether heads and bodies may be sealed."""

    @property
    def is_due(self) -> bool:
        """Whether the key has served for so long that another key is to be offered."""
        current = self._current
        return (
            current is not None
            and self._offered is None
            and (current.bytes >= RENEWED_BYTES or current.parts >= RENEWED_PARTS)
        )

    def offer(self) -> tuple[int, bytes]:
        """The number of the next key, and the key. It goes to the peer over the connection with CURVE."""
        if self._offered is None:
            self._offered = self._generation + 1, os.urandom(KEY_SIZE)
        return self._offered

    def taken(self, generation: int) -> None:
        """The peer has the key of that number, which is used from the next part on. Raises ProtocolError."""
        if self._offered is None or self._offered[0] != generation:
            raise ProtocolError(f"The peer has taken key {generation}, which it was not offered.")
        if self._generation != generation:
            self._use(*self._offered)
        self._offered, self.ready = None, True

    def greeting(self) -> bytes:
        """A part without data, the first on the lane: it shows that this side has the key that it has offered."""
        self._use(*self.offer())
        return self.head(b"")

    def _use(self, generation: int, key: bytes) -> None:
        self._generation, self._current = generation, _Cipher(self._name, key)

    def head(self, data: bytes) -> bytes:
        """The sealed form of a head, with the number of the key in front."""
        assert self._current is not None
        return _GENERATION.pack(self._generation) + self._current.seal(data)

    def body(self, data: memoryview) -> memoryview:
        """The sealed form of the body behind the last head."""
        assert self._current is not None
        return self._current.seal_large(data)


class Opener:
    """The receiving end of one direction.

    Args:
        cipher: `ENCRYPTED` or `AUTHENTICATED`.
    """

    def __init__(self, cipher: str) -> None:
        self._name = cipher
        self._generation = 0
        self._current: _Cipher | None = None
        self._next: tuple[int, bytes] | None = None

    def take(self, generation: int, key: bytes) -> None:
        """The peer hands over its next key. Raises ProtocolError."""
        if len(key) != KEY_SIZE or generation != self._generation + 1 or self._next is not None:
            raise ProtocolError(f"Key {generation} of {len(key)} bytes is not the next one.")
        if generation >= _MOST_GENERATIONS:
            raise ProtocolError("There are no more numbers for keys.")
        self._next = generation, key

    def head(self, part: memoryview) -> bytes:
        """The data of a head or a greeting. Raises ProtocolError where the peer has not sealed it as the next part."""
        if len(part) < _GENERATION.size + TAG_SIZE:
            raise ProtocolError(f"A sealed part has {len(part)} bytes, fewer than a seal.")
        generation: int = _GENERATION.unpack_from(part)[0]
        if self._next is not None and generation == self._next[0]:
            try:
                cipher = _Cipher(self._name, self._next[1])
                data = cipher.open(part[_GENERATION.size :])
            except InvalidTag:
                raise _broken() from None
            self._generation, self._current, self._next = generation, cipher, None
            return data
        if generation != self._generation or self._current is None:
            raise ProtocolError(f"A part is sealed with key {generation}, which is not in use.")
        try:
            return self._current.open(part[_GENERATION.size :])
        except InvalidTag:
            raise _broken() from None

    def body(self, part: memoryview) -> memoryview:
        """The data of the body behind the last head, in memory of their own. Raises ProtocolError."""
        if len(part) < TAG_SIZE:
            raise ProtocolError(f"A sealed part has {len(part)} bytes, fewer than a seal.")
        place = _memory(len(part) - TAG_SIZE)
        self.body_into(part, place)
        return place

    def body_into(self, part: memoryview, place: memoryview) -> None:
        """Puts the data of the body behind the last head into `place`. Raises ProtocolError; `place` holds anything then."""
        assert self._current is not None
        if len(part) != len(place) + TAG_SIZE:
            raise ProtocolError(
                f"A chunk has {max(len(part) - TAG_SIZE, 0):,} bytes, but its head said {len(place):,}."
            )
        try:
            self._current.open_into(part, place)
        except InvalidTag:
            raise _broken() from None


def _memory(size: int) -> memoryview:
    """Memory of `size` bytes. The library zeroes the `bytes` that its own calls return, which takes a tenth of the time to
    encrypt as many."""
    block: Any = np.empty(size, np.uint8)
    return memoryview(block)


def _broken() -> ProtocolError:
    return ProtocolError("A sealed part does not open: it was altered, repeated, lost or put out of place on its way.")
