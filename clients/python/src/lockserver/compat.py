"""Locks with the surface of redis-py's ``Lock``: ``r.lock("name", lock_class=lockserver.Lock)``.

The lock is a native one: waiters are served first come, first served, without polling; a lock without a timeout ends when
its process does, instead of staying for ever; and locks of redis-py at the same key and these keep each other out, so
that a fleet can be changed one process at a time.
"""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
import weakref
from typing import Any, Dict, Optional, Tuple, Union

import redis.asyncio
import redis.asyncio.lock
import redis.lock
from redis.exceptions import LockError, LockNotOwnedError, ResponseError

from . import errors
from ._api import lock_wish
from ._core import Task as CoreTask
from .aio import AsyncHeld, AsyncLocks
from .sync import Held, Locks

_guard = threading.Lock()
_clients: "weakref.WeakKeyDictionary[Any, Locks]" = weakref.WeakKeyDictionary()
_async_clients: "weakref.WeakKeyDictionary[Any, Tuple[Any, AsyncLocks]]" = weakref.WeakKeyDictionary()


def _pool_of(client: Any) -> Any:
    pool = getattr(client, "connection_pool", None)
    return pool if pool is not None else client.nodes_manager


def locks_of(client: Any) -> Locks:
    """Returns the :class:`Locks` that belongs to a client of redis-py, or to its pool. Close it to end its connections."""
    pool = _pool_of(client)
    with _guard:
        locks = _clients.get(pool)
        if locks is None:
            locks = _clients[pool] = Locks(client, name="redis-lock")
            weakref.finalize(pool, _end, locks)
        return locks


def async_locks_of(client: Any) -> AsyncLocks:
    """Returns the :class:`AsyncLocks` of a client of ``redis.asyncio`` in the running event loop."""
    pool, loop = _pool_of(client), asyncio.get_running_loop()
    known = _async_clients.get(pool)
    if known is None or known[0] is not loop:
        known = _async_clients[pool] = (loop, AsyncLocks(client, name="redis-lock"))
    return known[1]


def _end(locks: Locks) -> None:
    locks._driver.run(lambda core, now: core.close(now))


class _Claims:
    """What the process holds by the owners' names, so that any Lock object with the token can release it."""

    def __init__(self) -> None:
        self._held: "weakref.WeakKeyDictionary[Any, Dict[bytes, Any]]" = weakref.WeakKeyDictionary()

    def add(self, locks: Any, token: bytes, held: Any) -> None:
        self._held.setdefault(locks, {})[token] = held

    def get(self, locks: Any, token: bytes) -> Any:
        return self._held.get(locks, {}).get(token)

    def drop(self, locks: Any, token: bytes) -> None:
        self._held.get(locks, {}).pop(token, None)


_claims = _Claims()


def _encoded(token: Union[str, bytes]) -> bytes:
    return token if isinstance(token, bytes) else str(token).encode()


def _not_owned(doing: str, name: Any) -> LockNotOwnedError:
    return LockNotOwnedError(f"Cannot {doing} a lock that's no longer owned", lock_name=name)


def _foreign(error: errors.ServerError) -> bool:
    """Reports whether the key is a string: a Lock of redis-py, most likely."""
    return str(error).startswith("WRONGTYPE")


class Lock(redis.lock.Lock):
    """redis-py's ``Lock``, by native commands. For a client of ``redis.asyncio`` it makes an :class:`AsyncLock`.

    What differs: ``sleep`` is only used while another program holds the key by redis-py's own Lock. Without a ``timeout``
    the server renews the lock as long as this process lives. The key is a hash, not a string.
    """

    def __new__(cls, redis: Any, *args: Any, **keywords: Any) -> Any:
        if _is_async(redis):
            return AsyncLock(redis, *args, **keywords)
        return super().__new__(cls)

    def register_scripts(self) -> None:
        """There are none."""

    def acquire(self, sleep: Optional[float] = None, blocking: Optional[bool] = None,
                blocking_timeout: Optional[float] = None, token: Union[str, bytes, None] = None) -> bool:
        """Takes the lock. False: another owner has it, or had it for all of the blocking_timeout.

        token: a name for the owner, by which any process may release the lock. It must be one that no other holder uses.
        """
        sleep = self.sleep if sleep is None else sleep
        if blocking is None:
            blocking = self.blocking
        if blocking_timeout is None:
            blocking_timeout = self.blocking_timeout
        end = None if blocking_timeout is None else time.monotonic() + blocking_timeout
        while True:
            left = 0.0 if not blocking else None if end is None else max(0.0, end - time.monotonic())
            try:
                self.local.token = self._take(left, token)
                return True
            except errors.NotAcquired:
                return False
            except errors.ServerError as e:
                if not _foreign(e):
                    raise
            if not blocking or end is not None and time.monotonic() + sleep > end:
                return False
            time.sleep(sleep)

    def _take(self, wait: Optional[float], token: Union[str, bytes, None]) -> bytes:
        locks = locks_of(self.redis)
        wish = lock_wish(self.name, wait, self.timeout or None, False)
        if token is None:
            held = locks._acquire(None, wish, wait, None, None)
            owner = held.owner
        else:
            owner = _encoded(token)
            locks._driver.run(lambda core, now: core.use_owner(owner, now))
            try:
                held = locks._acquire(CoreTask(owner), wish, wait, None, None)
            except BaseException:
                locks._driver.run(lambda core, now: core.drop_owner(owner, now))
                raise
        _claims.add(locks, owner, held)
        return owner

    def locked(self) -> bool:
        """Returns whether any owner has the lock."""
        return bool(self.redis.exists(self.name))

    def owned(self) -> bool:
        """Returns whether this object, or this thread of it, has the lock."""
        if self.local.token is None:
            return False
        try:
            return bool(self.redis.hexists(self.name, self.local.token))
        except ResponseError:
            return False

    def do_release(self, expected_token: Any) -> None:
        """Releases the lock of an owner."""
        locks, token = locks_of(self.redis), _encoded(expected_token)
        held: Optional[Held] = _claims.get(locks, token)
        try:
            if held is not None:
                held.release()
            elif not locks._ask(["UNLOCK", self.name, token], False):
                raise _not_owned("release", self.name)
        except (errors.LockLost, errors.LockReleased, errors.ServerError) as e:
            raise _not_owned("release", self.name) from e
        finally:
            if held is not None:
                _claims.drop(locks, token)
                locks._driver.run(lambda core, now: core.drop_owner(token, now))

    def do_extend(self, additional_time: Any, replace_ttl: bool) -> Any:
        """Adds to what is left of the lease, or replaces it."""
        lease = float(additional_time)
        if not replace_ttl:
            left = self.redis.pttl(self.name)
            if left < 0:
                raise _not_owned("extend", self.name)
            lease += left / 1000
        return self._renew(lease, "extend")

    def do_reacquire(self) -> Any:
        """Begins the lease anew."""
        return self._renew(float(self.timeout or 0), "reacquire")

    def _renew(self, lease: float, doing: str) -> bool:
        locks, token = locks_of(self.redis), _encoded(self.local.token)
        held: Optional[Held] = _claims.get(locks, token)
        try:
            if held is not None:
                held.renew(lease)
            elif not locks._ask(["RENEW", self.name, token, "PX", round(lease * 1000)], False):
                raise _not_owned(doing, self.name)
        except (errors.LockLost, errors.LockReleased, errors.ServerError) as e:
            raise _not_owned(doing, self.name) from e
        return True


class AsyncLock(redis.asyncio.lock.Lock):
    """``redis.asyncio``'s ``Lock``, by native commands. What differs is said at :class:`Lock`."""

    def register_scripts(self) -> None:
        """There are none."""

    async def acquire(self, blocking: Optional[bool] = None, blocking_timeout: Optional[float] = None,
                      token: Union[str, bytes, None] = None) -> bool:
        """As :meth:`Lock.acquire`."""
        if blocking is None:
            blocking = self.blocking
        if blocking_timeout is None:
            blocking_timeout = self.blocking_timeout
        end = None if blocking_timeout is None else time.monotonic() + blocking_timeout
        while True:
            left = 0.0 if not blocking else None if end is None else max(0.0, end - time.monotonic())
            try:
                self.local.token = await self._take(left, token)
                return True
            except errors.NotAcquired:
                return False
            except errors.ServerError as e:
                if not _foreign(e):
                    raise
            if not blocking or end is not None and time.monotonic() + self.sleep > end:
                return False
            await asyncio.sleep(self.sleep)

    async def _take(self, wait: Optional[float], token: Union[str, bytes, None]) -> bytes:
        locks = async_locks_of(self.redis)
        wish = lock_wish(_name(self.name), wait, self.timeout or None, False)
        if token is None:
            held = await locks._acquire(None, wish, wait, None)
            owner = held.owner
        else:
            owner = _encoded(token)
            locks._driver.run(lambda core, now: core.use_owner(owner, now))
            try:
                held = await locks._acquire(CoreTask(owner), wish, wait, None)
            except BaseException:
                locks._driver.run(lambda core, now: core.drop_owner(owner, now))
                raise
        _claims.add(locks, owner, held)
        return owner

    async def locked(self) -> bool:
        """Returns whether any owner has the lock."""
        return bool(await self.redis.exists(self.name))

    async def owned(self) -> bool:
        """Returns whether this object, or this thread of it, has the lock."""
        if self.local.token is None:
            return False
        try:
            return bool(await self.redis.execute_command("HEXISTS", self.name, self.local.token))
        except ResponseError:
            return False

    async def do_release(self, expected_token: Any) -> None:
        """Releases the lock of an owner."""
        locks, token = async_locks_of(self.redis), _encoded(expected_token)
        held: Optional[AsyncHeld] = _claims.get(locks, token)
        try:
            if held is not None:
                await held.release()
            elif not await locks._ask(["UNLOCK", _name(self.name), token], False):
                raise _not_owned("release", self.name)
        except (errors.LockLost, errors.LockReleased, errors.ServerError) as e:
            raise _not_owned("release", self.name) from e
        finally:
            if held is not None:
                _claims.drop(locks, token)
                locks._driver.run(lambda core, now: core.drop_owner(token, now))

    async def do_extend(self, additional_time: Any, replace_ttl: bool) -> Any:
        """Adds to what is left of the lease, or replaces it."""
        lease = float(additional_time)
        if not replace_ttl:
            left = await self.redis.pttl(self.name)
            if left < 0:
                raise _not_owned("extend", self.name)
            lease += left / 1000
        return await self._renew(lease, "extend")

    async def do_reacquire(self) -> Any:
        """Begins the lease anew."""
        return await self._renew(float(self.timeout or 0), "reacquire")

    async def _renew(self, lease: float, doing: str) -> bool:
        locks, token = async_locks_of(self.redis), _encoded(self.local.token)
        held: Optional[AsyncHeld] = _claims.get(locks, token)
        try:
            if held is not None:
                await held.renew(lease)
            elif not await locks._ask(["RENEW", _name(self.name), token, "PX", round(lease * 1000)], False):
                raise _not_owned(doing, self.name)
        except (errors.LockLost, errors.LockReleased, errors.ServerError) as e:
            raise _not_owned(doing, self.name) from e
        return True


def _name(name: Any) -> bytes:
    return bytes(name) if isinstance(name, memoryview) else _encoded(name)


def _is_async(client: Any) -> bool:
    return isinstance(client, (redis.asyncio.Redis, redis.asyncio.RedisCluster))
