"""The client for asyncio. It has the methods of the one for threads, to be awaited."""

from __future__ import annotations

import asyncio
import logging
import time
import weakref
from types import TracebackType
from typing import Any, Awaitable, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar, Union, cast

import redis.asyncio

from . import _plans, errors
from ._adriver import AsyncDriver, connect
from ._alone import Alone
from ._api import (
    DEFAULT_TIMEOUT, DEFAULT_WAIT, HeldBase, LimiterBase, Observer, finished, followed, key_namer, kind_of, lock_wish, many_wish,
    permits_wish, last_word, rate_wish, rates_words, tell, wraps,
)
from ._cluster import Shards, first_key, follow
from ._core import LEAST, Acquire, Call, Core, Handle, Names, Redirected, Request, Task as CoreTask
from ._dial import Endpoint, endpoint_of_client, endpoint_of_urls, error_of
from ._plans import CartOutcome, LimitsTaken, Outcome, Plan, Step, Taken
from ._resp import Word, decode
from ._views import LockInfo, Pending, Stats
from ._work import BLOCK, AsyncEntry, Found, Work
from ._wish import Command, Wish, key_of, milliseconds, number, wait_of, whole

_log = logging.getLogger("lockserver")

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Awaitable[Any]])


class AsyncLocks:
    """Takes locks on one server, and keeps them as long as the program lives. One for an event loop is enough.

    It connects with the first call, by two connections of its own.
    """

    def __init__(self, client: Any = None, *, name: str = "lock", timeout: float = DEFAULT_TIMEOUT,
                 observer: Optional[Observer] = None, endpoint: Optional[Endpoint] = None) -> None:
        """client: a Redis or RedisCluster of ``redis.asyncio``. The rest is as for :class:`lockserver.Locks`."""
        if endpoint is None:
            endpoint = endpoint_of_client(client)
        milliseconds(timeout, "a timeout")
        timeout = float(timeout)
        self.name, self.timeout = name, timeout
        self._endpoint = endpoint
        watching = observer if observer is not None else Observer()
        names = Names(name)
        self._shards: Shards[AsyncDriver] = Shards(
            endpoint, lambda endpoint, told: AsyncDriver(endpoint, name, timeout, told, names), lambda: names.lock,
            lambda event: tell(watching, event, False))
        self._driver = self._shards.first  # of a lone server; in a cluster only its names of owners are used
        self._owners: "weakref.WeakKeyDictionary[Any, AsyncTask]" = weakref.WeakKeyDictionary()
        followed(watching, self._shards)

    @classmethod
    def from_url(cls, url: Union[str, Sequence[str]], *, name: str = "lock", timeout: float = DEFAULT_TIMEOUT,
                 observer: Optional[Observer] = None, **options: Any) -> "AsyncLocks":
        """Returns a client for a URL of redis-py, or for several: the members of a raft group."""
        return cls(name=name, timeout=timeout, observer=observer,
                   endpoint=endpoint_of_urls(redis.asyncio.ConnectionPool, url, options))

    # Locks.

    def lock(self, key: Word, *, wait: Optional[float] = None, lease: Optional[float] = None, shared: bool = False,
             deadline: Optional[float] = None, cancel_on_loss: bool = False, trace: Optional[str] = None,
             priority: int = 0) -> "AsyncAsked":
        """Returns the lock at a key: ``async with locks.lock("k", wait=5) as held``, or ``await ....acquire()``.

        The options are those of :meth:`lockserver.Locks.lock`. cancel_on_loss: if the lock is lost inside of the
        ``async with``, the task is cancelled there, and the block raises :class:`LockLost`.
        """
        return AsyncAsked(self, None, lock_wish(key, wait, lease, shared, trace, priority), wait, deadline, cancel_on_loss)

    def lock_all(self, keys: Sequence[Word], *, wait: Optional[float] = None, lease: Optional[float] = None,
                 shared: bool = False, deadline: Optional[float] = None, cancel_on_loss: bool = False,
                 trace: Optional[str] = None,
                 priority: int = 0) -> "AsyncAsked":
        """Returns the locks at all of the keys, which are had together or not at all."""
        return AsyncAsked(self, None, many_wish(keys, wait, lease, shared, trace, priority), wait, deadline, cancel_on_loss)

    def task(self) -> "AsyncTask":
        """Returns an owner of several locks: the server finds deadlocks between tasks."""
        return AsyncTask(self)

    def semaphore(self, key: Word, limit: Optional[int] = None) -> "AsyncSemaphore":
        """Returns the semaphore at a key. limit: its number of permits, which the first call has to say."""
        return AsyncSemaphore(self, key, limit)

    def exclusive(self, key: str, *, wait: Optional[float] = DEFAULT_WAIT, lease: Optional[float] = None, shared: bool = False,
                  cancel_on_loss: bool = True) -> Callable[[F], F]:
        """Decorates a coroutine function that runs with a lock: ``@locks.exclusive("bill:{0}")``.

        The owner is the task of asyncio: a function may call another one with the same key, and two tasks that wait for each
        other's locks have :class:`Deadlock`. wait: in seconds, None without an end.
        """
        wait_of(wait)

        def decorate(function: F) -> F:
            if kind_of(function) != "coroutine":
                raise TypeError(f"{function!r} is no coroutine function")
            name = key_namer(key, function)

            async def call(*args: Any, **keywords: Any) -> Any:
                async with self._current().lock(name(args, keywords), wait=wait, lease=lease, shared=shared,
                                                cancel_on_loss=cancel_on_loss):
                    return finished(function, await function(*args, **keywords))

            return cast(F, wraps(function, call))

        return decorate

    def _current(self) -> "AsyncTask":
        """The owner of the task of asyncio that calls."""
        current = asyncio.current_task()
        task = self._owners.get(current)
        if task is None:
            task = self._owners[current] = AsyncTask(self)
        return task

    async def campaign(self, key: Word, lead: Callable[["AsyncHeld"], Awaitable[T]]) -> T:
        """Runs lead while this is the only one that holds the lock: the leader. Returns what lead returns.

        When the lead is lost lead is cancelled, and the campaign begins anew. A server that cannot be reached is asked
        again. Raises what lead raises while it leads, :class:`Closed`, or the error of a server that refuses.
        """
        while True:
            asked = self.lock(key, cancel_on_loss=True)
            try:
                held = await asked.__aenter__()
            except (errors.NoConnection, errors.LockLost):
                await asyncio.sleep(0.2)
                continue
            try:
                result = await lead(held)
            except BaseException as e:
                try:
                    await asked.__aexit__(type(e), e, e.__traceback__)
                except errors.LockLost:
                    continue
                if held.lost is not None and isinstance(e, Exception):
                    continue
                raise
            try:
                await asked.__aexit__(None, None, None)
            except errors.LockLost:
                continue
            except errors.NoConnection:
                pass
            return result

    # The rest of the server.

    async def cart(self, user: Word, order: Word, parts: Sequence[Tuple[Word, int]]) -> CartOutcome:
        """Orders pieces of several sales, (voucher, pieces) each, in one step: all of them, or none.

        The parts have one order id and one hold. The same cart gets the same answer, however often it is asked. In a cluster
        the vouchers have to share a slot.
        """
        return await self._do(_plans.cart(user, order, parts))

    async def ask(self, key: Word, reason: str = "") -> int:
        """Asks the holders of a lock, or of permits, to let go, and returns how many clients heard it. It is sent once.

        They hear it by ``on_asked``. The lock stays as it is.
        """
        return await self._do(_plans.ask(key, reason))

    def sale(self, voucher: Word) -> "AsyncSale":
        """Returns the flash sale of a voucher."""
        return AsyncSale(self, voucher)

    def latch(self, key: Word) -> "AsyncLatch":
        """Returns the latch at a key."""
        return AsyncLatch(self, key)

    def limiter(self, key: Word, *, burst: int, count: int, period: float) -> "AsyncLimiter":
        """Returns a limiter: at most count each period (seconds), and burst at once."""
        return AsyncLimiter(self, key, burst, count, period)

    async def take_limits(self, limiters: "Sequence[AsyncLimiter]", cost: int = 1, *,
                          wait: Optional[float] = None) -> "LimitsTaken[AsyncLimiter]":
        """As :meth:`lockserver.Locks.take_limits`."""
        limiters = tuple(limiters)
        words = _plans.with_cost(rates_words(limiters, AsyncLimiter, self), cost)
        return _plans.limits_taken(await self._units(words, [limiter.key for limiter in limiters], wait), limiters)

    def delay(self, stream: Word) -> "AsyncDelay":
        """Returns the entries that are to be added to a stream later."""
        return AsyncDelay(self, stream)

    def worker(self, stream: Word, group: Word, handler: Callable[[AsyncEntry], Awaitable[Any]], *, attempts: int = 5, claim_after: float = 30.0,
               dead: Optional[Word] = None, parallel: int = 1, name: Optional[Word] = None) -> "AsyncWorker":
        """Returns a worker, whose ``run()`` awaits handler for each entry of a stream, as one of a consumer group.

        The group is made if it is not there. An entry whose handler returns is acknowledged. One whose handler raises comes
        again after a second, then two, four and so on, at most claim_after; after so many attempts it is moved to the stream
        dead (``<stream>:dead``). Entries of a worker that gives no sign of life for claim_after seconds go to another one.
        parallel: how many handlers run at a time. name: the consumer's, which is unique by default.
        """
        return AsyncWorker(self, Work(stream, group, attempts, claim_after, dead, parallel, name), handler)

    async def execute(self, *words: Word) -> Any:
        """As :meth:`lockserver.Locks.execute`."""
        return self._decoded(await self._ask(list(words), True))

    async def connect(self) -> None:
        """Connects now, and raises :class:`NoConnection`, :class:`NotLockserver` or :class:`ServerError`."""
        driver = await self._serving(None, self.timeout)
        future, end = driver.done()
        call = Call(end)
        driver.run(lambda core, now: core.connect(call, now))
        await driver.wait(call, future, lambda core, error, now: call.finish(None, error))

    @property
    def attached(self) -> bool:
        """Whether the connection is there that keeps the locks. In a cluster: those of all shards that were used."""
        return self._shards.attached

    async def close(self) -> None:
        """As :meth:`lockserver.Locks.close`."""
        await self._close(False)

    async def _close(self, keep_leases: bool) -> None:
        """As :meth:`lockserver.Locks._close`."""
        self._shards.closed = True
        drivers = self._shards.all()
        started = [driver for driver in drivers if driver.started]
        for driver in drivers:
            if driver in started:
                driver.run(lambda core, now: core.close(now, keep_leases))
            else:
                driver.core.close(time.monotonic())
        await asyncio.gather(*(driver.gone(self.timeout + 5) for driver in started))

    async def __aenter__(self) -> "AsyncLocks":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # What is there.

    async def locked(self, key: Word) -> bool:
        """Returns whether any owner of any client holds a key."""
        return await self._do(_plans.locked(key))

    async def info(self, key: Word) -> Optional[LockInfo]:
        """Returns the holders of a key and those that wait for it, or None if it is free."""
        return await self._do(_plans.lock_info(key))

    async def force_unlock(self, key: Word) -> bool:
        """Releases a key for whoever holds it, for operators: the holders lose it, as ``forced``. False: it was free."""
        return await self._do(_plans.force_unlock(key))

    def stats(self) -> Stats:
        """Returns how many locks this client holds, how many calls wait, and the age of the oldest hold. It asks no server."""
        return self._shards.stats()

    # How calls are made.

    async def _serving(self, key: Optional[bytes], limit: float) -> AsyncDriver:
        """As :meth:`lockserver.Locks._serving`."""
        found = self._shards.known(key)
        if found is None:
            await self._shards.find_async(self.name, limit)
            found = self._shards.known(key)
        assert found is not None
        return found

    async def _acquire(self, task: Optional[CoreTask], wish: Wish, wait: Optional[float],
                       deadline: Optional[float]) -> "AsyncHeld":
        return AsyncHeld(self, await self._request(task, wish.traced(), wait, deadline))

    async def _request(self, task: Optional[CoreTask], wish: Wish, wait: Optional[float], deadline: Optional[float]) -> Any:
        """Asks for a lock, or for units of a limiter, and returns the handle, or the numbers."""
        if self._shards.single:
            return await self._request_at(self._driver, task, wish, wait, deadline)
        until = None if wait is None else time.monotonic() + wait
        late = None if wait is None else time.monotonic() + max(wait, self.timeout)
        key, hops = wish.keys[0], 0
        owner = task if task is not None else CoreTask(self._driver.core.new_owner())
        limits = [self.timeout, *(() if wait is None else (max(LEAST, wait),)),
                  *(() if deadline is None else (max(LEAST, deadline - time.monotonic()),))]
        driver = await self._serving(key, min(limits))
        while True:
            try:
                return await self._request_at(driver, owner, wish, wait, deadline)
            except Redirected as e:
                if late is not None and time.monotonic() > late:
                    raise errors.NoConnection(f"the server has not done the command: {e.moved}") from None
                self._shards.redirected(key, e, driver)
            hops, pause = follow(hops)
            await asyncio.sleep(pause)
            wait = None if until is None else max(LEAST, until - time.monotonic()) if not wish.tries else wait
            driver = await self._serving(key, self.timeout)

    async def _request_at(self, driver: AsyncDriver, task: Optional[CoreTask], wish: Wish, wait: Optional[float],
                          deadline: Optional[float]) -> Any:
        """As :meth:`lockserver.Locks._request_at`."""
        future, end = driver.done()
        owner = task if task is not None else CoreTask(driver.core.new_owner())
        call = Acquire(owner, wish, end)
        driver.run(lambda core, now: core.acquire(call, wait, deadline, now))
        return await driver.wait(call, future, lambda core, error, now: core.withdraw(call, error, now))

    async def _units(self, words: Command, keys: Sequence[bytes], wait: Optional[float]) -> List[int]:
        """As :meth:`lockserver.Locks._units`."""
        wait = 0.0 if wait is None else wait_of(wait)
        limit: Optional[float] = None
        if wait is None or wait > 0:
            end = None if wait is None else time.monotonic() + wait
            try:
                queued = None if wait is None else wait - last_word(wait)
                return cast(List[int], await self._request(None, rate_wish(words, keys), queued, None))
            except errors.NotAcquired:  # the next command says what the limiter has now, and takes the units if they have just come
                limit = None if end is None else max(last_word(0), end - time.monotonic())
        return await self._do(_plans.take(words), limit)

    async def _release(self, handle: Handle) -> None:
        driver = _driver_of(handle)
        future, end = driver.done()
        call = Call(end)
        driver.run(lambda core, now: core.release(handle, call, now))
        await driver.wait(call, future, lambda core, error, now: None)

    async def _ask(self, words: Command, once: bool, limit: Optional[float] = None) -> Any:
        """Sends a command, and returns its reply. An error reply is raised."""
        limit = self.timeout if limit is None else min(limit, self.timeout)
        if self._shards.single:
            reply = await self._ask_at(self._driver, words, once, limit)
        else:
            until, key, hops = time.monotonic() + limit, first_key(words), 0
            while True:
                try:
                    driver = await self._serving(key, limit)
                    reply = await self._ask_at(driver, words, once, max(LEAST, until - time.monotonic()))
                    break
                except Redirected as e:
                    if key is None or time.monotonic() > until:
                        raise errors.NoConnection(f"the server has not done the command: {e.moved}") from None
                    self._shards.redirected(key, e, driver)
                    hops, pause = follow(hops)
                    await asyncio.sleep(pause)
        error = _plans.raised(reply)
        if error is not None:
            raise error
        return reply

    async def _ask_at(self, driver: AsyncDriver, words: Command, once: bool, limit: float) -> Any:
        """As :meth:`lockserver.Locks._ask_at`."""
        future, end = driver.done()
        request = Request(words, once, end)
        driver.run(lambda core, now: core.request(request, now + limit, now))
        return await driver.wait(request, future, lambda core, error, now: core.end_request(request, error))

    async def _do(self, plan: Plan[T], limit: Optional[float] = None) -> T:
        """Carries out a plan."""
        try:
            step: Step = next(plan)
            while True:
                try:
                    reply = await self._ask(step.words, step.once, limit)
                except errors.Error as e:
                    step = plan.throw(e)
                else:
                    step = plan.send(reply)
        except StopIteration as end:
            return cast(T, end.value)

    async def _wait_alone(self, key: Word, words: Callable[[Optional[float]], Command], wait: Optional[float], once: bool) -> Any:
        """Sends a command that waits, over a connection of its own."""
        alone = Alone(words, wait, once, self.timeout, time.monotonic())
        while not alone.over:
            endpoint = self._endpoint
            try:
                if not self._shards.single:
                    endpoint = (await self._serving(key_of(key), self.timeout)).endpoint
                reader, writer = await connect(endpoint, self.name, min(self.timeout, 5.0, alone.patience(time.monotonic())))
            except Exception as e:
                if not self._shards.single:
                    endpoint.missed()
                alone.failed(e if isinstance(e, errors.Error) else error_of(e), time.monotonic())
                await asyncio.sleep(alone.pause)
                continue
            try:
                writer.write(alone.opened(time.monotonic()))
                while not alone.answered:
                    data = await asyncio.wait_for(reader.read(1 << 16), alone.patience(time.monotonic()))
                    alone.received(data, time.monotonic())
            except (OSError, asyncio.TimeoutError) as e:
                if str(e).startswith("MOVED "):
                    self._shards.learn(key_of(key), str(e))
                alone.failed(errors.NoConnection(str(e) or "the server does not answer"), time.monotonic())
            finally:
                writer.close()
        return alone.result()

    def _decoded(self, reply: Any) -> Any:
        return decode(reply, self._endpoint.encoding)


class AsyncAsked:
    """A lock that can be acquired, again and again: each time by another owner, but for those of a :class:`AsyncTask`."""

    def __init__(self, locks: AsyncLocks, task: Optional[CoreTask], wish: Wish, wait: Optional[float],
                 deadline: Optional[float], cancel_on_loss: bool) -> None:
        self._locks, self._task, self._wish = locks, task, wish
        self._wait, self._cancel_on_loss = wait_of(wait), cancel_on_loss
        self._deadline = None if deadline is None else number(deadline, "a deadline")
        self._entered: Dict[Any, List["_Block"]] = {}

    async def acquire(self) -> "AsyncHeld":
        """Takes the lock. It raises what :meth:`lockserver.Asked.acquire` raises, or ``asyncio.CancelledError``."""
        return await self._locks._acquire(self._task, self._wish, self._wait, self._deadline)

    async def __aenter__(self) -> "AsyncHeld":
        held = await self.acquire()
        task = asyncio.current_task()
        self._entered.setdefault(task, []).append(_Block(held, task if self._cancel_on_loss else None))
        return held

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        task = asyncio.current_task()
        mine = self._entered[task]
        block = mine.pop()
        if not mine:
            del self._entered[task]
        await block.end(error)


class _Block:
    """An ``async with``. task: is cancelled when the lock is lost."""

    def __init__(self, held: "AsyncHeld", task: "Optional[asyncio.Task[Any]]") -> None:
        self._held, self._task, self._cancelled = held, task, False
        if task is not None:
            held.on_lost(self._lost)

    def _lost(self, _: errors.LockLost) -> None:
        if self._task is not None and not self._task.done():
            self._cancelled = True
            self._task.cancel()

    async def end(self, error: Optional[BaseException]) -> None:
        task, self._task = self._task, None
        if task is not None and self._cancelled:
            await self._was_cancelled(task, error)
        try:
            await self._held.release()
        except errors.Error:
            if error is None:
                raise

    async def _was_cancelled(self, task: "asyncio.Task[Any]", error: Optional[BaseException]) -> None:
        """Turns the cancellation of the loss into its error, unless others have cancelled the task, too."""
        if not isinstance(error, asyncio.CancelledError):
            try:
                await asyncio.sleep(0)  # the cancellation comes with the next wait
            except asyncio.CancelledError:
                pass
        uncancel = getattr(task, "uncancel", None)  # Python 3.11 and later
        others = uncancel() if uncancel is not None else 0
        if others or error is not None and not isinstance(error, asyncio.CancelledError):
            return
        self._held.check()


def _driver_of(handle: Handle) -> AsyncDriver:
    """The transport to the server of a lock."""
    driver: AsyncDriver = handle.core.transport()
    return driver


class AsyncHeld(HeldBase):
    """A lock that is held, or several that were taken together."""

    def __init__(self, locks: AsyncLocks, handle: Handle) -> None:
        super().__init__(handle)
        self._locks = locks

    async def release(self) -> None:
        """As :meth:`lockserver.Held.release`. It is sent even if the task is cancelled meanwhile."""
        await self._locks._release(self._handle)

    async def guard(self, *words: Word) -> Any:
        """As :meth:`lockserver.Held.guard`."""
        key = self._one_key()
        try:
            return self._locks._decoded(await self._locks._do(_plans.guard(key, self.token, list(words))))
        except errors.ServerError as e:
            if not str(e).startswith("STALETOKEN"):
                raise
            raise self._stale(key) from None

    async def renew(self, lease: float) -> None:
        """As :meth:`lockserver.Held.renew`."""
        key, sent = self._one_key(), time.monotonic()
        word = "SEM.RENEW" if self._handle.hold.wish.permits else "RENEW"
        words: Command = [word, key, self.owner, "PX", milliseconds(lease, "a lease"), "TOKEN", self.token]
        if not await self._locks._ask(words, False):
            raise self._stale(key)
        _driver_of(self._handle).run(lambda core, now: core.renewed(self._handle, float(lease), sent))

    def on_lost(self, callback: Callable[[errors.LockLost], None]) -> None:
        """Has callback called when the lock is lost, in the event loop; or now if it is lost already."""
        lost = self.lost
        if lost is None:
            self._handle.on_lost.append(callback)
        else:
            callback(lost)

    def on_asked(self, callback: Callable[[str], None]) -> None:
        """As :meth:`lockserver.Held.on_asked`, in the event loop."""
        self._handle.on_asked.append(callback)
        if self.asked is not None:
            callback(self.asked)

    def _stale(self, key: bytes) -> errors.Error:
        found: List[errors.Error] = []
        _driver_of(self._handle).run(lambda core, now: found.append(core.lose_stale(self._handle, key, now)))
        return found[0]

    async def __aenter__(self) -> "AsyncHeld":
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await _Block(self, None).end(error)


class AsyncTask:
    """As :class:`lockserver.Task`."""

    def __init__(self, locks: AsyncLocks) -> None:
        self._locks = locks
        self._task = CoreTask(locks._driver.core.new_owner())

    def lock(self, key: Word, *, wait: Optional[float] = None, lease: Optional[float] = None, shared: bool = False,
             deadline: Optional[float] = None, cancel_on_loss: bool = False, trace: Optional[str] = None,
             priority: int = 0) -> AsyncAsked:
        """As :meth:`AsyncLocks.lock`."""
        wish = lock_wish(key, wait, lease, shared, trace, priority)
        return AsyncAsked(self._locks, self._task, wish, wait, deadline, cancel_on_loss)

    def lock_all(self, keys: Sequence[Word], *, wait: Optional[float] = None, lease: Optional[float] = None,
                 shared: bool = False, deadline: Optional[float] = None, cancel_on_loss: bool = False,
                 trace: Optional[str] = None,
                 priority: int = 0) -> AsyncAsked:
        """As :meth:`AsyncLocks.lock_all`."""
        wish = many_wish(keys, wait, lease, shared, trace, priority)
        return AsyncAsked(self._locks, self._task, wish, wait, deadline, cancel_on_loss)


class AsyncSemaphore:
    """As :class:`lockserver.Semaphore`."""

    def __init__(self, locks: AsyncLocks, key: Word, limit: Optional[int], initial: bool = False) -> None:
        self._locks, self._key, self._limit, self._initial = locks, key, limit, initial

    def initial(self, limit: int) -> "AsyncSemaphore":
        """As :meth:`lockserver.Semaphore.initial`."""
        return AsyncSemaphore(self._locks, self._key, whole(limit, "a limit"), True)

    def permits(self, count: int = 1, *, wait: Optional[float] = None, lease: Optional[float] = None,
                deadline: Optional[float] = None, cancel_on_loss: bool = False, trace: Optional[str] = None,
                priority: int = 0) -> AsyncAsked:
        """Returns permits to be acquired: ``async with semaphore.permits(2, wait=5):``."""
        wish = permits_wish(self._key, self._limit, count, wait, lease, trace, self._initial, priority)
        return AsyncAsked(self._locks, None, wish, wait, deadline, cancel_on_loss)

    async def acquire(self, count: int = 1, *, wait: Optional[float] = None, lease: Optional[float] = None, priority: int = 0) -> AsyncHeld:
        """Takes permits. Raises what the acquiring of a lock raises."""
        return await self.permits(count, wait=wait, lease=lease, priority=priority).acquire()

    async def resize(self, limit: int) -> bool:
        """Sets the number of permits. False: there is no such semaphore now."""
        return await self._locks._do(_plans.number(["SEM.RESIZE", self._key, whole(limit, "a limit")])) == 1

    async def info(self) -> Optional[Dict[bytes, Any]]:
        """Returns the reply of SEM.INFO, or None if no owner holds a permit."""
        return await self._locks._do(_plans.information(["SEM.INFO", self._key]))


class AsyncSale:
    """As :class:`lockserver.Sale`."""

    def __init__(self, locks: AsyncLocks, voucher: Word) -> None:
        self._locks, self._voucher = locks, voucher

    async def create(self, stock: int, *, start: Optional[float] = None, end: Optional[float] = None, limit: Optional[int] = None,
               hold: Optional[float] = None, stream: Optional[Word] = None, rate: Optional[Tuple[int, float]] = None,
               burst: Optional[int] = None, replace: bool = False,
               hold_max: Optional[float] = None) -> bool:
        """Makes the sale. False: there is another one, of other terms. One of the same terms is left as it is.

        stock: pieces. start, end: Unix times in seconds. limit: pieces for a user. hold: for how many seconds an order may
        wait to be confirmed. stream: of the orders. rate: so many calls of a user in so many seconds, and burst at once.
        replace: begins a sale that is there anew; it is sent once.
        """
        return await self._locks._do(_plans.sale_create(self._voucher, stock, start, end, limit, hold, stream, rate, burst, replace, hold_max))

    async def info(self) -> Optional[Dict[bytes, Any]]:
        """Returns the reply of SECKILL.INFO: state, stock, sold, held, confirmed and so on; None if there is no such sale."""
        return await self._locks._do(_plans.sale_info(self._voucher))

    async def buy(self, user: Word, order: Word, pieces: int = 1) -> Outcome:
        """Orders pieces for a user. The same order gets the same answer, however often it is asked."""
        return await self._locks._do(_plans.buy(self._voucher, user, order, pieces))

    async def confirm(self, user: Word, order: Word) -> bool:
        """Says that an order was paid, which keeps it. False: it was taken back, or there is none."""
        return await self._locks._do(_plans.settle("SECKILL.CONFIRM", self._voucher, user, order, b"paid"))

    async def cancel(self, user: Word, order: Word, pieces: Optional[int] = None) -> bool:
        """Gives an order back, or so many pieces of it. False: it is confirmed, or there is none.

        With pieces it is sent once: after :class:`NoConnection` it may have been done.
        """
        if pieces is not None:
            return await self._locks._do(_plans.cancel_part(self._voucher, user, order, pieces))
        return await self._locks._do(_plans.settle("SECKILL.CANCEL", self._voucher, user, order, b"gone"))

    async def extend(self, user: Word, order: Word, seconds: float) -> bool:
        """Keeps an order that is not confirmed for so many seconds from now, or for longer if it was. False: it is not held.

        Raises :class:`ServerError`, and changes nothing, if that were longer than ``hold_max`` of the sale.
        """
        return await self._locks._do(_plans.extend(self._voucher, user, order, seconds))


class AsyncLatch:
    """As :class:`lockserver.Latch`."""

    def __init__(self, locks: AsyncLocks, key: Word) -> None:
        self._locks, self._key = locks, key

    async def set(self, count: int) -> bool:
        """Closes the latch with a count. False: there is one already, and nothing has changed."""
        return await self._locks._do(_plans.number(["LATCH.SET", self._key, whole(count, "a count", 0)])) == 1

    async def down(self, count: int = 1) -> int:
        """Takes from the count, and returns what is left. It is sent once."""
        return await self._locks._do(_plans.count_down(self._key, whole(count, "a count")))

    async def left(self) -> int:
        """Returns what is left; 0: the latch is open."""
        return await self._locks._do(_plans.number(["LATCH.GET", self._key]))

    async def wait(self, wait: Optional[float] = None) -> bool:
        """Waits until the latch is open, over a connection of its own. False: it still was closed after wait seconds."""
        wait = wait_of(wait)
        if wait is not None and wait <= 0:
            return await self.left() == 0
        return bool(await self._locks._wait_alone(self._key, lambda left: _plans.wait_words(self._key, left), wait, False))


class AsyncLimiter(LimiterBase):
    """As :class:`lockserver.Limiter`."""

    _locks: AsyncLocks

    async def take(self, cost: int = 1, *, wait: Optional[float] = None) -> Taken:
        """As :meth:`lockserver.Limiter.take`."""
        return _plans.taken(await self._locks._units(_plans.with_cost(self._words, cost), [self.key], wait))

    async def give(self, cost: int = 1) -> Taken:
        """As :meth:`lockserver.Limiter.give`."""
        return await self._locks._do(_plans.give(self._words, cost))


class AsyncDelay:
    """As :class:`lockserver.Delay`."""

    def __init__(self, locks: AsyncLocks, stream: Word) -> None:
        self._locks, self._stream = locks, stream

    async def add(self, fields: Mapping[Any, Any], *, after: Optional[float] = None, at: Optional[float] = None,
                  ticket: Optional[Word] = None, every: Optional[float] = None, cron: Optional[str] = None,
                  zone: Optional[str] = None, times: Optional[int] = None, until: Optional[float] = None,
                  missed: Optional[str] = None) -> Optional[str]:
        """As :meth:`lockserver.Delay.add`."""
        due = _plans.recurs(after, at, every, cron, zone, times, until, missed)
        return await self._locks._do(_plans.delay_add(self._stream, fields, due, ticket))

    async def cancel(self, ticket: Word) -> bool:
        """Takes an entry back. False: it is not pending."""
        return await self._locks._do(_plans.delay_change(["DELAY.CANCEL", self._stream, ticket]))

    async def move(self, ticket: Word, *, after: Optional[float] = None, at: Optional[float] = None) -> bool:
        """Gives an entry another time. False: it is not pending."""
        return await self._locks._do(_plans.delay_change(["DELAY.MOVE", self._stream, ticket, *_plans.when(after, at)]))

    async def get(self, ticket: Word) -> Optional[Pending]:
        """Returns an entry that is pending, or None."""
        return await self._locks._do(_plans.delay_get(self._stream, ticket, self._locks._endpoint.encoding))

    async def list(self, *, since: float = 0, count: int = 100) -> List[Pending]:
        """Returns at most count entries that are pending, in the order in which they are due, from a Unix time on."""
        return await self._locks._do(_plans.delay_list(self._stream, since, count, self._locks._endpoint.encoding))

    async def count(self) -> int:
        """Returns how many entries are pending."""
        return await self._locks._do(_plans.number(["DELAY.COUNT", self._stream]))


class AsyncWorker:
    """As :class:`lockserver.Worker`."""

    def __init__(self, locks: AsyncLocks, work: Work, handler: Callable[[AsyncEntry], Awaitable[Any]]) -> None:
        self._locks, self._work, self._handler = locks, work, handler
        self._stopped = False
        self._encoding = locks._endpoint.encoding

    def stop(self) -> None:
        """Has :meth:`run` return when the handlers that run have ended."""
        self._stopped = True

    async def run(self) -> None:
        """As :meth:`lockserver.Worker.run`. A task that is cancelled leaves its entries to another worker."""
        work, locks = self._work, self._locks
        await self._until_answered(work.start)
        alive = asyncio.ensure_future(self._keep())
        try:
            while not self._stopped:
                try:
                    found = await locks._do(work.claim()) or work.took(
                        await locks._wait_alone(work.stream, lambda _: work.read(), BLOCK + locks.timeout, True))
                except errors.NoConnection:
                    await asyncio.sleep(0.2)
                    continue
                if self._stopped:
                    for entry in found:
                        await self._settle(work.give_back(entry))
                else:
                    await asyncio.gather(*(self._handle(entry) for entry in found))
        finally:
            alive.cancel()
        await self._settle(work.leave())

    async def _handle(self, found: Found) -> None:
        work, error = self._work, "the worker has ended abnormally"
        entry = AsyncEntry(*work.values(found, self._encoding))
        if not work.spent(found):
            try:
                await self._handler(entry)
            except Exception as e:
                _log.exception("the handler of entry %s of %r has failed (attempt %d)", entry.id, entry.stream, entry.attempt)
                error = f"{type(e).__name__}: {e}"
            else:
                await self._settle(work.done(found))
                return
        if await self._settle(work.failed(found, error)):
            _log.error("entry %s of %r is in the dead letter stream: %s", entry.id, entry.stream, error)

    async def _settle(self, plan: Plan[T]) -> Optional[T]:
        try:
            return await self._locks._do(plan)
        except errors.Error as e:
            _log.warning("an entry of %r will come again: %s", self._work.stream, e)
            return None

    async def _until_answered(self, plan: Callable[[], Plan[None]]) -> None:
        while not self._stopped:
            try:
                return await self._locks._do(plan())
            except errors.NoConnection:
                await asyncio.sleep(0.2)

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(self._work.claim_ms / 3000)
            try:
                await self._locks._do(self._work.keep())
            except errors.Error:
                pass  # the next sign of life comes soon


Locks = AsyncLocks
