"""Sockets whose calls keep the lock of the interpreter, beside the methods that do not."""

import gc
import socket
import subprocess
import sys
import threading

import pytest

import lockserver as package
from lockserver import _direct
from lockserver._core import Link
from lockserver._driver import Turn, _Poll, _Socket
from conftest import waiting
from server import PATIENCE, Server, eventually


@pytest.fixture(params=[_direct.Direct, _direct.Methods])
def pair(request):
    a, b = socket.socketpair()
    a.setblocking(False)
    with a, b:
        yield request.param(a), a, b


def test_what_is_sent_and_received(pair):
    it, _, other = pair
    with pytest.raises(BlockingIOError):
        it.receive()
    assert it.send(bytearray(b"a\0b")) == 3 and other.recv(99) == b"a\0b"
    other.sendall(b"\0" * (it.piece + 1))
    assert [len(it.receive()), len(it.receive())] == [it.piece, 1]
    other.close()
    assert it.receive() == b""
    with pytest.raises(BrokenPipeError):
        it.send(bytearray(b"x"))


@pytest.mark.parametrize("size", [1000, 1 << 20])
def test_a_socket_that_is_full(pair, size):
    it, _, other = pair
    data, sent = bytearray(bytes(range(250)) * (size // 250)), 0
    with pytest.raises(BlockingIOError):
        while True:
            sent += it.send(data)
    other.settimeout(PATIENCE)
    came = 0
    while came < sent:
        came += len(other.recv(1 << 20))
    assert came == sent and it.send(data) > 0, "there is room again"


def test_a_socket_that_was_closed_or_reset(pair):
    it, own, _ = pair
    own.close()
    for call in (it.receive, lambda: it.send(bytearray(b"x"))):
        with pytest.raises(OSError):
            call()


def test_a_system_without_them(lockserver, monkeypatch):
    monkeypatch.setattr(_direct, "_system", None)
    locks = lockserver.locks()
    with locks.lock("k") as held:
        assert held.guard("SET", "x", "1") == b"OK"
    assert locks._driver._sockets == {} or all(s.direct._buffer is None for s in locks._driver._sockets.values())


def test_long_pieces(lockserver):
    """Commands and replies that are longer than what is sent or received at once."""
    locks = lockserver.locks(timeout=PATIENCE)
    with locks.lock("k") as held:
        for size in (_short - 1, _short, _short + 1, 3_000_000):
            value = b"x" * size
            held.guard("SET", "v", value)
            assert locks.execute("GET", "v") == value


_short = _direct._SHORT


def test_an_interrupt_leaves_a_client_that_works(lockserver):
    """Signals whose handlers raise hit threads that call, in any place. The locks are free at the end."""
    code = """if True:
        import os, random, signal, sys, threading, time, lockserver
        class Interrupt(Exception): pass
        def interrupt(*_):
            struck.append(1)
            raise Interrupt  # in a destructor it is ignored
        locks = lockserver.Locks.from_url(sys.argv[1], name="signals", timeout=60)
        locks.connect()
        over = []
        def others():
            while not over:
                try:
                    with locks.lock("k", lease=0.5): pass
                except lockserver.LockLost: pass
        threads = [threading.Thread(target=others) for _ in range(3)]
        for thread in threads: thread.start()
        struck = []
        signal.signal(signal.SIGALRM, interrupt)
        while len(struck) < 200:
            before = len(struck)
            try:
                signal.setitimer(signal.ITIMER_REAL, random.uniform(0.0001, 0.003))
                while len(struck) == before:  # a lock that is granted and not yet in a variable is not released: its lease ends it
                    try:
                        held = locks.lock("k", lease=0.5).acquire()
                        held.release()
                    except lockserver.LockLost: pass
            except Interrupt:
                pass
        over.append(1)
        for thread in threads: thread.join()
        with locks.lock("k", lease=60): locks.execute("PING")
        locks.close()
        print("closed", flush=True)
    """
    said = subprocess.run([sys.executable, "-c", code, lockserver.url], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          universal_newlines=True, timeout=PATIENCE)
    assert said.returncode == 0 and said.stdout.split()[-1:] == ["closed"], said.stdout


def test_bad_words_leave_a_client_that_works(lockserver):
    locks = lockserver.locks()
    for words in ((object(),), ("SET", "x", None), ("SET", "x", True)):
        with pytest.raises(TypeError):
            locks.execute(*words)
    assert locks._driver.core._pending == {} and locks.execute("PING") == b"PONG"


def test_a_call_that_is_cancelled_before_it_begins(lockserver):
    class Early(package.Cancel):
        def subscribe(self, run):
            self.cancel()
            return super().subscribe(run)

    locks = lockserver.locks()
    with pytest.raises(package.Cancelled):
        locks.lock("k", cancel=Early()).acquire()
    assert locks.execute("LOCK.LIST") == [] and not locks._driver.core._calls


def test_a_reader_that_has_gone_is_replaced():
    """A caller who reads for all was interrupted, and again while that was mended. The connection is made anew without it."""
    with Server("--lock-watchdog-timeout", "3000") as server:
        with package.Locks.from_url(f"redis://{server.host}:{server.port}", timeout=PATIENCE) as locks:
            with locks.lock("k"):
                gone = Turn()
            with locks._driver.lock:
                locks._driver._reading = gone
            with locks.lock("other", wait=PATIENCE):  # a PING has no answer, so the thread closes the connection
                assert locks._driver._reading is not gone


def test_the_thread_reads_instead_of_a_caller_that_was_about_to(lockserver):
    locks = lockserver.locks()
    driver, run, taken = locks._driver, locks._driver.run, []

    def run_and_lose_the_turn(begin, turn=None):
        run(begin, turn)
        with driver.lock:
            if turn is not None and not turn.over and not taken:
                taken.append(turn)
                driver._waiting.pop(turn, None)
                driver._reading, turn._lock = driver._own, None
                driver._wake_up()

    with locks.lock("k"):  # the thread runs
        pass
    driver.run = run_and_lose_the_turn
    with locks.lock("k", wait=PATIENCE):
        assert taken and not driver._waiting
    driver.run = run
    with locks.lock("k", wait=PATIENCE):
        pass


def test_the_thread_reads_when_no_caller_does(lockserver):
    locks = lockserver.locks()
    held = locks.lock("k").acquire()
    for _ in range(100):
        locks.execute("PING")
    eventually(lambda: locks._driver._reading is locks._driver._own, "the thread reads")
    lockserver.control.execute_command("LOCK.FORCE", "k")
    eventually(lambda: held.lost, "the loss is known")
    assert held.lost.reason == "forced"


def test_the_caller_that_waits_for_longest_reads_next(lockserver):
    driver = lockserver.locks()._driver  # it has not begun
    turns = [Turn() for _ in range(3)]
    with driver.lock:
        driver._reading = None
        for turn in turns:
            driver._join(turn)
        for number, turn in enumerate(turns):
            assert driver._reading is turn and list(driver._waiting) == turns[number + 1:]
            assert driver._ended == turns[1:number + 1], "who reads next is woken"
            driver._pass_on()
        assert driver._reading is None
        driver._ended.clear()


def test_callers_that_wait_for_a_lock_of_their_own_client_do_not_read(lockserver):
    locks = lockserver.locks()
    driver, first = locks._driver, locks.lock("k").acquire()
    order = []

    def one(number):
        with locks.lock("k"):
            order.append(number)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(3)]
    for number, thread in enumerate(threads):
        thread.start()
        waiting(lockserver.control, number + 1)
    other = Turn()
    with driver.lock:
        assert driver.core.idle == 3 == len(driver._waiting) and driver._reading in (None, driver._own)
        driver._reading = None
        driver._pass_on()
        assert driver._reading is None and not driver._ended
        driver._waiting[other] = None  # it waits for something else
        driver._pass_on()
        assert driver._reading is other and driver._ended == [other]
        driver._ended.clear()
        other.over = True
        driver._pass_on()
        assert driver._reading is None and not driver._ended
    first.release()
    for thread in threads:
        thread.join(PATIENCE)
    assert order == [0, 1, 2] and driver.core.idle == 0


def test_the_thread_reads_for_those_who_wait_for_a_lock_of_their_own_client(lockserver):
    """The holder does not release: an operator does."""
    locks = lockserver.locks()
    held, got = locks.lock("k").acquire(), threading.Event()

    def wait():
        with locks.lock("k"):
            got.set()

    thread = threading.Thread(target=wait)
    thread.start()
    waiting(lockserver.control)
    lockserver.control.execute_command("LOCK.FORCE", "k")
    assert got.wait(PATIENCE) and held.lost.reason == "forced"
    thread.join(PATIENCE)


def test_a_call_leaves_no_garbage(lockserver):
    """What has ended refers to nothing in a circle, so that the collector of cycles finds nothing."""
    locks = lockserver.locks()
    asked = locks.lock("k")

    def crowd():
        def one():
            with asked:
                pass

        first = locks.lock("k").acquire()
        threads = [threading.Thread(target=one) for _ in range(3)]
        for thread in threads:
            thread.start()
        waiting(lockserver.control, 3)
        first.release()
        for thread in threads:
            thread.join(PATIENCE)

    crowd()
    gc.collect()
    gc.disable()
    try:
        gc.set_debug(gc.DEBUG_SAVEALL)
        crowd()
        gc.collect()
        left = [it for it in gc.garbage if type(it).__module__.startswith("lockserver")]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert left == []


def test_a_socket_that_is_closed_just_before_it_is_waited_for():
    a, b = socket.socketpair()
    c, d = socket.socketpair()
    with a, b, c, d:
        poll, it = _Poll(), (Link("x"), _Socket(c))
        sockets = (it,)
        assert poll.wait_for(a, sockets, 0) == []
        d.send(b"x")
        assert poll.wait_for(a, sockets, PATIENCE) == [it]
        c.close()
        for _ in range(2):
            assert poll.wait_for(a, (it,), PATIENCE) == [it]
        assert poll.wait([c], [c], PATIENCE) == [c]
        b.send(b"x")
        assert poll.wait_for(a, (), PATIENCE) == [None]
