"""Keys in files and in the environment, allow-lists, and addresses that carry a secret without showing it."""

from __future__ import annotations

import copy
import json
import logging
import os
import pickle
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from actorflow.cluster.config import credentials
from actorflow.cluster.config.credentials import (
    Credentials,
    Target,
    fingerprint,
    read_allowed,
    read_keys,
    resolve,
    write_keys,
)
from actorflow.engine.transport.factory import KeyPair
from actorflow.errors import AlreadyExistsError, InvalidArgumentError, NotFoundError, PermissionDeniedError

MINE = Credentials.make()
ADDRESS = "tcp://host:7070"


# ---- a target shows no secret


@pytest.mark.parametrize(
    "show",
    [
        str,
        repr,
        ascii,
        lambda t: f"{t}",
        lambda t: f"{t!r:>80}",
        lambda t: f"{t:>80}",
        lambda t: "%s %r" % (t, t),  # noqa: UP031
        lambda t: f"{t} {t!r} {t!s}",
        lambda t: json.dumps({"target": t}),
        lambda t: repr([t, {"a": t}]),
        lambda t: repr(t.credentials),
        lambda t: str(t.credentials),
        lambda t: f"{t.credentials!r}",
        lambda t: "".join(t) + t.upper() + t.replace("h", "H") + (t + "") + t[:],
        lambda t: repr(dir(t)),
        lambda t: structlog.processors.JSONRenderer()(None, "info", {"target": t, "keys": t.credentials}),
        lambda t: structlog.dev.ConsoleRenderer(colors=False)(
            None, "info", {"event": "x", "target": t, "k": t.credentials}
        ),
    ],
)
def test_a_target_shows_no_secret(show: Any) -> None:
    assert MINE.secret not in show(Target(ADDRESS, MINE))


def test_a_logged_target_shows_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        logging.getLogger("x").info("to %s with %r: %s", Target(ADDRESS, MINE), Target(ADDRESS, MINE), MINE)
    assert ADDRESS in caplog.text and MINE.fingerprint in caplog.text and MINE.secret not in caplog.text


def test_a_target_is_its_address() -> None:
    target = Target(ADDRESS, MINE)
    assert target == ADDRESS and hash(target) == hash(ADDRESS) and isinstance(target, str)
    assert target.credentials is MINE and target.address == ADDRESS
    assert all(type(plain) is str for plain in (str(target), target.address, f"{target}", target[:]))
    assert repr(target) == f"Target('{ADDRESS}', key {MINE.fingerprint})" and "no keys" in repr(Target(ADDRESS))
    assert copy.copy(target) is target is copy.deepcopy([target])[0]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_secret_is_not_pickled(protocol: int) -> None:
    for thing in (Target(ADDRESS, MINE), MINE):
        with pytest.raises(TypeError, match=r"hold.* a secret"):
            pickle.dumps(thing, protocol)


def test_the_fingerprint_is_of_the_public_key() -> None:
    assert (
        MINE.fingerprint == fingerprint(MINE.public) == Credentials(MINE.public, Credentials.make().secret).fingerprint
    )
    assert len(MINE.fingerprint) == 19 and Credentials.make().fingerprint != MINE.fingerprint


def test_the_pair_is_what_a_transport_takes_and_names_the_key_of_the_peer() -> None:
    pair: KeyPair = MINE
    assert len(pair.public) == len(pair.secret) == 40
    assert MINE.peer_key() == MINE.public and Credentials.make(server=MINE.public).peer_key() == MINE.public


# ---- files


def test_keys_are_written_for_their_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        for keys in (MINE, Credentials.make(server=MINE.public)):
            path = tmp_path / keys.fingerprint
            write_keys(path, keys)
            assert stat.S_IMODE(path.stat().st_mode) == 0o600 and read_keys(path) == keys
    finally:
        os.umask(before)


def test_any_key_survives_its_file(tmp_path: Path) -> None:
    alphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    for turn in range(0, 85, 5):
        key = (alphabet[turn:] + alphabet)[:40]
        keys = Credentials(key, key[::-1], key)
        write_keys(tmp_path / str(turn), keys)
        assert read_keys(tmp_path / str(turn)) == keys
        (tmp_path / "allowed").write_text(f"# some remark\n\n{key}  somebody\n")
        assert read_allowed(tmp_path / "allowed") == {key}


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o622, 0o610, 0o601])
def test_wider_modes_are_refused(mode: int, tmp_path: Path) -> None:
    write_keys(tmp_path / "keys", MINE)
    (tmp_path / "keys").chmod(mode)
    with pytest.raises(PermissionDeniedError, match=rf"keys has mode {mode:04o}.*\n.*chmod 600"):
        read_keys(tmp_path / "keys")


@pytest.mark.parametrize(
    ("owner", "mode", "good"),
    [
        (1000, 0o400, True),
        (0, 0o440, True),
        (0, 0o444, False),
        (0, 0o460, False),
        (77, 0o400, False),
        (1000, 0o440, False),
    ],
)
def test_a_file_of_roots_may_be_readable_for_our_group(
    owner: int, mode: int, good: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is how a container that is not run by root is given a secret."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    facts = os.stat_result((stat.S_IFREG | mode, 1, 1, 1, owner, 1000, 10, 0, 0, 0))
    if good:
        credentials._check("keys", facts, secret=True)
    else:
        with pytest.raises(PermissionDeniedError):
            credentials._check("keys", facts, secret=True)


def test_keys_are_never_overwritten(tmp_path: Path) -> None:
    write_keys(tmp_path / "keys", MINE)
    with pytest.raises(AlreadyExistsError, match="never overwritten"):
        write_keys(tmp_path / "keys", Credentials.make())
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(AlreadyExistsError):
        write_keys(tmp_path / "link", MINE)
    assert read_keys(tmp_path / "keys") == MINE and not (tmp_path / "elsewhere").exists()
    with pytest.raises(NotFoundError, match="or its folder does not"):
        write_keys(tmp_path / "no" / "keys", MINE)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "it has no public key"),
        (b'public = "x"', "it has no secret key"),
        (b'public = "x"\nsecret = "y"', "public key is not valid"),
        (f'public = "{MINE.public}"\nsecret = 3'.encode(), "secret key is not valid"),
        (f'public = "{MINE.public}"\nsecret = "{MINE.secret}"\nother = 1'.encode(), "'other' means nothing"),
        (b"public: x", "not a key file: .*line 1"),
        (b"\xff\xfe", "is not text"),
        (b"#" * (1 << 20 | 1), "more than 1,048,576 bytes"),
    ],
)
def test_other_files_are_no_key_files(text: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "keys").write_bytes(text)
    (tmp_path / "keys").chmod(0o600)
    with pytest.raises(InvalidArgumentError, match=said) as caught:
        read_keys(tmp_path / "keys")
    assert MINE.secret not in str(caught.value)


def test_no_file_no_folder_and_no_pipe(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="does not exist"):
        read_keys(tmp_path / "keys")
    with pytest.raises(InvalidArgumentError, match="not a regular file"):
        read_keys(tmp_path)
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(InvalidArgumentError, match="not a regular file"):
        read_keys(tmp_path / "pipe")


def test_any_bytes_are_keys_or_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.touch(0o600)

    @given(st.binary(max_size=200))
    def check(data: bytes) -> None:
        path.write_bytes(data)
        for read in (read_keys, read_allowed):
            try:
                read(path)
            except InvalidArgumentError as error:
                assert str(path) in str(error)

    check()


# ---- allow-lists and the environment


def test_an_allow_list(tmp_path: Path) -> None:
    others = [Credentials.make() for _ in range(3)]
    lines = ["# who may come in", "", *(f"{c.public}  user {k}" for k, c in enumerate(others))]
    (tmp_path / "allowed").write_text("\n".join(lines))
    (tmp_path / "allowed").chmod(0o644)
    assert read_allowed(tmp_path / "allowed") == {c.public for c in others}
    (tmp_path / "allowed").write_text("\n".join([*lines, "nobody"]))
    with pytest.raises(InvalidArgumentError, match=r"allowed:6: 'nobody' is not a public key"):
        read_allowed(tmp_path / "allowed")
    (tmp_path / "allowed").chmod(0o664)
    with pytest.raises(PermissionDeniedError, match=r"may write it.*\n.*chmod go-w"):
        read_allowed(tmp_path / "allowed")


def test_a_plain_address_takes_the_keys_of_the_environment(tmp_path: Path) -> None:
    write_keys(tmp_path / "keys", MINE)
    other = Credentials.make()
    environ = {"ACTORFLOW_KEYS": str(tmp_path / "keys")}
    assert resolve(ADDRESS, environ=environ).credentials == MINE
    assert resolve(ADDRESS, other, environ).credentials == other
    assert resolve(ADDRESS, tmp_path / "keys", {}).credentials == MINE
    assert resolve(Target(ADDRESS, other), environ=environ).credentials == other
    assert resolve(Target(ADDRESS, other), MINE).credentials == MINE
    assert resolve(ADDRESS, environ={}).credentials is None
    assert resolve("Host:70", environ={}) == "tcp://host:70"
    with pytest.raises(InvalidArgumentError, match="The target: 'host' is not an address; it looks like host:port"):
        resolve("host", environ={})
    with pytest.raises(NotFoundError):
        resolve(ADDRESS, environ={"ACTORFLOW_KEYS": str(tmp_path / "none")})


def test_a_key_file_is_plain_toml(tmp_path: Path) -> None:
    write_keys(tmp_path / "keys", MINE)
    assert tomllib.loads((tmp_path / "keys").read_text()) == {"public": MINE.public, "secret": MINE.secret}
