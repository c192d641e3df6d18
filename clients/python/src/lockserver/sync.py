"""The client for programs with threads."""

from __future__ import annotations

import concurrent.futures
import logging
import threading
import time
from types import TracebackType
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar, Union, cast

import redis
import redis.connection

from . import _plans, errors
from ._alone import Alone
from ._api import (
    DEFAULT_TIMEOUT, DEFAULT_WAIT, Cancel, HeldBase, LimiterBase, Observer, finished, followed, key_namer, kind_of, lock_wish, many_wish,
    permits_wish, last_word, rate_wish, rates_words, tell, wraps,
)
from ._cluster import Shards, first_key, follow
from ._core import LEAST, Acquire, Call, Core, Handle, Names, Redirected, Request, Task as CoreTask
from ._dial import Endpoint, endpoint_of_client, endpoint_of_urls, error_of
from ._driver import Driver, Turn, connect
from ._plans import CartOutcome, LimitsTaken, Outcome, Plan, Step, Taken
from ._resp import Word, decode
from ._views import LockInfo, Pending, Stats
from ._work import BLOCK, Entry, Found, Work
from ._wish import Command, Wish, key_of, milliseconds, number, wait_of, whole

_log = logging.getLogger("lockserver")

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class Locks:
    """Takes locks on one server, and keeps them as long as the program lives. One for a program is enough.

    It may be used from any thread. It connects with the first call, by two connections of its own. After a fork the
    child has connections and owners of its own, and holds none of its parent's locks.
    """

    def __init__(self, client: Any = None, *, name: str = "lock", timeout: float = DEFAULT_TIMEOUT,
                 observer: Optional[Observer] = None, endpoint: Optional[Endpoint] = None) -> None:
        """client: a Redis or RedisCluster of redis-py, which says how to reach the server; its pool is not used. In a cluster
        there are two connections to each shard that is used.

        name: begins the names of owners and connections, which operators see. timeout: how long a call waits for
        answers, in seconds; the wait for another holder does not count. Raises ValueError or TypeError.
        """
        if endpoint is None:
            endpoint = endpoint_of_client(client)
        milliseconds(timeout, "a timeout")
        timeout = float(timeout)
        self.name, self.timeout = name, timeout
        self._endpoint = endpoint
        watching = observer if observer is not None else Observer()
        names, watched = Names(name), type(watching) is not Observer
        self._shards: Shards[Driver] = Shards(
            endpoint, lambda endpoint, told: Driver(endpoint, name, timeout, told, watched, names), lambda: names.lock,
            lambda event: tell(watching, event, True))
        self._driver = self._shards.first  # of a lone server; in a cluster only its names of owners are used
        self._owners = threading.local()
        followed(watching, self._shards)

    @classmethod
    def from_url(cls, url: Union[str, Sequence[str]], *, name: str = "lock", timeout: float = DEFAULT_TIMEOUT,
                 observer: Optional[Observer] = None, **options: Any) -> "Locks":
        """Returns a client for a URL of redis-py: ``redis://``, ``rediss://`` or ``unix://``.

        A list of URLs is of members of a raft group, or of shards of a cluster. options are those of ``redis.ConnectionPool.from_url``.
        """
        return cls(name=name, timeout=timeout, observer=observer,
                   endpoint=endpoint_of_urls(redis.ConnectionPool, url, options))

    # Locks.

    def lock(self, key: Word, *, wait: Optional[float] = None, lease: Optional[float] = None, shared: bool = False,
             deadline: Optional[float] = None, cancel: Optional[Cancel] = None, trace: Optional[str] = None,
             priority: int = 0) -> "Asked":
        """Returns the lock at a key: ``with locks.lock("k", wait=5) as held``, or ``.acquire()``.

        wait: for how many seconds another holder is waited for; None: as long as it takes; 0: not at all. lease: the
        lock ends after so many seconds, instead of being renewed by the server. shared: with others that are shared.
        deadline: a time of ``time.monotonic()`` at which the caller has no more time. cancel: ends the wait.
        trace: the ``traceparent`` (W3C) of the trace that the call belongs to. The server shows it with the waiter and the
        holder. None: that of OpenTelemetry's current span, if the program has OpenTelemetry; empty: none.
        priority: from 0 to 9. Of the calls that wait, the server serves those with the highest priority first, and those
        with the same priority in the order of arrival. A call that waits rises with time, so none waits for ever.
        """
        return Asked(self, None, lock_wish(key, wait, lease, shared, trace, priority), wait, deadline, cancel)

    def lock_all(self, keys: Sequence[Word], *, wait: Optional[float] = None, lease: Optional[float] = None,
                 shared: bool = False, deadline: Optional[float] = None, cancel: Optional[Cancel] = None,
                 trace: Optional[str] = None,
                 priority: int = 0) -> "Asked":
        """Returns the locks at all of the keys, which are had together or not at all."""
        return Asked(self, None, many_wish(keys, wait, lease, shared, trace, priority), wait, deadline, cancel)

    def task(self) -> "Task":
        """Returns an owner of several locks: the server finds deadlocks between tasks."""
        return Task(self)

    def semaphore(self, key: Word, limit: Optional[int] = None) -> "Semaphore":
        """Returns the semaphore at a key. limit: its number of permits, which the first call has to say.

        A program with another limit is refused; see :meth:`Semaphore.initial`.
        """
        return Semaphore(self, key, limit)

    def exclusive(self, key: str, *, wait: Optional[float] = DEFAULT_WAIT, lease: Optional[float] = None,
                  shared: bool = False) -> Callable[[F], F]:
        """Decorates a function that runs with a lock: ``@locks.exclusive("bill:{0}")``. See :func:`exclusive`."""
        return exclusive(key, locks=self, wait=wait, lease=lease, shared=shared)

    def campaign(self, key: Word, lead: Callable[["Held"], T], *, cancel: Optional[Cancel] = None) -> T:
        """Runs lead while this is the only one that holds the lock: the leader. Returns what lead returns.

        It waits as long as it takes. When the lead is lost (``held.lost``, ``held.check()``) lead must return or raise,
        and the campaign begins anew. A server that cannot be reached is asked again. Raises what lead raises while it
        leads, :class:`Closed`, :class:`Cancelled`, or the error of a server that refuses.
        """
        pause = threading.Event()
        while True:
            try:
                held = self.lock(key, cancel=cancel).acquire()
            except (errors.NoConnection, errors.LockLost):
                if cancel is not None and cancel.cancelled:
                    raise errors.Cancelled("the campaign was cancelled") from None
                pause.wait(0.2)
                continue
            try:
                result = lead(held)
            except BaseException as e:  # sys.exit, KeyboardInterrupt and a killed greenlet end the lead, too
                if held.lost is None:
                    _quietly(held)
                elif isinstance(e, Exception):
                    continue
                raise
            if held.lost is None:
                _quietly(held)
                return result

    # The rest of the server.

    def cart(self, user: Word, order: Word, parts: Sequence[Tuple[Word, int]]) -> CartOutcome:
        """Orders pieces of several sales, (voucher, pieces) each, in one step: all of them, or none.

        The parts have one order id and one hold. The same cart gets the same answer, however often it is asked. In a cluster
        the vouchers have to share a slot.
        """
        return self._do(_plans.cart(user, order, parts))

    def ask(self, key: Word, reason: str = "") -> int:
        """Asks the holders of a lock, or of permits, to let go, and returns how many clients heard it. It is sent once.

        They hear it by ``on_asked``. The lock stays as it is.
        """
        return self._do(_plans.ask(key, reason))

    def sale(self, voucher: Word) -> "Sale":
        """Returns the flash sale of a voucher."""
        return Sale(self, voucher)

    def latch(self, key: Word) -> "Latch":
        """Returns the latch at a key."""
        return Latch(self, key)

    def limiter(self, key: Word, *, burst: int, count: int, period: float) -> "Limiter":
        """Returns a limiter: at most count each period (seconds), and burst at once."""
        return Limiter(self, key, burst, count, period)

    def take_limits(self, limiters: "Sequence[Limiter]", cost: int = 1, *, wait: Optional[float] = None) -> "LimitsTaken[Limiter]":
        """Takes units of several limiters of this client, at most 64, in one step: of all of them, or of none.

        cost: what is taken of each. wait, and what is sent again: as for :meth:`Limiter.take`. In a cluster the keys have to
        share a slot.
        """
        limiters = tuple(limiters)
        words = _plans.with_cost(rates_words(limiters, Limiter, self), cost)
        return _plans.limits_taken(self._units(words, [limiter.key for limiter in limiters], wait), limiters)

    def delay(self, stream: Word) -> "Delay":
        """Returns the entries that are to be added to a stream later."""
        return Delay(self, stream)

    def worker(self, stream: Word, group: Word, handler: Callable[[Entry], Any], *, attempts: int = 5, claim_after: float = 30.0,
               dead: Optional[Word] = None, parallel: int = 1, name: Optional[Word] = None) -> "Worker":
        """Returns a worker, whose ``run()`` calls handler for each entry of a stream, as one of a consumer group.

        The group is made if it is not there. An entry whose handler returns is acknowledged. One whose handler raises comes
        again after a second, then two, four and so on, at most claim_after; after so many attempts it is moved to the stream
        dead (``<stream>:dead``). Entries of a worker that gives no sign of life for claim_after seconds go to another one.
        parallel: how many handlers run at a time. name: the consumer's, which is unique by default.
        """
        return Worker(self, Work(stream, group, attempts, claim_after, dead, parallel, name), handler)

    def execute(self, *words: Word) -> Any:
        """Sends a command that does not wait, over a connection of this client. It is sent once.

        Raises :class:`NoConnection` if its answer is lost: it may have been done.
        """
        return self._decoded(self._ask(list(words), True))

    def connect(self) -> None:
        """Connects now, and raises :class:`NoConnection`, :class:`NotLockserver` or :class:`ServerError`."""
        done, driver = Turn(), self._serving(None, self.timeout)
        call = Call(driver.ends(done))
        driver.wait(lambda core, now: core.connect(call, now), call, done, self.timeout,
                    lambda core, error, now: call.finish(None, error))

    @property
    def attached(self) -> bool:
        """Whether the connection is there that keeps the locks. In a cluster: those of all shards that were used."""
        return self._shards.attached

    def close(self) -> None:
        """Releases what is held, ends all waits with :class:`Closed`, and closes the connections.

        It returns within the timeout. A lock that the server has not answered for by then ends with its lease.
        """
        self._close(False)

    def _close(self, keep_leases: bool) -> None:
        """keep_leases: locks with a fixed lease stay held until that ends."""
        self._shards.closed = True
        drivers = self._shards.all()
        started = [driver for driver in drivers if driver.started]
        for driver in drivers:
            if driver in started:
                driver.run(lambda core, now: core.close(now, keep_leases))
            else:
                with driver.lock:
                    driver.core.close(time.monotonic())
        end = time.monotonic() + self.timeout + 5
        if not any(threading.current_thread() is driver._thread for driver in started):
            for driver in started:
                driver.gone.wait(max(0.0, end - time.monotonic()))

    def __enter__(self) -> "Locks":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # What is there.

    def locked(self, key: Word) -> bool:
        """Returns whether any owner of any client holds a key."""
        return self._do(_plans.locked(key))

    def info(self, key: Word) -> Optional[LockInfo]:
        """Returns the holders of a key and those that wait for it, or None if it is free."""
        return self._do(_plans.lock_info(key))

    def force_unlock(self, key: Word) -> bool:
        """Releases a key for whoever holds it, for operators: the holders lose it, as ``forced``. False: it was free."""
        return self._do(_plans.force_unlock(key))

    def stats(self) -> Stats:
        """Returns how many locks this client holds, how many calls wait, and the age of the oldest hold. It asks no server."""
        return self._shards.stats()

    # How calls are made.

    def _serving(self, key: Optional[bytes], limit: float) -> Driver:
        """Returns the transport to the server of a key. The first time a cluster is asked, for so many seconds at most."""
        found = self._shards.known(key)
        if found is None:
            self._shards.find(self.name, limit)
            found = self._shards.known(key)
        assert found is not None
        return found

    def _thread(self) -> "Task":
        """The owner of the thread that calls."""
        try:
            task: Task = self._owners.task
        except AttributeError:
            task = self._owners.task = Task(self)
        return task

    def _acquire(self, task: Optional[CoreTask], wish: Wish, wait: Optional[float], deadline: Optional[float],
                 cancel: Optional[Cancel]) -> "Held":
        return Held(self, self._request(task, wish.traced(), wait, deadline, cancel))

    def _request(self, task: Optional[CoreTask], wish: Wish, wait: Optional[float], deadline: Optional[float],
                 cancel: Optional[Cancel]) -> Any:
        """Asks for a lock, or for units of a limiter, and returns the handle, or the numbers."""
        if self._shards.single:
            return self._request_at(self._driver, task, wish, wait, deadline, cancel)
        end = None if wait is None else time.monotonic() + wait
        late = None if wait is None else time.monotonic() + max(wait, self.timeout)
        key, hops = wish.keys[0], 0
        owner = task if task is not None else CoreTask(self._driver.core.new_owner())
        longest = self._longest(wish, wait, deadline)
        driver = self._serving(key, self.timeout if longest is None else min(self.timeout, max(LEAST, longest)))
        while True:
            try:
                return self._request_at(driver, owner, wish, wait, deadline, cancel)
            except Redirected as e:
                if late is not None and time.monotonic() > late:
                    raise errors.NoConnection(f"the server has not done the command: {e.moved}") from None
                self._shards.redirected(key, e, driver)
            hops, pause = follow(hops)
            time.sleep(pause)
            wait = None if end is None else max(LEAST, end - time.monotonic()) if not wish.tries else wait
            driver = self._serving(key, self.timeout)

    def _request_at(self, driver: Driver, task: Optional[CoreTask], wish: Wish, wait: Optional[float],
                    deadline: Optional[float], cancel: Optional[Cancel]) -> Any:
        """As :meth:`_request`, of one server. It raises Redirected if another shard serves the key."""
        if cancel is not None and cancel.cancelled:
            raise errors.Cancelled("the call was cancelled")
        done = Turn()
        owner = task if task is not None else CoreTask(driver.core.new_owner())
        call = Acquire(owner, wish, driver.ends(done))

        def begin(core: Core, now: float) -> None:
            if not call.over:  # it was not cancelled meanwhile
                core.acquire(call, wait, deadline, now)

        unsubscribe = None
        if cancel is not None:
            why = errors.Cancelled("the call was cancelled")
            unsubscribe = cancel.subscribe(lambda: driver.run(lambda core, now: core.cancel(call, why, now)))
        try:
            return driver.wait(begin, call, done, self._longest(wish, wait, deadline),
                               lambda core, error, now: core.withdraw(call, error, now))
        finally:
            if unsubscribe is not None:
                unsubscribe()

    def _units(self, words: Command, keys: Sequence[bytes], wait: Optional[float]) -> List[int]:
        """Takes units of limiters, and returns the numbers of the reply. words: with the cost. wait: seconds, or None."""
        wait = 0.0 if wait is None else wait_of(wait)
        limit: Optional[float] = None
        if wait is None or wait > 0:
            end = None if wait is None else time.monotonic() + wait
            try:
                queued = None if wait is None else wait - last_word(wait)
                return cast(List[int], self._request(None, rate_wish(words, keys), queued, None, None))
            except errors.NotAcquired:  # the next command says what the limiter has now, and takes the units if they have just come
                limit = None if end is None else max(last_word(0), end - time.monotonic())
        return self._do(_plans.take(words), limit)

    def _longest(self, wish: Wish, wait: Optional[float], deadline: Optional[float]) -> Optional[float]:
        if wish.tries:
            return self.timeout
        limits = [limit for limit in (wait, None if deadline is None else deadline - time.monotonic()) if limit is not None]
        return max(self.timeout, min(limits)) if limits else None

    def _release(self, handle: Handle) -> None:
        done, driver = Turn(), _driver_of(handle)
        call = Call(driver.ends(done))
        driver.wait(lambda core, now: core.release(handle, call, now), call, done, self.timeout,
                    lambda core, error, now: None)

    def _ask(self, words: Command, once: bool, limit: Optional[float] = None) -> Any:
        """Sends a command, and returns its reply. An error reply is raised."""
        limit = self.timeout if limit is None else min(limit, self.timeout)
        if self._shards.single:
            reply = self._ask_at(self._driver, words, once, limit)
        else:
            end, key, hops = time.monotonic() + limit, first_key(words), 0
            while True:
                try:
                    driver = self._serving(key, limit)
                    reply = self._ask_at(driver, words, once, max(LEAST, end - time.monotonic()))
                    break
                except Redirected as e:
                    if key is None or time.monotonic() > end:
                        raise errors.NoConnection(f"the server has not done the command: {e.moved}") from None
                    self._shards.redirected(key, e, driver)
                    hops, pause = follow(hops)
                    time.sleep(pause)
        error = _plans.raised(reply)
        if error is not None:
            raise error
        return reply

    def _ask_at(self, driver: Driver, words: Command, once: bool, limit: float) -> Any:
        """As :meth:`_ask`, of one server. It returns an error reply."""
        done = Turn()
        request = Request(words, once, driver.ends(done))
        return driver.wait(lambda core, now: core.request(request, now + limit, now), request, done, limit,
                           lambda core, error, now: core.end_request(request, error))

    def _do(self, plan: Plan[T], limit: Optional[float] = None) -> T:
        """Carries out a plan."""
        try:
            step: Step = next(plan)
            while True:
                try:
                    reply = self._ask(step.words, step.once, limit)
                except errors.Error as e:
                    step = plan.throw(e)
                else:
                    step = plan.send(reply)
        except StopIteration as end:
            return cast(T, end.value)

    def _wait_alone(self, key: Word, words: Callable[[Optional[float]], Command], wait: Optional[float], once: bool) -> Any:
        """Sends a command about a key that waits, over a connection of its own."""
        alone = Alone(words, wait, once, self.timeout, time.monotonic())
        while not alone.over:
            endpoint = self._endpoint
            try:
                if not self._shards.single:
                    endpoint = self._serving(key_of(key), self.timeout).endpoint
                s = connect(endpoint, self.name, min(self.timeout, 5.0, alone.patience(time.monotonic())))
            except Exception as e:
                if not self._shards.single:
                    endpoint.missed()
                alone.failed(e if isinstance(e, errors.Error) else error_of(e), time.monotonic())
                time.sleep(alone.pause)
                continue
            with s:
                try:
                    s.settimeout(self.timeout)
                    s.sendall(alone.opened(time.monotonic()))
                    while not alone.answered:
                        s.settimeout(alone.patience(time.monotonic()))
                        alone.received(s.recv(1 << 16), time.monotonic())
                except OSError as e:
                    if str(e).startswith("MOVED "):
                        self._shards.learn(key_of(key), str(e))
                    alone.failed(errors.NoConnection(str(e)), time.monotonic())
        return alone.result()

    def _decoded(self, reply: Any) -> Any:
        return decode(reply, self._endpoint.encoding)


def _driver_of(handle: Handle) -> Driver:
    """The transport to the server of a lock."""
    driver: Driver = handle.core.transport()
    return driver


def _quietly(held: "Held") -> None:
    """Releases a lock. What cannot be done now is done later."""
    try:
        held.release()
    except errors.Error:
        pass


class Asked:
    """A lock that can be acquired, again and again: each time by another owner, but for those of a :class:`Task`."""

    def __init__(self, locks: Locks, task: Optional["Task"], wish: Wish, wait: Optional[float],
                 deadline: Optional[float], cancel: Optional[Cancel]) -> None:
        self._locks, self._task, self._wish = locks, task, wish
        self._wait, self._cancel = wait_of(wait), cancel
        self._deadline = None if deadline is None else number(deadline, "a deadline")
        self._entered: Dict[int, List[Held]] = {}

    def acquire(self) -> "Held":
        """Takes the lock.

        Raises :class:`NotAcquired`, :class:`DeadlineExceeded`, :class:`Cancelled`, :class:`Deadlock`, :class:`NoConnection`,
        :class:`Closed`, or :class:`ServerError`. Each call is bounded: by the wait, or the deadline; and if the server is
        silent by the timeout, or by about two thirds of the server's lease if it had queued the call.
        """
        task = None if self._task is None else self._task._current()
        return self._locks._acquire(task, self._wish, self._wait, self._deadline, self._cancel)

    def __enter__(self) -> "Held":
        held = self.acquire()
        self._entered.setdefault(threading.get_ident(), []).append(held)
        return held

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        mine = self._entered[threading.get_ident()]
        held = mine.pop()
        if not mine:
            del self._entered[threading.get_ident()]
        held.__exit__(kind, error, trace)


class Held(HeldBase):
    """A lock that is held, or several that were taken together. It may be used from any thread."""

    def __init__(self, locks: Locks, handle: Handle) -> None:
        super().__init__(handle)
        self._locks = locks

    def release(self) -> None:
        """Releases the lock, once for each time that it was taken.

        Raises :class:`LockLost` or :class:`LockReleased`, having done nothing; or :class:`NoConnection` if the server has not
        answered: then it is released as soon as the server can be reached.
        """
        self._locks._release(self._handle)

    def guard(self, *words: Word) -> Any:
        """Runs a command only if the lock is still held at that moment: ``held.guard("SET", "k", "v")``.

        It is sent once. Raises :class:`LockLost`, :class:`LockReleased`, :class:`ServerError`; or :class:`NoConnection`,
        after which the command may have been done or not. The reply is bytes, unless the client decodes responses.
        """
        key = self._one_key()
        try:
            return self._locks._decoded(self._locks._do(_plans.guard(key, self.token, list(words))))
        except errors.ServerError as e:
            if not str(e).startswith("STALETOKEN"):
                raise
            raise self._stale(key) from None

    def renew(self, lease: float) -> None:
        """Has a lock with a lease end in so many seconds from now. Raises :class:`LockLost`, or as :meth:`guard` does."""
        key, sent = self._one_key(), time.monotonic()
        word = "SEM.RENEW" if self._handle.hold.wish.permits else "RENEW"
        if not self._locks._ask([word, key, self.owner, "PX", milliseconds(lease, "a lease"), "TOKEN", self.token], False):
            raise self._stale(key)
        _driver_of(self._handle).run(lambda core, now: core.renewed(self._handle, float(lease), sent))

    def on_lost(self, callback: Callable[[errors.LockLost], None]) -> None:
        """Has callback called when the lock is lost, by the thread of the client; or now if it is lost already.

        ``sys.exit`` there ends nothing: use ``os.kill(os.getpid(), signal.SIGTERM)``, or tell the main thread.
        """
        with _driver_of(self._handle).lock:
            lost = self.lost
            if lost is None:
                self._handle.on_lost.append(callback)
        if lost is not None:
            callback(lost)

    def on_asked(self, callback: Callable[[str], None]) -> None:
        """Has callback called with the reason whenever a client asks the holder to let go, by the thread of the client.

        If that has happened already, it is called now with the last reason. The lock stays as it is.
        """
        with _driver_of(self._handle).lock:
            asked = self.asked
            self._handle.on_asked.append(callback)
        if asked is not None:
            callback(asked)

    def _stale(self, key: bytes) -> errors.Error:
        found: List[errors.Error] = []
        _driver_of(self._handle).run(lambda core, now: found.append(core.lose_stale(self._handle, key, now)))
        return found[0]

    def __enter__(self) -> "Held":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        try:
            self.release()
        except errors.Error:
            if error is None:
                raise


class Task:
    """An owner of several locks. A lock that it holds it may take again, and has to release as often.

    It is for one flow of the program at a time. If two tasks wait for each other's locks, one gets :class:`Deadlock`.
    """

    def __init__(self, locks: Locks) -> None:
        self._locks = locks
        self._core: Optional[Core] = None
        self._task: Optional[CoreTask] = None

    def _current(self) -> CoreTask:
        core = self._locks._driver.core
        if self._task is None or self._core is not core:  # it is another process now
            with self._locks._driver.lock:
                self._core, self._task = core, CoreTask(core.new_owner())
        return self._task

    def lock(self, key: Word, *, wait: Optional[float] = None, lease: Optional[float] = None, shared: bool = False,
             deadline: Optional[float] = None, cancel: Optional[Cancel] = None, trace: Optional[str] = None,
             priority: int = 0) -> Asked:
        """As :meth:`Locks.lock`."""
        return Asked(self._locks, self, lock_wish(key, wait, lease, shared, trace, priority), wait, deadline, cancel)

    def lock_all(self, keys: Sequence[Word], *, wait: Optional[float] = None, lease: Optional[float] = None,
                 shared: bool = False, deadline: Optional[float] = None, cancel: Optional[Cancel] = None,
                 trace: Optional[str] = None,
                 priority: int = 0) -> Asked:
        """As :meth:`Locks.lock_all`."""
        return Asked(self._locks, self, many_wish(keys, wait, lease, shared, trace, priority), wait, deadline, cancel)


class Semaphore:
    """A number of permits that many owners share."""

    def __init__(self, locks: Locks, key: Word, limit: Optional[int], initial: bool = False) -> None:
        self._locks, self._key, self._limit, self._initial = locks, key, limit, initial

    def initial(self, limit: int) -> "Semaphore":
        """Returns the semaphore with a limit that counts only for the call that makes it.

        So programs with different limits share it, while they are replaced one by one.
        """
        return Semaphore(self._locks, self._key, whole(limit, "a limit"), True)

    def permits(self, count: int = 1, *, wait: Optional[float] = None, lease: Optional[float] = None,
                deadline: Optional[float] = None, cancel: Optional[Cancel] = None, trace: Optional[str] = None,
                priority: int = 0) -> Asked:
        """Returns permits to be acquired: ``with semaphore.permits(2, wait=5):``. The options are those of a lock."""
        wish = permits_wish(self._key, self._limit, count, wait, lease, trace, self._initial, priority)
        return Asked(self._locks, None, wish, wait, deadline, cancel)

    def acquire(self, count: int = 1, *, wait: Optional[float] = None, lease: Optional[float] = None, priority: int = 0) -> Held:
        """Takes permits. Raises what the acquiring of a lock raises."""
        return self.permits(count, wait=wait, lease=lease, priority=priority).acquire()

    def resize(self, limit: int) -> bool:
        """Sets the number of permits. False: there is no such semaphore now."""
        return self._locks._do(_plans.number(["SEM.RESIZE", self._key, whole(limit, "a limit")])) == 1

    def info(self) -> Optional[Dict[bytes, Any]]:
        """Returns the reply of SEM.INFO, or None if no owner holds a permit."""
        return self._locks._do(_plans.information(["SEM.INFO", self._key]))


class Sale:
    """A flash sale, made with SECKILL.CREATE. An order may be sent again: the server knows it by its id."""

    def __init__(self, locks: Locks, voucher: Word) -> None:
        self._locks, self._voucher = locks, voucher

    def create(self, stock: int, *, start: Optional[float] = None, end: Optional[float] = None, limit: Optional[int] = None,
               hold: Optional[float] = None, stream: Optional[Word] = None, rate: Optional[Tuple[int, float]] = None,
               burst: Optional[int] = None, replace: bool = False,
               hold_max: Optional[float] = None) -> bool:
        """Makes the sale. False: there is another one, of other terms. One of the same terms is left as it is.

        stock: pieces. start, end: Unix times in seconds. limit: pieces for a user. hold: for how many seconds an order may
        wait to be confirmed. hold_max: for how many at most, if it is extended. stream: of the orders, ``stream.orders`` by
        default. In a cluster it needs the hash tag of the voucher, as ``orders:{shoe}`` for ``{shoe}``. rate: so many calls of a
        user in so many seconds, and burst at once.
        replace: begins a sale that is there anew; it is sent once.
        """
        return self._locks._do(_plans.sale_create(self._voucher, stock, start, end, limit, hold, stream, rate, burst, replace, hold_max))

    def info(self) -> Optional[Dict[bytes, Any]]:
        """Returns the reply of SECKILL.INFO: state, stock, sold, held, confirmed and so on; None if there is no such sale."""
        return self._locks._do(_plans.sale_info(self._voucher))

    def buy(self, user: Word, order: Word, pieces: int = 1) -> Outcome:
        """Orders pieces for a user. The same order gets the same answer, however often it is asked."""
        return self._locks._do(_plans.buy(self._voucher, user, order, pieces))

    def confirm(self, user: Word, order: Word) -> bool:
        """Says that an order was paid, which keeps it. False: it was taken back, or there is none."""
        return self._locks._do(_plans.settle("SECKILL.CONFIRM", self._voucher, user, order, b"paid"))

    def cancel(self, user: Word, order: Word, pieces: Optional[int] = None) -> bool:
        """Gives an order back, or so many pieces of it. False: it is confirmed, or there is none.

        With pieces it is sent once: after :class:`NoConnection` it may have been done.
        """
        if pieces is not None:
            return self._locks._do(_plans.cancel_part(self._voucher, user, order, pieces))
        return self._locks._do(_plans.settle("SECKILL.CANCEL", self._voucher, user, order, b"gone"))

    def extend(self, user: Word, order: Word, seconds: float) -> bool:
        """Keeps an order that is not confirmed for so many seconds from now, or for longer if it was. False: it is not held.

        Raises :class:`ServerError`, and changes nothing, if that were longer than ``hold_max`` of the sale.
        """
        return self._locks._do(_plans.extend(self._voucher, user, order, seconds))


class Latch:
    """A count that goes down once, and those that wait until it is 0."""

    def __init__(self, locks: Locks, key: Word) -> None:
        self._locks, self._key = locks, key

    def set(self, count: int) -> bool:
        """Closes the latch with a count. False: there is one already, and nothing has changed."""
        return self._locks._do(_plans.number(["LATCH.SET", self._key, whole(count, "a count", 0)])) == 1

    def down(self, count: int = 1) -> int:
        """Takes from the count, and returns what is left. It is sent once: see :class:`NoConnection`."""
        return self._locks._do(_plans.count_down(self._key, whole(count, "a count")))

    def left(self) -> int:
        """Returns what is left; 0: the latch is open."""
        return self._locks._do(_plans.number(["LATCH.GET", self._key]))

    def wait(self, wait: Optional[float] = None) -> bool:
        """Waits until the latch is open, over a connection of its own. False: it still was closed after wait seconds."""
        wait = wait_of(wait)
        if wait is not None and wait <= 0:
            return self.left() == 0
        return bool(self._locks._wait_alone(self._key, lambda left: _plans.wait_words(self._key, left), wait, False))


class Limiter(LimiterBase):
    """At most so many units in a time."""

    _locks: Locks

    def take(self, cost: int = 1, *, wait: Optional[float] = None) -> Taken:
        """Takes units, or says when that would be possible. wait: for how many seconds the server may keep the caller.

        Callers that wait are served in their order, and share the client's connection. Without wait it is sent once: after
        :class:`NoConnection` the units may be taken. A call that waits asks again when the connection has broken. Where the
        answer was lost it takes the cost once more: never more than the rate is allowed.
        """
        return _plans.taken(self._locks._units(_plans.with_cost(self._words, cost), [self.key], wait))

    def give(self, cost: int = 1) -> Taken:
        """Gives units back that were taken and not used. The limiter is never more than full, and its first waiter is served.

        It is sent once: after :class:`NoConnection` the units may be given back.
        """
        return self._locks._do(_plans.give(self._words, cost))


class Delay:
    """Entries that the server adds to a stream at their time."""

    def __init__(self, locks: Locks, stream: Word) -> None:
        self._locks, self._stream = locks, stream

    def add(self, fields: Mapping[Any, Any], *, after: Optional[float] = None, at: Optional[float] = None,
            ticket: Optional[Word] = None, every: Optional[float] = None, cron: Optional[str] = None,
            zone: Optional[str] = None, times: Optional[int] = None, until: Optional[float] = None,
            missed: Optional[str] = None) -> Optional[str]:
        """Has an entry added after so many seconds, or at a Unix time, and again if there is a rule. Returns its ticket.

        ticket: an id of the caller's; None is returned if one of that id is pending already.

        every: a rule, the interval in seconds. cron: another rule, a cron expression of five fields, or of six with seconds
        first; zone is its time zone, UTC by default. With a rule after or at is the earliest time of the first entry, and may be
        left out. times: the rule ends with so many entries. until: no entry is due after this Unix time. missed: what becomes of
        times that pass while the server cannot add entries. ``once`` (the default): an entry is added late for the first of them;
        ``skip``: for none of them; ``all``: for each, 1,000 in a row at most. Each entry in the stream has the field
        ``delay.due``, the time at which it was due: see :attr:`Entry.due`. Raises :class:`ServerError` for an expression or a zone
        that the server does not know, and for a rule that has no time before its end.
        """
        due = _plans.recurs(after, at, every, cron, zone, times, until, missed)
        return self._locks._do(_plans.delay_add(self._stream, fields, due, ticket))

    def cancel(self, ticket: Word) -> bool:
        """Takes an entry back. False: it is not pending."""
        return self._locks._do(_plans.delay_change(["DELAY.CANCEL", self._stream, ticket]))

    def move(self, ticket: Word, *, after: Optional[float] = None, at: Optional[float] = None) -> bool:
        """Gives an entry another time. False: it is not pending."""
        return self._locks._do(_plans.delay_change(["DELAY.MOVE", self._stream, ticket, *_plans.when(after, at)]))

    def get(self, ticket: Word) -> Optional[Pending]:
        """Returns an entry that is pending, or None."""
        return self._locks._do(_plans.delay_get(self._stream, ticket, self._locks._endpoint.encoding))

    def list(self, *, since: float = 0, count: int = 100) -> List[Pending]:
        """Returns at most count entries that are pending, in the order in which they are due, from a Unix time on."""
        return self._locks._do(_plans.delay_list(self._stream, since, count, self._locks._endpoint.encoding))

    def count(self) -> int:
        """Returns how many entries are pending."""
        return self._locks._do(_plans.number(["DELAY.COUNT", self._stream]))


class Worker:
    """Works off a stream for a consumer group: see :meth:`Locks.worker`."""

    def __init__(self, locks: Locks, work: Work, handler: Callable[[Entry], Any]) -> None:
        self._locks, self._work, self._handler = locks, work, handler
        self._stopped = threading.Event()
        self._encoding = locks._endpoint.encoding

    def stop(self) -> None:
        """Has :meth:`run` return when the handlers that run have ended. Any thread may call it, also a signal's handler."""
        self._stopped.set()

    def run(self) -> None:
        """Works until :meth:`stop`. It goes on when the server could not be reached meanwhile.

        Raises :class:`Closed` if the client is closed, and :class:`ServerError` or :class:`NotLockserver` if the server refuses.
        """
        work, locks = self._work, self._locks
        self._until_answered(work.start)
        ended = threading.Event()
        alive = threading.Thread(target=self._keep, args=(ended,), name="lockserver-worker", daemon=True)
        alive.start()
        try:
            with concurrent.futures.ThreadPoolExecutor(work.parallel) as pool:
                while not self._stopped.is_set():
                    try:
                        found = locks._do(work.claim()) or work.took(
                            locks._wait_alone(work.stream, lambda _: work.read(), BLOCK + locks.timeout, True))
                    except errors.NoConnection:
                        self._stopped.wait(0.2)
                        continue
                    if self._stopped.is_set():
                        for entry in found:
                            self._settle(lambda: work.give_back(entry))
                    else:
                        list(pool.map(self._handle, found))
        finally:
            ended.set()
            alive.join()
            self._settle(work.leave)

    def _handle(self, found: Found) -> None:
        work, error = self._work, "the worker has ended abnormally"
        entry = Entry(*work.values(found, self._encoding))
        if not work.spent(found):
            try:
                self._handler(entry)
            except Exception as e:
                _log.exception("the handler of entry %s of %r has failed (attempt %d)", entry.id, entry.stream, entry.attempt)
                error = f"{type(e).__name__}: {e}"
            else:
                self._settle(lambda: work.done(found))
                return
        if self._settle(lambda: work.failed(found, error)):
            _log.error("entry %s of %r is in the dead letter stream: %s", entry.id, entry.stream, error)

    def _settle(self, plan: Callable[[], Plan[T]]) -> Optional[T]:
        """Carries out what is lost otherwise: without it the entry comes again after a while."""
        try:
            return self._locks._do(plan())
        except errors.Error as e:
            _log.warning("an entry of %r will come again: %s", self._work.stream, e)
            return None

    def _until_answered(self, plan: Callable[[], Plan[None]]) -> None:
        while not self._stopped.is_set():
            try:
                return self._locks._do(plan())
            except errors.NoConnection:
                self._stopped.wait(0.2)

    def _keep(self, ended: threading.Event) -> None:
        while not ended.wait(self._work.claim_ms / 3000):
            try:
                self._locks._do(self._work.keep())
            except errors.Error:
                pass  # the next sign of life comes soon


_default: List[Locks] = []


def use(locks: Locks) -> None:
    """Makes a client the one of ``@exclusive`` without ``locks``."""
    _default[:] = [locks]


def exclusive(key: str, *, locks: Union[Locks, Callable[[], Locks], None] = None, wait: Optional[float] = DEFAULT_WAIT,
              lease: Optional[float] = None, shared: bool = False) -> Callable[[F], F]:
    """Decorates a function that runs with a lock at a key that its arguments name.

    ``@exclusive("bill:{0}")`` is the first argument, ``@exclusive("bill:{number}")`` the one of that name. locks: a client,
    or what returns one; without it, the one of :func:`use`. wait: in seconds, None without an end. A lock that was lost
    meanwhile raises :class:`LockLost` when the function has returned.

    The owner is the thread: a function may call another one with the same key, and two threads that wait for each other's
    locks have :class:`Deadlock`. A generator holds the lock from its first value until it is exhausted or closed, and has an
    owner of its own. A function whose work is not done when it returns raises TypeError: a coroutine function or an
    asynchronous generator where it is decorated, and one that returns a future, a coroutine or a generator when it does.
    """
    wait_of(wait)

    def decorate(function: F) -> F:
        kind = kind_of(function)
        if kind in ("coroutine", "asynchronous generator"):
            raise TypeError(f"{function!r} makes a {kind}: the lock would be released before its work. " + (
                "Use AsyncLocks.exclusive" if kind == "coroutine" else "Take the lock inside of it, with AsyncLocks.lock"))
        name = key_namer(key, function)

        def client() -> Locks:
            found = locks() if callable(locks) else locks
            if found is None:
                if not _default:
                    raise errors.Error("@exclusive has no client: give it locks, or call lockserver.use")
                found = _default[0]
            return found

        def call(*args: Any, **keywords: Any) -> Any:
            with client()._thread().lock(name(args, keywords), wait=wait, lease=lease, shared=shared):
                return finished(function, function(*args, **keywords))

        def values(*args: Any, **keywords: Any) -> Any:
            with client().lock(name(args, keywords), wait=wait, lease=lease, shared=shared).acquire():
                return (yield from function(*args, **keywords))

        return cast(F, wraps(function, values if kind == "generator" else call))

    return decorate
