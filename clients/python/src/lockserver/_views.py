"""What the inspecting calls return. It has no sockets, and asks no clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ._resp import decode


@dataclass(frozen=True)
class Stats:
    """What a client has now."""

    held: int  #: acquisitions that are held; several locks that were taken together count once
    waiting: int  #: calls for locks, permits or units that are not over
    oldest: float  #: the age of the oldest hold, in seconds; 0 if there is none


@dataclass(frozen=True)
class Holder:
    """An owner of a lock, or of permits of a semaphore."""

    owner: bytes
    token: int  #: the fencing token
    holds: int  #: how many times it has the lock; of a semaphore its permits
    remaining: Optional[float]  #: seconds until the lease ends; None: without end
    renewed: bool  #: the server renews the lease
    client: Optional[str]  #: address and name of the client that acquired it, if it is there


@dataclass(frozen=True)
class Waiter:
    """A call that waits for a lock, in the server's order."""

    owner: bytes
    since: float  #: Unix time in seconds
    deadline: Optional[float]  #: Unix time in seconds; None: without end
    priority: int = 0  #: from 0 to 9


@dataclass(frozen=True)
class LockInfo:
    """A key that is locked."""

    mode: str  #: ``lock``, ``shared`` or ``semaphore``; ``latch`` for a latch that calls wait for
    holders: Tuple[Holder, ...]
    waiters: Tuple[Waiter, ...]


#: The field of a recurring entry in its stream that has the time at which the entry was due, in milliseconds.
DUE_FIELD = "delay.due"


@dataclass(frozen=True)
class Rule:
    """When a recurring entry is due: the options of :meth:`Delay.add`. It has either every or cron."""

    every: Optional[float] = None  #: seconds between two entries
    cron: Optional[str] = None  #: a cron expression
    zone: Optional[str] = None  #: the time zone of the expression
    times: Optional[int] = None  #: how many entries are left; None: no bound
    until: Optional[float] = None  #: the last time at which an entry may be due: Unix time in seconds
    missed: str = "once"  #: ``once``, ``skip`` or ``all``


@dataclass(frozen=True)
class Pending:
    """A delayed entry that is pending."""

    ticket: str  #: its id
    due: float  #: when it is due, or due next: Unix time in seconds
    fields: Mapping[Any, Any]  #: bytes, or text if the client decodes responses
    rule: Optional[Rule] = None  #: of a recurring entry


def as_map(reply: Any) -> Dict[bytes, Any]:
    """Returns a map, which may have come as a list of names and values."""
    if isinstance(reply, list):
        return dict(zip(reply[::2], reply[1::2]))
    return reply if isinstance(reply, dict) else {}


def _seconds(ms: Any) -> Optional[float]:
    return ms / 1000 if isinstance(ms, int) and ms > 0 else None


def _client(reply: Any) -> Optional[str]:
    of = as_map(reply)
    return None if not of else " ".join(text.decode(errors="replace") for text in (of.get(b"address", b""), of.get(b"name", b"")) if text)


def _holder(of: Dict[bytes, Any]) -> Holder:
    ttl = of.get(b"ttl", -1)
    holds = of.get(b"holds", of.get(b"permits", 1))
    return Holder(of[b"owner"], of[b"token"], holds, None if ttl < 0 else ttl / 1000, bool(of.get(b"watchdog")), _client(of.get(b"client")))


def lock_info(reply: Any) -> Optional[LockInfo]:
    """Returns the reply of LOCK.INFO."""
    of = as_map(reply)
    if not of:
        return None
    waiters = tuple(Waiter(w.get(b"owner") or b"", (w.get(b"waiting-since") or 0) / 1000, _seconds(w.get(b"deadline")), w.get(b"priority") or 0)
                    for w in map(as_map, of.get(b"waiters") or ()))
    if b"holders" in of:
        return LockInfo(of[b"mode"].decode(), tuple(_holder(as_map(holder)) for holder in of[b"holders"]), waiters)
    if b"owner" in of:
        return LockInfo("lock", (_holder(of),), waiters)
    return LockInfo(of.get(b"mode", b"lock").decode(), (), waiters)


def pending(ticket: Any, reply: List[Any], encoding: Optional[str]) -> Pending:
    """Returns a pending entry of its time and its fields."""
    due, fields, *rule = reply
    text = ticket.decode(errors="surrogateescape") if isinstance(ticket, bytes) else str(ticket)
    return Pending(text, due / 1000, decode(dict(zip(fields[::2], fields[1::2])), encoding),
                   _rule(rule[0]) if rule else None)


def due_of(fields: Sequence[bytes]) -> Optional[float]:
    """Returns when an entry of a stream was due, in seconds; None if it is not of a rule. The server adds that field at the end."""
    if len(fields) < 2 or fields[-2] != DUE_FIELD.encode() or not fields[-1].isdigit():
        return None
    return int(fields[-1]) / 1000


def _rule(words: List[bytes]) -> Rule:
    of = dict(zip(words[::2], words[1::2]))

    def seconds(name: bytes) -> Optional[float]:
        return _seconds(int(of[name])) if name in of else None

    def text(name: bytes) -> Optional[str]:
        return of[name].decode() if name in of else None

    return Rule(seconds(b"EVERY"), text(b"CRON"), text(b"TZ"), int(of[b"TIMES"]) if b"TIMES" in of else None,
                seconds(b"UNTIL"), of[b"MISSED"].decode().lower())
