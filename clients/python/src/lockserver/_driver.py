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
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple, TypeVar

from . import errors
from ._core import Call, Core, Event, Link, Names
from ._dial import Endpoint, error_of
from ._direct import Direct, Methods
from ._resp import Word
from ._views import Stats

_log = logging.getLogger("lockserver")

T = TypeVar("T", bound=Call)

#: How much longer than the core a caller waits. Only a fault of this package makes it matter.
_SLACK = 10.0
#: How many bytes are written at once.
_MOST_WRITTEN = 1 << 18
#: How long replies may lie when a caller has read its own, and before the thread of the client reads, in seconds.
_STEP = 0.02
#: For how long a lock that was granted may wait to be confirmed, in seconds.
_BRIEF = 0.02
_LATER = (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError, InterruptedError)

_drivers: "weakref.WeakSet[Driver]" = weakref.WeakSet()


class Turn:
    """What one caller waits by. It is a bare lock, which a caller that reads itself does without."""

    __slots__ = ("_lock", "over", "call")

    def __init__(self) -> None:
        self.call: Optional[Call] = None
        self.over = False  # its call has ended
        self._lock: Any = None

    def arm(self) -> None:
        """Has it wait until it is woken. It is called with the core's lock, before others can wake it."""
        if self._lock is None:
            lock = threading.Lock()
            lock.acquire()
            self._lock = lock

    @property
    def armed(self) -> bool:
        """Whether it waits until it is woken."""
        return self._lock is not None

    def wake(self) -> None:
        """Ends the wait: the call has ended, or it is its caller who reads now."""
        try:
            if self._lock is not None:
                self._lock.release()
        except RuntimeError:  # it was woken already
            pass

    def wait(self, longest: Optional[float]) -> bool:
        """Waits for so many seconds, or without end. False: it was not woken."""
        woken: bool = self._lock.acquire(True, -1 if longest is None else min(longest, threading.TIMEOUT_MAX))
        return woken


class _Socket:
    """The socket of a link. It is read and written with the core's lock."""

    __slots__ = ("socket", "writing", "secure", "direct", "plain")

    def __init__(self, s: socket.socket) -> None:
        self.socket = s
        self.writing = False  # a call of a signal's handler may find that the call below it writes
        self.secure = isinstance(s, ssl.SSLSocket)
        self.plain: Optional[Direct] = None if self.secure else Direct(s)
        self.direct: Methods = self.plain or Methods(s)

    def receive(self, parts: List[bytes]) -> Tuple[List[bytes], Optional[Exception]]:
        """Returns what has come before, and now, and why no more will."""
        try:
            while True:
                data = self.direct.receive()
                if not data:
                    return parts, errors.NoConnection("the server has closed the connection")
                parts.append(data)
                if len(data) < self.direct.piece and not self.secure:
                    return parts, None
        except _LATER:
            return parts, None
        except OSError as e:
            return parts, errors.NoConnection(str(e))

    def pending(self) -> bool:
        """Reports whether it has decrypted what was not received yet."""
        s = self.socket
        return isinstance(s, ssl.SSLSocket) and s.pending() > 0

    def close(self, reset: bool) -> None:
        """Closes it. reset: what the server has not read it is not to read later."""
        try:
            if reset:
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        except OSError:
            pass
        self.socket.close()


#: What is left to be done when the core's lock is free again: callers to be woken, sockets to be closed, and events.
_Left = Tuple[List[Turn], List[_Socket], List[Event]]
_NOTHING: _Left = ([], [], [])


class _Look(NamedTuple):
    """What the thread waits for next."""

    sockets: Sequence[Tuple[Link, _Socket]]
    reads: List[Any]
    writes: List[Any]
    at_once: bool


class Driver:
    """Runs a core. Callers write, and one of those that wait reads for all. A thread keeps the time and closes.

    A switch of threads is what costs most. So no thread waits for anything while it has the core's lock, with which it
    writes and reads. Threads whose calls have ended are woken last: they find the lock free, and the bytes of others on
    their way. The caller that waits for longest reads, because the next grant is most likely its own. Then the next one
    does. Callers that wait for a lock of this client need not read: the next grant comes with the answer to its UNLOCK.
    If no caller has waited for a moment, the thread reads, also if TLS is used.

    Tried: the caller that has read waits for a moment until the one that it woke runs. A hand-off took 4.8 switches of
    threads then instead of 3.1, and a third more time.

    A signal may interrupt a caller anywhere: an exception of its handler leaves what the caller was doing half done. Then
    connections are made anew, and what they were asked is asked again.

    A process that was forked has a core of its own, with other owners: what its parent holds is not the child's.
    """

    def __init__(self, endpoint: Endpoint, name: str, limit: float, told: Callable[[Event], None],
                 watched: bool = True, names: Optional[Names] = None) -> None:
        """told: is told of events. watched: also of locks that were acquired, refused or released. names: of the owners."""
        self.endpoint, self._name, self._limit, self._told, self._watched = endpoint, name, limit, told, watched
        self._names = names or Names(name)
        self._redirects: Optional[Callable[[Sequence[Word], str], Any]] = None
        _import_all(endpoint)
        self._renew()
        _drivers.add(self)

    def _renew(self) -> None:
        names = self._names.current()
        self.lock = names.lock
        self.core = Core(self._name, self._limit, time.monotonic(), _BRIEF, names)
        self.core.watched, self.core.transport, self.core.redirects = self._watched, weakref.ref(self), self._redirects
        self._thread: Optional[threading.Thread] = None
        self._sockets: Dict[Link, _Socket] = {}
        self._open: Tuple[Tuple[Link, _Socket], ...] = ()  # the same, another tuple after each change
        self._tls = False  # any of these uses TLS
        self._ended: List[Turn] = []
        self._closed: List[_Socket] = []
        self._wake: Optional[socket.socket] = None
        self._woken = False
        self._until = 0.0  # when the thread looks again by itself
        self._poll = _Poll()
        self._own = Turn()  # the thread's
        self._reading: Optional[Turn] = self._own  # that of the caller who reads
        self._receiving: Optional[Turn] = None  # of a caller who has the lock, because something has come: it looks by itself
        self._waiting: Dict[Turn, None] = {}  # those of other callers
        self._known: Set[Turn] = set()  # of all callers that may still be woken
        self._turns, self._seen = 0, 0  # how many callers have read, now and when the thread looked
        self._polls: List[_Poll] = []  # of callers who have read
        self._nudge: Optional[Tuple[socket.socket, socket.socket]] = None  # wakes the caller who reads
        self._leaving = False
        self.gone = threading.Event()

    def redirect(self, find: Callable[[Sequence[Word], str], Any]) -> None:
        """Makes it that of a shard: see Core.redirects."""
        self._redirects = self.core.redirects = find

    @property
    def started(self) -> bool:
        """Whether it has a thread, or is about to."""
        return self._thread is not None

    def stats(self) -> Stats:
        """What the client has now."""
        with self.lock:
            return self.core.stats(time.monotonic())

    def leave(self) -> None:
        """Has the thread close the client soon; locks with a fixed lease stay held until that ends.

        The collector of garbage may call it, anywhere and in any thread, also while the interpreter ends: it takes no lock.
        """
        self._leaving = True
        wake = self._wake
        if wake is not None:
            try:
                wake.send(b"x")
            except OSError:
                pass

    def _after_fork(self) -> None:
        """Forgets what the parent has. The connections stay the parent's: only this process' copies are closed."""
        core, others = self.core, [s for s in (self._wake, *(self._nudge or ())) if s is not None]
        sockets = [s.socket for s in (*self._sockets.values(), *self._closed)]
        for hold in core._holds.values():
            hold.handles.clear()
        core.closing = core.forked = True
        self._renew()
        for s in sockets + others:
            try:
                os.close(s.detach())
            except OSError:
                pass

    # Callers.

    def run(self, begin: Callable[[Core, float], None], turn: Optional[Turn] = None) -> None:
        """Has the core do something, and sees to what follows. turn: the caller will wait by it."""
        left: Optional[_Left] = None
        try:
            with self.lock:
                begin(self.core, time.monotonic())
                self._start()
                if turn is not None and not turn.over:
                    self._join(turn)
                left = self._leave(own=False)
            if left is not _NOTHING:
                self._finish(left)
        except BaseException:
            self._interrupted(left)
            raise

    def poke(self, begin: Callable[[Core, float], None]) -> None:
        """Has the core do something, and the thread see to what follows. The transport of another shard calls it."""
        with self.lock:
            begin(self.core, time.monotonic())
            self._start()
            self._wake_up()

    def _interrupted(self, left: Optional[_Left]) -> None:
        """Mends what an interrupted call has left behind. left: what it had still to do; None: the core may be half done."""
        with self.lock:
            self._receiving = None
            if left is None:  # bytes may be lost
                for link in self._sockets:
                    link.broken = link.broken or errors.NoConnection("a call was interrupted")
            self.core.repair(time.monotonic())
            ended, self._ended = self._ended, []
            for turn in list(self._known):
                if turn.call is not None and turn.call.over:
                    turn.over = True
                    self._waiting.pop(turn, None)
                if turn.over or self._reading is turn:  # it was perhaps not woken, and is woken twice otherwise
                    ended.append(turn)
            if left is not None:
                ended += left[0]
                self._closed += left[1]
            self._wake_up()
        self._wake_turns(ended)

    def ends(self, turn: Turn) -> Callable[[], None]:
        """Returns what a call is to do when it ends: its caller is woken as soon as the core's lock is free."""
        def end() -> None:
            turn.over = True
            if self._receiving is not turn:
                self._waiting.pop(turn, None)
                self._ended.append(turn)

        return end

    def wait(self, begin: Callable[[Core, float], None], call: T, turn: Turn, longest: Optional[float],
             give_up: Callable[[Core, BaseException, float], None]) -> Any:
        """Begins a call, waits for it, and returns its result. give_up ends it if an exception ends the waiting."""
        turn.call = call
        try:
            self._known.add(turn)
            self.run(begin, turn)
            end = None if longest is None else time.monotonic() + longest + _SLACK
            while True:
                if self._reading is turn:
                    self._read(turn, end)
                elif turn.over:
                    break
                elif not turn.armed:
                    self._join_again(turn)
                elif not turn.wait(None if end is None else max(0.0, end - time.monotonic())):
                    raise errors.NoConnection("the thread of the client does not answer")
                if turn.over and self._reading is not turn:
                    break
        except BaseException as e:
            ended = e
            self.run(lambda core, now: self._give_up(turn, lambda: give_up(core, ended, now)))
            raise
        finally:
            self._known.discard(turn)
            turn.call = None  # or each call would be garbage that only the collector of cycles finds
        if call.error is not None:
            raise call.error
        return call.result

    def _give_up(self, turn: Turn, give_up: Callable[[], None]) -> None:
        self._waiting.pop(turn, None)
        give_up()
        if self._reading is turn:
            self._pass_on()

    # The caller who reads.

    def _join(self, turn: Turn) -> None:
        """Has a caller wait, or read if no other one does."""
        if self._reading is None and not self._tls and not (turn.call is not None and self.core.idles(turn.call)):
            self._reading = turn
            self._turns += 1
            return
        turn.arm()
        self._waiting[turn] = None
        if self._reading is None:
            self._read_later()

    def _join_again(self, turn: Turn) -> None:
        """Has a caller wait that was to read, before it began: the thread of the client reads instead."""
        with self.lock:
            if not turn.over and self._reading is not turn:
                self._join(turn)

    def _read_later(self) -> None:
        """Has the thread read in a moment, unless a caller does."""
        if self._until > time.monotonic() + _STEP:
            self._wake_up()

    def _pass_on(self, own: bool = False) -> None:
        """Has the caller read that waits for longest. If none waits, the thread does in a moment. own: the thread has read.

        Callers that wait for a lock that is held here need not read: its holder will, when it is released.
        """
        self._turns += 1
        if len(self._waiting) > self.core.idle:
            for turn in self._waiting:
                if turn.call is None or not self.core.idles(turn.call):
                    del self._waiting[turn]
                    self._reading = turn
                    self._ended.append(turn)
                    return
        self._reading = None
        if not own:
            self._read_later()

    def _read(self, turn: Turn, end: Optional[float]) -> None:
        """Reads for all callers until the own call is over, or the thread of the client reads.

        The caller has just done what the core wanted, so it begins with the wait.
        """
        left: Optional[_Left] = _NOTHING
        # A caller whose turn was taken may still be in its poll, so each has one of its own.
        try:
            poll = self._polls.pop()
        except IndexError:
            poll = _Poll()
        try:
            now, over = 0.0, False
            while True:
                sockets, nudge = self._open, self._nudge
                if over or nudge is None:
                    self._polls.append(poll)
                    return
                if end is None:
                    pause = 60.0
                elif now >= end:
                    raise errors.NoConnection("the thread of the client does not answer")
                else:
                    pause = min(60.0, end - (now or time.monotonic()))
                readable = poll.wait_for(nudge[0], sockets, pause)
                with self.lock:
                    left, self._receiving, now = None, turn, time.monotonic()
                    for it in readable:
                        if it is None:
                            _drain(nudge[0])
                            continue
                        link, s = it
                        if self._sockets.get(link) is s:  # who closes one has taken it out before, with the core's lock
                            self._receive(link, s, now)
                    self._receiving = None
                    over = turn.over or self._reading is not turn
                    if over:
                        self._read_enough(turn)
                    left = self._leave(own=False)
                if left is not _NOTHING:
                    self._finish(left)
        except BaseException:
            self._interrupted(left)
            raise

    def _read_enough(self, turn: Turn) -> None:
        """The caller reads no more."""
        if self._reading is turn:
            self._pass_on()
        elif not turn.over:
            turn.arm()
            self._waiting[turn] = None

    def _take(self, sockets: Sequence[Tuple[Link, _Socket]], readable: List[Any], now: float) -> None:
        """Receives from those sockets that can be read. Who closes one has taken it out before, with the core's lock."""
        for link, s in sockets:
            if (s.secure or s.socket in readable) and self._sockets.get(link) is s:
                self._receive(link, s, now)
        if self._nudge is not None and self._nudge[0] in readable:
            _drain(self._nudge[0])

    def _nudge_reader(self) -> None:
        """Has the caller who reads look again."""
        if self._nudge is not None:
            try:
                self._nudge[1].send(b"x")
            except OSError:
                pass

    def _wake_turns(self, turns: List[Turn]) -> None:
        for turn in reversed(turns):  # a grant comes behind the answer to the UNLOCK, and more wait for it
            turn.wake()
            if turn.over and self._reading is turn:
                self._nudge_reader()

    # The thread.

    def _start(self) -> None:
        if (self._thread is None or self._thread.ident is None) and not self.core.ended:
            ours, self._wake = socket.socketpair()
            ours.setblocking(False)
            self._wake.setblocking(False)
            self._nudge = socket.socketpair()
            for s in self._nudge:
                s.setblocking(False)
            self._thread = threading.Thread(target=self._loop, args=(self.core, ours), name="lockserver", daemon=True)
            self._thread.start()

    def _loop(self, core: Core, wakes: socket.socket) -> None:
        try:
            with self.lock:
                if self._thread is not threading.current_thread():  # the call that has started it was interrupted
                    return
                look = self._look(core, wakes)
            while core is self.core and not core.ended:
                look = self._round(core, wakes, look)
        except Exception:
            _log.exception("the thread of the client has failed")
        finally:
            wakes.close()
            if core is self.core:
                with self.lock:
                    core.close(time.monotonic())
                    core.ended = True
                    sockets, self._sockets = list(self._sockets.values()), {}
                    self._changed()
                    left = self._leave(own=True)
                self._finish(left)
                for s in sockets:
                    s.close(reset=False)
                self._nudge_reader()
                self.gone.set()

    def _look(self, core: Core, wakes: socket.socket) -> _Look:
        """Returns what to wait for. It is made in time: threads that were woken want to run, and not to wait for that."""
        at = core.next_timer()
        self._until = at if at is not None else time.monotonic() + 60
        if self._reading is None and (self._turns == self._seen or self._tls):
            self._reading = self._own
        elif self._reading is not self._own and self._turns != self._seen:
            self._until = min(self._until, time.monotonic() + _STEP)
        self._seen = self._turns
        core.timers.alarm, core.timers.early = self._until, False
        writes = [s.socket for link, s in self._sockets.items() if link.out]
        sockets = self._open if self._reading is self._own else ()
        at_once = core.attached.broken is not None or core.commands.broken is not None \
            or any(s.secure and s.pending() for _, s in sockets)
        return _Look(sockets, [wakes, *(s.socket for _, s in sockets)], writes, at_once)

    def _round(self, core: Core, wakes: socket.socket, look: _Look) -> _Look:
        pause = 0 if look.at_once else min(60.0, max(0.0, self._until - time.monotonic()))
        readable = self._poll.wait(look.reads, look.writes, pause)
        with self.lock:
            if core is not self.core:
                return look
            if wakes in readable:
                self._woken = False
                _drain(wakes)
            now = time.monotonic()
            self._take(look.sockets, readable, now)
            if self._leaving:
                core.close(now, keep_leases=True)
            core.tick(now)
            if self._reading is self._own and self._ended and not self._tls:
                self._pass_on(own=True)  # those callers, or others, call again
            self._settle()
            if self._closed and self._reading is not self._own:
                self._reading = self._own  # a caller who was interrupted twice reads no more, and the connection ends by that
                self._nudge_reader()
            left = self._leave(own=True)
            look = self._look(core, wakes)
        self._finish(left)
        return look

    def _receive(self, link: Link, s: _Socket, now: float) -> None:
        parts: List[bytes] = []
        if s.plain is not None:  # the usual case, in few steps
            try:
                data = s.plain.take()
            except _LATER:
                return
            except OSError as e:
                link.broken = link.broken or errors.NoConnection(str(e))
                return
            if data and len(data) < s.plain.piece:
                if link.broken is None:
                    self.core.received(link, data, now)
                return
            if data:
                parts.append(data)
        parts, failed = s.receive(parts)
        for data in parts:
            if link.broken is None:
                self.core.received(link, data, now)
        if failed is not None and link.broken is None:
            link.broken = failed

    def _settle(self) -> None:
        """Does what the core wants: connects, closes. Only the thread of the client does, as no signal interrupts it."""
        core = self.core
        for link in core.links:
            if link.broken is not None:
                self._close(link, link.broken)
            at = None if link.dial_at is None else core.dial_at(link)
            if at is not None and at <= time.monotonic():
                link.dialing, link.dial_at = True, None
                threading.Thread(target=self._dial, args=(core, link), name="lockserver-dial", daemon=True).start()

    def _leave(self, own: bool) -> _Left:
        """Writes, and returns what is to be done without the lock, which the caller has. Nothing else may do that then.

        own: the caller is the thread of the client, which alone tells of losses. The others wake it if it is due.
        """
        core = self.core
        attached, commands = core.attached, core.commands
        if attached.out:
            self._write(attached)
        if commands.out:
            self._write(commands)
        if not own and not self._woken and self._wake is not None and (
                core.timers.early or core.lost or core.ended
                or attached.broken is not None or commands.broken is not None
                or attached.dial_at is not None or commands.dial_at is not None):
            self._wake_if_due()
        if not (self._ended or self._closed or core.events):
            return _NOTHING
        events: List[Event] = []  # another list than the core's: others add to that when the lock is free
        if core.events and (own or not core.lost):
            events, core.events, core.lost = core.events, events, False
        left = self._ended, self._closed, events
        self._ended, self._closed = [], []
        return left

    def _wake_if_due(self) -> None:
        core = self.core
        at = core.next_timer()
        if at is not None and at < self._until or core.lost or core.ended \
                or core.attached.broken is not None or core.commands.broken is not None:
            self._wake_up()
        else:
            core.timers.early = False

    def _finish(self, left: _Left) -> None:
        ended, closed, happened = left
        self._wake_turns(ended)
        for s in closed:
            s.close(reset=True)
        for event in happened:
            self._told(event)

    def _wake_up(self) -> None:
        if self._wake is not None and not self._woken:
            try:
                self._wake.send(b"x")
            except OSError:
                pass
            self._woken = True  # not before: a signal may interrupt it here

    def _write(self, link: Link) -> None:
        """Writes what can be written now. The thread of the client waits until the rest can be."""
        s, data = self._sockets.get(link), link.out
        if s is None or s.writing or link.broken is not None:
            return
        s.writing = True
        try:
            while data:
                del data[: s.direct.send(data if len(data) <= _MOST_WRITTEN else data[:_MOST_WRITTEN])]
        except _LATER:
            pass
        except OSError as e:
            link.broken = errors.NoConnection(str(e))
        s.writing = False
        if data:
            self._wake_up()

    def _changed(self) -> None:
        """A socket was opened or closed."""
        self._open = tuple(self._sockets.items())
        self._tls = any([s.secure for _, s in self._open])

    def _close(self, link: Link, why: Exception) -> None:
        s = self._sockets.pop(link, None)
        if s is not None:
            self._changed()
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
                left = self._leave(own=False)
            self._finish(left)
            return
        with self.lock:
            if core is not self.core or core.ended:
                s.close()
                return
            self._sockets[link] = _Socket(s)
            self._changed()
            core.opened(link, time.monotonic())
            other = self._sockets.get(core.commands)
            if other is not None and other.socket is not s and _peer(other.socket) != _peer(s):  # another server leads now
                core.commands.broken = errors.NoConnection("another server leads")
            self._wake_up()
            if self._reading is not self._own:
                self._nudge_reader()
            left = self._leave(own=False)
        self._finish(left)


def _drain(s: socket.socket) -> None:
    try:
        s.recv(4096)
    except OSError:
        pass


def _import_all(endpoint: Endpoint) -> None:
    """Imports what making a connection imports.

    A child that was forked while a thread of its parent imported a module waits for that module for ever.
    """
    endpoint.connection("", 1.0)
    "localhost".encode("idna")  # as socket.getaddrinfo does


def connect(endpoint: Endpoint, name: str, timeout: float) -> socket.socket:
    """Returns the socket of a new connection that is logged in. It does not block."""
    endpoint.prepare(name, timeout)
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
        self._for: Any = None
        self._poll: Any = None
        self._by_number: Dict[int, Any] = {}

    def wait(self, reads: List[Any], writes: List[Any], pause: float) -> List[Any]:
        """Returns those that can be read, after at most a pause."""
        if not hasattr(select, "poll"):
            return select.select(reads, writes, [], pause)[0]
        if self._for != (reads, writes):
            self._for = None
            closed = self._register([(s, s) for s in reads], [s for s in writes if s not in reads], writes)
            if closed:
                return closed
            self._for = reads, writes
        return [self._by_number[number] for number, what in self._poll.poll(pause * 1000) if what & ~select.POLLOUT]

    def _register(self, reads: List[Tuple[socket.socket, Any]], others: List[socket.socket],
                  writes: Sequence[socket.socket]) -> List[Any]:
        """Makes the poll anew: sockets to be read with what is to be returned for them. Returns one that was closed."""
        self._poll, self._by_number = select.poll(), {}
        for s, it in [*reads, *((s, s) for s in others)]:
            number = s.fileno()
            if number < 0:  # another thread has closed it just now: the caller looks again
                return [it]
            self._by_number[number] = it
            what = 0 if s in others else select.POLLIN
            self._poll.register(number, what | (select.POLLOUT if s in writes else 0))
        return []

    def wait_for(self, nudge: socket.socket, sockets: Tuple[Tuple[Link, _Socket], ...], pause: float) -> List[Optional[Tuple[Link, _Socket]]]:
        """Returns those of the sockets that can be read, and None for the nudge, after at most a pause."""
        if self._for is not sockets:
            self._for = None
            reads = [(nudge, None), *((it[1].socket, it) for it in sockets)]
            if not hasattr(select, "poll"):
                found = self.wait([s for s, _ in reads], [], pause)
                return [it for s, it in reads if s in found]
            closed = self._register(reads, [], ())
            if closed:
                return closed
            self._for = sockets
        return [self._by_number[number] for number, _ in self._poll.poll(pause * 1000)]


def _forked() -> None:
    for driver in list(_drivers):
        driver._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
