"""A sealed lane's two ends without a wire: what was sealed opens once, in its order, unaltered, and nothing else does."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from actorflow.engine.transport.errors import ProtocolError
from actorflow.transports.zmq import sealing
from actorflow.transports.zmq.sealing import AUTHENTICATED, ENCRYPTED, FIRST_KEY, KEY_SIZE, Opener, Sealer, seals_of

CIPHERS = (ENCRYPTED, AUTHENTICATED)


def ends(cipher: str) -> tuple[Sealer, Opener]:
    """Two ends that have greeted."""
    sealer, opener = Sealer(cipher), Opener(cipher)
    opener.take(*sealer.offer())
    assert opener.head(memoryview(sealer.greeting())) == b""
    sealer.taken(FIRST_KEY)
    return sealer, opener


def chunks(sealer: Sealer, count: int) -> list[tuple[bytes, bytes]]:
    return [(sealer.head(b"head %d" % n), bytes(sealer.body(memoryview(b"body %d" % n * 50)))) for n in range(count)]


@pytest.mark.parametrize("cipher", CIPHERS)
def test_f62_what_was_sealed_opens_in_its_order(cipher: str) -> None:
    sealer, opener = ends(cipher)
    for number, (head, body) in enumerate(chunks(sealer, 3)):
        assert opener.head(memoryview(head)) == b"head %d" % number
        place = bytearray(len(body) - sealing.TAG_SIZE)
        opener.body_into(memoryview(body), memoryview(place))
        assert place == b"body %d" % number * 50
    (head, body), *_ = chunks(sealer, 1)
    opener.head(memoryview(head))
    assert opener.body(memoryview(body)) == b"body 0" * 50
    assert (b"body" in body) is (cipher == AUTHENTICATED), "the one can be read on the wire, the other cannot"


Tamper = Callable[[list[tuple[bytes, bytes]], random.Random], list[tuple[bytes, bytes]]]


def altered(sent: list[tuple[bytes, bytes]], pick: random.Random) -> list[tuple[bytes, bytes]]:
    at, part = pick.randrange(len(sent)), pick.randrange(2)
    changed = bytearray(sent[at][part])
    changed[pick.randrange(len(changed))] ^= 1 << pick.randrange(8)
    sent[at] = (bytes(changed), sent[at][1]) if part == 0 else (sent[at][0], bytes(changed))
    return sent


def repeated(sent: list[tuple[bytes, bytes]], pick: random.Random) -> list[tuple[bytes, bytes]]:
    at = pick.randrange(len(sent))
    return [*sent[: at + 1], *sent[pick.randrange(at + 1) :]]


def swapped(sent: list[tuple[bytes, bytes]], pick: random.Random) -> list[tuple[bytes, bytes]]:
    at = pick.randrange(len(sent) - 1)
    sent[at], sent[at + 1] = sent[at + 1], sent[at]
    return sent


def lost(sent: list[tuple[bytes, bytes]], pick: random.Random) -> list[tuple[bytes, bytes]]:
    del sent[pick.randrange(len(sent) - 1)]
    return sent


def cut(sent: list[tuple[bytes, bytes]], pick: random.Random) -> list[tuple[bytes, bytes]]:
    at, part = pick.randrange(len(sent)), pick.randrange(2)
    short = sent[at][part][: pick.randrange(len(sent[at][part]))]
    sent[at] = (short, sent[at][1]) if part == 0 else (sent[at][0], short)
    return sent


def exchanged(sent: list[tuple[bytes, bytes]], pick: random.Random) -> list[tuple[bytes, bytes]]:
    at = pick.randrange(len(sent))
    sent[at] = (sent[at][0], sent[at - 1][1])
    return sent


@pytest.mark.parametrize("cipher", CIPHERS)
@pytest.mark.parametrize("tamper", [altered, repeated, swapped, lost, cut, exchanged])
def test_f62_nothing_else_opens(cipher: str, tamper: Tamper, seed: int) -> None:
    """The parts before the first that differs open, and that one is found out."""
    pick = random.Random(seed)
    for _ in range(50):
        sealer, opener = ends(cipher)
        sent = chunks(sealer, 5)
        came = tamper(list(sent), pick)
        opened = 0
        with pytest.raises(ProtocolError):
            for head, body in came:
                opener.head(memoryview(head))
                opener.body(memoryview(body))
                opened += 1
        assert came[:opened] == sent[:opened] and came[opened : opened + 1] != sent[opened : opened + 1]


@pytest.mark.parametrize("cipher", CIPHERS)
def test_f62_a_body_of_another_size_than_its_place_is_refused(cipher: str) -> None:
    sealer, opener = ends(cipher)
    opener.head(memoryview(sealer.head(b"head")))
    with pytest.raises(ProtocolError, match="A chunk has 5 bytes, but its head said 6"):
        opener.body_into(memoryview(sealer.body(memoryview(b"12345"))), memoryview(bytearray(6)))


def test_f62_a_key_is_renewed_after_so_many_parts_and_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing, "RENEWED_BYTES", 1000)
    sealer, opener = ends(ENCRYPTED)
    generations = set()
    for _ in range(50):
        head, body = sealer.head(b"head"), sealer.body(memoryview(bytes(100)))
        generations.add(head[:4])
        opener.head(memoryview(head))
        opener.body(memoryview(body))
        if sealer.is_due:
            generation, key = sealer.offer()
            opener.take(generation, key)
            sealer.taken(generation)
    assert len(generations) == 5


def test_f62_parts_under_the_former_key_open_until_one_under_the_next_has_come() -> None:
    sealer, opener = ends(ENCRYPTED)
    before = sealer.head(b"before")
    opener.take(*sealer.offer())
    sealer.taken(FIRST_KEY + 1)
    after = sealer.head(b"after")
    assert [opener.head(memoryview(part)) for part in (before, after)] == [b"before", b"after"]
    with pytest.raises(ProtocolError, match="key 1, which is not in use"):
        opener.head(memoryview(before))


@pytest.mark.parametrize(
    ("generation", "size"), [(0, KEY_SIZE), (1, KEY_SIZE), (3, KEY_SIZE), (-1, KEY_SIZE), (2, 0), (2, 16), (2, 33)]
)
def test_f62_a_key_out_of_turn_is_refused(generation: int, size: int) -> None:
    _, opener = ends(ENCRYPTED)
    with pytest.raises(ProtocolError, match="is not the next one"):
        opener.take(generation, bytes(size))


def test_f62_a_second_key_before_the_first_is_used_is_refused() -> None:
    _, opener = ends(ENCRYPTED)
    opener.take(FIRST_KEY + 1, bytes(KEY_SIZE))
    with pytest.raises(ProtocolError, match="is not the next one"):
        opener.take(FIRST_KEY + 1, bytes(KEY_SIZE))


def test_f62_a_peer_takes_only_what_it_was_offered() -> None:
    sealer, _ = ends(ENCRYPTED)
    for generation in (0, 1, 2):
        with pytest.raises(ProtocolError, match="which it was not offered"):
            sealer.taken(generation)


def test_f62_encryption_is_what_an_endpoint_offers_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [seals_of(word) for word in ("encrypted", "authenticated", "curve")] == [(ENCRYPTED,), (AUTHENTICATED,), ()]
    with pytest.raises(ValueError, match="seal='none': large tensors travel encrypted, authenticated, curve"):
        seals_of("none")
    monkeypatch.setattr(sealing, "AESGCM", None)
    assert seals_of("encrypted") == ()
