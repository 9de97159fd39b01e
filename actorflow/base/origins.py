"""Hosts and origins: which requests of HTTP come from a page of another site, and which address reaches this machine alone.

A server on this machine is within reach of every web site that a browser here visits: by a name that the site lets resolve to
this machine, or by requests of its page. The names and the headers of a browser tell both.
"""

from __future__ import annotations

import ipaddress
import urllib.parse

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
"""The names under which a server that listens on this machine alone is reached."""


def is_number(host: str) -> bool:
    """Whether a host is a number of IP, which no name server can let resolve to another machine."""
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Whether an address reaches this machine alone."""
    return host == "localhost" or is_number(host) and ipaddress.ip_address(host.strip("[]")).is_loopback


def opened_at(host: str, port: int) -> str:
    """The host and the port in the address of a server of this machine, as a browser takes them.

    Args:
        host: the address on which it listens. An address that stands for all addresses becomes the loopback address.
        port: the port.
    """
    return with_port({"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(host.strip("[]"), host), port)


def with_port(host: str, port: int) -> str:
    """A host with a port; a number of IPv6 is in brackets, whether it came in them or not."""
    return f"{bracketed(host)}:{port}"


def bracketed(host: str) -> str:
    """A host as addresses and the header Host have it: a number of IPv6 is in brackets, once."""
    return f"[{host.strip('[]')}]" if ":" in host else host


def host_and_port(host: str) -> tuple[str, str]:
    """The name, in lower case, and the port of a header Host; the port may be empty."""
    host = host.lower()
    if host.startswith("["):
        name, bracket, port = host.partition("]")
        return name + bracket, port.lstrip(":")
    name, _, port = host.partition(":")
    return name, port


def is_of_other_site(host: str, origin: str | None, fetch_site: str | None) -> bool:
    """Whether a browser says that the page of another site sends a request.

    Args:
        host: the header Host.
        origin: the header Origin, or None.
        fetch_site: the header Sec-Fetch-Site, or None.
    """
    if fetch_site not in (None, "none", "same-origin"):
        return True
    if origin is None:
        return False
    try:
        return urllib.parse.urlsplit(origin).netloc.lower() != host.lower()
    except ValueError:
        return True
