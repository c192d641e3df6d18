"""How the package is used wrongly, and what it tells: functions, forgotten locks, silent servers, inspection, logs."""

import asyncio
import concurrent.futures
import functools
import gc
import logging
import os
import signal
import threading
import time
import warnings

import pytest

import lockserver as package
from conftest import waiting
from server import PATIENCE, eventually, stop
from sharded import Process, url


# Functions with a lock.


def test_held_until_done(lockserver):
    """A function whose work is not done when it returns is refused; a generator holds the lock until it ends."""
    locks = lockserver.locks()

    async def coroutine(n): ...

    async def values(n):
        yield n

    class Callable:
        async def __call__(self, n): ...

    for function in (coroutine, values, functools.partial(coroutine), Callable()):
        with pytest.raises(TypeError, match="before its work"):
            locks.exclusive("k")(function)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for late in (coroutine, values, lambda n: (m for m in [n]), lambda n: pool.submit(int)):
            with pytest.raises(TypeError, match="not done"):
                locks.exclusive("k")(lambda n, late=late: late(n))(1)
    assert not locks.locked("k")

    @locks.exclusive("k:{0}")
    def numbers(n):
        got = yield n
        yield got
        return "end"

    running = numbers(7)
    assert not locks.locked("k:7"), "it has not begun"
    assert next(running) == 7 and locks.locked("k:7")
    assert running.send(8) == 8 and locks.locked("k:7")
    with pytest.raises(StopIteration, match="end"):
        next(running)
    assert not locks.locked("k:7")
    left = numbers(7)
    next(left)
    left.close()
    assert not locks.locked("k:7")


def test_held_until_done_in_asyncio(lockserver):
    async def trial():
        async with lockserver.async_locks() as locks:
            async def values(n):
                yield n

            for function in (values, lambda n: n, lambda n: (m for m in [n])):
                with pytest.raises(TypeError):
                    locks.exclusive("k")(function)

            @locks.exclusive("k")
            async def late():
                return asyncio.ensure_future(asyncio.sleep(0))

            with pytest.raises(TypeError, match="not done"):
                await late()
            assert not await locks.locked("k")

    asyncio.run(asyncio.wait_for(trial(), PATIENCE))


def test_functions_that_call_each_other(lockserver):
    """The owner is the thread: the same key again is no wait for ever, and opposite orders are a deadlock."""
    locks = lockserver.locks()

    @locks.exclusive("a")
    def outer(inner):
        return inner()

    @locks.exclusive("a")
    def again():
        return "inside"

    assert outer(again) == "inside" and not locks.locked("a")
    both = threading.Barrier(2, timeout=PATIENCE)

    def in_order(first, second):
        @locks.exclusive(second)
        def inner():
            return "both"

        @locks.exclusive(first)
        def both_of_them():
            both.wait()
            return inner()

        try:
            return both_of_them()
        except package.Deadlock:
            return "deadlock"

    with concurrent.futures.ThreadPoolExecutor() as pool:
        results = [pool.submit(in_order, *keys) for keys in (("x", "y"), ("y", "x"))]
        assert sorted(result.result(PATIENCE) for result in results) == ["both", "deadlock"]


def test_functions_that_call_each_other_in_asyncio(lockserver):
    async def trial():
        async with lockserver.async_locks() as locks:
            inside = []

            @locks.exclusive("a")
            async def outer(inner):
                return await inner()

            @locks.exclusive("a")
            async def again():
                inside.append(1)
                assert len(inside) == 1
                await asyncio.sleep(0)
                inside.pop()
                return "inside"

            assert await outer(again) == "inside" and not await locks.locked("a")
            # A task that was made inside is another owner.
            assert await asyncio.gather(*(outer(again) for _ in range(10))) == ["inside"] * 10
            ready = [asyncio.Event(), asyncio.Event()]

            async def in_order(number, first, second):
                @locks.exclusive(second)
                async def inner():
                    return "both"

                @locks.exclusive(first)
                async def both_of_them():
                    ready[number].set()
                    await ready[1 - number].wait()
                    return await inner()

                try:
                    return await both_of_them()
                except package.Deadlock:
                    return "deadlock"

            assert sorted(await asyncio.gather(in_order(0, "x", "y"), in_order(1, "y", "x"))) == ["both", "deadlock"]

    asyncio.run(asyncio.wait_for(trial(), PATIENCE))


def test_functions_wait_for_a_time_only(lockserver):
    """Without a wait it is a minute, and not for ever."""
    locks = lockserver.locks()
    calls = []
    locks.lock = None
    real = locks._thread().lock
    locks._thread().lock = lambda *args, **options: calls.append(options["wait"]) or real(*args, **options)
    locks.exclusive("k")(lambda: None)()
    locks.exclusive("k", wait=None)(lambda: None)()
    package.exclusive("k", locks=locks)(lambda: None)()
    assert calls == [60.0, None, 60.0]


# Locks that were forgotten.


def test_forgotten_hold(lockserver, make, caplog):
    locks = make(lockserver.url)

    def forget():
        locks.lock("k").acquire()  # here

    with warnings.catch_warnings(record=True) as caught, caplog.at_level(logging.WARNING, "lockserver"):
        warnings.simplefilter("always", ResourceWarning)
        forget()
        gc.collect()
        held = locks.lock("released").acquire()
        held.release()
        lost = locks.lock("lost").acquire()
        lockserver.control.execute_command("LOCK.FORCE", "lost")
        eventually(lambda: lost.lost, "the loss is known")
        del held, lost
        gc.collect()
    texts = [str(warning.message) for warning in caught if warning.category is ResourceWarning and "lock" in str(warning.message)]
    assert len(texts) == 1 and "'k' was not released" in texts[0], texts
    if make.kind == "threads":  # in asyncio another thread has acquired it
        with open(__file__) as f:
            line = 1 + next(n for n, text in enumerate(f) if text.endswith("# here\n"))
        assert texts[0].endswith(f"{__file__}:{line}")
    assert texts[0] in caplog.text
    assert locks.locked("k"), "it stays held"
    assert locks.stats().held == 1
    before = locks.stats().oldest
    eventually(lambda: locks.stats().oldest > before, "its age rises")


def test_the_oldest_hold_is_a_metric(lockserver):
    prometheus = pytest.importorskip("prometheus_client")
    from lockserver.metrics import Prometheus
    registry = prometheus.CollectorRegistry()
    observer = Prometheus(registry)
    locks = lockserver.locks(observer=observer)

    def age():
        return registry.get_sample_value("lockserver_client_oldest_hold_seconds")

    assert age() == 0
    with locks.lock("k"):
        first = age()
        eventually(lambda: age() > first, "it grows")
    assert age() == 0
    locks.close()
    assert age() == 0


# Limits of calls.


class Silent:
    """A server that answers until it is told not to."""

    def __init__(self, server):
        self.server = server

    def __enter__(self):
        stop(self.server._process)

    def __exit__(self, *_):
        os.kill(self.server._process.pid, signal.SIGCONT)


def test_silent_server(make):
    """A call ends within its own limit, and not with the client's timeout, which is a minute here."""
    with Process() as server:
        locks = make(url(server), timeout=60)
        locks.lock("k").acquire()
        calls = {
            "lock": lambda: locks.lock("other", wait=0.2).acquire(),
            "lock that is held": lambda: locks.lock("k", wait=0.2).acquire(),
            "several": lambda: locks.lock_all(["{a}", "{a}b"], wait=0.2).acquire(),
            "permits": lambda: locks.semaphore("s", 1).acquire(wait=0.2),
            "deadline": lambda: locks.lock("other", deadline=time.monotonic() + 0.2).acquire(),
            "units": lambda: locks.limiter("l", burst=1, count=1, period=1).take(wait=0.2),
            "units of several": lambda: locks.take_limits([locks.limiter("l", burst=1, count=1, period=1)], wait=0.2),
            "latch": lambda: locks.latch("latch").wait(0.2),
        }
        locks.latch("latch").set(1)
        with Silent(server):
            for name, call in calls.items():
                began = time.monotonic()
                with pytest.raises((package.NoConnection, package.NotAcquired, package.DeadlineExceeded)):
                    call()
                assert time.monotonic() - began < 30, name  # a slow machine takes longer than 0.2 s, but no minute
        locks.close()


# What is there.


def test_inspection(lockserver, make, background):
    locks, other = make(lockserver.url), make(lockserver.url, name="other")
    assert locks.info("k") is None and not locks.locked("k") and not locks.force_unlock("k")
    assert locks.stats() == package.Stats(0, 0, 0.0)
    held = locks.lock("k", lease=30).acquire()
    assert 0 < held.remaining <= 30
    call = background(lambda: other.lock("k", wait=PATIENCE).acquire())
    waiting(lockserver.control)
    assert locks.locked("k") and other.locked("k")
    found = other.info("k")
    assert found.mode == "lock" and [waiter.owner.startswith(b"other:") for waiter in found.waiters] == [True]
    holder, = found.holders
    assert (holder.owner, holder.token, holder.holds, holder.renewed) == (held.owner, held.token, 1, False)
    assert 0 < holder.remaining <= 30 and "test" in holder.client
    assert other.stats().waiting == 1 and other.stats().held == 0
    assert locks.force_unlock("k")
    later = call()
    eventually(lambda: held.lost, "the loss is known")
    assert held.lost.reason == "forced" and held.remaining == 0
    assert 0 < later.remaining <= 20 and other.info("k").holders[0].renewed
    later.release()
    shared = [locks.lock("k", shared=True).acquire(), other.lock("k", shared=True).acquire()]
    found = locks.info("k")
    assert found.mode == "shared" and {holder.owner for holder in found.holders} == {held.owner for held in shared}
    locks.semaphore("s", 3).acquire(2)
    found = locks.info("s")
    assert found.mode == "semaphore" and [holder.holds for holder in found.holders] == [2] and locks.locked("s")
    assert locks.force_unlock("k") and not locks.locked("k")


def test_sale_create_and_info(lockserver, make):
    locks = make(lockserver.url)
    sale = locks.sale("shoe")
    assert sale.info() is None
    with lockserver.fault("DROPAFTER", "MATCH", "SECKILL.CREATE", "TIMES", 1):
        assert sale.create(10, limit=2, hold=900, stream="orders")
    assert sale.create(10, limit=2, hold=900, stream="orders"), "the same sale"
    assert not sale.create(10, limit=3)
    assert sale.buy("ann", "o1", 2) is package.Outcome.SOLD
    found = sale.info()
    assert (found[b"stock"], found[b"limit"], found[b"hold"], found[b"stream"]) == (8, 2, 900_000, b"orders")
    assert sale.create(5, replace=True) and sale.info()[b"stock"] == 5
    for wrong in ({"stock": 0}, {"stock": True}, {"stock": 5, "hold": "x"}, {"stock": 5, "limit": 0}, {"stock": 5, "rate": (1, 0.0001)}):
        with pytest.raises((TypeError, ValueError)):
            sale.create(**wrong)
    assert sale.info()[b"stock"] == 5


def test_limit_changes(lockserver, make):
    """Programs with different limits share a semaphore, while they are replaced one by one."""
    old, new = make(lockserver.url).semaphore("s").initial(2), make(lockserver.url).semaphore("s").initial(3)
    held = [old.acquire(), new.acquire()]
    with pytest.raises(package.NotAcquired):
        new.acquire(wait=0)
    assert new.resize(3)
    held += [old.acquire(), ]
    with pytest.raises(package.NotAcquired):
        old.acquire(wait=0)
    with pytest.raises(package.ServerError, match="LIMITMISMATCH"):
        make(lockserver.url).semaphore("s", 2).acquire(wait=0)
    for one in held:
        one.release()
    assert new.info() is None


# Delayed entries.


def test_delay_repeated(lockserver, make):
    """Calls whose answers were lost are sent again, and done once, also when the entry has fallen due meanwhile."""
    delay = make(lockserver.url).delay("mails")
    with lockserver.fault("DROPAFTER", "MATCH", "DELAY.ADD", "TIMES", 2):
        ticket = delay.add({"to": "ann"}, at=0.001)
    eventually(lambda: lockserver.control.xlen("mails") == 1, "it is added")
    assert delay.count() == 0 and isinstance(ticket, str)
    with lockserver.fault("DROPAFTER", "MATCH", "DELAY.ADD", "TIMES", 1):
        assert delay.add({"to": "ben"}, at=0.001, ticket="mine") == "mine"
    assert delay.add({"to": "ben"}, after=600, ticket="mine") == "mine", "another call: the id is free"
    assert delay.add({"to": "ben"}, after=600, ticket="mine") is None
    with lockserver.fault("DROPAFTER", "MATCH", "DELAY.MOVE", "TIMES", 1):
        assert delay.move("mine", after=900)
    with lockserver.fault("DROPAFTER", "MATCH", "DELAY.CANCEL", "TIMES", 2):
        assert delay.cancel("mine")
    assert not delay.cancel("mine") and lockserver.control.xlen("mails") == 2


def test_delay_get_and_list(lockserver, make, clock):
    delay = make(lockserver.url).delay("mails")
    assert delay.get("a") is None and delay.list() == []
    now = clock.now()
    delay.add({"to": "ann", "n": 1}, at=now + 60, ticket="a")
    delay.add({"to": "ben"}, after=30, ticket="b")
    assert delay.get("a") == package.Pending("a", now + 60, {b"to": b"ann", b"n": b"1"})
    assert [entry.ticket for entry in delay.list()] == ["b", "a"]
    assert [entry.ticket for entry in delay.list(since=now + 31)] == ["a"]
    assert [entry.ticket for entry in delay.list(count=1)] == ["b"]
    decoded = make(lockserver.url, decode_responses=True).delay("mails")
    assert decoded.get("a").fields == {"to": "ann", "n": "1"}
    for wrong in (lambda: delay.get(""), lambda: delay.list(count=0), lambda: delay.list(since="x"), lambda: delay.cancel("")):
        with pytest.raises((TypeError, ValueError)):
            wrong()


# What went wrong.


def test_says_what_is_wrong(lockserver, make, caplog):
    """Losses and disconnections are logged; errors name the key, and the holder and its lease where they are known."""
    locks = make(lockserver.url)
    with caplog.at_level(logging.INFO, "lockserver"):
        held = locks.lock("till", lease=600).acquire()
        with pytest.raises(package.NotAcquired) as refused:
            locks.lock("till", wait=0).acquire()
        text = str(refused.value)
        assert "'till'" in text and held.owner.decode() in text and "of this program" in text and "ends in" in text
        assert refused.value.key == b"till" and refused.value.owner == held.owner
        with pytest.raises(package.NotAcquired, match="'till'.*another owner") as refused:
            make(lockserver.url).lock("till", wait=0).acquire()
        assert refused.value.owner is None
        with pytest.raises(package.DeadlineExceeded, match="'till'"):
            locks.lock("till", deadline=time.monotonic() + 0.01).acquire()
        lockserver.control.execute_command("LOCK.FORCE", "till")
        eventually(lambda: held.lost, "the loss is known")
        assert held.owner.decode() in str(held.lost) and "lease of 600 s" in str(held.lost)
        assert held.lost.owner == held.owner and held.lost.lease == 600
        eventually(lambda: str(held.lost) in caplog.text, "it is logged")
        again = locks.lock("till").acquire()
        again.release()
        with pytest.raises(package.LockReleased, match="'till'"):
            again.release()
        for client in lockserver.control.client_list():
            if client["name"] == "test":
                lockserver.control.client_kill_filter(_id=client["id"])
        eventually(lambda: "has ended" in caplog.text, "it is logged")
        eventually(lambda: locks.attached, "it is there again")
    levels = {record.levelno for record in caplog.records if "has ended" in record.message or "is lost" in record.message}
    assert levels == {logging.WARNING}


FIRST_CALLS = {
    "lock": lambda l: l.lock("k").acquire(), "lock_all": lambda l: l.lock_all(["k"]).acquire(),
    "permits": lambda l: l.semaphore("s", 1).acquire(), "buy": lambda l: l.sale("v").buy("u", "o"),
    "create": lambda l: l.sale("v").create(1), "take": lambda l: l.limiter("l", burst=1, count=1, period=1).take(),
    "take and wait": lambda l: l.limiter("l", burst=1, count=1, period=1).take(wait=60),
    "take limits": lambda l: l.take_limits([l.limiter("l", burst=1, count=1, period=1)]),
    "give": lambda l: l.limiter("l", burst=1, count=1, period=1).give(),
    "add": lambda l: l.delay("s").add({"a": 1}, after=1), "latch": lambda l: l.latch("l").set(1), "wait": lambda l: l.latch("l").wait(60),
    "locked": lambda l: l.locked("k"), "info": lambda l: l.info("k"), "force": lambda l: l.force_unlock("k"),
    "connect": lambda l: l.connect(), "execute": lambda l: l.execute("NEXTID"),
}


@pytest.mark.parametrize("call", FIRST_CALLS)
def test_every_first_call_to_a_redis_says_so(lockserver, make, call):
    for command in ("LOCK.ATTACH", "LATCH.WAIT"):
        lockserver.control.execute_command("TEST.FAULT", "ADD", "ERROR", f"ERR unknown command '{command}'", "MATCH", command)
    with pytest.raises(package.NotLockserver):
        FIRST_CALLS[call](make(lockserver.url, timeout=PATIENCE))


def test_classes_for_annotations():
    for name in ("Asked", "Semaphore", "Sale", "Limiter", "Latch", "Delay"):
        assert name in package.__all__ and "Async" + name in package.__all__
        assert isinstance(getattr(package, name), type) and isinstance(getattr(package, "Async" + name), type)


