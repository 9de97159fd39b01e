"""An event loop that its callers drive: how code without `await` runs coroutines at no cost of a second thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class LoopDriver:
    """An event loop that its callers drive in turn."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._lock = threading.Lock()
        self._waiting: list[threading.Event] = []
        self._driving = False
        self._closed = False

    def call(self, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Runs `start()` to its end on the loop. KeyboardInterrupt cancels it, waits for it, and is raised."""
        if asyncio._get_running_loop() is not None:
            return self._call_from_loop(start)
        with self._lock:
            leads = not self._driving
            self._driving = True
        if leads:
            try:
                return self._drive(start())
            finally:
                self._hand_over()
        return self._follow(start)

    def _drive(self, coroutine: Coroutine[Any, Any, T]) -> T:
        task = self._loop.create_task(coroutine)
        try:
            return self._loop.run_until_complete(task)
        except KeyboardInterrupt:
            if not task.done():
                task.cancel()
                try:
                    self._loop.run_until_complete(task)
                except asyncio.CancelledError:
                    pass
            raise

    def _follow(self, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Another thread drives: it runs the call too, unless it ends first and leaves the loop to us."""
        awake = threading.Event()
        task: asyncio.Task[T] | None = None

        def submit() -> None:
            nonlocal task
            task = self._loop.create_task(start())
            task.add_done_callback(lambda _: awake.set())

        with self._lock:
            self._waiting.append(awake)
        self._loop.call_soon_threadsafe(submit)
        while True:
            with self._lock:
                leads = not self._driving
                if leads:
                    self._driving = True
                    self._waiting.remove(awake)
            if leads:
                break
            awake.wait()
            awake.clear()
            if task is not None and task.done():
                with self._lock:
                    if awake in self._waiting:
                        self._waiting.remove(awake)
                return task.result()
        try:
            while task is None:
                self._loop.run_until_complete(asyncio.sleep(0))
            return self._loop.run_until_complete(task)
        finally:
            self._hand_over()

    def _hand_over(self) -> None:
        with self._lock:
            self._driving = False
            if self._waiting:
                self._waiting[0].set()

    def _call_from_loop(self, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
        result: list[T] = []
        failure: list[BaseException] = []

        def work() -> None:
            try:
                result.append(self.call(start))
            except BaseException as error:
                failure.append(error)

        thread = threading.Thread(target=work, name="actorflow blocking call")
        thread.start()
        thread.join()
        if failure:
            raise failure[0]
        return result[0]

    def close(self) -> None:
        """Closes the loop. A second call does nothing."""
        if not self._closed:
            self._closed = True
            self._loop.close()
