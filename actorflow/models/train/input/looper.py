"""`LooperThread`: a thread that does something again and again until a coordinator stops it (`tf.train.LooperThread`)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any

from actorflow.base.unpicklable import unpicklable
from actorflow.models.train.input.coordinator import Coordinator
from actorflow.public import public


@public("af.train")
class LooperThread(threading.Thread):
    """A daemon thread that calls `run_loop` until its coordinator is to stop, whose `join` waits for it.

    An error of a call asks the coordinator to stop, and is raised where its threads are joined. A subclass may bring
    `start_loop`, `run_loop` and `stop_loop`.

    Example:
        >>> coord, seen = af.train.Coordinator(), []
        >>> def report():
        ...     seen.append(len(seen))
        ...     if len(seen) == 3:
        ...         coord.request_stop()
        >>> looper = af.train.LooperThread.loop(coord, 0.001, target=report)
        >>> coord.join([looper])
        >>> seen
        [0, 1, 2]
    """

    __reduce_ex__ = unpicklable("A looper is not pickled: it is a thread of this process.")

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any] | None = None,
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        """
        Args:
            coord: says when to stop.
            timer_interval_secs: seconds from the start of one call to that of the next; None calls without a pause.
            target: what `run_loop` calls, unless a subclass has its own.
            args, kwargs: the arguments of `target`.

        Raises:
            ValueError: `coord` is no Coordinator, or there are arguments without a target.
        """
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord!r}.")
        if target is None and (args or kwargs):
            raise ValueError("'args' and 'kwargs' argument require that you also pass 'target'.")
        super().__init__(name="actorflow looper", daemon=True)
        self._coord, self._interval = coord, timer_interval_secs
        self._work, self._work_args, self._work_kwargs = target, tuple(args or ()), dict(kwargs or {})
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """A looper that has been started; it calls `target`.

        Args:
            coord, timer_interval_secs, target, args, kwargs: see the class.
        """
        looper = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        return looper

    def run(self) -> None:
        """The body of the thread."""
        with self._coord.stop_on_exception():
            self.start_loop()
            due = monotonic()
            while not self._coord.should_stop():
                if self._interval is not None and self._coord.wait_for_stop(max(0.0, due - monotonic())):
                    break
                due += self._interval or 0.0
                self.run_loop()
            self.stop_loop()

    def start_loop(self) -> None:
        """Called before the first call of `run_loop`.

        Example:
            >>> class Noting(af.train.LooperThread):
            ...     def start_loop(self):
            ...         print("begins")
            ...     def run_loop(self):
            ...         coord.request_stop()
            >>> coord = af.train.Coordinator()
            >>> looper = Noting(coord, 0.001)
            >>> looper.start()
            begins
            >>> coord.join([looper])
        """

    def stop_loop(self) -> None:
        """Called after the last call of `run_loop`, unless one failed.

        Example:
            >>> class Noting(af.train.LooperThread):
            ...     def run_loop(self):
            ...         coord.request_stop()
            ...     def stop_loop(self):
            ...         print("ends")
            >>> coord = af.train.Coordinator()
            >>> looper = Noting(coord, 0.001)
            >>> looper.start()
            ends
            >>> coord.join([looper])
        """

    def run_loop(self) -> None:
        """Called again and again; calls `target`.

        Example:
            >>> class Counter(af.train.LooperThread):
            ...     def start_loop(self):
            ...         self.count = 0
            ...     def run_loop(self):
            ...         self.count += 1
            ...         coord.request_stop()
            ...     def stop_loop(self):
            ...         print("calls:", self.count)
            >>> coord = af.train.Coordinator()
            >>> looper = Counter(coord, 0.001)
            >>> looper.start()
            calls: 1
            >>> coord.join([looper])
        """
        if self._work is not None:
            self._work(*self._work_args, **self._work_kwargs)
