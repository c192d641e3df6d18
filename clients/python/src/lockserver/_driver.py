"""The transport of programs with threads: one thread that reads, and callers that wait."""

from __future__ import annotations

import logging
import os
import select
import socket
import ssl
import threading
import time
import weakref
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, TypeVar

from . import errors
from ._core import Call, Core, Event, Link
from ._dial import Endpoint, error_of

_log = logging.getLogger("lockserver")

T = TypeVar("T", bound=Call)

#: How much longer than the core a caller waits. Only a fault of this package makes it matter.
_SLACK = 10.0
#: How many bytes are read, and written, at once.
_PIECE, _MOST_WRITTEN = 1 << 16, 1 << 18
_LATER = (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError, InterruptedError)

_drivers: "weakref.WeakSet[Driver]" = weakref.WeakSet()


class Once:
    """An event that is set once, and has one waiter. It is a bare lock: an Event makes several for each wait."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def set(self) -> None:
        """Ends the wait. It is called once."""
        self._lock.release()

    def wait(self, longest: Optional[float]) -> bool:
        """Waits for so many seconds, or without end. False: it is not set."""
        return self._lock.acquire(True, -1 if longest is None else min(longest, threading.TIMEOUT_MAX))


class _Socket:
    """The socket of a link. Whoever holds ``writing`` writes to it, or closes it."""

    __slots__ = ("socket", "writing", "secure")

    def __init__(self, s: socket.socket) -> None:
        self.socket, self.writing = s, threading.Lock()
        self.secure = isinstance(s, ssl.SSLSocket)  # one thread at a time may use it

    def receive(self) -> Tuple[List[bytes], Optional[Exception]]:
        """Returns what has come, and why no more will."""
        if not self.secure:
            return self._receive()
        with self.writing:
            return self._receive()

    def _receive(self) -> Tuple[List[bytes], Optional[Exception]]:
        parts: List[bytes] = []
        try:
            while True:
                data = self.socket.recv(_PIECE)
                if not data:
                    return parts, errors.NoConnection("the server has closed the connection")
                parts.append(data)
                if len(data) < _PIECE and not self.secure:
                    return parts, None
        except _LATER:
            return parts, None
        except OSError as e:
            return parts, errors.NoConnection(str(e))

    def close(self, reset: bool) -> None:
        """Closes it. reset: what the server has not read it is not to read later."""
        with self.writing:
            try:
                if reset:
                    self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            except OSError:
                pass
            self.socket.close()


class _Left(NamedTuple):
    """What is left to be done when the core's lock is free again."""

    writes: List[Tuple[Link, _Socket, bytearray]]
    ended: List[Once]
    closed: List[_Socket]


class Driver:
    """Runs a core: a thread reads, keeps the time and closes, and callers write. It begins with the first call.

    A switch of threads is what costs most, so no thread waits for the network while it has the core's lock, and threads
    whose calls have ended are woken last: they find the lock free, and the bytes of others on their way.

    A process that was forked has a core of its own, with other owners: what its parent holds is not the child's.
    """

    def __init__(self, endpoint: Endpoint, name: str, limit: float, told: Callable[[Event], None]) -> None:
        self.endpoint, self._name, self._limit, self._told = endpoint, name, limit, told
        self._sockets: Dict[Link, _Socket] = {}
        self._ended: List[Once] = []
        self._closed: List[_Socket] = []
        _import_all(endpoint)
        self._renew()
        _drivers.add(self)

    def _renew(self) -> None:
        self.lock = threading.RLock()
        self.core = Core(self._name, self._limit, time.monotonic())
        self._thread: Optional[threading.Thread] = None
        self._sockets, self._ended, self._closed = {}, [], []
        self._wake: Optional[socket.socket] = None
        self._woken = False
        self._until = 0.0  # when the thread looks again by itself
        self._poll = _Poll()
        self.gone = threading.Event()

    def _after_fork(self) -> None:
        """Forgets what the parent has. The connections stay the parent's: only this process' copies are closed."""
        core, wake = self.core, self._wake
        sockets = [s.socket for s in (*self._sockets.values(), *self._closed)]
        for hold in core._holds.values():
            hold.handles.clear()
        core.closing = True
        self._renew()
        for s in sockets + ([wake] if wake is not None else []):
            try:
                os.close(s.detach())
            except OSError:
                pass

    # Callers.

    def run(self, begin: Callable[[Core, float], None]) -> None:
        """Has the core do something, and sees to what follows."""
        with self.lock:
            begin(self.core, time.monotonic())
            self._start()
            self._settle(own=False)
            left = self._leave()
        self._finish(left)

    def ends(self, event: Once) -> Callable[[], None]:
        """Returns what a call is to do when it ends: its thread is woken as soon as the core's lock is free."""
        return lambda: self._ended.append(event)

    def wait(self, call: T, event: Once, longest: Optional[float],
             give_up: Callable[[Core, BaseException, float], None]) -> Any:
        """Waits for a call, and returns its result. give_up ends the call if an exception ends the waiting."""
        try:
            if not event.wait(None if longest is None else longest + _SLACK):
                raise errors.NoConnection("the thread of the client does not answer")
        except BaseException as e:
            ended = e
            self.run(lambda core, now: give_up(core, ended, now))
            raise
        if call.error is not None:
            raise call.error
        return call.result

    # The thread.

    def _start(self) -> None:
        if self._thread is None and not self.core.ended:
            ours, self._wake = socket.socketpair()
            ours.setblocking(False)
            self._wake.setblocking(False)
            self._thread = threading.Thread(target=self._loop, args=(self.core, ours), name="lockserver", daemon=True)
            self._thread.start()

    def _loop(self, core: Core, wakes: socket.socket) -> None:
        try:
            while core is self.core and not core.ended:
                self._round(core, wakes)
        except Exception:
            _log.exception("the thread of the client has failed")
        finally:
            wakes.close()
            if core is self.core:
                with self.lock:
                    core.close(time.monotonic())
                    core.ended = True
                    sockets, self._sockets = list(self._sockets.values()), {}
                    happened, core.events = core.events, []
                    left = self._leave()
                self._finish(left)
                for s in sockets:
                    s.close(reset=False)
                for event in happened:
                    self._told(event)
                self.gone.set()

    def _round(self, core: Core, wakes: socket.socket) -> None:
        with self.lock:
            at = core.next_timer()
            self._until = at if at is not None else time.monotonic() + 60
            sockets = list(self._sockets.items())
            writes = [s.socket for link, s in sockets if link.out]
            at_once = any(link.broken is not None for link in core.links)
        at_once = at_once or any(isinstance(s.socket, ssl.SSLSocket) and s.socket.pending() > 0 for _, s in sockets)
        pause = 0 if at_once else min(60.0, max(0.0, self._until - time.monotonic()))
        readable = self._poll.wait([wakes, *(s.socket for _, s in sockets)], writes, pause)
        came = [(link, s, *s.receive()) for link, s in sockets if s.secure or s.socket in readable]
        with self.lock:
            if core is not self.core:
                return
            if wakes in readable:
                self._woken = False
                try:
                    wakes.recv(4096)
                except _LATER:
                    pass
            now = time.monotonic()
            for link, s, parts, failed in came:
                self._receive(link, s, parts, failed, now)
            core.tick(now)
            self._settle(own=True)
            happened, core.events = core.events, []
            left = self._leave()
        self._finish(left)
        for event in happened:
            self._told(event)

    def _receive(self, link: Link, s: _Socket, parts: List[bytes], failed: Optional[Exception], now: float) -> None:
        for data in parts:
            if self._sockets.get(link) is s and link.broken is None:
                self.core.received(link, data, now)
        if failed is not None and self._sockets.get(link) is s and link.broken is None:
            link.broken = failed

    def _settle(self, own: bool) -> None:
        """Does what the core wants: connects, closes. own: the caller is the thread that reads, which alone closes."""
        core = self.core
        for link in core.links:
            if link.broken is not None:
                if own:
                    self._close(link, link.broken)
                else:
                    self._wake_up()
            at = None if link.dial_at is None else core.dial_at(link)
            if at is not None and at <= time.monotonic():
                link.dialing, link.dial_at = True, None
                threading.Thread(target=self._dial, args=(core, link), name="lockserver-dial", daemon=True).start()
        if own or self._woken or self._wake is None:
            return
        at = core.next_timer()
        if core.events or core.ended or at is not None and at < self._until:
            self._wake_up()

    def _leave(self) -> _Left:
        """Returns what is to be done without the lock, which the caller has. Nothing else may do that then."""
        writes = []
        for link, s in self._sockets.items():
            # If another thread writes just now, it sees to these bytes, too.
            if link.out and link.broken is None and s.writing.acquire(False):
                writes.append((link, s, link.out))
                link.out = bytearray()
        left = _Left(writes, self._ended, self._closed)
        self._ended, self._closed = [], []
        return left

    def _finish(self, left: _Left) -> None:
        for link, s, data in left.writes:
            self._write(link, s, data)
        for event in left.ended:
            event.set()
        for s in left.closed:
            s.close(reset=True)

    def _wake_up(self) -> None:
        if self._wake is not None and not self._woken:
            self._woken = True
            try:
                self._wake.send(b"x")
            except OSError:
                pass

    def _write(self, link: Link, s: _Socket, data: bytearray) -> None:
        """Writes, and then what others have left meanwhile. The caller has taken ``s.writing``."""
        while True:
            failed = None
            try:
                while data:
                    del data[: s.socket.send(data if len(data) <= _MOST_WRITTEN else data[:_MOST_WRITTEN])]
            except _LATER:
                pass
            except OSError as e:
                failed = errors.NoConnection(str(e))
            if data:
                with self.lock:
                    if self._sockets.get(link) is s:  # it was not closed
                        link.out[:0] = data
                        link.broken = link.broken or failed
                        self._wake_up()  # to wait until it can be written, or to close it
                    s.writing.release()
                return
            s.writing.release()
            if not link.out:
                return
            with self.lock:
                if self._sockets.get(link) is not s or link.broken is not None or not s.writing.acquire(False):
                    return
                data, link.out = link.out, bytearray()

    def _close(self, link: Link, why: Exception) -> None:
        s = self._sockets.pop(link, None)
        if s is not None:
            self._closed.append(s)
        if link is self.core.attached:
            # Of a group another member is asked first: one that was stopped would hold up the next attempt as well.
            self.endpoint.moved(self.core.moved or "")
            self.core.moved = None
        self.core.failed(link, why, time.monotonic())

    # Connecting.

    def _dial(self, core: Core, link: Link) -> None:
        try:
            s = connect(self.endpoint, self._name, self.endpoint.patience(self._limit, core.lease))
        except Exception as e:
            failed: Exception = error_of(e)
            with self.lock:
                if core is not self.core:
                    return
                self.endpoint.missed()
                core.failed(link, failed, time.monotonic())
                self._wake_up()
                left = self._leave()
            self._finish(left)
            return
        with self.lock:
            if core is not self.core or core.ended:
                s.close()
                return
            self._sockets[link] = _Socket(s)
            core.opened(link, time.monotonic())
            other = self._sockets.get(core.commands)
            if other is not None and other.socket is not s and _peer(other.socket) != _peer(s):  # another server leads now
                core.commands.broken = errors.NoConnection("another server leads")
            self._wake_up()
            left = self._leave()
        self._finish(left)


def _import_all(endpoint: Endpoint) -> None:
    """Imports what making a connection imports.

    A child that was forked while a thread of its parent imported a module waits for that module for ever.
    """
    endpoint.connection("", 1.0)
    "localhost".encode("idna")  # as socket.getaddrinfo does


def connect(endpoint: Endpoint, name: str, timeout: float) -> socket.socket:
    """Returns the socket of a new connection that is logged in. It does not block."""
    connection = endpoint.connection(name, timeout)
    connection.connect()
    s: socket.socket = connection._sock
    connection._sock = None  # it is not closed with the object
    s.setblocking(False)
    return s


def _peer(s: socket.socket) -> Any:
    try:
        return s.getpeername()
    except OSError:
        return None


class _Poll:
    """Waits for sockets that can be read or written. It has no limit of file numbers, where the system has poll."""

    def __init__(self) -> None:
        self._for: Optional[Tuple[List[Any], List[Any]]] = None
        self._poll: Any = None
        self._by_number: Dict[int, Any] = {}

    def wait(self, reads: List[Any], writes: List[Any], pause: float) -> List[Any]:
        """Returns those that can be read, after at most a pause."""
        if not hasattr(select, "poll"):
            return select.select(reads, writes, [], pause)[0]
        if self._for != (reads, writes):
            self._poll, self._by_number, self._for = select.poll(), {}, None
            for s in reads:
                self._by_number[s.fileno()] = s
                self._poll.register(s.fileno(), select.POLLIN | (select.POLLOUT if s in writes else 0))
            self._for = reads, writes
        return [self._by_number[number] for number, what in self._poll.poll(pause * 1000) if what & ~select.POLLOUT]


def _forked() -> None:
    for driver in list(_drivers):
        driver._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
