"""The address of a task, and its obstacles: a port in use, an address of another machine, too few files; and ports that
are kept for tasks."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import socket
import struct
import sys

from actorflow.base.origins import is_number
from actorflow.cluster.config.spec import ClusterSpec
from actorflow.errors import InvalidArgumentError, PermissionDeniedError, ResourceExhaustedError, UnavailableError

_FILES_EACH = 16
_FILES_BASE = 128
_LISTENING = "0A"
_SIOCGIFADDR = 0x8915
_HELD = sys.platform == "linux"  # elsewhere no one could listen beside us, so the port is only looked up


def listen_address(address: str, listen: str | None = None) -> str:
    """The `scheme://host:port` that a task binds.

    Args:
        address: where others reach it, `scheme://host:port`.
        listen: `host`, `host:port`, `:port`, or the name of an interface such as eth0, for what is to be different. Without
            it a number of this machine or localhost is bound itself; for a name, which may lead here by many ways, all
            interfaces are.

    Raises:
        InvalidArgumentError: `listen` is no such thing, or no interface has that name.
    """
    host, port = _parts(address)
    scheme = address.partition("://")[0]
    if listen is None:
        numeric = host == "localhost" or is_number(host)
        return f"{scheme}://{host if numeric else '0.0.0.0'}:{port}"
    text = listen.removeprefix(f"{scheme}://")
    if is_number(text) or ":" not in text:
        interface, wanted_port = text, str(port)
    else:
        interface, _, wanted_port = text.rpartition(":")
    interface = "0.0.0.0" if interface in ("", "*") else interface.strip("[]")
    if not (wanted_port.isascii() and wanted_port.isdigit() and int(wanted_port) < 65536):
        raise InvalidArgumentError(f"--listen {listen}: {wanted_port!r} is not a port.")
    if not is_number(interface) and interface != "localhost":
        interface = address_of_interface(interface)
    return f"{scheme}://{f'[{interface}]' if ':' in interface else interface}:{wanted_port}"


def own_address_toward(target: str) -> str:
    """The number of this machine by which it reaches `scheme://host:port`. Raises UnavailableError where no way leads there."""
    host, port = _parts(target)
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect(place)  # nothing is sent
            return str(probe.getsockname()[0])
    except OSError as error:
        raise UnavailableError(
            f"No way leads to {target}: {error.strerror or error}.",
            hint="--advertise HOST:PORT says where this task is.",
        ) from None


def address_of_interface(name: str) -> str:
    """The IPv4 address of a network interface. Raises InvalidArgumentError if there is none."""
    names = [interface for _, interface in socket.if_nameindex()]
    if name in names and sys.platform == "linux":
        import fcntl

        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
                return socket.inet_ntoa(answer[20:24])
            except OSError:
                raise InvalidArgumentError(f"The interface {name!r} has no IPv4 address.") from None
    raise InvalidArgumentError(
        f"{name!r} is neither an address nor a network interface of this machine, which has {', '.join(names)}."
    )


def check_listen(address: str) -> None:
    """Raises an error that says why the port of `scheme://host:port` can't be bound; returns if it can.

    Raises:
        UnavailableError: the port is in use, by whom where that is known; or the host is no address of this machine.
        PermissionDeniedError: the port is one of the system's.
    """
    host, port = _parts(address)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            probe.listen(1)
            return
        except OSError as error:
            failed = error
    if failed.errno == errno.EADDRINUSE:
        raise UnavailableError(
            f"Cannot listen on {address}: port {port} is in use by {holder(port) or 'another process'}.",
            hint="Is this task running already? End it, or give the task another port.",
        )
    if failed.errno == errno.EADDRNOTAVAIL or isinstance(failed, socket.gaierror):
        raise UnavailableError(
            f"Cannot listen on {address}: {host} is not an address of this machine.",
            hint="Run this task on its machine, or say by --listen which address or interface to take (0.0.0.0 for all).",
        )
    if failed.errno == errno.EACCES:
        raise PermissionDeniedError(f"Cannot listen on {address}: ports below 1024 are the system's.")
    raise UnavailableError(f"Cannot listen on {address}: {failed.strerror}.")


def open_more_files() -> int:
    """Lets this process open as many files as it may, and gives their number. The limit that it starts with is lower."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return sys.maxsize if hard == resource.RLIM_INFINITY else hard


def check_files(cluster: ClusterSpec) -> None:
    """Lets this process open as many files as it may, and raises ResourceExhaustedError where a cluster needs more."""
    soft, needed = open_more_files(), _FILES_BASE + _FILES_EACH * len(cluster)
    if soft < needed:
        raise ResourceExhaustedError(
            f"This process may open {soft} files, but a task of a cluster of {len(cluster)} needs up to {needed}.",
            hint=f"Raise the limit before it starts: ulimit -n {needed}",
        )


def holder(port: int) -> str | None:
    """The process that listens on a TCP port of this machine, such as `python (pid 17)`; None if the system does not
    tell."""
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table, encoding="ascii") as file:
                rows = [line.split() for line in file][1:]
        except OSError:
            continue
        inodes |= {row[9] for row in rows if row[3] == _LISTENING and int(row[1].rpartition(":")[2], 16) == port}
    sockets = {f"socket:[{inode}]" for inode in inodes}
    for pid in filter(str.isdigit, os.listdir("/proc") if sockets else []):
        try:
            if not sockets.isdisjoint(open_descriptors(int(pid))):
                with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
                    return f"{file.read().strip()} (pid {pid})"
        except OSError:  # somebody else's, or gone
            continue
    return None


def open_descriptors(pid: int) -> set[str]:
    """Everything that a process of this machine has open, as the system names it: `socket:[7]`, `/dev/null`.

    Raises:
        OSError: The process is gone, or it is somebody else's.
    """
    targets = set()
    for descriptor in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # the process goes on: it closed this one since
            targets.add(os.readlink(f"/proc/{pid}/fd/{descriptor}"))
    return targets


def _parts(address: str) -> tuple[str, int]:
    host, _, port = re.sub(r"^\w+://", "", address).rpartition(":")
    return host.strip("[]"), int(port)


class Reservation:
    """A free port of `host`, which is ours before a task listens there and after it died. Raises UnavailableError if
    there is none.

    A socket that is bound and does not listen keeps the system from giving its port away, and on Linux lets another socket of the
    same user listen there. So the addresses of a cluster are known before any of its processes run, and a task that is started
    again finds its port.
    """

    def __init__(self, host: str = "127.0.0.1") -> None:
        self._socket = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind((host, 0))
        except OSError as error:
            self._socket.close()
            raise UnavailableError(f"There is no free port on {host}: {error}.") from None
        self.port: int = self._socket.getsockname()[1]
        if not _HELD:
            self._socket.close()

    def close(self) -> None:
        """Gives the port back."""
        self._socket.close()
