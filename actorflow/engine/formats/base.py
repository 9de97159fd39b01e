"""`Format`: how checkpoints are kept. Implementations are found by entry points of `actorflow.checkpoint`.

A save of several tasks goes in two steps. Each task writes its tensors under names that no other save has (`write`), and says in
bytes what it wrote. When all have, one task makes the checkpoint of them by one atomic step (`commit`). So a crash at any moment
leaves the old checkpoint or the new checkpoint, and never a part of it.

A prefix is the path or URL of a checkpoint, without the endings of its files. Methods are called on threads, for different
prefixes at the same time. `check()` raises when the step was stopped; it is to be called between pieces of work.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from actorflow.base.dtypes import DType
from actorflow.engine.formats.regions import TensorRegion
from actorflow.errors import DataLossError, NotFoundError

Check = Callable[[], None]


class SavedTensor(NamedTuple):
    """A tensor on its way into a checkpoint.

    `kind` is "variable", "node" (what a kernel keeps between runs, by node and key) or "resource" (where a reader is). "left
    node" and "left resource" are those that the task was told by a restore and may not have itself
    (`actorflow.engine.formats.merging`). `value` is a numpy array, of objects for strings, and stays as it is until it is
    written. `region` says which part of the variable it is; None stands for all of it.
    """

    name: str
    kind: str
    value: Any
    region: TensorRegion | None = None


Groups = Mapping[str, Sequence[SavedTensor]]
"""The tensors of a task, by the names of the devices that they are on."""


@dataclass(frozen=True, slots=True)
class StoredVariable:
    """A variable in a checkpoint, by its name, element type and shape."""

    name: str
    element_type: DType
    shape: tuple[int, ...]


def new_buffer(stored: Any, shape: tuple[int, ...]) -> Any:
    """A buffer of numpy for what is loaded."""
    return np.empty(shape, stored.element_type.numpy_dtype)


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A request to load: a variable, or a region of it, into the array that `make(stored, shape)` gives."""

    name: str
    region: TensorRegion | None
    make: Callable[[Any, tuple[int, ...]], Any] = new_buffer


class FormatReader(ABC):
    """A checkpoint that was opened for reading. Formats give `prefix`, `saved_at` (seconds since 1970), `has_state` and the
    abstract methods; the others are those of TensorFlow's `CheckpointReader`."""

    prefix: str
    saved_at: float
    has_state: bool
    """Whether it has what nodes and resources kept, beside variables."""

    @abstractmethod
    def variables(self) -> Mapping[str, Any]:
        """The variables by name, each with its `element_type` and `shape`, as `StoredVariable` has them."""

    @abstractmethod
    def load(self, parts: Sequence[ReadRequest], check: Check = lambda: None) -> list[Any]:
        """The values of variables or parts of them, in whatever slices the checkpoint has them.

        Raises:
            NotFoundError: variables are not there; all are listed (`stored` raises it).
            InvalidArgumentError: a part belongs to a variable of another shape.
            DataLossError: a file is missing, cut off or damaged; the message names the file, and the tensor if a tensor is
                damaged.
        """

    @abstractmethod
    def kept(self) -> Iterable[tuple[str, str, Any]]:
        """(kind, name, value) of each tensor that is no variable."""

    def states(self) -> tuple[dict[str, dict[str, Any]], dict[tuple[str, str, str], bytes]]:
        """The state that nodes kept between runs, by node and key; and where resources were, by container, type and name. A
        node's tensor is named `node:key`, a resource's `container:type:name`."""
        nodes: dict[str, dict[str, Any]] = {}
        resources: dict[tuple[str, str, str], bytes] = {}
        for kind, name, value in self.kept():
            if kind == "node":
                node, _, key = name.rpartition(":")
                whole = value.ndim == 0 and value.dtype.kind == "i"
                nodes.setdefault(node, {})[key] = value.item() if whole else value
            else:
                container, what, resource = name.split(":", 2)
                resources[container, what, resource] = value.item()
        return nodes, resources

    def damage(self) -> list[str]:
        """Reads everything, and lists all that is damaged."""
        messages = []
        reads: list[Callable[[], object]] = [partial(self.load, [ReadRequest(name, None)]) for name in self.variables()]
        reads.append(self.states)
        for read in reads:
            try:
                read()
            except DataLossError as error:
                messages.append(error.message)
        return messages

    def stored(self, names: Iterable[str]) -> list[Any]:
        """Variables by name. Raises NotFoundError that lists all names that are not there."""
        variables, names = self.variables(), list(names)
        missing = [name for name in names if name not in variables]
        if missing:
            what = "variable" if len(missing) == 1 else "variables"
            raise NotFoundError(f"The checkpoint {self.prefix!r} has no {what} {', '.join(map(repr, missing))}.")
        return [variables[name] for name in names]

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """The shape of each variable by name."""
        return {name: list(stored.shape) for name, stored in self.variables().items()}

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        """The element type of each variable by name."""
        return {name: stored.element_type for name, stored in self.variables().items()}

    def has_tensor(self, tensor_str: str) -> bool:
        """Whether there is a variable of that name."""
        return tensor_str in self.variables()

    def get_tensor(self, tensor_str: str) -> Any:
        """The value of a variable; its slices put together.

        Raises:
            NotFoundError: there is none of that name.
            DataLossError: its bytes are damaged.
        """
        return self.load([ReadRequest(tensor_str, None)])[0]

    def debug_string(self) -> str:
        """The name, type and shape of each variable, each on its own line."""
        return "\n".join(
            f"{name} ({v.element_type.name}) {list(v.shape)}" for name, v in sorted(self.variables().items())
        )


class Format(Protocol):
    """How checkpoints are kept."""

    def write(self, prefix: str, groups: Groups, *, global_step: int | None, state: bool, check: Check) -> bytes:
        """Writes the tensors of one task, by the devices that they are on, and says for `commit` what was written. Nothing of it
        is a checkpoint yet. If `check` or the writing raises, the files that were written are removed.

        Raises:
            InvalidArgumentError: two tensors have one name.
        """

    def commit(self, prefix: str, parts: Sequence[bytes], check: Check) -> None:
        """Makes one checkpoint of what all tasks have written, by one atomic step, and survives a crash when it returns. An old
        checkpoint of that prefix is replaced.

        Raises:
            InvalidArgumentError: two tasks have a variable of one name, or the slices of a variable are not all of it. The
                files that were written are removed.
        """

    def discard(self, prefix: str, part: bytes) -> None:
        """Removes what `write` has written, for there will be no commit."""

    def open(self, prefix: str) -> FormatReader:
        """Raises NotFoundError if there is no checkpoint, DataLossError if it is damaged."""

    def exists(self, prefix: str) -> bool:
        """Whether there is a checkpoint of this format. Tells without reading much. Raises InvalidArgumentError for an
        impossible prefix."""

    def remove(self, prefix: str, extras: Sequence[str] = ()) -> None:
        """Removes a checkpoint, and the files of the prefix with the endings `extras`. No moment shows a part of it."""

    def clean(self, folder: str) -> list[str]:
        """Removes what killed saves left in a folder, and gives the files' names. No other program may save there meanwhile."""


class SmallFiles(Protocol):
    """Small files of folders with checkpoints, such as the file that names the latest checkpoint: found by the entry point
    `standard` of `actorflow.files`."""

    def read_text(self, folder: str, name: str) -> str | None:
        """A small file of the folder; None if it does not exist."""

    def write(self, folder: str, name: str, content: bytes) -> None:
        """Writes a small file, in full or not at all."""

    def remove_file(self, folder: str, name: str) -> None:
        """Removes a small file. Does nothing if it does not exist."""
