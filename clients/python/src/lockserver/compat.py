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

from . import _plans, errors
from ._api import lock_wish
from ._core import Task as CoreTask
from ._views import Holder, LockInfo
from .aio import AsyncHeld, AsyncLocks
from ._wish import Command, milliseconds
from .sync import Held, Locks

_guard = threading.RLock()
_clients: "weakref.WeakKeyDictionary[Any, Locks]" = weakref.WeakKeyDictionary()
_async_clients: "weakref.WeakKeyDictionary[Any, Tuple[Any, AsyncLocks]]" = weakref.WeakKeyDictionary()

#: Begins the owners' names. An owner of a caller's token is ``redis-lock:<random>:<number>=<token>``: two acquisitions
#: with one token are two owners, so that one of them waits.
_NAME = "redis-lock"


def _pool_of(client: Any) -> Any:
    pool = getattr(client, "connection_pool", None)
    return pool if pool is not None else client.nodes_manager


def locks_of(client: Any) -> Locks:
    """Returns the :class:`Locks` that belongs to a client of redis-py, or to its pool. It ends when that is closed."""
    pool = _pool_of(client)
    with _guard:
        locks = _clients.get(pool)
        if locks is None:
            locks = _clients[pool] = Locks(client, name=_NAME)
            weakref.finalize(pool, _end, locks)
    if "close" not in vars(client) and getattr(client, "auto_close_connection_pool", True):
        _end_with(client)
    return locks


def async_locks_of(client: Any) -> AsyncLocks:
    """Returns the :class:`AsyncLocks` of a client of ``redis.asyncio`` in the running event loop."""
    pool, loop = _pool_of(client), asyncio.get_running_loop()
    known = _async_clients.get(pool)
    if known is None or known[0] is not loop:
        known = _async_clients[pool] = (loop, AsyncLocks(client, name=_NAME))
    if "aclose" not in vars(client) and getattr(client, "auto_close_connection_pool", True):
        _async_end_with(client)
    return known[1]


def _end(locks: Locks) -> None:
    for driver in locks._shards.all():
        driver.leave()


# The close of a client of redis-py ends its locks' connections, too. Locks with a timeout stay until that.


def _end_with(client: Any) -> None:
    of, close = weakref.ref(client), type(client).close

    def both() -> None:
        client = of()
        if client is None:
            return
        locks = _clients.pop(_pool_of(client), None)
        if locks is not None:
            _end(locks)
        close(client)

    client.close = both


def _async_end_with(client: Any) -> None:
    of, close = weakref.ref(client), type(client).aclose

    async def both(*args: Any, **keywords: Any) -> None:
        client = of()
        if client is None:
            return
        known = _async_clients.pop(_pool_of(client), None)
        if known is not None and known[0] is asyncio.get_running_loop():
            await known[1]._close(keep_leases=True)
        await close(client, *args, **keywords)

    client.aclose = both


class _Claims:
    """What a client holds by the names and tokens of its locks, so that any Lock object with the token can release it.

    It is kept at the client. What is lost goes by itself.
    """

    def __init__(self) -> None:
        self._held: Dict[Tuple[bytes, bytes], Any] = {}

    @staticmethod
    def of(locks: Any) -> "_Claims":
        """Those of a client."""
        claims: _Claims = vars(locks).setdefault("_claims", _Claims())
        return claims

    def add(self, name: bytes, token: bytes, held: Any) -> None:
        place = name, token
        self._held[place] = held

        def drop(_: errors.LockLost) -> None:
            if self._held.get(place) is held:
                del self._held[place]

        held.on_lost(drop)

    def get(self, name: bytes, token: bytes) -> Any:
        return self._held.get((name, token))

    def drop(self, name: bytes, token: bytes) -> None:
        self._held.pop((name, token), None)

    def __len__(self) -> int:
        return len(self._held)


def _owner(core: Any, token: bytes) -> bytes:
    """Returns a new owner for a token of the caller's."""
    owner: bytes = core.new_owner() + b"=" + token
    return owner


def _holder(found: Optional[LockInfo], token: bytes) -> Optional[Holder]:
    """Returns the holder of a token, by whichever process it has acquired the lock; None: another one holds it, or none."""
    for holder in found.holders if found is not None else ():
        ours = holder.owner.startswith(_NAME.encode() + b":")
        if holder.owner == token or ours and holder.owner.partition(b"=")[2] == token:
            return holder
    return None


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

        token: a name by which any process may release the lock. Of two calls with the same token one has it, as with redis-py.
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
        locks, name = locks_of(self.redis), _name(self.name)
        wish = lock_wish(name, wait, self.timeout or None, False)
        if token is None:
            held = locks._acquire(None, wish, wait, None, None)
            known = held.owner
        else:
            known = _encoded(token)
            held = locks._acquire(CoreTask(_owner(locks._driver.core, known)), wish, wait, None, None)
        _Claims.of(locks).add(name, known, held)
        return known

    def locked(self) -> bool:
        """Returns whether any owner has the lock."""
        return bool(self.redis.exists(self.name))

    def owned(self) -> bool:
        """Returns whether this object, or this thread of it, has the lock."""
        return self.local.token is not None and self._find(_encoded(self.local.token)) is not None

    def _find(self, token: bytes) -> Optional[Holder]:
        """Asks the server for the holder of a token."""
        try:
            return _holder(locks_of(self.redis)._do(_plans.lock_info(_name(self.name))), token)
        except errors.ServerError as e:
            if _foreign(e):
                return None
            raise

    def do_release(self, expected_token: Any) -> None:
        """Releases the lock of an owner."""
        locks, name, token = locks_of(self.redis), _name(self.name), _encoded(expected_token)
        claims = _Claims.of(locks)
        held: Optional[Held] = claims.get(name, token)
        try:
            if held is not None:
                held.release()
                return
            found = self._find(token)
            if found is None or locks._ask(["UNLOCK", name, found.owner, "TOKEN", found.token], False) is None:
                raise _not_owned("release", self.name)
        except (errors.LockLost, errors.LockReleased, errors.ServerError) as e:
            raise _not_owned("release", self.name) from e
        finally:
            claims.drop(name, token)

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
        locks, name, token = locks_of(self.redis), _name(self.name), _encoded(self.local.token)
        held: Optional[Held] = _Claims.of(locks).get(name, token)
        try:
            if held is not None:
                held.renew(lease)
                return True
            found = self._find(token)
            if found is None or not locks._ask(_renewal(name, found, lease), False):
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
        locks, name = async_locks_of(self.redis), _name(self.name)
        wish = lock_wish(name, wait, self.timeout or None, False)
        if token is None:
            held = await locks._acquire(None, wish, wait, None)
            known = held.owner
        else:
            known = _encoded(token)
            held = await locks._acquire(CoreTask(_owner(locks._driver.core, known)), wish, wait, None)
        _Claims.of(locks).add(name, known, held)
        return known

    async def locked(self) -> bool:
        """Returns whether any owner has the lock."""
        return bool(await self.redis.exists(self.name))

    async def owned(self) -> bool:
        """Returns whether this object, or this thread of it, has the lock."""
        return self.local.token is not None and await self._find(_encoded(self.local.token)) is not None

    async def _find(self, token: bytes) -> Optional[Holder]:
        """Asks the server for the holder of a token."""
        try:
            return _holder(await async_locks_of(self.redis)._do(_plans.lock_info(_name(self.name))), token)
        except errors.ServerError as e:
            if _foreign(e):
                return None
            raise

    async def do_release(self, expected_token: Any) -> None:
        """Releases the lock of an owner."""
        locks, name, token = async_locks_of(self.redis), _name(self.name), _encoded(expected_token)
        claims = _Claims.of(locks)
        held: Optional[AsyncHeld] = claims.get(name, token)
        try:
            if held is not None:
                await held.release()
                return
            found = await self._find(token)
            if found is None or await locks._ask(["UNLOCK", name, found.owner, "TOKEN", found.token], False) is None:
                raise _not_owned("release", self.name)
        except (errors.LockLost, errors.LockReleased, errors.ServerError) as e:
            raise _not_owned("release", self.name) from e
        finally:
            claims.drop(name, token)

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
        locks, name, token = async_locks_of(self.redis), _name(self.name), _encoded(self.local.token)
        held: Optional[AsyncHeld] = _Claims.of(locks).get(name, token)
        try:
            if held is not None:
                await held.renew(lease)
                return True
            found = await self._find(token)
            if found is None or not await locks._ask(_renewal(name, found, lease), False):
                raise _not_owned(doing, self.name)
        except (errors.LockLost, errors.LockReleased, errors.ServerError) as e:
            raise _not_owned(doing, self.name) from e
        return True


def _renewal(name: bytes, holder: Holder, lease: float) -> Command:
    return ["RENEW", name, holder.owner, "PX", milliseconds(lease, "a timeout"), "TOKEN", holder.token]


def _name(name: Any) -> bytes:
    return bytes(name) if isinstance(name, memoryview) else _encoded(name)


def _is_async(client: Any) -> bool:
    return isinstance(client, (redis.asyncio.Redis, redis.asyncio.RedisCluster))
