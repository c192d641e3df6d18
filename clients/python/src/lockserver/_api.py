"""What both kinds of clients share: options of locks, names of keys, what is told to observers."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import inspect
import logging
import os
import string
import sys
import threading
import time
import warnings
import weakref
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Type

from . import errors
from ._core import LEAST, Event, Handle
from ._resp import Word
from ._views import Stats
from ._wish import Command, Wish, exact_milliseconds, key_of, milliseconds, priority_of, wait_of, whole

_log = logging.getLogger("lockserver")

#: How long a call waits for answers of the server, in seconds.
DEFAULT_TIMEOUT = 5.0
#: How long a function that is decorated waits for its lock, in seconds, unless it says something else.
DEFAULT_WAIT = 60.0
#: How many limiters one call may name.
MOST_LIMITERS = 64


class Observer:
    """Is told what becomes of locks, for metrics and logs. The methods must return soon, and may be overridden.

    Times are in seconds. ``lost`` and the callbacks of ``on_lost`` are called by the thread of the client, the others by any
    thread that uses it, and without a lock of the client; in asyncio all are called in its event loop. What they raise is
    logged, ``sys.exit`` as well: in a thread it would end the client, and not the program.
    """

    def acquired(self, key: bytes, waited: float) -> None:
        """A lock was acquired."""

    def refused(self, key: bytes, waited: float, error: BaseException) -> None:
        """It was not, for that reason."""

    def released(self, key: bytes, held: float) -> None:
        """It was released by its holder."""

    def lost(self, key: bytes, held: float, loss: errors.LockLost) -> None:
        """It was lost."""

    def attached(self, up: bool, why: Optional[BaseException]) -> None:
        """The connection that keeps the locks is there, or has ended."""

    def follow(self, stats: Callable[[], Stats]) -> None:
        """A client has this observer. stats tells what the client has at any time, and nothing when it is gone."""


_REASONS: Dict[Type[BaseException], str] = {
    errors.NotAcquired: "not_acquired", errors.DeadlineExceeded: "deadline", errors.Cancelled: "cancelled",
    errors.Deadlock: "deadlock", errors.NoConnection: "no_connection", errors.Closed: "closed",
}


def reason_of(error: BaseException) -> str:
    """Names why a call for a lock failed, for a label of metrics."""
    return _REASONS.get(type(error), "error" if isinstance(error, Exception) else "cancelled")


def tell(observer: Observer, event: Event, threads: bool) -> None:
    """Logs losses and disconnections. Tells an observer of an event, and a lock's own callbacks of its loss.

    What they raise is logged, too. threads: so is sys.exit, which would end the client's thread, and with it all locks.
    """
    failures = (Exception, SystemExit) if threads else (Exception,)
    if event.what == "lost":
        closed = isinstance(event.error, errors.LockLost) and event.error.reason == "closed"
        _log.log(logging.INFO if closed else logging.WARNING, "%s", event.error)
    elif event.what == "detached":
        _log.warning("the connection that keeps the locks has ended: %s", event.error)
    elif event.what == "attached":
        _log.info("the connection that keeps the locks is there")
    elif type(observer) is Observer and event.what != "asked":
        return

    def call(what: Callable[..., None], *args: Any) -> None:
        try:
            what(*args)
        except failures:
            _log.exception("an observer of locks has failed")

    if event.what == "acquired":
        call(observer.acquired, event.key, event.seconds)
    elif event.what == "refused":
        call(observer.refused, event.key, event.seconds, event.error)
    elif event.what == "released":
        call(observer.released, event.key, event.seconds)
    elif event.what == "lost":
        call(observer.lost, event.key, event.seconds, event.error)
        for callback in event.callbacks:
            call(callback, event.error)
    elif event.what == "asked":
        for callback in event.callbacks:
            call(callback, event.reason)
    else:
        call(observer.attached, event.what == "attached", event.error)


def followed(observer: Observer, driver: Any) -> None:
    """Tells an observer of a client, which it does not keep alive."""
    of = weakref.ref(driver)

    def stats() -> Stats:
        driver = of()
        return Stats(0, 0, 0.0) if driver is None else driver.stats()

    observer.follow(stats)


def place() -> Tuple[str, int]:
    """Returns file and line of the caller of this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and (frame.f_code.co_filename.startswith(_HERE) or frame.f_globals.get("__name__") == "redis.lock"):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


_HERE = os.path.dirname(__file__) + os.sep


class Cancel:
    """Lets another thread end a call: ``locks.lock(key, cancel=cancel)`` raises :class:`Cancelled` then."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled = False
        self._waiting: Dict[int, Callable[[], None]] = {}
        self._count = 0

    @property
    def cancelled(self) -> bool:
        """Whether cancel was called."""
        return self._cancelled

    def cancel(self) -> None:
        """Ends all calls that were given this object, now and later."""
        with self._lock:
            self._cancelled = True
            waiting, self._waiting = list(self._waiting.values()), {}
        for run in waiting:
            run()

    def subscribe(self, run: Callable[[], None]) -> Callable[[], None]:
        """Has run called by cancel, or at once if that was called before. Returns what ends that."""
        with self._lock:
            self._count += 1
            number = self._count
            if not self._cancelled:
                self._waiting[number] = run

                def end() -> None:
                    with self._lock:
                        self._waiting.pop(number, None)

                return end
        run()
        return lambda: None


def lock_wish(key: Word, wait: Optional[float], lease: Optional[float], shared: bool, trace: Optional[str] = None,
              priority: int = 0) -> Wish:
    """The wish for a lock of one key."""
    return Wish((key_of(key),), shared=shared, lease=_lease(lease), tries=_tries(wait), trace=_traceparent(trace),
                priority=priority_of(priority))


def many_wish(keys: Sequence[Word], wait: Optional[float], lease: Optional[float], shared: bool,
              trace: Optional[str] = None, priority: int = 0) -> Wish:
    """The wish for locks of several keys."""
    if isinstance(keys, (str, bytes)):
        raise TypeError("keys is a list of keys")
    names = tuple(sorted({key_of(key) for key in keys}))
    if not names:
        raise ValueError("no keys to lock")
    return Wish(names, many=True, shared=shared, lease=_lease(lease), tries=_tries(wait), trace=_traceparent(trace),
                priority=priority_of(priority))


def permits_wish(key: Word, limit: Optional[int], permits: int, wait: Optional[float], lease: Optional[float],
                 trace: Optional[str] = None, initial: bool = False, priority: int = 0) -> Wish:
    """The wish for permits of a semaphore."""
    permits = whole(permits, "a number of permits")
    limit = None if limit is None else whole(limit, "a limit")
    if limit is not None and limit < permits and not initial:
        raise ValueError(f"{permits} permits of {limit}")
    return Wish((key_of(key),), lease=_lease(lease), tries=_tries(wait), permits=permits, limit=limit,
                initial=initial, trace=_traceparent(trace), priority=priority_of(priority))


def rate_wish(words: Command, keys: Sequence[bytes]) -> Wish:
    """The wish for units of the limiters at the keys, with the words of LIMIT.TAKE or LIMIT.MTAKE."""
    return Wish(tuple(keys), rate=tuple(words))


def last_word(wait: float) -> float:
    """How much of a wait is kept for the last question, in seconds."""
    return max(min(wait / 10, 1.0), min(wait / 2, LEAST) if wait else LEAST)


def _lease(lease: Optional[float]) -> Optional[float]:
    if lease is not None:
        milliseconds(lease, "a lease")
        lease = float(lease)
    return lease


def _traceparent(trace: Optional[str]) -> Optional[str]:
    if trace is not None and not isinstance(trace, str):
        raise TypeError(f"a trace is a traceparent, a text, and not {trace!r}")
    return trace


def _tries(wait: Optional[float]) -> bool:
    wait = wait_of(wait)
    return wait is not None and wait <= 0


def rate_words(key: Word, burst: int, count: int, period: float) -> Command:
    """The words of LIMIT.TAKE without a cost."""
    return ["LIMIT.TAKE", key_of(key), whole(burst, "a burst"), whole(count, "a count"), exact_milliseconds(period, "a period")]


def rates_words(limiters: Sequence[Any], kind: "Type[LimiterBase]", locks: Any) -> Command:
    """The words of LIMIT.MTAKE without a cost. kind: the class of the limiters, which have to be of the client locks."""
    words: Command = ["LIMIT.MTAKE", 0]
    keys = set()
    for limiter in limiters:
        if not isinstance(limiter, kind):
            raise TypeError(f"a limiter is what Locks.limiter returns, and not {limiter!r}")
        if limiter._locks is not locks:
            raise ValueError(f"{limiter!r} is a limiter of another client")
        if limiter.key in keys:
            raise ValueError(f"{limiter!r} is named twice: a limiter has one state")
        keys.add(limiter.key)
        words += limiter._words[1:]
    if not 1 <= len(keys) <= MOST_LIMITERS:
        raise ValueError(f"{len(keys)} limiters: it takes 1 to {MOST_LIMITERS}")
    words[1] = len(keys)
    return words


class LimiterBase:
    """What a limiter says of itself."""

    def __init__(self, locks: Any, key: Word, burst: int, count: int, period: float) -> None:
        self._locks = locks
        self._words = rate_words(key, burst, count, period)

    @property
    def key(self) -> bytes:
        """The key."""
        return key_of(self._words[1])

    def __repr__(self) -> str:
        return "<limiter {!r}, burst {!r}, {!r} in {!r} ms>".format(*self._words[1:])


def name_of(key: bytes) -> str:
    """Returns a key as text."""
    return key.decode(errors="backslashreplace")


class HeldBase:
    """What a lock that is held says of itself, without asking the server."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        handle.place = self._place = place()

    def __del__(self) -> None:
        """A lock that its holder has forgotten stays held: that is said, with the place of its acquisition."""
        handle = getattr(self, "_handle", None)
        if handle is None or handle.why_over() is not None or handle.core.closing or handle.core.forked or sys.is_finalizing():
            return
        keys = ", ".join(repr(name_of(key)) for key in handle.keys)
        text = f"the lock {keys} was not released, and stays held; it was acquired at {self._place[0]}:{self._place[1]}"
        _log.warning("%s", text)
        warnings.warn(text, ResourceWarning, source=self)

    @property
    def asked(self) -> Optional[str]:
        """The reason of the last client that asked the holder to let go (:meth:`lockserver.Locks.ask`), or None."""
        return self._handle.hold.asked

    @property
    def acquired_at(self) -> str:
        """The place of its acquisition: file and line."""
        return "%s:%d" % self._place

    @property
    def keys(self) -> Tuple[bytes, ...]:
        """The keys, in order."""
        return self._handle.keys

    @property
    def key(self) -> bytes:
        """The key, or the first of several."""
        return self._handle.keys[0]

    @property
    def token(self) -> int:
        """The fencing token: a later holder's is higher. Of several keys it is the first one's."""
        return self._handle.token(self._handle.keys[0])

    @property
    def tokens(self) -> Mapping[bytes, int]:
        """The fencing tokens by key."""
        return {key: self._handle.token(key) for key in self._handle.keys}

    @property
    def owner(self) -> bytes:
        """The name by which the server knows the holder."""
        return self._handle.hold.task.owner

    @property
    def remaining(self) -> float:
        """For how many seconds it is held for certain, as far as the client knows without asking the server; 0: it is not.

        Of a fixed lease it is the rest. A lock that the server renews has this long until it counts as ``unreachable``, if
        the server is silent from now on.
        """
        return 0.0 if self._why_over() is not None else self._handle.remaining(time.monotonic())

    @property
    def lost(self) -> Optional[errors.LockLost]:
        """How the lock was lost, or None."""
        over = self._why_over()
        return over if isinstance(over, errors.LockLost) else None

    @property
    def held(self) -> bool:
        """Whether the lock is held, as far as is known."""
        return self._why_over() is None

    def _why_over(self) -> Optional[errors.Error]:
        """Why it is not held. A fixed lease that is over counts, also before the client has looked at its timers."""
        now = time.monotonic()
        return self._handle.why_over() or self._handle.expired(now) or self._handle.doubtful(now)

    def check(self) -> None:
        """Raises :class:`LockLost` or :class:`LockReleased` if the lock is known not to be held. It asks no server."""
        over = self._why_over()
        if over is not None:
            raise over

    def _one_key(self) -> bytes:
        if len(self._handle.keys) > 1:
            raise errors.Error(f"a lock of {len(self._handle.keys)} keys cannot guard a command")
        self.check()
        return self._handle.keys[0]

    def __repr__(self) -> str:
        return f"<lock {self.keys!r} of {self.owner!r}, token {self.token}>"


def key_namer(pattern: str, function: Callable[..., Any]) -> Callable[[Tuple[Any, ...], Dict[str, Any]], str]:
    """Returns what makes a key of a call's arguments: ``bill:{0}`` or ``bill:{number}``.

    Numbers count the arguments as the function is declared, and names are those of its parameters. A pattern that the
    function cannot fill raises ValueError now, and not in the first call.
    """
    signature = inspect.signature(function)
    names = list(signature.parameters)
    open_ended = any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in signature.parameters.values())
    for _, field, _, _ in string.Formatter().parse(pattern):
        if field is None:
            continue
        first = field.split(".")[0].split("[")[0]
        known = int(first) < len(names) if first.isdigit() else first in names
        if not first or not known and not open_ended:
            raise ValueError(f"{pattern!r} names an argument that {function.__name__} does not have: {field!r}")

    def name(args: Tuple[Any, ...], keywords: Dict[str, Any]) -> str:
        bound = signature.bind(*args, **keywords)
        bound.apply_defaults()
        values: List[Any] = []
        named: Dict[str, Any] = {}
        for parameter in signature.parameters.values():
            value = bound.arguments[parameter.name]
            if parameter.kind is parameter.VAR_POSITIONAL:
                values.extend(value)
            elif parameter.kind is parameter.VAR_KEYWORD:
                named.update(value)
            else:
                values.append(value)
                named[parameter.name] = value
        return pattern.format(*values, **named)

    return name


def kind_of(function: Callable[..., Any]) -> str:
    """Returns what a call of a function makes: a result, a coroutine, a generator or an asynchronous generator."""
    for candidate in (function, getattr(function, "__call__", None)):
        if inspect.isasyncgenfunction(candidate):
            return "asynchronous generator"
        if inspect.iscoroutinefunction(candidate):
            return "coroutine"
        if inspect.isgeneratorfunction(candidate):
            return "generator"
    return "result"


def finished(function: Callable[..., Any], result: Any) -> Any:
    """Returns the result of a function that ran with a lock. Raises TypeError if its work is only to begin, or goes on."""
    if inspect.isawaitable(result) or inspect.isgenerator(result) or inspect.isasyncgen(result) \
            or isinstance(result, (concurrent.futures.Future, asyncio.Future)):
        if inspect.iscoroutine(result) or inspect.isgenerator(result):
            result.close()
        raise TypeError(f"{function!r} has returned {type(result).__name__}: its work is not done when the lock is released. "
                        "Take the lock where the work is done, or decorate a coroutine function with AsyncLocks.exclusive")
    return result


def wraps(function: Callable[..., Any], made: Callable[..., Any]) -> Callable[..., Any]:
    """functools.wraps, typed loosely."""
    return functools.wraps(function)(made)
