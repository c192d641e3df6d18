"""Locks, semaphores and sales of a lockserver, for programs with threads and for asyncio.

    locks = lockserver.Locks.from_url("redis://localhost", name="billing")
    with locks.lock("bill:42", wait=5) as held:
        held.guard("SET", "bill:42:state", "paid")
"""

from ._api import Cancel, Observer
from ._plans import Outcome, Taken
from .aio import AsyncHeld, AsyncLocks, AsyncTask
from .compat import AsyncLock, Lock, async_locks_of, locks_of
from .errors import (
    Cancelled,
    Closed,
    Deadlock,
    DeadlineExceeded,
    Error,
    LockLost,
    LockReleased,
    NoConnection,
    NotAcquired,
    NotLockserver,
    ServerError,
    StaleFence,
)
from .sql import fence
from .sync import Held, Locks, Task, exclusive, use

__version__ = "0.1.0"

__all__ = [
    "AsyncHeld", "AsyncLock", "AsyncLocks", "AsyncTask", "Cancel", "Cancelled", "Closed", "Deadlock", "DeadlineExceeded",
    "Error", "Held", "Lock", "LockLost", "LockReleased", "Locks", "NoConnection", "NotAcquired", "NotLockserver", "Observer",
    "Outcome", "ServerError", "StaleFence", "Taken", "Task", "async_locks_of", "exclusive", "fence", "locks_of", "use",
]
