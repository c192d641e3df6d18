"""Semaphores, latches, limiters, delayed entries, sales, leaders and metrics, for threads and for asyncio."""

import asyncio
import decimal
import fractions
import math
import sys
import threading

import pytest

import lockserver as package
from conftest import Loop, free, waiting
from lockserver import Outcome
from server import PATIENCE, eventually


def test_semaphore(locks, lockserver, background):
    pool = locks.semaphore("pool", limit=3)
    two = pool.acquire(2)
    with pytest.raises(package.NotAcquired):
        pool.acquire(2, wait=0)
    call = background(lambda: pool.acquire(2, wait=60))
    waiting(lockserver.control)
    assert pool.info()[b"available"] == 1
    assert two.guard("SET", "{pool}x", "1") == b"OK"
    two.release()
    held = call()
    assert held.token > two.token and pool.resize(5) and pool.info()[b"limit"] == 5
    held.release()
    assert pool.info() is None and not pool.resize(5)
    with pytest.raises(package.LockReleased):
        held.release()
    with pytest.raises(ValueError):
        pool.acquire(4)
    with pytest.raises(package.ServerError, match="LIMIT"):
        locks.semaphore("none").acquire(wait=0)


def test_semaphore_lost_reply(locks, lockserver, clock):
    pool = locks.semaphore("pool", limit=3)
    locks.connect()
    with lockserver.fault("DROPAFTER", "MATCH", "SEM.ACQUIRE", "TIMES", 1):
        held = pool.acquire(2, lease=60)
    assert pool.info()[b"used"] == 2
    held.renew(600)
    clock.advance(599)
    held.check()
    clock.advance(2)
    eventually(lambda: held.lost, "the lease is over")
    assert held.lost.reason == "expired"


def test_latch(locks, lockserver, background):
    latch = locks.latch("batch")
    assert latch.left() == 0 and latch.wait(0)
    assert latch.set(2) and not latch.set(5)
    call = background(lambda: latch.wait(60))
    eventually(lambda: lockserver.control.info("clients")["blocked_clients"] == 1, "it waits")
    assert not latch.wait(0.01) and latch.down() == 1
    with lockserver.fault("CLOSE", "MATCH", "LATCH.DOWN", "TIMES", 1):
        assert latch.down() == 0
    assert call() is True


def test_latch_connection_breaks(locks, lockserver, background):
    latch = locks.latch("batch")
    latch.set(1)
    call = background(lambda: latch.wait())

    def waits():
        return [c for c in lockserver.control.client_list() if c["cmd"] == "latch.wait"]

    first = eventually(waits, "it waits")[0]["id"]
    lockserver.control.client_kill_filter(_id=first)
    eventually(lambda: [c for c in waits() if c["id"] != first], "it waits again")
    latch.down()
    assert call() is True


def test_limiter(locks, lockserver, clock, background):
    limiter = locks.limiter("api", burst=2, count=10, period=1)
    one = limiter.take()
    assert one and one.limit == 2 and one.remaining == 1
    assert limiter.take()
    refused = limiter.take()
    assert not refused and refused.retry_after == pytest.approx(0.1) and refused.reset_after == pytest.approx(0.2)
    call = background(lambda: limiter.take(wait=60))
    waiting(lockserver.control)
    assert lockserver.control.info("clients")["blocked_clients"] == 0  # it has no connection of its own
    clock.advance(0.1)
    assert call()
    clock.advance(1)
    with lockserver.fault("DROPAFTER", "MATCH", "LIMIT.TAKE", "TIMES", 1), pytest.raises(package.NoConnection):
        limiter.take()  # it is sent once
    assert limiter.take().remaining == 0
    slow = locks.limiter("slow", burst=1, count=1, period=3600)
    assert slow.take()
    call = background(lambda: slow.take(wait=60))
    waiting(lockserver.control)
    clock.advance(60)
    refused = call()
    assert not refused and refused.retry_after == 3540


def test_limiter_after_a_lost_answer(locks, lockserver, clock, background):
    """A call that waits asks again: the units of the lost answer are gone, and the next ones are its own."""
    limiter = locks.limiter("api", burst=2, count=10, period=1)
    assert limiter.take()
    with lockserver.fault("DROPAFTER", "MATCH", "LIMIT.TAKE", "TIMES", 1):
        call = background(lambda: limiter.take(wait=60))
        waiting(lockserver.control)
    clock.advance(0.1)
    assert call().remaining == 0


def test_several_limiters(locks, lockserver, clock, background):
    """All give their units or none does; the answer says which one refused; a call that waits has taken from none."""
    second, day = locks.limiter("second:{ann}", burst=2, count=2, period=1), locks.limiter("day:{ann}", burst=3, count=3, period=86400)
    one = locks.take_limits([second, day])
    assert one and one.allowed and one.refused_by is None and one.remaining == 1
    assert one.retry_after == 0 and one.full_after == 28800
    assert locks.take_limits([second, day])
    refused = locks.take_limits([second, day])
    assert not refused and refused.refused_by.key == b"second:{ann}" and refused.retry_after == 0.5 and refused.remaining == 0
    assert day.take(0).remaining == 1, "nothing was taken from the one that allows it"
    call = background(lambda: locks.take_limits([second, day], wait=60))
    waiting(lockserver.control)
    assert lockserver.control.info("clients")["blocked_clients"] == 0  # it has no connection of its own
    clock.advance(0.5)
    assert call()
    clock.advance(1)
    refused = locks.take_limits([second, day], 2)
    assert not refused and refused.refused_by.key == b"day:{ann}" and refused.remaining == 0
    call = background(lambda: locks.take_limits([second, day], wait=60))
    waiting(lockserver.control)
    clock.advance(60)
    refused = call()
    assert not refused and refused.refused_by.key == b"day:{ann}" and refused.retry_after == 28800 - 61.5


def test_several_limiters_after_a_lost_answer(locks, lockserver, clock, background):
    """Without a wait the call is sent once. One that waits asks again: the units of the lost answer are gone."""
    both = [locks.limiter("a", burst=2, count=10, period=1), locks.limiter("b", burst=2, count=10, period=1)]
    locks.execute("PING")
    with lockserver.fault("DROPAFTER", "MATCH", "LIMIT.MTAKE", "TIMES", 1), pytest.raises(package.NoConnection):
        locks.take_limits(both)
    assert [limiter.take(0).remaining for limiter in both] == [1, 1], "it was done"
    with lockserver.fault("DROPAFTER", "MATCH", "LIMIT.MTAKE", "TIMES", 1):
        call = background(lambda: locks.take_limits(both, wait=60))
        waiting(lockserver.control)
    clock.advance(0.1)
    assert call().remaining == 0


def test_a_cancelled_wait_for_several_limiters(lockserver, clock):
    """It leaves all of the queues, and has taken from none."""

    async def trial():
        async with lockserver.async_locks() as locks:
            both = [locks.limiter(key, burst=1, count=1, period=60) for key in ("a", "b")]
            await both[1].take()
            call = asyncio.ensure_future(locks.take_limits(both, wait=50))
            await asyncio.get_running_loop().run_in_executor(None, waiting, lockserver.control)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call

            def left():
                return int(lockserver.control.info("locks")["lock_waiters_notify"]) == 0

            await asyncio.get_running_loop().run_in_executor(None, eventually, left, "it has left")
            assert (await both[0].take(0)).remaining == 1

    asyncio.run(asyncio.wait_for(trial(), PATIENCE))


def test_give(locks, lockserver, clock, background):
    """What was not used goes back, never above the burst, and to the first call that waits."""
    limiter = locks.limiter("api", burst=3, count=1, period=60)
    assert limiter.take(3).remaining == 0
    given = limiter.give()
    assert given.allowed and given.limit == 3 and given.remaining == 1 and given.reset_after == 120
    assert limiter.give(3).remaining == 3, "it is full, and not more"
    assert limiter.take(3)
    call = background(lambda: limiter.take(2, wait=30))
    waiting(lockserver.control)
    limiter.give()
    assert not call.over()
    limiter.give(1)
    assert call().remaining == 0
    with lockserver.fault("DROPAFTER", "MATCH", "LIMIT.GIVE", "TIMES", 1), pytest.raises(package.NoConnection):
        limiter.give()  # it is sent once: a second one would raise the limit
    assert limiter.give(0).remaining == 1


def test_delay(locks, lockserver, clock):
    mails = locks.delay("mails")
    locks.execute("PING")
    with lockserver.fault("DROPAFTER", "MATCH", "DELAY.ADD", "TIMES", 1):
        ticket = mails.add({"to": "ann"}, after=60)
    assert mails.count() == 1
    assert mails.add({"to": "ben"}, after=60, ticket="b") == "b" and mails.add({"to": "ben"}, after=60, ticket="b") is None
    assert mails.move(ticket, after=30) and mails.cancel("b") and not mails.cancel("b")
    clock.advance(30)
    assert [fields for _, fields in lockserver.control.xrange("mails")] == [{"to": "ann"}]
    assert mails.count() == 0
    for wrong in ({}, {"after": 1, "at": 2}):
        with pytest.raises(ValueError):
            mails.add({"to": "x"}, **wrong)


def test_recurring(locks, lockserver, clock):
    reports = locks.delay("reports")
    now = clock.now()
    locks.execute("PING")
    rule = {"every": 60, "times": 3, "until": now + 7200, "missed": "all"}
    with lockserver.fault("DROPAFTER", "MATCH", "DELAY.ADD", "TIMES", 1):
        assert reports.add({"kind": "beat"}, at=now + 3600, ticket="beat", **rule) == "beat"
    assert reports.add({"kind": "beat"}, ticket="beat", **rule) is None
    beat = package.Pending("beat", now + 3600, {b"kind": b"beat"}, package.Rule(every=60, times=3, until=now + 7200, missed="all"))
    assert reports.get("beat") == beat
    assert reports.add({"kind": "daily"}, cron="0 9 * * 1-5", zone="Europe/Berlin", missed="skip", ticket="daily") == "daily"
    first, second = sorted(reports.list(), key=lambda entry: entry.ticket)
    assert first == beat and second.rule == package.Rule(cron="0 9 * * 1-5", zone="Europe/Berlin", missed="skip")
    assert second.due > now and second.due % 3600 == 0
    assert reports.cancel("daily")
    clock.advance(3600 + 60)
    assert reports.get("beat").due == now + 3720 and reports.get("beat").rule.times == 1
    clock.advance(60)
    assert reports.get("beat") is None, "the rule has ended"
    assert [int(fields[package.DUE_FIELD]) for _, fields in lockserver.control.xrange("reports")] == [
        round((now + 3600 + 60 * n) * 1000) for n in range(3)]
    assert reports.add({"kind": "hourly"}, every=3600, ticket="hourly") and reports.get("hourly").rule == package.Rule(every=3600)
    for wrong, says in (({"cron": "61 * * * *"}, "CRON"), ({"cron": "0 9 * * *", "zone": "Berlin"}, "zone"), ({"every": 1, "until": 1}, "never")):
        with pytest.raises(package.ServerError, match=says):
            reports.add({"a": 1}, **wrong)
    assert reports.count() == 1


def test_priority(locks, lockserver, background):
    """Of the calls that wait, the one with the highest priority is served first."""
    came = []

    def call(of, name):
        held = of.acquire()
        came.append(name)
        held.release()

    held, permit = locks.lock_all(["k", "other"]).acquire(), locks.semaphore("permits", 1).acquire()
    calls = []
    for of, name in ((locks.lock("k"), 0), (locks.task().lock("k", priority=2, wait=600), 2),
                     (locks.lock_all(["k", "other"], priority=9), 9), (locks.lock("k", shared=True, priority=2), "2 again"),
                     (locks.semaphore("permits", 1).permits(), "a permit"), (locks.semaphore("permits", 1).permits(priority=1), "an urgent permit")):
        calls.append(background(lambda of=of, name=name: call(of, name)))
        waiting(lockserver.control, len(calls))
    assert [waiter.priority for waiter in locks.info("k").waiters] == [9, 2, 2, 0]
    held.release()
    for done in calls[:4]:
        done()
    assert came == [9, 2, "2 again", 0]
    permit.release()
    for done in calls[4:]:
        done()
    assert came[4:] == ["an urgent permit", "a permit"]
    locks.lock("k", wait=0, priority=5).acquire().release()  # a call that does not wait may have a priority


def test_sale(locks, lockserver, clock):
    lockserver.control.execute_command("SECKILL.CREATE", "{shoe}", "STOCK", 3, "LIMIT", 2, "HOLD", 900_000, "STREAM", "orders:{shoe}")
    sale = locks.sale("{shoe}")
    locks.execute("PING")
    with lockserver.fault("DROPAFTER", "MATCH", "SECKILL", "TIMES", 1):
        assert sale.buy("ann", "o1", 2) is Outcome.SOLD
    assert sale.buy("ann", "o2") is Outcome.BOUGHT_ALREADY and sale.buy("ben", "o3", 2) is Outcome.SOLD_OUT
    with lockserver.fault("DROPAFTER", "MATCH", "SECKILL.CONFIRM", "TIMES", 1):
        assert sale.confirm("ann", "o1")
    assert sale.confirm("ann", "o1") and not sale.cancel("ann", "o1")
    assert sale.buy("ben", "o4") is Outcome.SOLD
    with lockserver.fault("DROPAFTER", "MATCH", "SECKILL.CANCEL", "TIMES", 1):
        assert sale.cancel("ben", "o4")
    assert sale.cancel("ben", "o4") and not sale.confirm("ben", "o4") and sale.buy("ben", "o4") is Outcome.TAKEN_BACK


def test_leader_in_threads(lockserver, background):
    locks = lockserver.locks()
    led, go = [], threading.Event()

    def lead(held):
        led.append(held)
        eventually(lambda: held.lost or go.is_set(), "it ends")
        held.check()
        return len(led)

    call = background(lambda: locks.campaign("leader", lead))
    eventually(lambda: led, "it leads")
    lockserver.control.execute_command("LOCK.FORCE", "leader")
    eventually(lambda: len(led) == 2, "it leads again")
    go.set()
    assert call() == 2
    free(lockserver.control, "leader")
    with pytest.raises(ZeroDivisionError):
        locks.campaign("leader", lambda held: 1 / 0)
    cancel = package.Cancel()
    with lockserver.locks().lock("leader").acquire():
        call = background(lambda: locks.campaign("leader", lead, cancel=cancel))
        waiting(lockserver.control)
        cancel.cancel()
        with pytest.raises(package.Cancelled):
            call()


@pytest.mark.parametrize("end", [SystemExit, KeyboardInterrupt, GeneratorExit, ZeroDivisionError])
def test_leader_that_ends_abnormally(lockserver, end):
    locks = lockserver.locks()

    def lead(held):
        raise end()

    with pytest.raises(end):
        locks.campaign("leader", lead)
    free(lockserver.control, "leader")

    def deposed(held):
        lockserver.control.execute_command("LOCK.FORCE", "leader")
        eventually(lambda: held.lost, "the loss is known")
        raise SystemExit(3)

    with pytest.raises(SystemExit):  # the program wants to end, and does not campaign again
        locks.campaign("leader", deposed)


def test_leader_in_asyncio(lockserver):
    import asyncio
    loop = Loop()

    async def trial():
        async with lockserver.async_locks() as locks:
            led = []

            async def lead(held):
                led.append(held)
                if len(led) == 1:
                    await asyncio.sleep(PATIENCE)
                return len(led)

            task = asyncio.ensure_future(locks.campaign("leader", lead))
            while not led:
                await asyncio.sleep(0.001)
            await asyncio.get_running_loop().run_in_executor(
                None, lockserver.control.execute_command, "LOCK.FORCE", "leader")
            assert await asyncio.wait_for(task, PATIENCE) == 2
            assert led[0].lost.reason == "forced"

    loop.run(trial)
    loop.close()


BAD = {
    "wait of text": lambda l: l.lock("k", wait="5").acquire(),
    "wait that is no number": lambda l: l.lock("k", wait=math.nan).acquire(),
    "wait of True": lambda l: l.lock("k", wait=True).acquire(),
    "lease of text": lambda l: l.lock("k", lease="5").acquire(),
    "lease without end": lambda l: l.lock("k", lease=math.inf).acquire(),
    "lease of 0": lambda l: l.lock("k", lease=0).acquire(),
    "deadline of text": lambda l: l.lock("k", deadline="5").acquire(),
    "key that is None": lambda l: l.lock(None).acquire(),
    "key with a lone surrogate": lambda l: l.lock("\ud800").acquire(),
    "trace with a lone surrogate": lambda l: l.lock("k", wait=1, trace="\ud800").acquire(),
    "True permits": lambda l: l.semaphore("s", 2).acquire(True, wait=1),
    "limit of text": lambda l: l.semaphore("s", "2").acquire(),
    "half a permit": lambda l: l.semaphore("s", 2).acquire(0.5),
    "semaphore of True": lambda l: l.semaphore("s", 2).resize(True),
    "cost of None": lambda l: l.limiter("l", burst=1, count=5, period=1).take(None, wait=1),
    "cost below 0": lambda l: l.limiter("l", burst=1, count=5, period=1).take(-1),
    "burst of text": lambda l: l.limiter("l", burst="1", count=5, period=1).take(),
    "period of a third of 10 ms": lambda l: l.limiter("l", burst=1, count=1, period=1 / 300).take(),
    "period without end": lambda l: l.limiter("l", burst=1, count=1, period=math.inf).take(),
    "no limiters": lambda l: l.take_limits([]),
    "a limiter in place of a list": lambda l: l.take_limits(l.limiter("l", burst=1, count=5, period=1)),
    "a limiter that is a key": lambda l: l.take_limits(["l"]),
    "a text of limiters": lambda l: l.take_limits("l"),
    "limiters of None": lambda l: l.take_limits(None),
    "one limiter twice": lambda l: l.take_limits([l.limiter("l", burst=1, count=c, period=1) for c in (1, 2)]),
    "65 limiters": lambda l: l.take_limits([l.limiter(str(n), burst=1, count=1, period=1) for n in range(65)]),
    "cost of True for several": lambda l: l.take_limits([l.limiter("l", burst=1, count=1, period=1)], True),
    "wait of text for several": lambda l: l.take_limits([l.limiter("l", burst=1, count=1, period=1)], wait="1"),
    "half a unit given back": lambda l: l.limiter("l", burst=1, count=1, period=1).give(0.5),
    "less than nothing given back": lambda l: l.limiter("l", burst=1, count=1, period=1).give(-1),
    "cost of None given back": lambda l: l.limiter("l", burst=1, count=1, period=1).give(None),
    "order of None": lambda l: l.sale("v").buy("ann", None),
    "empty order": lambda l: l.sale("v").buy("ann", ""),
    "empty user": lambda l: l.sale("v").confirm("", "o"),
    "empty voucher": lambda l: l.sale("").cancel("ann", "o"),
    "pieces of True": lambda l: l.sale("v").buy("ann", "o", True),
    "field that is a dict": lambda l: l.delay("s").add({"a": {"b": 1}}, after=1),
    "delay without end": lambda l: l.delay("s").add({"a": 1}, after=math.inf),
    "neither every nor cron": lambda l: l.delay("s").add({"a": 1}, after=1, times=1),
    "a zone alone": lambda l: l.delay("s").add({"a": 1}, after=1, zone="UTC"),
    "every and cron": lambda l: l.delay("s").add({"a": 1}, every=1, cron="* * * * *"),
    "a zone of every": lambda l: l.delay("s").add({"a": 1}, every=1, zone="UTC"),
    "every of text": lambda l: l.delay("s").add({"a": 1}, every="1"),
    "every third of 10 ms": lambda l: l.delay("s").add({"a": 1}, every=1 / 300),
    "every 0": lambda l: l.delay("s").add({"a": 1}, every=0),
    "cron of a number": lambda l: l.delay("s").add({"a": 1}, cron=5),
    "empty cron": lambda l: l.delay("s").add({"a": 1}, cron=""),
    "empty zone": lambda l: l.delay("s").add({"a": 1}, cron="* * * * *", zone=""),
    "no times": lambda l: l.delay("s").add({"a": 1}, every=1, times=0),
    "times of True": lambda l: l.delay("s").add({"a": 1}, every=1, times=True),
    "until of text": lambda l: l.delay("s").add({"a": 1}, every=1, until="tomorrow"),
    "missed of another word": lambda l: l.delay("s").add({"a": 1}, every=1, missed="some"),
    "after and at of a rule": lambda l: l.delay("s").add({"a": 1}, every=1, after=1, at=1),
    "priority of text": lambda l: l.lock("k", priority="5").acquire(),
    "priority of True": lambda l: l.lock_all(["k"], priority=True).acquire(),
    "priority of 10": lambda l: l.semaphore("s", 1).acquire(priority=10),
    "priority below 0": lambda l: l.task().lock("k", priority=-1).acquire(),
    "priority of 10 for several": lambda l: l.task().lock_all(["k"], priority=10).acquire(),
    "latch of True": lambda l: l.latch("c").set(True),
    "latch down by text": lambda l: l.latch("c").down("1"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_values_are_refused(make, lockserver, what):
    """In the call that they are given to, also before the first connection; and the client goes on."""
    locks = make(lockserver.url)
    with pytest.raises((TypeError, ValueError)):
        BAD[what](locks)
    locks.lock("good", wait=1).acquire().release()
    assert lockserver.control.execute_command("DBSIZE") == 0


def test_a_limiter_of_another_client_is_refused(make, lockserver):
    ours, other = make(lockserver.url), make(lockserver.url)
    with pytest.raises(ValueError, match="another client"):
        ours.take_limits([other.limiter("l", burst=1, count=1, period=1)])
    assert ours.take_limits([ours.limiter(str(n), burst=1, count=1, period=1) for n in range(64)])


def test_odd_values_are_taken(make, lockserver):
    locks = make(lockserver.url)
    locks.lock("k", wait=math.inf).acquire().release()
    locks.lock("k", wait=decimal.Decimal(1), lease=fractions.Fraction(3, 2)).acquire().release()
    locks.semaphore("s", 2).acquire(2, wait=math.inf).release()
    assert locks.limiter("l", burst=1, count=5, period=decimal.Decimal(1)).take(wait=math.inf)
    assert locks.latch("open").wait(math.inf)


class Seen(package.Observer):
    def __init__(self):
        self.events = []

    def acquired(self, key, waited):
        self.events.append(("acquired", key))

    def refused(self, key, waited, error):
        self.events.append(("refused", key, type(error).__name__))

    def released(self, key, held):
        self.events.append(("released", key))

    def lost(self, key, held, loss):
        self.events.append(("lost", key, loss.reason))

    def attached(self, up, why):
        self.events.append(("attached", up))


def test_observer(make, lockserver):
    seen = Seen()
    locks = make(lockserver.url, observer=seen)
    with locks.lock("k").acquire():
        with pytest.raises(package.NotAcquired):
            locks.lock("k", wait=0).acquire()
    locks.lock_all(["a", "b"]).acquire()
    lockserver.control.execute_command("LOCK.FORCE", "b")
    want = [("attached", True), ("acquired", b"k"), ("refused", b"k", "NotAcquired"), ("released", b"k"), ("acquired", b"a"),
            ("acquired", b"b"), ("lost", b"a", "forced"), ("lost", b"b", "forced")]
    eventually(lambda: len(seen.events) >= len(want), "all is reported")
    assert seen.events == want


class Ending(package.Observer):
    """Wants to end the program, whatever it is told."""

    def acquired(self, *_):
        raise SystemExit(1)

    refused = released = lost = attached = acquired


def test_an_observer_that_wants_to_end_the_program(lockserver, caplog):
    """It ends neither the client's thread nor a caller's, and the locks stay held."""
    locks = lockserver.locks(observer=Ending())
    with locks.lock("kept") as kept:
        lost = locks.lock("lost").acquire()
        lost.on_lost(lambda _: sys.exit(1))
        with pytest.raises(package.NotAcquired):
            locks.lock("kept", wait=0).acquire()
        lockserver.control.execute_command("LOCK.FORCE", "lost")
        eventually(lambda: lost.lost, "the loss is known")
        locks.lock("other").acquire().release()
        kept.check()
    free(lockserver.control, "kept")
    eventually(lambda: caplog.text.count("an observer of locks has failed") >= 7, "all of them are logged")


def test_prometheus(make, lockserver):
    import prometheus_client
    from lockserver.metrics import Prometheus
    registry = prometheus_client.CollectorRegistry()
    locks = make(lockserver.url, observer=Prometheus(registry))
    held = locks.lock("k").acquire()
    with pytest.raises(package.NotAcquired):
        locks.lock("k", wait=0).acquire()

    def value(name, **labels):
        return registry.get_sample_value("lockserver_client_" + name, labels)

    eventually(lambda: value("refused_total", reason="not_acquired") == 1, "it is counted")
    assert value("acquired_total") == 1 and value("held") == 1 and value("attached") == 1
    assert value("wait_seconds_count") == 2
    held.release()
    eventually(lambda: value("held") == 0, "it is counted")
    assert value("hold_seconds_count") == 1


def test_opentelemetry(make, lockserver):
    from lockserver.otel import OpenTelemetry
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    locks = make(lockserver.url, observer=OpenTelemetry(provider.get_meter("test"), {"service": "billing"}))

    found = {}

    def points():
        """The values of all metrics, by their names and the attributes that differ. SDK 1.15 leaves out what has not changed."""
        data = reader.get_metrics_data()
        for metric in [m for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics] if data else []:
            for point in metric.data.data_points:
                attributes = dict(point.attributes)
                assert attributes.pop("service") == "billing"
                value = point.count if hasattr(point, "count") else point.value
                found[(metric.name[len("lockserver.client."):], *attributes.values())] = value
        return found

    held, forced = locks.lock("k").acquire(), locks.lock("forced").acquire()
    with pytest.raises(package.NotAcquired):
        locks.lock("k", wait=0).acquire()
    lockserver.control.execute_command("LOCK.FORCE", "forced")
    eventually(lambda: forced.lost, "it is lost")
    eventually(lambda: points().get(("lock.lost", "forced")) == 1, "it is counted")
    assert found[("lock.acquired",)] == 2 and found[("lock.refused", "not_acquired")] == 1
    assert found[("lock.held",)] == 1 and found[("attached",)] == 1 and found[("lock.wait.duration",)] == 2
    held.release()
    eventually(lambda: points()[("lock.held",)] == 0, "it is counted")
    assert points()[("lock.hold.duration",)] == 2
    provider.shutdown()


def test_cancel_on_loss(lockserver):
    import asyncio
    loop = Loop()

    def force(key):
        return asyncio.get_running_loop().run_in_executor(None, lockserver.control.execute_command, "LOCK.FORCE", key)

    async def trial():
        async with lockserver.async_locks() as locks:
            with pytest.raises(package.LockLost, match="forced"):
                async with locks.lock("k", cancel_on_loss=True):
                    await force("k")
                    await asyncio.sleep(PATIENCE)
            await asyncio.sleep(0)  # the task itself is not cancelled
            with pytest.raises(package.LockLost):  # without waits in the block
                async with locks.lock("k", cancel_on_loss=True) as held:
                    await force("k")
                    while held.lost is None:
                        await asyncio.sleep(0)
            await asyncio.sleep(0)

            async def cancelled_twice():
                async with locks.lock("k", cancel_on_loss=True) as held:
                    task = asyncio.current_task()
                    held.on_lost(lambda _: task.cancel())  # at the same moment as by the loss
                    await force("k")
                    await asyncio.sleep(PATIENCE)

            with pytest.raises(asyncio.CancelledError if sys.version_info >= (3, 11) else package.LockLost):
                await asyncio.ensure_future(cancelled_twice())

            with pytest.raises(package.LockLost):  # it raises without being cancelled, too
                async with locks.lock("k") as held:
                    await force("k")
                    while held.lost is None:
                        await asyncio.sleep(0)

            async def cancelled_by_others():
                async with locks.lock("j", cancel_on_loss=True):
                    started.set_result(None)
                    await asyncio.sleep(PATIENCE)

            started = asyncio.get_running_loop().create_future()
            task = asyncio.ensure_future(cancelled_by_others())
            await started
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            async with locks.lock("j", wait=10):  # it was released
                pass
            waits = asyncio.ensure_future(locks.lock("j").acquire())
            async with locks.lock("j", wait=10):
                pass
            (await waits)
            gives_up = asyncio.ensure_future(locks.lock("j").acquire())
            await asyncio.sleep(0.01)
            gives_up.cancel()
            with pytest.raises(asyncio.CancelledError):
                await gives_up

    loop.run(trial)
    loop.close()
    free(lockserver.control, "j")


def test_exclusive_in_asyncio(lockserver):
    loop = Loop()

    async def trial():
        async with lockserver.async_locks() as locks:
            @locks.exclusive("bill:{number}")
            async def pay(number):
                return await locks.execute("EXISTS", f"bill:{number}")

            assert await pay(7) == 1 and await locks.execute("EXISTS", "bill:7") == 0
            with pytest.raises(TypeError):
                locks.exclusive("x")(lambda: None)

    loop.run(trial)
    loop.close()


def test_the_holder_is_asked(make, lockserver):
    locks, other = make(lockserver.url), make(lockserver.url)
    assert other.ask("k") == 0, "it is free"
    held, heard = locks.lock("k").acquire(), []
    assert held.asked is None
    held.on_asked(heard.append)
    assert other.ask("k", "a deploy begins") == 1
    eventually(lambda: heard == ["a deploy begins"], "it is heard")
    held.on_asked(heard.append)
    assert heard == ["a deploy begins"] * 2 and held.asked == "a deploy begins"
    held.check()
    held.release()
    with pytest.raises(ValueError):
        other.ask("")


def test_a_hold_is_extended_and_a_part_comes_back(locks):
    sale = locks.sale("shoe")
    for _ in range(2):
        assert sale.create(5, hold=60, hold_max=3600, limit=5)
    assert not sale.create(5, hold=60, hold_max=7200, limit=5), "it has another bound"
    assert sale.buy("ann", "1", 3) == package.Outcome.SOLD
    assert sale.extend("ann", "1", 1800)
    with pytest.raises(package.ServerError):
        sale.extend("ann", "1", 7200)
    assert sale.cancel("ann", "1", 2)
    assert sale.info()[b"stock"] == 4 and sale.info()[b"held"] == 1
    assert sale.cancel("ann", "1") and not sale.extend("ann", "1", 60)
    for wrong in (lambda: sale.cancel("ann", "1", 0), lambda: sale.extend("ann", "1", 0)):
        with pytest.raises(ValueError):
            wrong()


def test_a_cart_is_bought_as_a_whole(locks):
    for voucher, stock in (("shoe", 2), ("hat", 1)):
        assert locks.sale(voucher).create(stock, limit=2)
    cart = [("shoe", 1), ("hat", 1)]
    for _ in range(2):
        assert locks.cart("ann", "1", cart)
    refused = locks.cart("ben", "2", cart)
    assert not refused and (refused.refused, refused.outcome) == (1, package.Outcome.SOLD_OUT)
    assert locks.sale("shoe").info()[b"stock"] == 1, "nothing of the refused cart was sold"
    for wrong in ([], [("", 1)], [("shoe", 0)], [("shoe", 1)] * 65):
        with pytest.raises(ValueError):
            locks.cart("ann", "3", wrong)
