"""What is asked for, and the commands for it. Each of them may be sent twice."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import List, Optional, Sequence, Tuple, Union

from . import _trace
from ._resp import Word, bulk, encode_word, pattern

Command = List[Word]
#: A command, or one that is encoded already.
Sent = Union[Command, bytes]
_NO_END = bulk(0)


def milliseconds(seconds: float, what: str) -> int:
    """Returns a time as whole milliseconds. It raises ValueError for one below a millisecond, and for NaN."""
    if not 0.001 <= seconds <= 1e12:
        raise ValueError(f"{what} of {seconds} s is not between 0.001 s and 1e12 s")
    return round(seconds * 1000)


@dataclass(frozen=True)
class Wish:
    """A lock of one key or of several, exclusive or shared, permits of a semaphore, or units of a limiter."""

    keys: Tuple[bytes, ...]
    many: bool = False
    shared: bool = False
    lease: Optional[float] = None  # seconds; None: the server renews it
    tries: bool = False  # it does not wait
    permits: int = 0  # of a semaphore; 0: this is a lock
    limit: Optional[int] = None  # of the semaphore
    rate: Tuple[Word, ...] = ()  # of a limiter: the words behind the key
    trace: Optional[str] = None  # the traceparent of the call; empty: none; None: the current one, see traced

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
            return pattern(["LIMIT.TAKE", self.keys[0], *self.rate, "WAIT", None, "NOTIFY", None])
        if self.permits:
            words = ["SEM.ACQUIRE", self.keys[0], None]
            if self.limit is not None:
                words += ["LIMIT", self.limit]
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


def key_of(key: Word) -> bytes:
    """Returns a key as bytes."""
    return encode_word(key)
