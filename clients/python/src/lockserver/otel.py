"""Metrics for OpenTelemetry, by opentelemetry-api, which is installed with ``lockserver[otel]``."""

from __future__ import annotations

import threading
from typing import Any, Callable, Dict, List, Mapping, Optional

from opentelemetry import metrics

from . import errors
from ._api import Observer, reason_of
from ._views import Stats

_NAME = "lockserver.client."


class OpenTelemetry(Observer):
    """``Locks.from_url(url, observer=OpenTelemetry())``. One object may serve several clients of a process.

    The counters ``lockserver.client.lock.acquired``, ``lockserver.client.lock.refused`` (attribute ``error.type``) and
    ``lockserver.client.lock.lost`` (attribute ``reason``); the histograms ``lockserver.client.lock.wait.duration`` and
    ``lockserver.client.lock.hold.duration``, in seconds; the gauges ``lockserver.client.lock.held``,
    ``lockserver.client.attached`` and ``lockserver.client.lock.oldest_hold.age`` (in seconds). Keys are no attributes: there may
    be any number of them.
    """

    def __init__(self, meter: Optional[Any] = None, attributes: Optional[Mapping[str, str]] = None) -> None:
        """meter: a ``Meter``, or the one named "lockserver" of the global provider. attributes: of all measurements."""
        of = metrics.get_meter("lockserver") if meter is None else meter
        self._attributes: Dict[str, str] = dict(attributes or {})
        self._lock = threading.Lock()
        self._held = self._up = 0
        lock = _NAME + "lock."
        self._acquired = of.create_counter(lock + "acquired", "{lock}", "Locks that were acquired")
        self._refused = of.create_counter(lock + "refused", "{lock}", "Locks that were not acquired, by error.type")
        self._lost = of.create_counter(lock + "lost", "{lock}", "Locks that were lost, by reason")
        self._wait = of.create_histogram(lock + "wait.duration", "s", "Time that calls waited for a lock")
        self._hold = of.create_histogram(lock + "hold.duration", "s", "Time that locks were held")
        of.create_observable_gauge(lock + "held", [lambda _: [self._observation(self._held)]], "{lock}", "Locks that are held")
        of.create_observable_gauge(_NAME + "attached", [lambda _: [self._observation(self._up)]], "{connection}",
                                   "Connections that keep locks")
        self._stats: List[Callable[[], Stats]] = []
        of.create_observable_gauge(lock + "oldest_hold.age", [lambda _: [self._observation(
            max((stats().oldest for stats in self._stats), default=0.0))]], "s", "Age of the oldest lock that is held")

    def follow(self, stats: Callable[[], Stats]) -> None:
        self._stats.append(stats)

    def _observation(self, value: float) -> Any:
        return metrics.Observation(value, self._attributes)

    def _add(self, held: int, up: int = 0) -> None:
        with self._lock:
            self._held, self._up = self._held + held, self._up + up

    def acquired(self, key: bytes, waited: float) -> None:
        self._acquired.add(1, self._attributes)
        self._wait.record(waited, self._attributes)
        self._add(1)

    def refused(self, key: bytes, waited: float, error: BaseException) -> None:
        attributes = {**self._attributes, "error.type": reason_of(error)}
        self._refused.add(1, attributes)
        self._wait.record(waited, attributes)

    def released(self, key: bytes, held: float) -> None:
        self._hold.record(held, self._attributes)
        self._add(-1)

    def lost(self, key: bytes, held: float, loss: errors.LockLost) -> None:
        self._lost.add(1, {**self._attributes, "reason": loss.reason})
        self._hold.record(held, self._attributes)
        self._add(-1)

    def attached(self, up: bool, why: Optional[BaseException]) -> None:
        self._add(0, 1 if up else -1)
