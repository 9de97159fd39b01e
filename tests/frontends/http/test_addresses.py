"""Addresses to listen on: what is printed can be opened, and what can't be listened on is said with its reason."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from patience import PATIENCE

from actorflow.base.origins import bracketed, opened_at, with_port
from actorflow.errors import InvalidArgumentError, UnavailableError
from actorflow.frontends.cli.main import main
from actorflow.frontends.http.server import listening


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "127.0.0.1:80"),
        ("127.0.0.2", "127.0.0.2:80"),
        ("localhost", "localhost:80"),
        ("::1", "[::1]:80"),
        ("fd00::7", "[fd00::7]:80"),
        ("0.0.0.0", "127.0.0.1:80"),
        ("", "127.0.0.1:80"),
        ("::", "[::1]:80"),
        ("[::]", "[::1]:80"),
        ("[::1]", "[::1]:80"),
    ],
)
def test_an_address_is_one_that_a_browser_opens(host: str, address: str) -> None:
    assert opened_at(host, 80) == address


@pytest.mark.parametrize(
    ("host", "name"), [("::1", "[::1]"), ("[::1]", "[::1]"), ("a.b", "a.b"), ("1.2.3.4", "1.2.3.4")]
)
def test_a_number_of_ipv6_is_in_brackets_once(host: str, name: str) -> None:
    assert bracketed(host) == name and with_port(host, 80) == f"{name}:80"


def has(host: str) -> bool:
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.bind((host.strip("[]"), 0))
    except OSError:
        return False
    return True


@pytest.mark.parametrize(
    ("host", "more"),
    [
        ("127.0.0.1", []),
        ("127.0.0.2", []),
        ("localhost", []),
        ("::1", []),
        ("[::1]", []),
        ("0.0.0.0", ["--behind-proxy", "proxy"]),
        ("::", ["--behind-proxy", "proxy"]),
    ],
)
def test_the_page_is_open_at_the_address_that_is_printed(host: str, more: list[str]) -> None:
    pytest.importorskip("httptools")
    if not has(host):
        pytest.skip(f"this machine has no {host}")
    command = [sys.executable, "-m", "actorflow", "dashboard", "tcp://127.0.0.1:1", "--port", "0", "--host", host]
    process = subprocess.Popen([*command, *more], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        cookies = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with cookies.open(address, timeout=PATIENCE) as page:
            assert page.status == 200 and b"page.js" in page.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()  # type: ignore[union-attr]


@pytest.mark.parametrize("port", [-1, 65536, 10**10])
def test_a_number_that_no_port_has_is_refused(port: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InvalidArgumentError, match=f"from 0 to 65535, not {port}"):
        listening("127.0.0.1", port)
    for command in (["serve", str(tmp_path)], ["dashboard", "tcp://127.0.0.1:1"]):
        assert main([*command, "--port", str(port)]) == 1
        assert f"not {port}" in capsys.readouterr().err


def test_a_port_that_is_in_use_is_refused_with_what_to_do() -> None:
    with listening("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UnavailableError, match=rf"127\.0\.0\.1:{port} can't be listened on: .*\n.*0 takes a free"):
            listening("127.0.0.1", port)


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1", "no such host", "a..b", "a" * 300])
def test_a_host_that_can_not_be_is_refused(host: str) -> None:
    with pytest.raises(UnavailableError, match="can't be listened on: "):
        listening(host, 0)


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        (errno.EACCES, "more rights"),
        (errno.EADDRINUSE, "Another program"),
        (errno.EADDRNOTAVAIL, "not one of this machine"),
    ],
)
def test_each_reason_has_its_advice(code: int, hint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*address: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(socket.socket, "bind", refuse)
    with pytest.raises(UnavailableError, match=f"{os.strerror(code)}.*\n.*{hint}"):
        listening("127.0.0.1", 80)
