"""OpenTelemetry's spans of steps, from the client over the master to the workers.

    from actorflow.ext import otel

    otel.instrument()  # in the client, and in each task: actorflow worker --import my_tracing

A run is a span `actorflow.session.run`, a child of the program's own span. On a cluster its children are the master's
`actorflow.step` and, for each task that takes part, `actorflow.run_part`. Nodes are no spans: see `af.Trace`. The context travels
in W3C's form (`traceparent`, `tracestate`). Values and feeds are in no span: of an error a span has only the class, because
its text may carry values. A step without a span costs nothing; a step with a span takes a further message to each task.

It needs the extra `otel`: pip install 'actorflow[otel]'. The program sets up the SDK and its exporter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from actorflow.engine.runtime.diagnostics import step_spans
from actorflow.errors import UnimplementedError, with_topic

_KEYS = ("traceparent", "tracestate")


def instrument(tracer_provider: Any = None, *, roots: bool = False) -> None:
    """Makes spans of the steps of this process from now on.

    Args:
        tracer_provider: of OpenTelemetry; the global one unless given.
        roots: whether a run outside of any span has a span too, which begins a trace; without it only runs within a span of the
            program have spans.

    Raises:
        UnimplementedError: OpenTelemetry is not installed.
    """
    step_spans.install(_Spans(tracer_provider, roots))


def uninstrument() -> None:
    """Makes no spans any more."""
    step_spans.install(None)


class _Spans:
    def __init__(self, provider: Any, roots: bool) -> None:
        try:
            from opentelemetry import propagate, trace
        except ImportError:
            raise UnimplementedError(
                "Spans need the package opentelemetry-api, which is not installed.",
                hint=with_topic("Install it with: pip install 'actorflow[otel]'", "extra-missing"),
            ) from None
        self._trace, self._propagate, self._roots = trace, propagate, roots
        self._tracer = trace.get_tracer("actorflow", tracer_provider=provider)

    def context(self) -> str:
        if not self._trace.get_current_span().get_span_context().is_valid:
            return ""
        carrier: dict[str, str] = {}
        self._propagate.inject(carrier)
        return "\n".join(carrier.get(key, "") for key in _KEYS)

    @contextmanager
    def within(self, name: str, context: str, attributes: Mapping[str, Any]) -> Iterator[object]:
        parent = None
        if context:
            carrier = {key: value for key, value in zip(_KEYS, context.split("\n")) if value}
            parent = self._propagate.extract(carrier)
        elif not self._roots and not self._trace.get_current_span().get_span_context().is_valid:
            yield None
            return
        details = {f"actorflow.{key}": value for key, value in attributes.items()}
        started = self._tracer.start_as_current_span(
            name, context=parent, attributes=details, record_exception=False, set_status_on_exception=False
        )
        with started as span:
            try:
                yield span
            except Exception as error:
                span.set_status(self._trace.Status(self._trace.StatusCode.ERROR, type(error).__name__))
                raise
