"""Workers: handlers that fail, workers that die, and entries that are applied once in SQL."""

import asyncio
import contextlib
import logging
import signal
import sqlite3
import subprocess
import sys
import threading

import pytest

import lockserver as package
from server import PATIENCE, eventually

TABLES = """
CREATE TABLE lockserver_entries (stream VARCHAR(255) NOT NULL, worker VARCHAR(255) NOT NULL, entry VARCHAR(64) NOT NULL,
                                 PRIMARY KEY (stream, worker, entry));
CREATE TABLE sums (name TEXT PRIMARY KEY, sum INTEGER NOT NULL);
INSERT INTO sums VALUES ('all', 0);
"""


@pytest.fixture
def path(tmp_path):
    name = str(tmp_path / "db")
    with sqlite3.connect(name) as c:
        c.executescript(TABLES)
    return name


def apply(path, entry, number):
    """Adds a number to a sum, once for an entry."""
    with contextlib.closing(sqlite3.connect(path, timeout=PATIENCE)) as c, c:
        c.execute("BEGIN IMMEDIATE")
        if package.Entry(entry.stream, entry.group, entry.id, entry.fields, entry.attempt).once(c):
            c.execute("UPDATE sums SET sum = sum + ?", (number,))


def total(path):
    with contextlib.closing(sqlite3.connect(path)) as c:
        return c.execute("SELECT sum FROM sums").fetchone()[0]


@pytest.fixture(params=["threads", "asyncio"])
def work(request, lockserver):
    """Runs a worker in a thread, of either kind: work(handler, ...) returns what stops it."""
    stops = []

    def start(handler, stream="{s}", **options):
        ready, box = threading.Event(), {}

        def threads():
            with package.Locks.from_url(lockserver.url, name="worker") as locks:
                box["stop"] = (worker := locks.worker(stream, "g", handler, **options)).stop
                ready.set()
                worker.run()

        async def tasks():
            async with package.AsyncLocks.from_url(lockserver.url, name="worker") as locks:
                async def handle(entry):
                    await asyncio.get_running_loop().run_in_executor(None, handler, entry)

                worker = locks.worker(stream, "g", handle, **options)
                loop = asyncio.get_running_loop()
                box["stop"] = lambda: loop.call_soon_threadsafe(worker.stop)
                ready.set()
                await worker.run()

        thread = threading.Thread(target=threads if request.param == "threads" else lambda: asyncio.run(tasks()), daemon=True)
        thread.start()
        assert ready.wait(PATIENCE)

        def stop():
            if thread.is_alive():
                box["stop"]()

            def ended():
                lockserver.clock.advance(1)  # it may stand still, and a reader waits for a second of it
                return not thread.is_alive()

            eventually(ended, "the worker has ended")

        stops.append(stop)
        return stop

    start.kind = request.param
    yield start
    for stop in stops:
        stop()


def pending(control):
    return control.xpending("{s}", "g")["pending"]


def passing(clock, condition):
    """Whether something is so, after a step of the server's clock, which stands still otherwise."""
    clock.advance(0.25)
    return condition()


def test_due_of_an_entry(work, lockserver):
    """An entry says when it was due, if it is of a rule. The server adds that field at the end."""
    found = []
    entries = (({"a": 1, "delay.due": 1500}, 1.5), ({"delay.due": 1500, "a": 1500}, None), ({"delay.due": "soon"}, None), ({"a": 1}, None))
    for fields, _ in entries:
        lockserver.control.xadd("{s}", fields)
    work(lambda entry: found.append(entry.due))
    eventually(lambda: len(found) == len(entries), "all are done")
    assert found == [due for _, due in entries]


def test_worker(lockserver, work, clock, caplog):
    """Handlers fail: an entry comes again after a pause that grows, and ends in the dead letter stream."""
    control, seen = lockserver.control, []

    def handler(entry):
        name = entry.fields[b"n"].decode()
        seen.append((name, entry.attempt, clock.now()))
        if name == "bad" or name == "twice" and entry.attempt < 2:
            raise ZeroDivisionError("no")

    with caplog.at_level(logging.ERROR, "lockserver"):
        stop = work(handler, attempts=3, claim_after=30)
        bad = control.xadd("{s}", {"n": "bad"})
        control.xadd("{s}", {"n": "good"})
        control.xadd("{s}", {"n": "twice"})
        eventually(lambda: passing(clock, lambda: control.xlen("{s}:dead") == 1 and pending(control) == 0), "all are done")
        stop()  # it logs the dead letter after it has added it
    assert sorted(attempt[:2] for attempt in seen) == [("bad", 1), ("bad", 2), ("bad", 3), ("good", 1), ("twice", 1), ("twice", 2)]
    at = {attempt[:2]: attempt[2] for attempt in seen}
    assert at["bad", 2] - at["bad", 1] >= 1 and at["bad", 3] - at["bad", 2] >= 2 and at["twice", 2] - at["twice", 1] >= 1
    (_, fields), = control.xrange("{s}:dead")
    assert fields == {"n": "bad", "entry-id": bad, "entry-error": "ZeroDivisionError: no", "entry-attempts": "3"}
    assert "dead letter" in caplog.text and "attempt 2" in caplog.text
    assert control.xinfo_consumers("{s}", "g") == [], "a worker that has ended leaves the group"


def test_a_worker_that_died_and_one_that_was_paused(lockserver, work, clock, path):
    """What another consumer had in hand is done after claim_after; when that goes on later, it changes nothing."""
    control, done = lockserver.control, {}
    control.xgroup_create("{s}", "g", 0, mkstream=True)
    control.xadd("{s}", {"n": "7"})
    (_, ((name, fields),)), = control.xreadgroup("g", "dead", {"{s}": ">"}, count=1)
    late, began = package.Entry("{s}", "g", name, fields, 1), clock.now()

    def handler(entry):
        apply(path, entry, int(entry.fields[b"n"]))
        done[entry.fields[b"n"]] = entry.attempt, clock.now()

    work(handler, claim_after=30)
    control.xadd("{s}", {"n": "5"})
    eventually(lambda: passing(clock, lambda: len(done) == 2), "both are done")
    assert done[b"5"][0] == 1 and done[b"7"][0] == 2 and done[b"7"][1] - began >= 30
    apply(path, late, 7)
    assert total(path) == 12


def test_an_entry_that_takes_long_stays(lockserver, work, clock):
    """Signs of life keep a handler's entry, however long it runs."""
    control, begun, go = lockserver.control, [], threading.Event()

    def handler(entry):
        begun.append(entry.attempt)
        go.wait(PATIENCE)

    for _ in range(2):
        work(handler, claim_after=3)
    control.xadd("{s}", {"n": "1"})
    eventually(lambda: begun, "it has begun")
    for _ in range(3):
        clock.advance(2)
        eventually(lambda: control.xpending_range("{s}", "g", "-", "+", 1)[0]["time_since_delivered"] == 0, "a sign of life")
    assert begun == [1]
    go.set()
    eventually(lambda: pending(control) == 0, "it is acknowledged")


WORKER = """
import contextlib, sqlite3, sys
import lockserver

locks = lockserver.Locks.from_url(sys.argv[1])

def handler(entry):
    with contextlib.closing(sqlite3.connect(sys.argv[2], timeout=60)) as c, c:
        c.execute("BEGIN IMMEDIATE")
        if entry.once(c):
            c.execute("UPDATE sums SET sum = sum + ?", (int(entry.fields[b"n"]),))

locks.worker("{s}", "g", handler, claim_after=0.5, parallel=4).run()
"""


def test_workers_that_are_killed(lockserver, path):
    """Whichever process is killed at whatever moment, each entry is applied once."""
    control, entries = lockserver.control, 120
    for number in range(entries):
        control.xadd("{s}", {"n": number})

    def start():
        return subprocess.Popen([sys.executable, "-c", WORKER, lockserver.url, path])

    workers = [start(), start()]
    try:
        for least in (entries // 4, entries // 2):
            def applied():
                with contextlib.closing(sqlite3.connect(path, timeout=PATIENCE)) as c:
                    return c.execute("SELECT count(*) FROM lockserver_entries").fetchone()[0]

            eventually(lambda: applied() >= least, "so many are applied")
            victim = workers.pop(0)
            victim.send_signal(signal.SIGKILL)
            victim.wait()
            workers.append(start())
        eventually(lambda: applied() == entries and pending(control) == 0, "all are applied")
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    assert total(path) == sum(range(entries)) and control.xlen("{s}:dead") == 0


def test_bad_values(lockserver):
    locks = lockserver.locks()
    for options in ({"attempts": 0}, {"claim_after": "x"}, {"parallel": True}, {"dead": ""}, {"name": ""}):
        with pytest.raises((TypeError, ValueError)):
            locks.worker("{s}", "g", print, **options)
    for stream, group in (("", "g"), ("{s}", "")):
        with pytest.raises(ValueError):
            locks.worker(stream, group, print)
