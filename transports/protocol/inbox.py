"""The tokens of a channel by their keys: whichever comes first, the token or its receiver, leaves its half here."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from actorflow.engine.transport.base import Callback
from actorflow.errors import AbortedError, OpError

_REMEMBERED = 4096
_TAKEN = object()

Key = tuple[int, bytes]


class _Box:
    """The tokens that have come and those that are wanted in one step."""

    __slots__ = ("tokens", "waiting")

    def __init__(self) -> None:
        self.tokens: dict[Key, Any] = {}
        self.waiting: dict[Key, Callback] = {}


class Inbox:
    """Tokens by epoch, step, edge and tag.

    A step that has ended stays known for 4,096 further steps, so that what still arrives for it is dropped. Callbacks are
    called at once, from within `deliver` and the methods that end something.
    """

    def __init__(self) -> None:
        self._boxes: dict[tuple[int, int], _Box] = {}
        self._ended: OrderedDict[tuple[int, int], BaseException] = OrderedDict()
        self._error: BaseException | None = None
        self.epoch = 0

    def deliver(self, epoch: int, step: int, key: Key, token: Any) -> BaseException | None:
        """Hands a token over or keeps it. A second one under a key ends its step; that error is the result."""
        where = (epoch, step)
        if epoch < self.epoch or where in self._ended or self._error is not None:
            return None
        box = self._boxes.get(where)
        if box is None:
            box = self._boxes[where] = _Box()
        if key in box.tokens:
            error = AbortedError(f"Edge {key[0]} carried a second token in step {step}.")
            self.abort(step, error, epoch)
            return error
        callback = box.waiting.pop(key, None)
        if callback is None:
            box.tokens[key] = token
        else:
            box.tokens[key] = _TAKEN
            callback(token, None)
        return None

    def take(self, epoch: int, step: int, key: Key) -> Any:
        """The token of `key`, if it is here and was not taken; else None, and for the token that is None."""
        box = self._boxes.get((epoch, step))
        token = None if box is None else box.tokens.get(key)
        if token is None or token is _TAKEN:
            return None
        box.tokens[key] = _TAKEN  # type: ignore[union-attr]
        return token

    def expect(self, epoch: int, step: int, key: Key, callback: Callback) -> Callable[[], None]:
        """Calls `callback` with the token of `key`, or with the error that ends its step. Raises AbortedError for a second."""
        where = (epoch, step)
        error = self._ended.get(where)
        box = self._boxes.get(where)
        if error is None and (box is None or key not in box.tokens):
            error = self._error
        if error is not None:
            callback(None, error)
            return _nothing
        if box is None:
            box = self._boxes[where] = _Box()
        if key in box.waiting or box.tokens.get(key) is _TAKEN:
            raise AbortedError(f"Edge {key[0]} is received twice in step {step}.")
        if key in box.tokens:
            token, box.tokens[key] = box.tokens[key], _TAKEN
            callback(token, None)
            return _nothing
        box.waiting[key] = callback

        def take_back() -> None:
            if box.waiting.get(key) is callback:
                box.waiting[key] = _ignore

        return take_back

    def abort(self, step: int, error: BaseException, epoch: int | None = None) -> None:
        """Ends a step: those who wait for its tokens get `error`, as do those who come later. The first error stays."""
        where = (self.epoch if epoch is None else epoch, step)
        if epoch is not None and epoch < self.epoch and where not in self._boxes:
            return
        if where not in self._ended:
            self._ended[where] = _bare(error)
            if len(self._ended) > _REMEMBERED:
                self._ended.popitem(last=False)
        box = self._boxes.pop(where, None)
        if box is not None:
            for callback in box.waiting.values():
                callback(None, error)

    def ended(self, epoch: int, step: int) -> bool:
        """Whether what arrives for a step would be dropped."""
        return epoch < self.epoch or (epoch, step) in self._ended or self._error is not None

    def set_epoch(self, epoch: int) -> None:
        """Ends all steps of former epochs."""
        self.epoch = epoch
        error = AbortedError(
            f"The cluster has begun epoch {epoch}: something was lost, and the steps under way with it."
        )
        for old, step in [where for where in self._boxes if where[0] < epoch]:
            self.abort(step, error, old)
        for where in [where for where in self._ended if where[0] < epoch]:
            del self._ended[where]

    def close(self, error: BaseException, *, keep: bool) -> None:
        """The channel has ended: all who wait, and all who come, get `error`. `keep` leaves tokens that came before."""
        if self._error is None:
            self._error = error
            boxes = list(self._boxes.values())
            if not keep:
                self._boxes.clear()
            for box in boxes:
                waiting, box.waiting = box.waiting, {}
                for callback in waiting.values():
                    callback(None, error)

    def clear(self) -> None:
        """Drops the tokens that no one took, after the end."""
        self._boxes.clear()

    def waiting_tokens(self) -> list[int]:
        """The steps for which tokens wait, and no receiver for a token."""
        return [
            step
            for (epoch, step), box in self._boxes.items()
            if epoch == self.epoch and not box.waiting and any(token is not _TAKEN for token in box.tokens.values())
        ]

    @property
    def held(self) -> int:
        """How many tokens wait for somebody to take them."""
        return sum(token is not _TAKEN for box in self._boxes.values() for token in box.tokens.values())


def _bare(error: BaseException) -> BaseException:
    """`error` without its traceback, whose frames hold tensors: it is remembered for long after its step."""
    if error.__traceback__ is None and error.__cause__ is None:
        return error
    if not isinstance(error, OpError):
        return AbortedError(f"The step was aborted by {type(error).__name__}: {error}")
    facts = {name: getattr(error, name) for name in ("node", "op", "device", "where", "details", "hint")}
    return type(error)(error.message, **facts)


def _nothing() -> None:
    pass


def _ignore(token: Any, error: BaseException | None) -> None:
    """Stands for a Recv that was cancelled, so that its token counts as taken."""
