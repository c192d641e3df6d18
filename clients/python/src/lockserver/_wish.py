"""What is asked for, and the commands for it. Each of them may be sent twice."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, List, Optional, Sequence, Tuple, Union

from . import _trace
from ._resp import Word, bulk, encode_word, pattern

Command = List[Word]
#: A command, or one that is encoded already.
Sent = Union[Command, bytes]
_NO_END = bulk(0)


# What a caller gives is checked in the call that it is given to, and not where it is sent: that may be later, and in a thread
# that others need.


def number(value: Any, what: str) -> float:
    """Returns a number of seconds as a float, which Decimal and Fraction can be, too. Raises TypeError, or ValueError for NaN."""
    if isinstance(value, (bool, str, bytes)) or not hasattr(type(value), "__float__"):
        raise TypeError(f"{what} is a number of seconds, and not {value!r}")
    seconds = float(value)
    if seconds != seconds:
        raise ValueError(f"{what} is not a number")
    return seconds


def wait_of(wait: Any) -> Optional[float]:
    """Returns how long a call waits, in seconds; None: without an end, which infinity is, too."""
    seconds = None if wait is None else number(wait, "a wait")
    return None if seconds == math.inf else seconds


def milliseconds(seconds: Any, what: str) -> int:
    """Returns a time as whole milliseconds. Raises TypeError, and ValueError for one below a millisecond, and for NaN."""
    value = number(seconds, what)
    if not 0.001 <= value <= 1e12:
        raise ValueError(f"{what} of {seconds} s is not between 0.001 s and 1e12 s")
    return round(value * 1000)


def exact_milliseconds(seconds: Any, what: str) -> int:
    """As milliseconds. Raises ValueError for a part of one, which would change a rate."""
    ms = milliseconds(seconds, what)
    if abs(number(seconds, what) * 1000 - ms) > 1e-6 * ms:
        raise ValueError(f"{what} of {seconds} s is not a whole number of milliseconds; take a longer one with a larger count")
    return ms


def whole(value: Any, what: str, least: int = 1) -> int:
    """Returns a whole number. Raises TypeError for what is none, such as True, and ValueError below least."""
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        raise TypeError(f"{what} is a whole number, and not {value!r}")
    count = operator.index(value)
    if count < least:
        raise ValueError(f"{what} of {count} is less than {least}")
    return count


#: The highest priority of a call that waits.
MAX_PRIORITY = 9


def priority_of(priority: Any) -> int:
    """Returns a priority. Raises TypeError, and ValueError for one that is not from 0 to 9."""
    level = whole(priority, "a priority", 0)
    if level > MAX_PRIORITY:
        raise ValueError(f"a priority of {level} is more than {MAX_PRIORITY}")
    return level


@dataclass(frozen=True)
class Wish:
    """A lock of one key or of several, exclusive or shared, permits of a semaphore, or units of limiters."""

    keys: Tuple[bytes, ...]
    many: bool = False
    shared: bool = False
    lease: Optional[float] = None  # seconds; None: the server renews it
    tries: bool = False  # it does not wait
    permits: int = 0  # of a semaphore; 0: this is a lock
    limit: Optional[int] = None  # of the semaphore
    initial: bool = False  # the limit counts only for the call that makes the semaphore
    priority: int = 0  # the place among the calls that wait: the highest is served first
    rate: Tuple[Word, ...] = ()  # of limiters: the command, without a wait
    trace: Optional[str] = None  # the traceparent of the call; empty: none; None: the current one, see traced

    def __post_init__(self) -> None:
        self._ask  # a word that cannot be sent raises here, in the call that it was given to

    def traced(self) -> Wish:
        """The wish with the trace of the caller, unless it has one."""
        trace = _trace.current() if self.trace is None else ""
        return replace(self, trace=trace) if trace else self

    def _fixed(self) -> Command:
        return [] if self.lease is None else ["PX", milliseconds(self.lease, "a lease")]

    def ask(self, owner: bytes, wait: Optional[float]) -> bytes:
        """The command that asks, or asks again, encoded. An owner that is queued keeps its place. wait: seconds, or no end."""
        if self.tries:
            return self._ask % bulk(owner)
        ms = _NO_END if wait is None else bulk(max(1, math.ceil(wait * 1000)))
        return self._ask % ((ms, bulk(owner)) if self.rate else (bulk(owner), ms))

    # What most callers send again and again is encoded once, but for the words that change: see pattern.

    @cached_property
    def _ask(self) -> bytes:
        words: List[Optional[Word]]
        if self.rate:
            return pattern([*self.rate, "WAIT", None, "NOTIFY", None])
        if self.permits:
            words = ["SEM.ACQUIRE", self.keys[0], None]
            if self.limit is not None:
                words += ["INITIAL" if self.initial else "LIMIT", self.limit]
            words += ["PERMITS", self.permits]
        elif self.many:
            words = ["MLOCK", len(self.keys), *self.keys, None]
        else:
            words = ["LOCK", self.keys[0], None]
        if self.shared:
            words.append("SHARED")
        words += self._fixed()
        if self.trace:
            words += ["TRACE", self.trace]
        if not self.tries:
            words += ["WAIT", None, "NOTIFY"]
            if self.priority:
                words += ["PRIORITY", self.priority]
        words.append("ONCE")
        return pattern(words)

    @cached_property
    def _release(self) -> bytes:
        if self.many:
            return pattern(["MUNLOCK", len(self.keys), *self.keys, None, "TOKENS", *[None] * len(self.keys)])
        return pattern(["SEM.RELEASE" if self.permits else "UNLOCK", self.keys[0], None, "TOKEN", None])

    @cached_property
    def _prove(self) -> bytes:
        return pattern(["LOCK.CONFIRM", self.keys[0], None, None])

    def undo(self, owner: bytes) -> List[Sent]:
        """The commands that end a wait, and release what it may have got."""
        cancel: List[Sent] = [] if self.tries else [["LOCK.CANCEL", self.keys[0], owner]]
        return cancel if self.rate else [*cancel, self.release(owner, None)]

    def release(self, owner: bytes, tokens: Optional[Sequence[int]]) -> Sent:
        """The command that releases it, however often it is sent. tokens: one for each key, or None: whichever it has."""
        if tokens is not None:
            return self._release % (bulk(owner), *map(bulk, tokens))
        if self.many:
            return ["MUNLOCK", len(self.keys), *self.keys, owner]
        return ["SEM.RELEASE" if self.permits else "UNLOCK", self.keys[0], owner]

    def prove(self, owner: bytes, tokens: Sequence[int]) -> bytes:
        """The command that confirms a grant, and leaves a fixed lease as it is. One of several locks stands for all."""
        return self._prove % (bulk(owner), bulk(tokens[0]))

    def confirm(self, owner: bytes, tokens: Sequence[int]) -> List[Sent]:
        """The commands that confirm a grant. They begin a fixed lease anew."""
        if self.lease is None:
            return [self.prove(owner, tokens)]
        renew = "SEM.RENEW" if self.permits else "RENEW"
        return [[renew, key, owner, *self._fixed(), "TOKEN", token] for key, token in zip(self.keys, tokens)]

    def check(self, owner: bytes, tokens: Sequence[int]) -> List[Command]:
        """The commands that ask whether it is still held, one a key. They do not change a fixed lease."""
        if self.lease is not None:
            return [["LOCK.CONFIRM", key, owner, token] for key, token in zip(self.keys, tokens)]
        renew = "SEM.RENEW" if self.permits else "RENEW"
        return [[renew, key, owner, "TOKEN", token] for key, token in zip(self.keys, tokens)]


def identifier(word: Word, what: str) -> bytes:
    """Returns an id as bytes. Raises TypeError, and ValueError for an empty one."""
    encoded = encode_word(word)
    if not encoded:
        raise ValueError(f"{what} is empty")
    return encoded


def key_of(key: Word) -> bytes:
    """Returns a key as bytes."""
    return encode_word(key)
