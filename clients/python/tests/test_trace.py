"""The trace of a call: the option, and OpenTelemetry's current span."""

import subprocess
import sys

import pytest

import lockserver as package
from conftest import Loop, as_map, waiting

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
UNSAMPLED = TRACE[:-2] + "00"
CURRENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-"


def traces(control, key):
    """The events of a key, with their traces."""
    events = as_map(control.execute_command("LOCK.HISTORY", "KEY", key))["events"]
    return [(e["event"], e["trace"]) for e in map(as_map, events)]


def span(flags, span_id=0xB7AD6B7169203331):
    """A span that is the current one within ``with``."""
    from opentelemetry import trace
    of = trace.SpanContext(0x0AF7651916CD43DD8448EB211C80319C, span_id, False, trace.TraceFlags(flags))
    return trace.use_span(trace.NonRecordingSpan(of))


def pair(trace):
    return [("granted", trace), ("released", trace)]


def test_option(locks, lockserver, background):
    control = lockserver.control
    held = locks.lock("k", trace=TRACE).acquire()
    asked = locks.lock("k", wait=60, trace=UNSAMPLED)
    other = background(lambda: asked.acquire().release())
    waiting(control)
    held.release()
    other()
    assert traces(control, "k") == [
        ("granted", TRACE), ("queued", UNSAMPLED), ("released", TRACE),
        ("granted", UNSAMPLED), ("confirmed", UNSAMPLED), ("released", UNSAMPLED)]
    locks.lock_all(["a", "b"], trace=TRACE).acquire().release()
    assert traces(control, "b") == pair(TRACE)
    locks.semaphore("s", 2).permits(trace=TRACE).acquire().release()
    assert traces(control, "s") == pair(TRACE)
    locks.task().lock("t", trace=TRACE).acquire().release()
    locks.task().lock_all(["u"], trace=TRACE).acquire().release()
    assert traces(control, "t") == traces(control, "u") == pair(TRACE)


def test_current_span_of_threads(lockserver):
    control, locks = lockserver.control, lockserver.locks()
    with span(1):
        locks.lock("k").acquire().release()
        locks.lock("none", trace="").acquire().release()
        locks.lock("other", trace=TRACE).acquire().release()
        asked = locks.lock("later")
    with span(0):
        locks.lock("unsampled").acquire().release()
        with asked:  # the trace is that of the call that asks
            pass
    with span(1, 0):
        locks.lock("invalid").acquire().release()
    locks.lock("outside").acquire().release()
    assert traces(control, "k") == pair(CURRENT + "01")
    assert traces(control, "unsampled") == traces(control, "later") == pair(CURRENT + "00")
    assert traces(control, "other") == pair(TRACE)
    for key in ("none", "invalid", "outside"):
        assert traces(control, key) == pair(None)


def test_current_span_of_asyncio(lockserver):
    async def trial():
        async with lockserver.async_locks() as locks:
            with span(1):
                async with locks.lock("k"):
                    pass
            async with locks.lock("outside"):
                pass

    loop = Loop()
    try:
        loop.run(trial)
    finally:
        loop.close()
    assert traces(lockserver.control, "k") == pair(CURRENT + "01")
    assert traces(lockserver.control, "outside") == pair(None)


def test_current_span_of_redis_lock(lockserver):
    import redis
    client = redis.Redis.from_url(lockserver.url)
    with span(1), client.lock("k", timeout=30, lock_class=package.Lock):
        pass
    assert ("granted", CURRENT + "01") in traces(lockserver.control, "k")
    client.close()


def test_invalid(locks, lockserver):
    with pytest.raises(package.ServerError, match="traceparent"):
        locks.lock("k", trace="x").acquire()
    with pytest.raises(TypeError):
        locks.lock("k", trace=7)
    assert lockserver.control.execute_command("LOCK.LIST") == []


def test_without_opentelemetry():
    program = "import sys, lockserver; sys.modules.pop('opentelemetry.trace', 0); from lockserver import _trace; print([_trace.current()])"
    assert subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True, text=True).stdout.strip() == "['']"
