"""Metrics for Prometheus, by prometheus_client, which is installed with ``lockserver[prometheus]``."""

from __future__ import annotations

from typing import Any, Callable, List, Optional

import prometheus_client

from . import errors
from ._api import Observer, reason_of
from ._views import Stats

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


class Prometheus(Observer):
    """``Locks.from_url(url, observer=Prometheus())``. One object may serve several clients of a process.

    ``lockserver_client_acquired_total``, ``lockserver_client_refused_total{reason}``,
    ``lockserver_client_lost_total{reason}``, the histograms ``lockserver_client_wait_seconds`` and
    ``lockserver_client_hold_seconds``, and the gauges ``lockserver_client_held``, ``lockserver_client_attached`` and
    ``lockserver_client_oldest_hold_seconds``: a lock that its holder has forgotten makes the last one grow. Keys are no labels:
    there may be any number of them.
    """

    def __init__(self, registry: Optional[Any] = None) -> None:
        """registry: a ``CollectorRegistry``, or the default one."""
        to = prometheus_client.REGISTRY if registry is None else registry
        counter, gauge, histogram = prometheus_client.Counter, prometheus_client.Gauge, prometheus_client.Histogram
        name = "lockserver_client_"
        self._acquired = counter(name + "acquired", "Locks that were acquired.", registry=to)
        self._refused = counter(name + "refused", "Calls for a lock that failed.", ["reason"], registry=to)
        self._lost = counter(name + "lost", "Locks that were lost.", ["reason"], registry=to)
        self._wait = histogram(name + "wait_seconds", "How long calls waited for a lock.", buckets=_BUCKETS, registry=to)
        self._hold = histogram(name + "hold_seconds", "How long locks were held.", buckets=_BUCKETS, registry=to)
        self._held = gauge(name + "held", "Locks that are held now.", registry=to)
        self._attached = gauge(name + "attached", "Connections that keep locks now.", registry=to)
        self._stats: List[Callable[[], Stats]] = []
        gauge(name + "oldest_hold_seconds", "Age of the oldest lock that is held.", registry=to).set_function(
            lambda: max((stats().oldest for stats in self._stats), default=0.0))

    def follow(self, stats: Callable[[], Stats]) -> None:
        self._stats.append(stats)

    def acquired(self, key: bytes, waited: float) -> None:
        self._acquired.inc()
        self._wait.observe(waited)
        self._held.inc()

    def refused(self, key: bytes, waited: float, error: BaseException) -> None:
        self._refused.labels(reason_of(error)).inc()
        self._wait.observe(waited)

    def released(self, key: bytes, held: float) -> None:
        self._hold.observe(held)
        self._held.dec()

    def lost(self, key: bytes, held: float, loss: errors.LockLost) -> None:
        self._lost.labels(loss.reason).inc()
        self._hold.observe(held)
        self._held.dec()

    def attached(self, up: bool, why: Optional[BaseException]) -> None:
        self._attached.inc() if up else self._attached.dec()
