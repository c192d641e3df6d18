"""The state of a client's locks, without sockets, threads and clocks.

A transport gives it what has happened, with the time: a connection is there, bytes have come, a moment has passed, a
caller asks. It finds in :attr:`Link.out` what to send, in :meth:`Core.next_timer` when to come back, and in
:attr:`Core.events` what to report. Calls end by their ``done``. The transports are ``sync`` and ``aio``; a
transport calls one method at a time.

There are two connections. The attached one is attached to the prefix of the owners' names (LOCK.ATTACH PREFIX): the
server renews the leases as long as it lives, and reports grants and losses on it. Locks are asked for, confirmed and
released over it, so that all of that has one order. The other one has the rest.
"""

from __future__ import annotations

import heapq
import itertools
import math
import os
import random
import secrets
import threading
import weakref
from collections import OrderedDict, deque
from typing import Any, Callable, Deque, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple, Union

from . import errors
from ._resp import Malformed, Parser, Push, Word, encode, encode_word
from ._views import Stats
from ._wish import Command, Sent, Wish
from .errors import ServerError

#: How long locks live that the server renews, in seconds, if it does not say.
DEFAULT_LEASE = 30.0
#: The pause between two attempts to connect, in seconds: the first one, and the longest.
_PAUSE, _LONGEST_PAUSE = 0.02, 1.0
#: For how long the first answer of the server is waited for at least, in seconds, however short the caller's wait is.
LEAST = 0.1
#: How many redirections in a row are followed at once. Then the slot is between two shards, and each further one waits: the
#: first pause in seconds, which doubles, and the longest.
_QUICK_HOPS = 2
_HOP_PAUSE, _LONGEST_HOP_PAUSE = 0.005, 0.1

#: Takes a reply (which may be a ServerError), or the error of a connection that has ended.
Take = Callable[[Any, Optional[Exception]], None]


def _nothing(_: float) -> None:
    pass


class Timer:
    """A moment at which something is done."""

    off = False

    def __init__(self, at: float, run: Callable[[float], None]) -> None:
        self.at, self.run = at, run

    def cancel(self) -> None:
        """Makes it do nothing. It stays among the others for a while, but keeps nothing else alive."""
        self.off, self.run = True, _nothing


class Timers:
    """Timers in the order of their times."""

    def __init__(self) -> None:
        self.heap: List[Tuple[float, int, Timer]] = []  # some of them are cancelled
        self.alarm = math.inf  # when the transport looks again by itself
        self.early = False  # something may be due before that
        self._count = itertools.count()
        self._swept = 1024

    def add(self, at: float, run: Callable[[float], None]) -> Timer:
        """Has run called at a time, or soon after it."""
        if len(self.heap) > self._swept:  # most are cancelled before they are due
            self.heap = [entry for entry in self.heap if not entry[2].off]
            heapq.heapify(self.heap)
            self._swept = 1024 + 2 * len(self.heap)
        timer = Timer(at, run)
        if at < self.alarm:
            self.early = True
        heapq.heappush(self.heap, (at, next(self._count), timer))
        return timer

    def next(self) -> Optional[float]:
        """Returns when the next one is due, or None if there is none."""
        while self.heap and self.heap[0][2].off:
            heapq.heappop(self.heap)
        return self.heap[0][0] if self.heap else None

    def run(self, now: float) -> None:
        """Runs what is due."""
        while True:
            at = self.next()
            if at is None or at > now:
                return
            timer = heapq.heappop(self.heap)[2]
            timer.off = True
            timer.run(now)


class Names:
    """The owners' names of a client in this process: after a fork the child has other ones.

    The transports of a client share them, and a lock: in a cluster the locks of one owner may be on several shards.
    """

    def __init__(self, name: str) -> None:
        self.name, self._process = name, -1
        self.current()

    def current(self) -> "Names":
        """Returns the names, after a fork new ones."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self.cores: "weakref.WeakSet[Core]" = weakref.WeakSet()  # those of the client in this process
            self.lock = threading.RLock()
            self.prefix = f"{self.name}:{secrets.token_hex(10)}:".encode()
            self._count = itertools.count(1)
        return self

    def new(self) -> bytes:
        """Returns a name that no other owner has."""
        return self.prefix + str(next(self._count)).encode()


class Redirected(Exception):
    """Another shard serves the key. What was asked was not done, and has to be asked there."""

    def __init__(self, moved: str, link: "Link") -> None:
        super().__init__(moved)
        self.moved = moved  # "MOVED 1234 10.0.0.1:6379"
        self.link, self.opened = link, link.times_opened


class Limits:
    """Calls that have to be answered within the same time, in the order in which they began.

    Nearly all are answered soon. So none has a timer of its own: the first of those that are not says when to look.
    """

    def __init__(self, seconds: float, timers: Timers) -> None:
        self.seconds, self._timers = seconds, timers
        self.calls: Deque[Tuple[float, Call]] = deque()  # with the times at which they are too late

    def add(self, call: Call, now: float) -> None:
        """A call begins."""
        at = now + self.seconds
        if at < self._timers.alarm:
            self._timers.early = True
        self.calls.append((at, call))

    def next(self) -> Optional[float]:
        """Returns when the first one is too late that was not answered, or None if all were."""
        while self.calls:
            at, call = self.calls[0]
            if not call.answered():
                return at
            self.calls.popleft()
        return None

    def late(self, now: float) -> List[Call]:
        """Takes out those that are too late."""
        late: List[Call] = []
        while True:
            at = self.next()
            if at is None or at > now:
                return late
            late.append(self.calls.popleft()[1])


class Link:
    """A connection as the core sees it. The transport writes ``out`` and empties it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.out = bytearray()
        self.up = False  # there is a connection
        self.dialing = False
        self.dial_at: Optional[float] = None  # when the transport is to connect; None: not yet
        self.broken: Optional[Exception] = None  # why the transport is to close it
        self.left: Optional[Exception] = None  # why it is closed as soon as all replies have come
        self.times_opened = 0
        self.parser = Parser()
        self.awaited: Deque[Tuple[Take, float]] = deque()
        self.taking: Optional[Take] = None  # has its reply; an exception of a signal may end it at any point
        self._pause = _PAUSE
        self._made = 0.0

    def send(self, command: Union[Sequence[Word], bytes], take: Take, now: float) -> None:
        """Sends a command. take gets its reply, or the error of the connection, in any case."""
        self.out += command if type(command) is bytes else encode(command)
        self.awaited.append((take, now))

    def opened(self, now: float) -> None:
        """The transport has a connection."""
        self.up, self.dialing, self.dial_at, self.broken, self.left = True, False, None, None, None
        self.times_opened += 1
        self.out.clear()
        self.parser, self._made = Parser(), now

    def closed(self, why: Exception, now: float, longest: float) -> None:
        """The connection has ended, or could not be made. The takers of its replies hear of it."""
        if self.up and now - self._made >= _LONGEST_PAUSE:
            self._pause = _PAUSE
        self.dial_at = now + self._pause
        self._pause = min(2 * self._pause, longest)
        self.up, self.dialing, self.broken, self.left = False, False, None, None
        self.out.clear()
        takes = [take for take, _ in self.awaited]
        if self.taking is not None and self.taking not in takes:
            takes.insert(0, self.taking)
        self.taking = None
        self.awaited.clear()
        for take in takes:
            take(None, why)

    def worked(self) -> None:
        """The connection is of use: the next one may be tried at once."""
        self._pause = _PAUSE


def _names(keys: Sequence[bytes]) -> str:
    return ", ".join(repr(key.decode(errors="backslashreplace")) for key in keys)


class Call:
    """Something that a caller waits for. ``done`` is called once, with ``result`` or ``error`` set."""

    # Calls are made often, and most of these values rarely change: the class has them until then.
    over = False
    result: Any = None
    error: Optional[BaseException] = None

    def __init__(self, done: Callable[[], None]) -> None:
        self._done = done

    def answered(self) -> bool:
        """Reports whether the server has answered, if only that the call has to wait."""
        return self.over

    def finish(self, result: Any, error: Optional[BaseException] = None) -> None:
        """Ends it, unless it has ended."""
        if not self.over:
            self.over, self.result, self.error = True, result, error
            self._done()


class Task:
    """An owner of locks: what one program flow holds. Locks that it has already it may take again."""

    __slots__ = ("owner", "holds", "busy", "deferred")

    def __init__(self, owner: bytes) -> None:
        self.owner = owner
        self.holds: Dict[bytes, Hold] = {}
        self.busy: Set[bytes] = set()  # keys for which a call is under way, or its undoing
        self.deferred: List[Acquire] = []  # calls that begin when their keys are no longer busy


class Loss(NamedTuple):
    """What became of a lock."""

    key: bytes
    token: int
    reason: str
    owner: bytes = b""
    lease: Optional[float] = None  # of a fixed one, in seconds

    def error(self) -> errors.LockLost:
        """The loss as an error."""
        return errors.LockLost(self.key, self.token, self.reason, self.owner, self.lease)


class Handle:
    """One acquisition. Several stand for one hold if its task took the lock again."""

    __slots__ = ("hold", "keys", "on_lost", "on_asked", "place")

    def __init__(self, hold: "Hold", keys: Tuple[bytes, ...]) -> None:
        self.hold, self.keys = hold, keys
        self.place: Optional[Tuple[str, int]] = None  # of the acquisition: file and line
        self.on_lost: List[Callable[[errors.LockLost], None]] = []
        self.on_asked: List[Callable[[str], None]] = []

    @property
    def core(self) -> "Core":
        """The one that has the lock."""
        return self.hold.core

    def token(self, key: bytes) -> int:
        """The fencing token of a key."""
        return self.hold.tokens[self.hold.wish.keys.index(key)]

    def why_over(self) -> Optional[errors.Error]:
        """Why the lock is not held any more, or None."""
        if self.hold.lost is not None:
            return self.hold.lost.error()
        if self not in self.hold.handles:
            return errors.LockReleased(f"the lock {_names(self.keys)} was released before")
        return None

    def expired(self, now: float) -> Optional[errors.Error]:
        """The loss of a lock with a fixed lease that is over, whether its timer has run or not; or None."""
        hold = self.hold
        if hold.ends_at is None or now < hold.ends_at:
            return None
        return hold.loss("expired").error()

    def remaining(self, now: float) -> float:
        """For how many seconds it is held for certain, if it is held."""
        hold, core = self.hold, self.core
        until = hold.ends_at if hold.ends_at is not None else core._answered + core._sure_for()
        if hold.unsure is not None:
            until = min(until, hold.sure_until)
        return max(0.0, until - now)

    def doubtful(self, now: float) -> Optional[errors.Error]:
        """The loss of a lock that was not confirmed in time, which may be taken back; or None."""
        hold = self.hold
        if hold.unsure is None or now < hold.sure_until:
            return None
        return hold.loss("unreachable").error()


class Hold:
    """What a task has on the server."""

    def loss(self, reason: str, key: Optional[bytes] = None, token: Optional[int] = None) -> Loss:
        """The loss of it, at its first key or at another one."""
        return Loss(self.wish.keys[0] if key is None else key, self.tokens[0] if token is None else token, reason,
                    self.task.owner, self.wish.lease)

    lost: Optional[Loss] = None
    asked: Optional[str] = None  # the last reason of a client that asks for it
    releasing = False
    debt: Optional[Debt] = None  # its release
    ends_at: Optional[float] = None  # if its lease is fixed
    expiry: Optional[Timer] = None  # for that; a lock that is held for a moment may be released before it has one
    unsure: Optional[Timer] = None  # the server has not said that it knows of the holder: see Core._sure_until
    sure_until = 0.0  # without that
    arriving = False  # its server may be another one than before, and has not said that it has the lock
    hops = 0  # redirections in a row

    def __init__(self, core: Core, task: Task, wish: Wish, tokens: List[int], since: float) -> None:
        self.core, self.task, self.wish, self.tokens, self.since = core, task, wish, tokens, since
        self.handles: Set[Handle] = set()

    @property
    def names(self) -> List[Tuple[bytes, int]]:
        """What identifies the locks of it. Two shards may give the same token."""
        return list(zip(self.wish.keys, self.tokens))

    def end_timers(self) -> None:
        """It is released, or lost: time changes nothing any more."""
        self.ends_at = None
        if self.expiry is not None:
            self.expiry.cancel()
        if self.unsure is not None:
            self.unsure.cancel()
            self.unsure = None

    def release(self) -> Sent:
        """The command that releases it."""
        return self.wish.release(self.task.owner, self.tokens)


class Debt:
    """Commands that have to be done, and are sent until they were answered. Each may be sent twice."""

    sent = 0  # how often
    answered: Set[int]  # the numbers of the commands, if there are several
    failed = False
    entered = False  # it was sent, or will be by the next connection
    over = False
    core: Optional[Core] = None  # the one that sends it
    began: Optional[Core] = None  # the first one that had to
    to: Optional[Any] = None  # the transport of the shard that it was redirected to
    hops = 0  # redirections in a row

    def __init__(self, commands: List[Sent], paid: Optional[Callable[["Debt"], None]] = None) -> None:
        self.commands, self.paid = commands, paid
        self.replies: List[Any] = []


class Acquire(Call):
    """A call for a lock. The server answers at once, or queues it and sends the outcome as a push."""

    number = 0
    state = "deferred"  # asked, queued, granted, over
    core: Optional[Core] = None  # the one that begins it, if it is deferred
    sent = False  # the server may know of it
    placed = False  # the server has answered
    end: Optional[float] = None  # of the wait
    deadline: Optional[float] = None  # of the caller
    until: Optional[float] = None  # the first of the two
    asked_at = 0.0
    sent_at = 0.0  # of what gave the lock: its lease began no earlier
    tokens: List[int]  # of one that is granted
    left = 0
    timers: Tuple[Timer, ...] = ()

    def __init__(self, task: Task, wish: Wish, done: Callable[[], None]) -> None:
        self._done, self.task, self.wish = done, task, wish
        self.place = task.owner, wish.keys[0]  # what identifies it: a task has one call for a key at a time

    def what(self) -> str:
        """What is asked for, for errors."""
        kind = "units of" if self.wish.rate else "permits of" if self.wish.permits else "the lock"
        return f"{kind} {_names(self.wish.keys)}"

    def answered(self) -> bool:
        """As :meth:`Call.answered`."""
        return self.over or self.placed


class Request(Call):
    """A command of the other connection."""

    def __init__(self, words: Sequence[Word], once: bool, done: Callable[[], None]) -> None:
        super().__init__(done)
        self.words, self.once, self.sent = [encode_word(word) for word in words], once, 0
        self.timer: Optional[Timer] = None


class Event(NamedTuple):
    """Something for metrics and logs. what: acquired, refused, released, lost, asked, attached or detached."""

    what: str
    key: bytes = b""
    seconds: float = 0.0
    error: Optional[BaseException] = None
    callbacks: Tuple[Callable[[Any], None], ...] = ()
    reason: str = ""  # of the one who asks


def tokens_of(reply: Any) -> Optional[List[int]]:
    """Returns the tokens in the reply of a LOCK, or None if it has none."""
    if isinstance(reply, int):
        return [reply]
    if isinstance(reply, list) and reply and all(isinstance(token, int) for token in reply):
        return list(reply)
    return None


def _is_answer(reply: Any, error: Optional[Exception]) -> bool:
    """Reports whether the server has answered, if only with an error, and not that another one leads."""
    return error is None and (type(reply) is not ServerError or not errors.is_elsewhere(reply))


def words_of(command: Sent) -> Sequence[Word]:
    """Returns the words of a command, which may be encoded."""
    if isinstance(command, bytes):
        words: List[Word] = next(iter(Parser().feed(command)))
        return words
    return command


#: Begins the reply of a server that serves other slots, and knows none that serves this one.
_UNSERVED = "CLUSTERDOWN Hash slot"


def _moved(reply: Any) -> bool:
    """Whether a server of a cluster has not done a command because it does not serve the slot."""
    return str(reply).startswith(("MOVED ", _UNSERVED))


def hop_pause(hops: int) -> float:
    """For how many seconds a command waits after so many redirections. Half of it is chance: clients do not come together."""
    if hops <= _QUICK_HOPS:
        return 0.0
    pause = min(_HOP_PAUSE * 2.0 ** min(hops - _QUICK_HOPS - 1, 10), _LONGEST_HOP_PAUSE)
    return random.uniform(pause / 2, pause)


#: Those of this process.
cores: "weakref.WeakSet[Core]" = weakref.WeakSet()


class Core:
    """All of a client's locks, waits, debts and commands."""

    def __init__(self, name: str, limit: float, now: float, brief: float = 0.0, names: Optional[Names] = None) -> None:
        """brief: a lock that goes from hand to hand, within so many seconds each time, may wait so long to be confirmed.

        names: those of the client; None: its own.
        """
        self.name = name
        self.names = Names(name) if names is None else names
        self.prefix = self.names.prefix
        # Of one of several shards: finds the transport of the shard that a redirection of a command names, or None if that is
        # another server of the same shard. A call that another shard serves ends with Redirected.
        self.redirects: Optional[Callable[[Sequence[Word], str], Any]] = None
        self.transport: Any = None  # refers to what runs it
        self.limit = limit
        self.lease = DEFAULT_LEASE
        self.timers = Timers()
        self.limits = Limits(limit, self.timers)
        self.attached, self.commands = Link("attached"), Link("commands")
        self.ready = False  # the attached link is attached
        self.events: List[Event] = []
        self.lost = False  # losses are among them
        self.watched = True  # locks that were acquired, refused or released are events
        self.moved: Optional[str] = None  # the server does not lead; the host:port of the one that does, or empty
        self.closing = False
        self.forked = False  # it is of the parent of this process
        self.ended = False  # nothing is left to be done: the transport closes the links
        self._brief = brief
        self._passed: Tuple[Optional[bytes], float] = (None, 0.0)  # the key that was released last after a brief hold, and when
        self._refused: Optional[Exception] = None  # why there is no connection
        self._numbers = itertools.count(1)
        self._starting: List[Call] = []
        self._calls: Set[Acquire] = set()  # those that are not over
        self._waits: Dict[Tuple[bytes, bytes], Acquire] = {}  # those of them that have begun
        self._holds: Dict[Tuple[bytes, int], Hold] = {}
        self._ours: Set[bytes] = set()  # keys of locks that are held here, and not shared
        self._queued: Dict[bytes, int] = {}  # how many calls wait for a key
        self.idle = 0  # how many of them wait for a lock that is held here
        self._unpaid: List[Debt] = []
        self._debts: Set[Debt] = set()
        self._pending: "OrderedDict[int, Request]" = OrderedDict()
        self._answered = now
        self._address: Optional[Tuple[str, int]] = None  # of the last server that has attached it, if it is of a shard
        self._lapsed = False
        self._resumed = False
        self._knows_lease = False  # this server has said how long it is
        self._patience = self.timers.add(now + self._sure_for(), self._give_up)
        self._ping_at = now
        self._pinged: Optional[float] = None  # when a PING was sent that is not answered
        cores.add(self)
        self.names.cores.add(self)

    # What the transport tells.

    @property
    def links(self) -> Tuple[Link, Link]:
        """Both connections."""
        return self.attached, self.commands

    def start(self, now: float) -> None:
        """Has the attached connection made."""
        if self.attached.dial_at is None and not self.attached.up and not self.attached.dialing:
            self.attached.dial_at = now

    def connect(self, call: Call, now: float) -> None:
        """Has the attached connection made, and ends the call when it is there or cannot be."""
        if self.closing or self.ready:
            call.finish(None, errors.Closed("the client is closed") if self.closing else None)
            return
        self._starting.append(call)
        self.limits.add(call, now)
        self.start(now)

    def _started(self, error: Optional[BaseException]) -> None:
        starting, self._starting = self._starting, []
        for call in starting:
            call.finish(None, error)

    def opened(self, link: Link, now: float) -> None:
        """A connection is there, logged in."""
        link.opened(now)
        if link is self.commands:
            link.worked()
            for request in list(self._pending.values()):
                self._send_request(request, now)
            return
        self._pinged = None
        link.send(["LOCK.ATTACH", "PREFIX", self.prefix], self._take_attached(now), now)

    def failed(self, link: Link, why: Exception, now: float) -> None:
        """A connection could not be made, or has ended."""
        self._now = now
        was_ready, self.ready = self.ready, self.ready and link is not self.attached
        if link is self.attached:
            self._refused = why
        link.closed(why, now, min(_LONGEST_PAUSE, self.lease / 10))
        if link is self.commands:
            self._commands_ended(why)
        elif was_ready:
            self.events.append(Event("detached", error=why))
        if link is self.attached and isinstance(why, (errors.NotLockserver, errors.ServerError)):
            self._started(why)
            for call in list(self._calls):
                self._finish(call, None, why, now)
            for request in list(self._pending.values()):
                self._end_request(request, None, why)

    def received(self, link: Link, data: bytes, now: float) -> None:
        """Bytes have come."""
        self._now, attached, sent = now, link is self.attached, 0.0
        try:
            for reply in link.parser.feed(data):
                if link.broken is not None:
                    return
                if type(reply) is Push:
                    if attached:
                        self._pushed(reply, now)
                    continue
                if not link.awaited:
                    raise Malformed("a reply without a command")
                link.taking, sent = link.awaited[0]
                link.awaited.popleft()
                link.taking(reply, None)
                link.taking = None
            if link.left is not None and not link.awaited:
                link.broken = link.broken or link.left
            if sent and attached and self.ready:  # the last one that was answered is the youngest
                self._hear(sent)
        except Malformed as e:
            link.broken = errors.NoConnection(f"the server sent what is no reply: {e}")

    def tick(self, now: float) -> None:
        """Time has passed."""
        self._now = now
        self.timers.run(now)
        for call in self.limits.late(now):
            if isinstance(call, Acquire):
                self._not_placed(call, now)
            else:
                call.finish(None, self._silence())
        if self.ready and now >= self._ping_at:
            self._ping(now)

    def dial_at(self, link: Link) -> Optional[float]:
        """Returns when to connect, or None. The other connection is made to the server that the first one has found."""
        if link.dialing or self.ended or link is self.commands and not self.ready:
            return None
        return link.dial_at

    def next_timer(self) -> Optional[float]:
        """Returns when to call tick, or to connect; or None."""
        first, limit = self.timers.next(), self.limits.next()
        if limit is not None and (first is None or limit < first):
            first = limit
        if self.ready and (first is None or self._ping_at < first):
            first = self._ping_at
        if self.attached.dial_at is None and self.commands.dial_at is None:
            return first
        for link in self.links:
            at = None if link.dial_at is None else self.dial_at(link)
            if at is not None and (first is None or at < first):
                first = at
        return first

    # The attached connection.

    def _take_attached(self, sent: float) -> Take:
        def take(reply: Any, error: Optional[Exception]) -> None:
            now = self._now
            if error is not None:
                return
            if isinstance(reply, ServerError):
                self._not_attached(reply)
                return
            self.attached.worked()
            self.ready, self._refused, self._ping_at = True, None, now + self.lease / 6
            self._knows_lease, self.timers.early = False, True
            if self._is_elsewhere():  # that server may not have all of them
                for hold in self._held():
                    self._arrives(hold)
            self._hear(sent)
            self.events.append(Event("attached"))
            self._started(None)
            self.attached.send(["CONFIG", "GET", "lock-watchdog-timeout"], self._take_lease, now)
            self._take_up(now)

        return take

    def _is_elsewhere(self) -> bool:
        """Whether the shard is at another address than before."""
        transport = self.transport() if self.transport is not None and self.redirects is not None else None
        if transport is None:
            return False
        former, self._address = self._address, transport.endpoint.address
        return former not in (None, self._address)

    def _not_attached(self, reply: ServerError) -> None:
        text = str(reply)
        if errors.is_elsewhere(reply):
            self.moved = text.split()[-1] if text.startswith("MOVED ") else ""
        why: Exception = errors.NoConnection(text) if errors.is_elsewhere(reply) else errors.from_reply(reply)
        self.attached.broken = why

    def _take_lease(self, reply: Any, error: Optional[Exception]) -> None:
        if isinstance(reply, list):
            reply = dict(zip(reply[::2], reply[1::2]))
        value = reply.get(b"lock-watchdog-timeout") if isinstance(reply, dict) else None
        if value is None or int(value) <= 0:
            return
        self._knows_lease = True
        if int(value) / 1000 != self.lease:
            self.lease = int(value) / 1000
            self._ping_at, self.timers.early = min(self._ping_at, self._now + self.lease / 6), True
            self._be_patient(self._answered + self._sure_for())

    def _take_up(self, now: float) -> None:
        """Tells a new connection of what was there before. What the server no longer has is lost."""
        unpaid, self._unpaid = self._unpaid, []
        for debt in unpaid:
            self._send_debt(debt, now)
        for wait in sorted(self._waits.values(), key=lambda wait: wait.number):
            self._ask(wait, now)
        for hold in self._held():
            self._ask_for(hold, now)

    def _held(self) -> List[Hold]:
        return list({id(hold): hold for hold in self._holds.values()}.values())

    def _ask_for(self, hold: Hold, now: float) -> None:
        """Asks whether the server has a hold."""
        if hold.unsure is not None and not hold.arriving:
            self._prove(hold, now)
        elif not hold.releasing:
            self._check(hold, now)

    def _check(self, hold: Hold, now: float) -> None:
        def take_for(words: Command, key: bytes, token: int) -> Take:
            def take(reply: Any, error: Optional[Exception]) -> None:
                if not _is_answer(reply, error):
                    self._hold_elsewhere(hold, words, reply, error)
                elif reply == 0 or isinstance(reply, ServerError) and str(reply).startswith(("STALETOKEN", "WRONGTYPE")):
                    self._lose(hold, hold.loss("stale", key, token), self._now)
                elif key == hold.wish.keys[-1] and hold.core is self:
                    self._assured(hold)

            return take

        commands = hold.wish.check(hold.task.owner, hold.tokens)
        for words, key, token in zip(commands, hold.wish.keys, hold.tokens):
            self.attached.send(words, take_for(words, key, token), now)

    # What goes from one shard to another.

    def _served_by(self, words: Sequence[Word], reply: Any, error: Optional[Exception]) -> Any:
        """Returns the transport of the shard that a command was redirected to: this one if no shard serves the slot. None: the
        connection ends, and the next one has to send the command."""
        if error is None and self.redirects is not None and _moved(reply):
            if str(reply).startswith(_UNSERVED):
                return self.transport()
            to = self.redirects(words, str(reply))
            if to is not None and to.core is not self and not to.core.ended:
                return to
        self._break(reply, error)
        return None

    def _hold_elsewhere(self, hold: Hold, words: Sequence[Word], reply: Any, error: Optional[Exception]) -> None:
        if hold.core is not self or hold.lost is not None or hold.releasing:
            if error is None and not _moved(reply):
                self._break(reply, error)
            return
        to = self._served_by(words, reply, error)
        if to is not None:
            self.give(hold, to)

    def give(self, hold: Hold, to: Any) -> None:
        """Has another shard asked for a hold. to: its transport."""
        if hold.core is not self or hold.lost is not None or hold.releasing:
            return
        self._arrives(hold)
        self._remove(hold)
        hold.hops += 1
        to.poke(lambda core, now: core.take_over(hold, now))

    def take_over(self, hold: Hold, now: float) -> None:
        """Asks for a hold that another shard had."""
        self._now, hold.core = now, self
        for name in hold.names:
            self._holds[name] = hold
        self._own(hold, True)
        if hold.expiry is not None:
            hold.expiry.cancel()
            hold.expiry = None
        self._expires(hold)
        if hold.unsure is not None:
            hold.unsure.cancel()
            hold.unsure = self.timers.add(hold.sure_until, lambda at: self._lose_unsure(hold, at))
        if self.closing:
            self._lose(hold, hold.loss("closed"), now)
            return
        self.start(now)
        if hold.hops > _QUICK_HOPS:
            self.timers.add(now + hop_pause(hold.hops), lambda at: self._ask_late(hold, at))
        elif self.ready and self.attached.broken is None:  # otherwise the next connection does it
            self._ask_for(hold, now)

    def _ask_late(self, hold: Hold, now: float) -> None:
        if hold.core is self and hold.lost is None and self.ready and self.attached.broken is None:
            self._ask_for(hold, now)

    def held_of(self, fits: Callable[[bytes], bool]) -> List[Hold]:
        """Returns the holds with keys that fit."""
        return [hold for hold in self._held() if fits(hold.wish.keys[0])]

    def _arrives(self, hold: Hold) -> None:
        """The server has to say that it has a hold. A lock that the server renews is lost otherwise, when its lease may have ended."""
        if hold.unsure is not None or hold.releasing or hold.lost is not None:
            return
        hold.arriving = True
        if hold.wish.lease is None:
            hold.sure_until = self._answered + self._sure_for()
            hold.unsure = self.timers.add(hold.sure_until, lambda at: self._lose_unsure(hold, at))

    def _assured(self, hold: Hold) -> None:
        """The server has said that it has a hold."""
        hold.hops = 0
        if hold.arriving:
            hold.arriving = False
            if hold.unsure is not None:
                hold.unsure.cancel()
                hold.unsure = None

    def take_debt(self, debt: Debt, now: float) -> None:
        """Has commands done that another shard was to do."""
        self._now = now
        self._debts.add(debt)
        self.start(now)
        if debt.hops > _QUICK_HOPS:
            self.timers.add(now + hop_pause(debt.hops), lambda _: self._enter(debt))
        else:
            self._enter(debt)

    def wake(self) -> None:
        """Has the transport look: another one has ended a call of its."""
        transport = self.transport() if self.transport is not None else None
        if transport is not None:
            transport.poke(lambda core, now: None)

    def _break(self, reply: Any, error: Optional[Exception]) -> None:
        """Has the attached connection closed, because the server does not lead."""
        if error is None and self.attached.broken is None:
            self._not_attached(reply)

    def _sure_for(self) -> float:
        """How long leases that the server renews last at least behind its last answer.

        It renews a lease when a third of it is over. The rest is for clocks that run apart.
        """
        return self.lease * 2 / 3 - self.lease / 20

    def _hear(self, sent: float) -> None:
        """Records that the server has answered what was sent at a time."""
        self._resumed = False
        if sent > self._answered:
            self._answered = sent
        if self._lapsed:
            self._lapsed = False
            self._be_patient(self._answered + self._sure_for())

    def _be_patient(self, until: float) -> None:
        self._patience.cancel()
        self._patience = self.timers.add(until, self._give_up)

    def _give_up(self, now: float) -> None:
        """Counts what the server renews as lost if it has been silent for too long, and ends the waits."""
        due = self._answered + self._sure_for()
        if now < due:
            self._be_patient(due)
            return
        if now - due > self.lease / 6 and self.ready and not self._resumed:
            # The timer is late, so this process was stopped. The connection may live: the server is asked first.
            self._resumed = True
            self._pinged = None
            self._ping(now)
            self._be_patient(now + self.lease / 6)
            return
        self._lapsed = True
        for wait in list(self._waits.values()):
            if wait.placed:
                self._withdraw(wait, self._silence(wait), now)
        for hold in self._held():
            if hold.wish.lease is None and not hold.arriving:  # such a one has a time of its own
                self._lose(hold, hold.loss("unreachable"), now)

    def _ping(self, now: float) -> None:
        if self._pinged is not None:
            self.attached.broken = errors.NoConnection("the server does not answer")
            self._ping_at = now + self.lease / 6
            return
        self._pinged, self._ping_at = now, now + self.lease / 6

        def take(reply: Any, error: Optional[Exception]) -> None:
            self._pinged = None

        self.attached.send(["PING"], take, now)

    def _silence(self, call: Optional[Acquire] = None) -> errors.NoConnection:
        """The error for a server that does not answer."""
        what = "" if call is None else call.what() + ": "
        if self._refused is None:
            return errors.NoConnection(what + "the server does not answer")
        return errors.NoConnection(f"{what}the server cannot be reached: {self._refused}")

    def _not_acquired(self, call: Acquire, now: float) -> errors.NotAcquired:
        """The error for a lock that another owner holds, with that owner if it is one of this client's."""
        for key in call.wish.keys:
            for hold in self._holds.values():
                if key in hold.wish.keys and hold.task is not call.task:
                    at = next((handle.place for handle in hold.handles if handle.place is not None), None)
                    lease = "renewed by the server" if hold.ends_at is None else f"ends in {max(0.0, hold.ends_at - now):.3f} s"
                    return errors.NotAcquired(
                        f"{call.what()}: {hold.task.owner.decode(errors='backslashreplace')} of this program holds it for "
                        f"{now - hold.since:.3f} s ({lease})" + ("" if at is None else f", since {at[0]}:{at[1]}"), key, hold.task.owner)
        return errors.NotAcquired(f"{call.what()}: another owner holds it", call.wish.keys[0])

    def _pushed(self, message: Push, now: float) -> None:
        """Takes a push: lock-lost, lock-granted or lock-refused, limit-granted or limit-refused, and so on."""
        if len(message) < 4 or not isinstance(message[0], bytes):
            return
        if message[0] == b"lock-granted" and type(message[1]) is bytes and type(message[2]) is int:
            self._granted((message[1],), False, [message[2]], message[3], now)
            return
        keys = tuple(message[1]) if isinstance(message[1], list) else (message[1],)
        if message[0] == b"lock-lost" and isinstance(message[2], int):
            hold = self._holds.get((keys[0], message[2]))
            if hold is not None:
                self._lose(hold, hold.loss(message[3].decode(), keys[0], message[2]), now)
        elif message[0] == b"lock-asked" and isinstance(message[2], int):
            self._asked(keys[0], message[2], message[3].decode(errors="replace"))
        elif message[0] == b"lock-granted":
            tokens = tokens_of(message[2])
            if tokens is not None and len(tokens) == len(keys):
                self._granted(keys, isinstance(message[1], list), tokens, message[3], now)
        elif message[0] == b"limit-granted":
            call = self._waits.get((message[3], keys[0]))
            if call is not None and call.state == "queued":  # there is nothing to confirm
                self._finish(call, tokens_of(message[2]), None, now)
        elif message[0] in (b"lock-refused", b"limit-refused"):
            self._was_refused(keys[0], message[2].decode(), message[3], now)

    def _asked(self, key: bytes, token: int, reason: str) -> None:
        """Another client asks for a lock. Whoever listens to it hears of that, as of a loss: by the one that tells of events."""
        hold = self._holds.get((key, token))
        if hold is not None:
            hold.asked = reason
            callbacks = tuple(told for handle in hold.handles for told in handle.on_asked)
            if callbacks:
                self.lost = True
                self.events.append(Event("asked", hold.wish.keys[0], callbacks=callbacks, reason=reason))

    # Calls for locks.

    def new_owner(self) -> bytes:
        """Returns a name that no other owner has."""
        return self.names.new()

    def acquire(self, call: Acquire, wait: Optional[float], deadline: Optional[float], now: float) -> None:
        """Begins a call for a lock.

        wait: for how many seconds, or without end. deadline: when the caller's own time is over.
        """
        if self.closing:
            call.finish(None, errors.Closed("the client is closed"))
            return
        self._now = now
        self._calls.add(call)
        call.asked_at, call.number = now, next(self._numbers)
        call.end = None if wait is None or call.wish.tries else now + wait
        call.deadline = deadline
        self.limits.add(call, now)
        if call.end is not None:
            call.until = call.end
            call.timers = self.timers.add(call.end, lambda at: self._wait_over(call, at)),
        if deadline is not None:
            call.until = deadline if call.end is None else min(call.end, deadline)
            call.timers += self.timers.add(deadline, lambda at: self._withdraw(
                call, errors.DeadlineExceeded(f"{call.what()}: the deadline has passed"), at)),
        self.start(now)
        self._begin(call, now)

    def _begin(self, call: Acquire, now: float) -> None:
        task, keys = call.task, call.wish.keys
        if (task.busy or task.holds) and not self._has_to_ask(call, now):
            return
        task.busy.update(keys)
        self._waits[call.place] = call
        if not call.wish.tries:
            self._queued[keys[0]] = self._queued.get(keys[0], 0) + 1
            self.idle += keys[0] in self._ours
        call.state = "asked"
        if self.ready:
            self._ask(call, now)

    def _has_to_ask(self, call: Acquire, now: float) -> bool:
        """False: the call has to come later, or its task has the lock already, or may not have it."""
        task, keys = call.task, call.wish.keys
        if not task.busy.isdisjoint(keys):
            call.core = self
            task.deferred.append(call)
            return False
        hold = task.holds.get(keys[0])
        if any([task.holds.get(key) is not hold for key in keys[1:]]) or hold is not None and (
                hold.wish.permits or call.wish.permits or hold.wish.shared and not call.wish.shared):
            self._finish(call, None, errors.Error(f"the task holds some of {keys!r} in another way"), now)
        elif hold is not None:
            self._finish(call, self._handle(hold, keys), None, now)
        else:
            return True
        return False

    def idles(self, call: Call) -> bool:
        """Reports whether a call waits for what is held here: the server has nothing for it before that is released."""
        return type(call) is Acquire and call.wish.keys[0] in self._ours and not call.wish.tries and call.state != "deferred"

    def _own(self, hold: Hold, held: bool) -> None:
        """A lock is held here from now on, or is not any more."""
        wish = hold.wish
        if wish.shared or wish.permits:
            return
        ours, queued = self._ours, self._queued
        for key in wish.keys:
            if held and key not in ours:
                ours.add(key)
                self.idle += queued.get(key, 0)
            elif not held and key in ours:
                ours.remove(key)
                self.idle -= queued.get(key, 0)

    def _count(self) -> None:
        """Counts anew how many calls wait for what is held here."""
        exclusive = [hold.wish for hold in self._holds.values() if not (hold.wish.shared or hold.wish.permits)]
        self._ours = {key for wish in exclusive for key in wish.keys}
        self._queued, self.idle = {}, 0
        for call in self._waits.values():
            if not call.wish.tries:
                key = call.wish.keys[0]
                self._queued[key] = self._queued.get(key, 0) + 1
                self.idle += key in self._ours

    def _handle(self, hold: Hold, keys: Tuple[bytes, ...]) -> Handle:
        handle = Handle(hold, keys)
        hold.handles.add(handle)
        return handle

    def _wait_over(self, call: Acquire, now: float) -> None:
        """Ends a call whose time to wait is over. One that the server has not answered has at least LEAST for that."""
        if call.placed or call.state == "deferred":
            self._withdraw(call, self._not_acquired(call, now), now)
        elif now < call.asked_at + LEAST:
            call.timers += self.timers.add(call.asked_at + LEAST, lambda at: self._wait_over(call, at)),
        elif call.state == "asked":
            self._withdraw(call, self._silence(call), now)

    def _not_placed(self, call: Acquire, now: float) -> None:
        if call.state == "deferred" and self.ready:
            self.limits.add(call, now)
        elif not call.placed:
            self._withdraw(call, self._silence(call), now)

    def _ask(self, call: Acquire, now: float) -> None:
        call.state, call.sent, call.sent_at = "asked", True, now
        command = call.wish.ask(call.task.owner, None if call.until is None else call.until - now)

        def take(reply: Any, error: Optional[Exception]) -> None:
            self._replied(call, reply, error)

        self.attached.send(command, take, now)

    def _replied(self, call: Acquire, reply: Any, error: Optional[Exception]) -> None:
        now = self._now
        if error is not None:
            self._may_come_late(call, now)
        if not _is_answer(reply, error):
            if not self._call_elsewhere(call, "asked", reply, error):
                self._break(reply, error)
            return
        if call.state != "asked":
            return
        tokens = tokens_of(reply)
        if isinstance(reply, ServerError):
            self._finish(call, None, errors.from_reply(reply, call.what()), now)
        elif tokens is not None and call.wish.rate:
            self._finish(call, tokens, None, now)
        elif tokens is not None:
            self._hold(call, tokens, now)
        elif reply is None:
            self._finish(call, None, self._not_acquired(call, now), now)
        else:
            call.state, call.placed = "queued", True
            if call.end is not None and now >= call.end:
                self._wait_over(call, now)

    def _call_elsewhere(self, call: Acquire, state: str, reply: Any, error: Optional[Exception]) -> bool:
        """Ends a call whose command was redirected to another shard: it begins again there."""
        if error is not None or self.redirects is None or call.state != state or not _moved(reply):
            return False
        call.finish(None, Redirected(str(reply), self.attached))
        self._drop(call)
        self._idle(call.task, call.wish.keys)
        return True

    def _knows(self, owner: bytes, key: bytes, token: int) -> bool:
        """Whether a call waits for a lock, or has it, at any shard. Two connections may lead to one server, as when another one
        leads, and each of them hears of all grants."""
        return any((owner, key) in core._waits or (key, token) in core._holds for core in list(self.names.cores))

    def _granted(self, keys: Tuple[bytes, ...], many: bool, tokens: List[int], owner: bytes, now: float) -> None:
        call = self._waits.get((owner, keys[0]))
        if call is None:
            if owner.startswith(self.prefix) and not self._knows(owner, keys[0], tokens[0]):
                # A request that has arrived after its call had ended. It may be of a lock or of a semaphore.
                if many:
                    self._owe([Wish(keys, many=True).release(owner, tokens)])
                else:
                    self._owe([Wish(keys).release(owner, tokens), Wish(keys, permits=1).release(owner, tokens)])
            return
        if call.state != "queued":
            return
        sure_until = self._sure_until(call, now)
        if sure_until is not None:
            self._hold(call, tokens, now, sure_until)
            return
        call.state, call.tokens, call.sent_at = "granted", tokens, now
        commands = call.wish.confirm(owner, tokens)
        call.left = len(commands)

        def take(reply: Any, error: Optional[Exception]) -> None:
            self._confirmed(call, reply, error)

        for words in commands:
            self.attached.send(words, take, now)

    def _sure_until(self, call: Acquire, now: float) -> Optional[float]:
        """Until when a lock that was granted by a push is the caller's, if the server does not hear that it knows.

        The server takes a grant back after a third of the lease that it renews. It was made no earlier than the call was
        sent. So a call that was sent just now has its lock at once, and it is confirmed meanwhile. None: the call is older,
        and has the lock when that is confirmed.
        """
        third, lease = self.lease / 3, call.wish.lease
        if not self._knows_lease or self._lapsed or now - call.sent_at > third / 4:
            return None
        if lease is not None and now - call.sent_at > lease / 20:  # it counts from when it was sent: hardly less than asked for
            return None
        return call.sent_at + third * 3 / 4

    def _doubt(self, hold: Hold, sure_until: float, now: float) -> None:
        """Has a lock confirmed that its caller has already.

        The UNLOCK of its holder confirms it as well. That is waited for if a caller of this client has just released the
        same key, and had held it for a moment only: the lock goes from hand to hand.
        """
        hold.sure_until = sure_until
        key, passed_at = self._passed
        if key == hold.wish.keys[0] and now - passed_at < self._brief:
            at = now + min(self._brief, (sure_until - now) / 10)
            if hold.ends_at is not None and hold.ends_at <= at:
                self._expires(hold)
            hold.unsure = self.timers.add(at, lambda at: self._prove_late(hold, at))
        else:
            self._expires(hold)
            hold.unsure = self.timers.add(sure_until, lambda at: self._lose_unsure(hold, at))
            self._prove(hold, now)

    def _expires(self, hold: Hold) -> None:
        """Has a lock with a fixed lease lost when that ends."""
        if hold.ends_at is not None and hold.expiry is None:
            hold.expiry = self.timers.add(hold.ends_at, lambda at: self._lose(
                hold, hold.loss("expired"), at))

    def _prove_late(self, hold: Hold, now: float) -> None:
        if now >= hold.sure_until:  # this process was stopped
            self._lose_unsure(hold, now)
            return
        self._expires(hold)
        hold.unsure = self.timers.add(hold.sure_until, lambda at: self._lose_unsure(hold, at))
        if self.ready and self.attached.broken is None:  # otherwise the next connection does it
            self._prove(hold, now)

    def _lose_unsure(self, hold: Hold, now: float) -> None:
        self._lose(hold, hold.loss("unreachable"), now)

    def _prove(self, hold: Hold, now: float) -> None:
        """Confirms a lock that its caller has already."""
        key, token = hold.wish.keys[0], hold.tokens[0]

        def take(reply: Any, error: Optional[Exception]) -> None:
            if not _is_answer(reply, error):  # the next connection does it
                self._hold_elsewhere(hold, ["LOCK.CONFIRM", key], reply, error)
                return
            if hold.unsure is None or hold.core is not self:
                return
            hold.hops = 0
            hold.unsure.cancel()
            hold.unsure = None
            self._expires(hold)
            if reply != 1:
                self._lose(hold, hold.loss("stale", key, token), self._now)
            if isinstance(reply, ServerError):  # it may be held
                self._owe(hold.wish.undo(hold.task.owner))

        self.attached.send(hold.wish.prove(hold.task.owner, hold.tokens), take, now)

    def _confirmed(self, call: Acquire, reply: Any, error: Optional[Exception]) -> None:
        now = self._now
        if not _is_answer(reply, error):  # the next connection asks again
            if not self._call_elsewhere(call, "granted", reply, error):
                self._break(reply, error)
            return
        if call.state != "granted":
            return
        if isinstance(reply, ServerError):
            self._withdraw(call, errors.from_reply(reply), now)
        elif reply == 1:
            call.left -= 1
            if call.left == 0:
                self._hold(call, call.tokens, now)
        elif call.wish.lease is None and not call.wish.many:  # it was too late, or an operator has released the lock
            self._ask(call, now)
        else:
            self._withdraw(call, errors.LockLost(call.wish.keys[0], call.tokens[0], "expired"), now)

    def _was_refused(self, key: bytes, reason: str, owner: bytes, now: float) -> None:
        call = self._waits.get((owner, key))
        if call is None or call.state != "queued":
            return
        if reason in ("unconfirmed", "failover", "moved"):
            self._ask(call, now)
            return
        error: errors.Error
        if reason == "timeout" and call.deadline is not None and (call.end is None or call.deadline < call.end):
            error = errors.DeadlineExceeded(f"{call.what()}: the deadline has passed")
        elif reason in ("timeout", "cancelled"):  # or by an operator
            error = self._not_acquired(call, now)
        elif reason == "deadlock":
            error = errors.Deadlock(f"DEADLOCK {call.what()}")
        elif reason == "wrongtype":
            error = ServerError("WRONGTYPE Operation against a key holding the wrong kind of value")
        elif reason == "denied":
            error = ServerError("NOPERM the user may not write to the key any more")
        else:
            error = ServerError(f"ERR the server has ended the wait: {reason}")
        self._finish(call, None, error, now)

    def _hold(self, call: Acquire, tokens: List[int], now: float, sure_until: Optional[float] = None) -> None:
        """The server has given the lock. sure_until: it has to be confirmed."""
        wish, task = call.wish, call.task
        hold = Hold(self, task, wish, tokens, now)
        for name in hold.names:
            self._holds[name] = hold
        for key in wish.keys:
            task.holds[key] = hold
        self._own(hold, True)
        if wish.lease is not None:
            hold.ends_at = call.sent_at + wish.lease
        if sure_until is not None:
            self._doubt(hold, sure_until, now)
        elif hold.ends_at is not None:
            self._expires(hold)
        self._finish(call, self._handle(hold, wish.keys), None, now)

    def _finish(self, call: Acquire, result: Union[Handle, List[int], None], error: Optional[BaseException], now: float,
                undo: bool = False) -> None:
        """Ends a call. result: the lock, or the numbers of a limiter. undo: the server may have given it, or may still do so."""
        if call.over:
            return
        began = call.state != "deferred"  # it has asked the server, or will
        call.finish(result, error)  # first: repair sees to the rest if a signal interrupts this
        self._drop(call)
        if self.watched and (began or error is not None) and not call.wish.rate:
            for key in call.wish.keys:
                self.events.append(Event("acquired" if error is None else "refused", key, now - call.asked_at, error))
        if undo:  # until it is done the task does not ask again: that would end the new lock
            self._owe(call.wish.undo(call.task.owner), lambda _: self._idle(call.task, call.wish.keys))
        elif began:
            self._idle(call.task, call.wish.keys)
        elif call in call.task.deferred:
            call.task.deferred.remove(call)

    def _drop(self, call: Acquire) -> None:
        """Forgets a call that has ended."""
        call.state = "over"
        self._calls.discard(call)
        for timer in call.timers:
            timer.cancel()
        if self._waits.get(call.place) is call:
            del self._waits[call.place]
            if not call.wish.tries:
                key = call.wish.keys[0]
                left = self._queued[key] - 1
                if left:
                    self._queued[key] = left
                else:
                    del self._queued[key]
                self.idle -= key in self._ours

    def _idle(self, task: Task, keys: Tuple[bytes, ...]) -> None:
        """The next call of the task for the keys may begin."""
        task.busy.difference_update(keys)
        if not task.deferred:
            return
        deferred = [call for call in task.deferred if call.core is self]
        task.deferred = [call for call in task.deferred if call.core is not self]
        for call in deferred:
            if not call.over:
                self._begin(call, self._now)

    def _withdraw(self, call: Acquire, error: BaseException, now: float) -> None:
        """Ends a wait because its caller goes."""
        self._now = now
        self._finish(call, None, error, now, undo=call.sent)

    def cancel(self, call: Acquire, error: BaseException, now: float) -> None:
        """Ends a wait because another thread wants that. A lock that was granted before stays."""
        if not call.over:
            self._withdraw(call, error, now)

    def withdraw(self, call: Acquire, error: BaseException, now: float) -> None:
        """Ends a wait because its caller goes. A lock that was granted meanwhile is released."""
        if call.over and isinstance(call.result, Handle):
            if call.result.why_over() is None:
                self.release(call.result, Call(lambda: None), now)
            return
        self._withdraw(call, error, now)

    def _may_come_late(self, call: Acquire, now: float) -> None:
        """Sees to a request whose connection has ended before its answer.

        The server may read it later than what comes by the next connection, and give a lock that no caller waits for. So
        it is released a lease later, unless the task has the lock, or asks for it, by then.
        """
        task, keys = call.task, call.wish.keys

        def undo(at: float) -> None:
            if not self.closing and not any(key in task.busy or key in task.holds for key in keys):
                self._now = at
                task.busy.update(keys)
                self._owe(call.wish.undo(task.owner), lambda _: self._idle(task, keys))

        self.timers.add(now + self.lease, undo)

    # Holds.

    def _gave(self, hold: Hold) -> bool:
        """Whether another shard has a hold now. The core of a process before its fork has no transport of its own any more."""
        return hold.core is not self and hold.core.transport().core is hold.core

    def release(self, handle: Handle, call: Call, now: float) -> None:
        """Releases a lock, once for each time that it was taken. The call's result is None."""
        self._now = now
        hold = handle.hold
        if self._gave(hold):  # its slot has moved just now
            done = call._done

            def end() -> None:
                done()
                self.wake()

            call._done = end
            hold.core.transport().poke(lambda core, now: core.release(handle, call, now))
            return
        if handle.expired(now) is not None:  # the timer is late
            self._lose(hold, hold.loss("expired"), now)
        over = handle.why_over()
        if over is not None:
            call.finish(None, over)
            return
        hold.handles.discard(handle)
        if hold.handles:
            call.finish(None)
            return
        hold.releasing = True
        hold.end_timers()
        if now - hold.since < self._brief:
            self._passed = hold.wish.keys[0], now
        hold.task.busy.update(hold.wish.keys)
        self.limits.add(call, now)

        def paid(debt: Debt) -> None:
            self._released(hold, debt, call)

        hold.debt = Debt([hold.release()], paid)
        self._enter(hold.debt)

    def stats(self, now: float) -> Stats:
        """What is held and waited for."""
        holds = {id(hold): hold for hold in self._holds.values() if hold.handles}
        oldest = min((hold.since for hold in holds.values()), default=now)
        return Stats(len(holds), len(self._calls), now - oldest)

    def repair(self, now: float) -> None:
        """Completes what an interrupted call has left half done: the end of a call, the release of a lock, or a debt."""
        self._now = now
        self._count()
        for call in list(self._calls):
            if call.over:
                self._drop(call)
                self._idle(call.task, call.wish.keys)
        for hold in list(self._holds.values()):
            if hold.handles or hold.lost is not None:
                continue
            if hold.debt is None:
                hold.releasing = False
                self.release(self._handle(hold, hold.wish.keys), Call(lambda: None), now)
            elif not hold.debt.over and hold.debt not in self._debts and hold.debt.core in (None, self):
                self._enter(hold.debt)
        for debt in list(self._debts):
            if not debt.entered and debt not in self._unpaid:
                debt.entered = True
                self._unpaid.append(debt)

    def _released(self, hold: Hold, debt: Debt, call: Call) -> None:
        self._forget(hold)
        self._idle(hold.task, hold.wish.keys)
        reply = debt.replies[0]
        gone = reply is None or isinstance(reply, list) and None in reply
        if hold.lost is None and (gone and debt.sent == 1
                                  or isinstance(reply, ServerError) and str(reply).startswith("WRONGTYPE")):
            # The first UNLOCK has found that the owner does not have it. A second one may follow one that was done.
            hold.lost = hold.loss("stale")
        if hold.lost is not None:
            self._report_loss(hold, hold.lost, ())
            call.finish(None, hold.lost.error())
            return
        if self.watched:
            for key in hold.wish.keys:
                self.events.append(Event("released", key, self._now - hold.since))
        call.finish(None, errors.from_reply(reply) if isinstance(reply, ServerError) else None)

    def _report_loss(self, hold: Hold, loss: Loss, callbacks: Tuple[Callable[[errors.LockLost], None], ...]) -> None:
        self.lost = True
        for key in hold.wish.keys:
            told, callbacks = callbacks, ()  # they are told once
            self.events.append(Event("lost", key, self._now - hold.since, loss.error(), told))

    def _forget(self, hold: Hold) -> None:
        hold.end_timers()
        for key in hold.wish.keys:
            if hold.task.holds.get(key) is hold:
                del hold.task.holds[key]
        self._remove(hold)

    def _remove(self, hold: Hold) -> None:
        for name in hold.names:
            if self._holds.get(name) is hold:
                del self._holds[name]
        self._own(hold, False)

    def _lose(self, hold: Hold, loss: Loss, now: float) -> None:
        """Records that the lock at one of the keys is lost, and gives up the rest."""
        if hold.lost is not None:
            return
        if self._gave(hold):
            hold.core.transport().poke(lambda core, at: core._lose(hold, loss, at))
            return
        if hold.releasing:
            # It may be gone because an UNLOCK was done and its answer lost. So only a push of the server is a loss.
            if loss.reason not in ("stale", "unreachable", "closed"):
                hold.lost = loss
            return
        self._now = now
        hold.lost = loss
        callbacks = tuple(told for handle in hold.handles for told in handle.on_lost)
        self._report_loss(hold, loss, callbacks)
        hold.handles.clear()
        self._forget(hold)
        if hold.wish.many or loss.reason in ("unreachable", "closed"):
            keys = hold.wish.keys
            hold.task.busy.update(keys)
            self._owe([hold.release()], lambda _: self._idle(hold.task, keys))

    def lose_stale(self, handle: Handle, key: bytes, now: float) -> errors.Error:
        """Records that the server has refused a guarded command, and returns the error for it."""
        loss = handle.hold.loss("stale", key, handle.token(key))
        self._lose(handle.hold, loss, now)
        return handle.why_over() or loss.error()

    def renewed(self, handle: Handle, lease: float, sent: float) -> None:
        """Records that the holder has renewed a fixed lease, by a command sent at a time."""
        hold = handle.hold
        if hold.ends_at is not None and handle in hold.handles:
            if hold.expiry is not None:
                hold.expiry.cancel()
            hold.ends_at, hold.expiry = sent + lease, None
            hold.core._expires(hold)

    def unconfirmed(self) -> List[Command]:
        """Returns the commands that confirm what its holders have, and the server may not know yet."""
        return [["LOCK.CONFIRM", hold.wish.keys[0], hold.task.owner, hold.tokens[0]]
                for hold in list(self._holds.values()) if hold.unsure is not None]

    # Debts.

    def _owe(self, commands: List[Sent], paid: Optional[Callable[[Debt], None]] = None) -> None:
        """Has commands done, now or as soon as there is a connection, until they were answered."""
        self._enter(Debt(commands, paid))

    def _enter(self, debt: Debt) -> None:
        self._debts.add(debt)
        debt.core = self
        if debt.began is None:
            debt.began = self
        if self.ready and self.attached.broken is None:
            self._send_debt(debt, self._now)
        else:
            self._unpaid.append(debt)
        debt.entered = True

    def owe(self, commands: List[Sent], now: float) -> None:
        """Has commands done that may be sent twice, now or later."""
        self._now = now
        self._owe(commands)

    def _send_debt(self, debt: Debt, now: float) -> None:
        debt.sent += 1
        if len(debt.commands) == 1:
            def take_one(reply: Any, error: Optional[Exception]) -> None:
                debt.replies, debt.failed = [reply], not _is_answer(reply, error)
                if debt.failed:
                    debt.to = self._served_by(words_of(debt.commands[0]), reply, error)
                if not debt.over:
                    self._answered_all(debt)

            self.attached.send(debt.commands[0], take_one, now)
            return
        debt.replies, debt.answered, debt.failed = [None] * len(debt.commands), set(), False

        def take_for(number: int) -> Take:
            def take(reply: Any, error: Optional[Exception]) -> None:
                debt.replies[number] = reply
                debt.answered.add(number)
                if not _is_answer(reply, error):
                    debt.failed = True
                    debt.to = self._served_by(words_of(debt.commands[number]), reply, error) or debt.to
                if len(debt.answered) == len(debt.commands) and not debt.over:
                    self._answered_all(debt)

            return take

        for number, words in enumerate(debt.commands):
            self.attached.send(words, take_for(number), now)

    def _answered_all(self, debt: Debt) -> None:
        if debt.failed:
            to, debt.to = debt.to, None
            if to is not None:
                self._debts.discard(debt)
                debt.hops += 1
                to.poke(lambda core, now: core.take_debt(debt, now))
                self._end_if_done()
            elif debt not in self._unpaid:
                self._unpaid.append(debt)
            return
        if debt.paid is not None:
            debt.paid(debt)
        debt.over, debt.paid = True, None
        self._debts.discard(debt)
        self._end_if_done()
        if debt.began is not None and debt.began is not self:
            debt.began.wake()

    # The other connection.

    def request(self, request: Request, deadline: float, now: float) -> None:
        """Sends a command that does not wait. once: it is not sent again, even if its answer is lost."""
        if self.closing:
            request.finish(None, errors.Closed("the client is closed"))
            return
        self._now = now
        self.start(now)
        self._pending[id(request)] = request
        request.timer = self.timers.add(deadline, lambda _: self._end_request(request, None, self._command_silence()))
        if self.commands.up and self.commands.broken is None and self.commands.left is None:
            self._send_request(request, now)
        elif not self.commands.up and not self.commands.dialing and self.commands.dial_at is None:
            self.commands.dial_at = now

    def _command_silence(self) -> errors.NoConnection:
        return errors.NoConnection("the server does not answer") if self.commands.up else self._silence()

    def _send_request(self, request: Request, now: float) -> None:
        request.sent += 1

        def take(reply: Any, error: Optional[Exception]) -> None:
            if error is None and isinstance(reply, ServerError) and errors.is_elsewhere(reply):
                self._request_elsewhere(request, reply)
            elif error is None:
                self._end_request(request, reply, None)
            elif request.once:
                self._end_request(request, None, errors.NoConnection(
                    f"the connection has ended, and the command may have been done: {error}"))

        self.commands.send(request.words, take, now)

    def _request_elsewhere(self, request: Request, reply: ServerError) -> None:
        text = str(reply)
        if self.redirects and _moved(reply):
            self._end_request(request, None, Redirected(text, self.commands))
            return
        if self.commands.broken is None:
            self.commands.broken = errors.NoConnection(text)
        if request.once:
            self._end_request(request, None, errors.NoConnection(f"the server has not done the command: {text}"))

    def leave(self, why: Redirected) -> None:
        """Closes both connections: another server leads the shard. The replies to other commands are awaited before."""
        if why.opened != why.link.times_opened:
            return  # they lead to another server by now
        if self.attached.up and self.attached.broken is None:
            self.attached.broken = errors.NoConnection(why.moved)
        if self.commands.up:
            self.commands.left = errors.NoConnection(why.moved)
            if not self.commands.awaited and self.commands.broken is None:
                self.commands.broken = self.commands.left

    def end_request(self, request: Request, error: BaseException) -> None:
        """Ends a command because its caller goes."""
        self._end_request(request, None, error)

    def _end_request(self, request: Request, reply: Any, error: Optional[BaseException]) -> None:
        if self._pending.pop(id(request), None) is not None and request.timer is not None:
            request.timer.cancel()
        request.finish(reply, error)

    def _commands_ended(self, why: Exception) -> None:
        if not self._pending:  # the next command has it made anew
            self.commands.dial_at = None

    # The end.

    def close(self, now: float, keep_leases: bool = False) -> None:
        """Releases what is held, and ends the calls. After that, or after the limit, ``ended`` is set.

        keep_leases: locks with a fixed lease are left alone, and end with that.
        """
        if self.closing:
            return
        self.closing, self._now = True, now
        self._started(errors.Closed("the client was closed"))
        for call in list(self._calls):
            self._withdraw(call, errors.Closed("the client was closed"), now)
        for hold in self._held():
            if keep_leases and hold.wish.lease is not None and not hold.releasing:
                hold.lost = hold.loss("closed")
                hold.handles.clear()
                self._forget(hold)
            else:
                self._lose(hold, hold.loss("closed"), now)
        for request in list(self._pending.values()):
            self._end_request(request, None, errors.Closed("the client was closed"))
        self.timers.add(now + self.limit, lambda _: self._end())
        self._end_if_done()

    def _end_if_done(self) -> None:
        if self.closing and not self._debts:
            self._end()

    def _end(self) -> None:
        self.ended = True

    _now: float = 0.0


Done = Union[Call, Acquire, Request]
