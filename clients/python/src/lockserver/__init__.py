"""Locks, semaphores and sales of a lockserver, for programs with threads and for asyncio.

    locks = lockserver.Locks.from_url("redis://localhost", name="billing")
    with locks.lock("bill:42", wait=5) as held:
        held.guard("SET", "bill:42:state", "paid")
"""

from ._api import Cancel, Observer
from ._plans import CartOutcome, LimitsTaken, Outcome, Taken
from ._work import AsyncEntry, Entry
from ._views import DUE_FIELD, Holder, LockInfo, Pending, Rule, Stats, Waiter
from .aio import (
    AsyncAsked, AsyncDelay, AsyncHeld, AsyncLatch, AsyncLimiter, AsyncLocks, AsyncSale, AsyncSemaphore, AsyncTask,
    AsyncWorker,
)
from .compat import AsyncLock, Lock, async_locks_of, locks_of
from .errors import (
    Cancelled,
    Closed,
    CrossSlot,
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
from .sql import async_fence, fence
from .sync import Asked, Delay, Held, Latch, Limiter, Locks, Sale, Semaphore, Task, Worker, exclusive, use

__version__ = "0.1.0"

__all__ = [
    "Asked", "AsyncAsked", "AsyncDelay", "AsyncHeld", "AsyncLatch", "AsyncLimiter", "AsyncLock", "AsyncLocks", "AsyncSale",
    "AsyncSemaphore", "AsyncEntry", "AsyncTask", "AsyncWorker", "Cancel", "Cancelled", "CartOutcome", "Closed", "CrossSlot", "DUE_FIELD", "Deadlock", "DeadlineExceeded", "Delay", "Entry", "Error", "Held",
    "Holder", "Latch", "Limiter", "LimitsTaken", "Lock", "LockInfo", "LockLost", "LockReleased", "Locks", "NoConnection", "NotAcquired",
    "NotLockserver", "Observer", "Outcome", "Pending", "Rule", "Sale", "Semaphore", "ServerError", "StaleFence", "Stats", "Taken", "Task",
    "Waiter", "Worker", "async_fence", "async_locks_of", "exclusive", "fence", "locks_of", "use",
]
