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
from typing import Any, Callable, Dict, List, Optional, Tuple, TypeVar

from . import errors
from ._core import Call, Core, Event, Link
from ._dial import Endpoint, error_of

_log = logging.getLogger("lockserver")

T = TypeVar("T", bound=Call)

#: How much longer than the core a caller waits. Only a fault of this package makes it matter.
_SLACK = 10.0
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


class Driver:
    """Runs a core: a thread reads and keeps the time, and callers write. It begins with the first call.

    A process that was forked has a core of its own, with other owners: what its parent holds is not the child's.
    """

    def __init__(self, endpoint: Endpoint, name: str, limit: float, told: Callable[[Event], None]) -> None:
        self.endpoint, self._name, self._limit, self._told = endpoint, name, limit, told
        self._sockets: Dict[Link, socket.socket] = {}
        _import_all(endpoint)
        self._renew()
        _drivers.add(self)

    def _renew(self) -> None:
        self.lock = threading.RLock()
        self.core = Core(self._name, self._limit, time.monotonic())
        self._thread: Optional[threading.Thread] = None
        self._sockets = {}
        self._wake: Optional[socket.socket] = None
        self._woken = False
        self._until = 0.0  # when the thread looks again by itself
        self._writing = False  # it waits to be able to write
        self._poll = _Poll()
        self.gone = threading.Event()

    def _after_fork(self) -> None:
        """Forgets what the parent has. The connections stay the parent's: only this process' copies are closed."""
        core, sockets, wake = self.core, list(self._sockets.values()), self._wake
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
            self._settle()

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
                    for s in self._sockets.values():
                        s.close()
                    self._sockets = {}
                    happened, core.events = core.events, []
                for event in happened:
                    self._told(event)
                self.gone.set()

    def _round(self, core: Core, wakes: socket.socket) -> None:
        with self.lock:
            at = core.next_timer()
            self._until = at if at is not None else time.monotonic() + 60
            reads: List[Any] = [wakes, *self._sockets.values()]
            writes = [s for link, s in self._sockets.items() if link.out]
            self._writing = bool(writes)
            buffered = any(isinstance(s, ssl.SSLSocket) and s.pending() for s in self._sockets.values())
        pause = 0 if buffered else min(60.0, max(0.0, self._until - time.monotonic()))
        try:
            readable = self._poll.wait(reads, writes, pause)
        except (OSError, ValueError):
            readable = reads  # one was closed meanwhile
        with self.lock:
            if core is not self.core:
                return
            if wakes in readable:
                self._woken = False
                try:
                    wakes.recv(4096)
                except _LATER:
                    pass
            for link, s in list(self._sockets.items()):
                if s in readable or isinstance(s, ssl.SSLSocket):
                    self._read(link)
            now = time.monotonic()
            core.tick(now)
            self._settle(own=True)
            happened, core.events = core.events, []
        for event in happened:
            self._told(event)

    def _read(self, link: Link) -> None:
        while link in self._sockets and link.broken is None:
            try:
                data = self._sockets[link].recv(1 << 16)
            except _LATER:
                return
            except OSError as e:
                self._close(link, errors.NoConnection(str(e)))
                return
            if not data:
                self._close(link, errors.NoConnection("the server has closed the connection"))
                return
            self.core.received(link, data, time.monotonic())
            if len(data) < 1 << 16 and not isinstance(self._sockets.get(link), ssl.SSLSocket):
                return

    def _settle(self, own: bool = False) -> None:
        """Does what the core wants: writes, connects, closes. own: the caller is the thread that reads."""
        core = self.core
        for link in core.links:
            if link.broken is not None:
                self._close(link, link.broken)
            elif link.out and link in self._sockets:
                self._write(link)
            at = core.dial_at(link)
            if at is not None and at <= time.monotonic():
                link.dialing, link.dial_at = True, None
                threading.Thread(target=self._dial, args=(core, link), name="lockserver-dial", daemon=True).start()
        if own or self._woken or self._wake is None:
            return
        at = core.next_timer()
        behind = not self._writing and any(link.out for link in self._sockets)
        if core.events or core.ended or behind or at is not None and at < self._until:
            self._wake_up()

    def _wake_up(self) -> None:
        if self._wake is not None and not self._woken:
            self._woken = True
            try:
                self._wake.send(b"x")
            except OSError:
                pass

    def _write(self, link: Link) -> None:
        s = self._sockets[link]
        try:
            while link.out:
                sent = s.send(memoryview(bytes(link.out[: 1 << 18])))
                del link.out[:sent]
        except _LATER:
            pass
        except OSError as e:
            self._close(link, errors.NoConnection(str(e)))

    def _close(self, link: Link, why: Exception) -> None:
        s = self._sockets.pop(link, None)
        if s is not None:
            try:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            except OSError:
                pass
            s.close()  # what the server has not read it is not to read later
            self._wake_up()
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
                if core is self.core:
                    self.endpoint.missed()
                    core.failed(link, failed, time.monotonic())
                    self._settle()
                    self._wake_up()
            return
        with self.lock:
            if core is not self.core or core.ended:
                s.close()
                return
            self._sockets[link] = s
            core.opened(link, time.monotonic())
            other = self._sockets.get(core.commands)
            if other not in (None, s) and _peer(other) != _peer(s):  # another server leads now
                core.commands.broken = errors.NoConnection("another server leads")
            self._settle()
            self._wake_up()


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


def _peer(s: Optional[socket.socket]) -> Any:
    try:
        return s.getpeername() if s is not None else None
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
        if self._for != (reads, writes) or any(s.fileno() < 0 for s in reads):
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
