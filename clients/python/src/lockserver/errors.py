"""The errors of this package.

Five things can end a call for a lock, and each has its own class: :class:`NotAcquired`,
:class:`DeadlineExceeded`, :class:`Cancelled`, :class:`Deadlock` and :class:`NoConnection`.
"""

from __future__ import annotations

from typing import Any, Optional, Tuple, Type

import redis.exceptions


class Error(Exception):
    """The base of all errors of this package."""


class NotAcquired(Error):
    """Another owner holds the lock, or still did when the time to wait was over.

    ``key`` is the lock's. ``owner`` is the holder's name if it is one of the same program, and None otherwise:
    :meth:`lockserver.Locks.info` asks the server.
    """

    def __init__(self, text: str = "another owner holds the lock", key: Optional[bytes] = None, owner: Optional[bytes] = None) -> None:
        super().__init__(text)
        self.key, self.owner = key, owner


class DeadlineExceeded(Error, TimeoutError):
    """The deadline of the caller has passed. It is another error than the end of ``wait``."""


class Cancelled(Error):
    """The caller has given up by :meth:`lockserver.Cancel.cancel`. In asyncio it is ``asyncio.CancelledError``."""


class Deadlock(Error):
    """Waiting would close a cycle of owners that wait for each other. The text shows the cycle."""


class NoConnection(Error, redis.exceptions.ConnectionError):
    """The server has not answered in time. What it was asked may have been done, or may not."""


class Closed(Error):
    """The :class:`lockserver.Locks` was closed."""


class NotLockserver(Error):
    """The server lacks the native commands, as Redis does."""


class LockReleased(Error):
    """The lock was released before. Nothing was done."""


class LockLost(Error):
    """The lock is not held any more, though its holder has not released it.

    ``reason`` is ``expired``, ``forced`` (LOCK.FORCE), ``deleted``, ``overwritten``, ``stale`` (the server says that
    another owner holds it, or none), ``unreachable`` (the server was silent for so long that the lease may
    end) or ``closed`` (by ``close()``). ``key`` is the lock's, ``token`` the fencing token that it had, ``owner`` its
    holder, and ``lease`` the fixed one in seconds, or None if the server renewed it.
    """

    def __init__(self, key: bytes, token: int, reason: str, owner: bytes = b"", lease: Optional[float] = None) -> None:
        super().__init__(key, token, reason, owner, lease)
        self.key = key
        self.token = token
        self.reason = reason
        self.owner = owner
        self.lease = lease

    def __str__(self) -> str:
        key, owner = self.key.decode(errors="backslashreplace"), self.owner.decode(errors="backslashreplace")
        lease = "renewed by the server" if self.lease is None else f"lease of {self.lease:g} s"
        return f"the lock {key!r} is lost: {self.reason} (token {self.token}, owner {owner}, {lease})"


class StaleFence(Error):
    """A later holder has used the row already. Nothing was written."""


class ServerError(Error, redis.exceptions.ResponseError):
    """An error that the server replied, as text: ``NOPERM ...``."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)


class CrossSlot(ServerError):
    """The keys of one call have different slots of a cluster. Nothing was locked.

    Keys with the same hash tag, as in ``{shop}:a`` and ``{shop}:b``, share a slot.
    """


#: Words that begin the reply of a server that has not done what it was asked, since another one leads, or none does.
_ELSEWHERE: Tuple[str, ...] = ("MOVED", "CLUSTERDOWN", "MASTERDOWN", "READONLY", "LOADING")


def is_elsewhere(error: ServerError) -> bool:
    """Reports whether a reply says that another server is to be asked, or this one later."""
    text = str(error)
    return text.split(" ", 1)[0] in _ELSEWHERE or text.startswith("UNBLOCKED force unblock")


def from_reply(error: ServerError, what: str = "") -> Error:
    """Returns the error of this package for an error reply. what: was asked for, for the text."""
    text = str(error)
    kind: Type[Error]
    if text.startswith("DEADLOCK"):
        kind = Deadlock
    elif text.lower().startswith("err unknown command"):
        kind = NotLockserver
    elif text.startswith("CROSSSLOT"):
        if text.startswith("CROSSSLOT Keys in request"):  # other texts say which name needs a tag
            text += "; keys with the same hash tag share a slot, as {shop}:a and {shop}:b" + (f" ({what})" if what else "")
        kind = CrossSlot
    else:
        return error
    return kind(text)
