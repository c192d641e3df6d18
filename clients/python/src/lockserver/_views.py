"""What the inspecting calls return. It has no sockets, and asks no clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Tuple

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


@dataclass(frozen=True)
class LockInfo:
    """A key that is locked."""

    mode: str  #: ``lock``, ``shared`` or ``semaphore``; ``latch`` for a latch that calls wait for
    holders: Tuple[Holder, ...]
    waiters: Tuple[Waiter, ...]


@dataclass(frozen=True)
class Pending:
    """A delayed entry that is pending."""

    ticket: str  #: its id
    due: float  #: when it is due: Unix time in seconds
    fields: Mapping[Any, Any]  #: bytes, or text if the client decodes responses


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
    waiters = tuple(Waiter(w.get(b"owner") or b"", (w.get(b"waiting-since") or 0) / 1000, _seconds(w.get(b"deadline")))
                    for w in map(as_map, of.get(b"waiters") or ()))
    if b"holders" in of:
        return LockInfo(of[b"mode"].decode(), tuple(_holder(as_map(holder)) for holder in of[b"holders"]), waiters)
    if b"owner" in of:
        return LockInfo("lock", (_holder(of),), waiters)
    return LockInfo(of.get(b"mode", b"lock").decode(), (), waiters)


def pending(ticket: Any, reply: List[Any], encoding: Optional[str]) -> Pending:
    """Returns a pending entry of its time and its fields."""
    due, fields = reply
    text = ticket.decode(errors="surrogateescape") if isinstance(ticket, bytes) else str(ticket)
    return Pending(text, due / 1000, decode(dict(zip(fields[::2], fields[1::2])), encoding))
