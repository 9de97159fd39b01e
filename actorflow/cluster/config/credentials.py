"""`Credentials`: the keys by which a process proves who it is, and `Target`, an address that carries them.

A cluster shares one pair of CURVE keys. A process that has it is a task or a client of the cluster. A person may have
a pair of his own: its public key stands in the cluster's allow-list, and his key file names the cluster's public key.

A key file is TOML:

    public = "..."
    secret = "..."
    server = "..."      # in a person's file: the public key that the cluster proves to have
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from actorflow.cluster.config.spec import canonical
from actorflow.engine.transport import installed
from actorflow.errors import AlreadyExistsError, InvalidArgumentError, NotFoundError, PermissionDeniedError

VARIABLE = "ACTORFLOW_KEYS"
DEFAULT = "~/.config/actorflow/keys.toml"
"""The standard place of a key file; `XDG_CONFIG_HOME`, if set, stands for `~/.config`."""
_KEY = re.compile(r"[0-9a-zA-Z.\-:+=^!/*?&<>()\[\]{}@%$#]{40}")  # the alphabet of Z85, 32 bytes
_MOST_BYTES = 1 << 20
_HEADER = "# Keys of actorflow. Whoever has the secret key is let in: keep this file to yourself.\n"


@dataclass(frozen=True, slots=True)
class Credentials:
    """A pair of CURVE keys in Z85 text, 40 characters each. The secret one shows in no repr.

    `server` is the public key that the other side must prove to have; None means that both sides share this pair.
    """

    public: str
    secret: str = field(repr=False)
    server: str | None = None

    def __post_init__(self) -> None:
        for name in ("public", "secret", "server"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, str) and _KEY.fullmatch(value)):
                raise InvalidArgumentError(f"The {name} key is not valid: a key is text of 40 characters (Z85).")

    @staticmethod
    def make(server: str | None = None) -> Credentials:
        """A new pair."""
        make = installed.key_maker().make_keys
        assert make is not None
        pair = make()
        return Credentials(pair.public, pair.secret, server)

    @property
    def fingerprint(self) -> str:
        """Of the public key, to be shown and compared."""
        return fingerprint(self.public)

    def peer_key(self) -> str:
        """The public key that the other side has to prove."""
        return self.server or self.public

    def __reduce__(self) -> Any:
        raise TypeError("Credentials hold a secret and are not pickled; hand over the path of a key file.")


class Target(str):
    """An address with its credentials: what `Session(target)` takes. As text it is the address alone, so that no log, format
    or repr shows a secret."""

    __slots__ = ("_credentials",)
    _credentials: Credentials | None

    def __new__(cls, address: str, credentials: Credentials | None = None) -> Target:
        self = super().__new__(cls, address)
        self._credentials = credentials
        return self

    @property
    def address(self) -> str:
        """The address as plain text, which carries nothing."""
        return str.__str__(self)

    @property
    def credentials(self) -> Credentials | None:
        """The credentials to connect with."""
        return self._credentials

    def __repr__(self) -> str:
        keys = self._credentials
        return f"Target({self.address!r}, {'no keys' if keys is None else 'key ' + keys.fingerprint})"

    def __copy__(self) -> Target:
        return self

    def __deepcopy__(self, memo: Any) -> Target:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("A Target holds a secret and is not pickled; hand over its address and the path of a key file.")


def fingerprint(public: str) -> str:
    """Sixteen hexadecimal digits of the SHA-256 of a public key, in groups of four."""
    digits = hashlib.sha256(public.encode()).hexdigest()
    return ":".join(digits[at : at + 4] for at in range(0, 16, 4))


def resolve(
    target: str,
    credentials: Credentials | str | os.PathLike[str] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Target:
    """The target, spelt in full, with the credentials it is to be reached with: those given (a path is read), its own, or
    those of the file that `ACTORFLOW_KEYS` names. Raises what `canonical` and `read_keys` raise."""
    address = canonical(target, "The target")
    if credentials is None:
        credentials = target.credentials if isinstance(target, Target) else from_environment(environ)
    if credentials is None or isinstance(credentials, Credentials):
        return Target(address, credentials)
    return Target(address, read_keys(credentials))


def from_environment(environ: Mapping[str, str] | None = None) -> Credentials | None:
    """The keys in the file that `ACTORFLOW_KEYS` names; None if the variable is not set. Raises what `read_keys` raises."""
    path = (os.environ if environ is None else environ).get(VARIABLE)
    return read_keys(path) if path else None


def default_path() -> Path:
    """The file that `actorflow keys init` writes unless another file is given."""
    base = os.environ.get("XDG_CONFIG_HOME")
    return Path(base, "actorflow", "keys.toml") if base else Path(DEFAULT).expanduser()


def write_keys(path: str | os.PathLike[str], credentials: Credentials) -> None:
    """Writes a key file that only its owner may read (mode 0600). An existing file is never overwritten.

    Raises:
        PermissionDeniedError, AlreadyExistsError, InvalidArgumentError: the file can't be made.
    """
    lines = [f'public = "{credentials.public}"', f'secret = "{credentials.secret}"']
    if credentials.server is not None:
        lines.append(f'server = "{credentials.server}"')
    with _trouble("write", path):
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with open(number, "w", encoding="utf-8") as file:
            os.fchmod(number, 0o600)  # whatever the umask
            file.write(_HEADER + "\n".join(lines) + "\n")
            file.flush()
            os.fsync(number)


def read_keys(path: str | os.PathLike[str]) -> Credentials:
    """The keys in a file.

    Raises:
        NotFoundError: there is no such file.
        PermissionDeniedError: others than its owner may read it, or somebody else owns it.
        InvalidArgumentError: it is no key file.
    """
    import tomllib

    text = _read(path, secret=True)
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidArgumentError(f"{os.fspath(path)} is not a key file: {error}.", hint=_INIT) from None
    unknown = values.keys() - {"public", "secret", "server"}
    missing = {"public", "secret"} - values.keys()
    if unknown or missing:
        what = f"it has no {min(missing)} key" if missing else f"{min(unknown)!r} means nothing there"
        raise InvalidArgumentError(f"{os.fspath(path)} is not a key file: {what}.", hint=_INIT)
    try:
        return Credentials(values["public"], values["secret"], values.get("server"))
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"{os.fspath(path)}: {error.message}", hint=_INIT) from None


def read_allowed(path: str | os.PathLike[str]) -> frozenset[str]:
    """The public keys of an allow-list: one key in a line, with anything after the key; lines that begin with `# ` are remarks.

    Raises:
        NotFoundError: there is no such file.
        PermissionDeniedError: others than its owner may write it.
        InvalidArgumentError: a line has no key.
    """
    names = set()
    for number, line in enumerate(_read(path, secret=False).splitlines(), 1):
        words = line.split()
        if not words or words[0] == "#":
            continue
        if not _KEY.fullmatch(words[0]):
            raise InvalidArgumentError(
                f"{os.fspath(path)}:{number}: {words[0][:60]!r} is not a public key: a key is text of 40 characters (Z85).",
                hint="A line is a public key and, after a space, a name. Remarks begin with '# '.",
            )
        names.add(words[0])
    return frozenset(names)


_INIT = "`actorflow keys init PATH` makes a good one."


def _read(path: str | os.PathLike[str], *, secret: bool) -> str:
    """The text of a file whose mode and owner keep it safe: a secret file from readers, any file from writers."""
    with _trouble("read", path):
        number = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe would make us wait
        try:
            _check(os.fspath(path), os.fstat(number), secret)
            with open(number, "rb", closefd=False) as file:
                data = file.read(_MOST_BYTES + 1)
        finally:
            os.close(number)
    if len(data) > _MOST_BYTES:
        raise InvalidArgumentError(f"{os.fspath(path)} has more than {_MOST_BYTES:,} bytes: this is not such a file.")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise InvalidArgumentError(f"{os.fspath(path)} is not text.") from None


def _check(path: str, facts: os.stat_result, secret: bool) -> None:
    mode = stat.S_IMODE(facts.st_mode)
    if not stat.S_ISREG(facts.st_mode):
        raise InvalidArgumentError(f"{path} is not a regular file.")
    if facts.st_uid not in (os.geteuid(), 0):
        raise PermissionDeniedError(f"{path} belongs to user {facts.st_uid}, who could have put other keys there.")
    # A file of root's may be readable for our group: containers are given secrets so.
    refused = (0o077 if facts.st_uid == os.geteuid() else 0o027) if secret else 0o022
    if mode & refused:
        what = "read" if secret else "write"
        raise PermissionDeniedError(
            f"{path} has mode {mode:04o}: others than its owner may {what} it.",
            hint=f"chmod {'600' if secret else 'go-w'} {path}",
        )


@contextmanager
def _trouble(verb: str, path: str | os.PathLike[str]) -> Iterator[None]:
    """Turns what the system says about a file into a sentence."""
    said = f"Cannot {verb} {os.fspath(path)}: "
    try:
        yield
    except FileNotFoundError:
        raise NotFoundError(said + "it does not exist, or its folder does not.", hint=_INIT) from None
    except FileExistsError:
        raise AlreadyExistsError(
            said + "it is there already, and keys are never overwritten.", hint="Give another path, or remove it."
        ) from None
    except PermissionError:
        raise PermissionDeniedError(said + "the system does not permit it.") from None
    except OSError as error:
        raise InvalidArgumentError(said + f"{error.strerror}.") from None
