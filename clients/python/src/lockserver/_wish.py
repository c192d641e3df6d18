"""What is asked for, and the commands for it. Each of them may be sent twice."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import List, Optional, Sequence, Tuple

from . import _trace
from ._resp import Word, encode_word

Command = List[Word]


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

    def ask(self, owner: bytes, wait: Optional[float]) -> Command:
        """The command that asks, or asks again. An owner that is queued keeps its place. wait: seconds, or no end."""
        words: Command
        if self.rate:
            ms = 0 if wait is None else max(1, math.ceil(wait * 1000))
            return ["LIMIT.TAKE", self.keys[0], *self.rate, "WAIT", ms, "NOTIFY", owner]
        if self.permits:
            words = ["SEM.ACQUIRE", self.keys[0], owner]
            if self.limit is not None:
                words += ["LIMIT", self.limit]
            words += ["PERMITS", self.permits]
        elif self.many:
            words = ["MLOCK", len(self.keys), *self.keys, owner]
        else:
            words = ["LOCK", self.keys[0], owner]
        if self.shared:
            words.append("SHARED")
        words += self._fixed()
        if self.trace:
            words += ["TRACE", self.trace]
        if not self.tries:
            words += ["WAIT", 0 if wait is None else max(1, math.ceil(wait * 1000)), "NOTIFY"]
        words.append("ONCE")
        return words

    def undo(self, owner: bytes) -> List[Command]:
        """The commands that end a wait, and release what it may have got."""
        cancel: List[Command] = [] if self.tries else [["LOCK.CANCEL", self.keys[0], owner]]
        return cancel if self.rate else cancel + [self.release(owner, None)]

    def release(self, owner: bytes, tokens: Optional[Sequence[int]]) -> Command:
        """The command that releases it, however often it is sent."""
        words: Command
        if self.many:
            words = ["MUNLOCK", len(self.keys), *self.keys, owner]
            return words if tokens is None else [*words, "TOKENS", *tokens]
        words = ["SEM.RELEASE" if self.permits else "UNLOCK", self.keys[0], owner]
        return words if tokens is None else [*words, "TOKEN", tokens[0]]

    def confirm(self, owner: bytes, tokens: Sequence[int]) -> List[Command]:
        """The commands that confirm a grant. They begin a fixed lease anew."""
        if self.lease is None:  # one of several locks stands for all
            return [["LOCK.CONFIRM", self.keys[0], owner, tokens[0]]]
        renew = "SEM.RENEW" if self.permits else "RENEW"
        return [[renew, key, owner, *self._fixed(), "TOKEN", token] for key, token in zip(self.keys, tokens)]

    def check(self, owner: bytes, tokens: Sequence[int]) -> List[Command]:
        """The commands that ask whether it is still held, one a key. They do not change a fixed lease."""
        if self.lease is not None:
            return [["GUARD", key, token, "ECHO", ""] for key, token in zip(self.keys, tokens)]
        renew = "SEM.RENEW" if self.permits else "RENEW"
        return [[renew, key, owner, "TOKEN", token] for key, token in zip(self.keys, tokens)]


def key_of(key: Word) -> bytes:
    """Returns a key as bytes."""
    return encode_word(key)
