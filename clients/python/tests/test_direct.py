"""Sockets whose calls keep the lock of the interpreter, beside the methods that do not."""

import socket
import subprocess
import sys
import threading

import pytest

import lockserver as package
from lockserver import _direct
from server import PATIENCE


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
        def interrupt(*_): raise Interrupt
        locks = lockserver.Locks.from_url(sys.argv[1], name="signals", timeout=60)
        locks.connect()
        over = []
        def others():
            while not over:
                with locks.lock("k"): pass
        threads = [threading.Thread(target=others) for _ in range(3)]
        for thread in threads: thread.start()
        struck = 0
        signal.signal(signal.SIGALRM, interrupt)
        while struck < 200:
            try:
                signal.setitimer(signal.ITIMER_REAL, random.uniform(0.0001, 0.003))
                while True:
                    held = locks.lock("k").acquire()
                    held.release()
            except Interrupt:
                struck += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        over.append(1)
        for thread in threads: thread.join()
        print("joined", flush=True)
        locks.close()
    """
    said = subprocess.run([sys.executable, "-c", code, lockserver.url], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          universal_newlines=True, timeout=PATIENCE)
    assert said.returncode == 0 and said.stdout.split() == ["joined"], said.stdout
