"""redis-py's Lock, a string with a token: waiting, leases, threads, and what it says when the lock is gone."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from redis.exceptions import LockError, LockNotOwnedError

from server import eventually


def test_one_at_a_time(r):
    inside = []

    def work(_):
        for _ in range(5):
            with r.lock("door", timeout=60, sleep=0.002):
                inside.append(1)
                assert len(inside) == 1
                inside.pop()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
    assert r.get("door") is None


def test_waiting(r):
    held = r.lock("door", timeout=60)
    assert held.acquire()
    other = r.lock("door", timeout=60, sleep=0.005)
    assert not other.acquire(blocking=False)
    began = time.monotonic()
    assert not other.acquire(blocking_timeout=0.1)
    assert 0.05 < time.monotonic() - began
    with pytest.raises(LockError):
        with r.lock("door", blocking_timeout=0.01):
            raise AssertionError("not acquired")
    releaser = threading.Timer(0.05, r.delete, ["door"])
    releaser.start()
    assert other.acquire(blocking_timeout=30)
    assert other.locked() and other.owned() and not held.owned()
    other.release()
    releaser.join()


def test_leases(r):
    lock = r.lock("door", timeout=10)
    assert lock.acquire(token="a token of mine")
    assert r.get("door") == "a token of mine"
    assert lock.extend(30) and 35_000 < r.pttl("door") <= 40_000
    assert lock.extend(5, replace_ttl=True) and 0 < r.pttl("door") <= 5000
    assert lock.reacquire() and 5000 < r.pttl("door") <= 10_000
    assert lock.extend(20) and r.pttl("door") > 10_000
    lock.release()
    with pytest.raises(LockError):
        lock.release()
    forever = r.lock("door")
    assert forever.acquire() and r.pttl("door") == -1
    with pytest.raises(LockError):
        forever.extend(10)
    forever.release()


def test_lost(r):
    lock = r.lock("door", timeout=0.02)
    assert lock.acquire()
    eventually(lambda: r.get("door") is None, "the lease ends")
    assert not lock.owned()
    r.set("door", "somebody else")
    for act in (lock.reacquire, lambda: lock.extend(1), lock.release):
        with pytest.raises(LockNotOwnedError):
            act()
    assert r.get("door") == "somebody else"


def test_threads(r):
    """The token belongs to the thread that acquired the lock, unless it is told otherwise."""
    def release_elsewhere(lock):
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(lock.release).exception()

    own = r.lock("own", timeout=60)
    assert own.acquire()
    assert isinstance(release_elsewhere(own), (LockError, AttributeError))
    assert own.owned()
    own.release()
    shared = r.lock("shared", timeout=60, thread_local=False)
    assert shared.acquire()
    assert release_elsewhere(shared) is None
    assert r.get("shared") is None
