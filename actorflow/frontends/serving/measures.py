"""Counters and times of requests and steps, in the text form of Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator

_BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Histogram:
    """Counts of values by upper bounds.

    Args:
        bounds: the bounds, increasing.
    """

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds, self._counts = bounds, [0] * (len(bounds) + 1)
        self.sum = 0.0

    @property
    def count(self) -> int:
        """How many values there were."""
        return sum(self._counts)

    def add(self, value: float) -> None:
        """Counts a value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self.sum += value

    def lines(self, name: str, labels: str) -> Iterator[str]:
        """The lines of Prometheus' form."""
        total = 0
        for bound, count in zip((*map(str, self._bounds), "+Inf"), self._counts):
            total += count
            yield f'{name}_bucket{{{labels},le="{bound}"}} {total}'
        yield f"{name}_sum{{{labels}}} {self.sum:.9g}"
        yield f"{name}_count{{{labels}}} {total}"


class Measures:
    """Counts and times of the requests of each model."""

    def __init__(self) -> None:
        self._requests: dict[tuple[str, str, int], int] = {}
        self._seconds: dict[str, Histogram] = {}
        self._rows: dict[str, Histogram] = {}

    def request(self, model: str, protocol: str, status: int, seconds: float) -> None:
        """Counts an answer.

        Args:
            model: the model's name.
            protocol: `rest` or `kserve`.
            status: the status of HTTP.
            seconds: from the request's body to the answer.
        """
        key = (model, protocol, status)
        self._requests[key] = self._requests.get(key, 0) + 1
        histogram = self._seconds.get(model)
        if histogram is None:
            histogram = self._seconds[model] = Histogram(_BOUNDS)
        histogram.add(seconds)

    def step(self, model: str, rows: int) -> None:
        """Counts a step with `rows` rows."""
        histogram = self._rows.get(model)
        if histogram is None:
            histogram = self._rows[model] = Histogram(tuple(map(float, _ROWS)))
        histogram.add(rows)

    def counts(self, model: str) -> tuple[int, int, int, float]:
        """Of a model: the answers of status 200, the others, the steps, and the seconds of all answers."""
        good = sum(n for (name, _, status), n in self._requests.items() if name == model and status == 200)
        every = sum(n for (name, _, _), n in self._requests.items() if name == model)
        rows, seconds = self._rows.get(model), self._seconds.get(model)
        return good, every - good, 0 if rows is None else rows.count, 0.0 if seconds is None else seconds.sum

    def text(self, gauges: Iterable[tuple[str, str, str, str, float]] = ()) -> str:
        """All of it.

        Args:
            gauges: (name, help, model, stage or nothing, value) of what is measured now.
        """
        lines = _head("actorflow_serving_requests_total", "counter", "Answers by model, protocol and status.")
        for (model, protocol, status), count in sorted(self._requests.items()):
            labels = f'model="{_quoted(model)}",protocol="{protocol}",status="{status}"'
            lines.append(f"actorflow_serving_requests_total{{{labels}}} {count}")
        lines += _head("actorflow_serving_request_seconds", "histogram", "Time from a request's body to its answer.")
        for model, histogram in sorted(self._seconds.items()):
            lines += histogram.lines("actorflow_serving_request_seconds", f'model="{_quoted(model)}"')
        lines += _head("actorflow_serving_step_rows", "histogram", "Rows of each step.")
        for model, histogram in sorted(self._rows.items()):
            lines += histogram.lines("actorflow_serving_step_rows", f'model="{_quoted(model)}"')
        families = set()
        for name, text, model, stage, value in gauges:
            if name not in families:
                families.add(name)
                lines += _head(name, "gauge", text)
            labels = f'model="{_quoted(model)}"' + (f',stage="{_quoted(stage)}"' if stage else "")
            lines.append(f"{name}{{{labels}}} {value:.15g}")
        return "\n".join([*lines, ""])


def _head(name: str, kind: str, text: str) -> list[str]:
    return [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
