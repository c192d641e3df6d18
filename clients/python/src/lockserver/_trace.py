"""The trace that a call belongs to, as the header ``traceparent`` of W3C Trace Context."""

from __future__ import annotations

import sys


def current() -> str:
    """Returns the traceparent of OpenTelemetry's current span. Empty: there is none, or the program has no OpenTelemetry.

    A program that has a current span has imported ``opentelemetry.trace``: this does not import it.
    """
    api = sys.modules.get("opentelemetry.trace")
    if api is None:
        return ""
    try:
        span = api.get_current_span().get_span_context()
    except AttributeError:  # another thread is importing it: there is no span yet
        return ""
    if not span.is_valid:
        return ""
    return f"00-{span.trace_id:032x}-{span.span_id:016x}-{span.trace_flags & 0xff:02x}"
