"""The transport of asyncio: everything happens in one event loop."""

from __future__ import annotations

import asyncio
import time
import weakref
from typing import Any, Callable, Dict, Optional, Sequence, Set

from . import errors
from ._core import Call, Core, Event, Link, Names
from ._dial import Endpoint, error_of
from ._resp import Word
from ._views import Stats


class AsyncDriver:
    """Runs a core in the event loop of its first call. All methods are called in that loop."""

    def __init__(self, endpoint: Endpoint, name: str, limit: float, told: Callable[[Event], None],
                 names: Optional[Names] = None) -> None:
        self.endpoint, self._name, self._limit, self._told = endpoint, name, limit, told
        self.core = Core(name, limit, time.monotonic(), names=names)
        self.core.transport = weakref.ref(self)
        self.started = False
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._writers: Dict[Link, asyncio.StreamWriter] = {}
        self._tasks: Set["asyncio.Task[None]"] = set()
        self._timer: Optional[asyncio.TimerHandle] = None
        self._due = 0.0
        self._settling = False
        self._gone: Optional["asyncio.Future[None]"] = None

    def redirect(self, find: Callable[[Sequence[Word], str], Any]) -> None:
        """As :meth:`Driver.redirect`."""
        self.core.redirects = find

    def poke(self, begin: Callable[[Core, float], None]) -> None:
        """As :meth:`Driver.poke`."""
        self.run(begin)

    def stats(self) -> Stats:
        """What the client has now."""
        return self.core.stats(time.monotonic())

    def run(self, begin: Callable[[Core, float], None]) -> None:
        """Has the core do something, and sees to what follows."""
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
            self._gone = loop.create_future()
        elif self._loop is not loop:
            raise errors.Error("the client belongs to another event loop")
        self.started = True
        begin(self.core, time.monotonic())
        self._soon()

    async def wait(self, call: Call, future: "asyncio.Future[None]",
                   give_up: Callable[[Core, BaseException, float], None]) -> Any:
        """Waits for a call, and returns its result. give_up ends the call if the task is cancelled."""
        try:
            await future
        except BaseException as e:
            ended = e
            self.run(lambda core, now: give_up(core, ended, now))
            raise
        if call.error is not None:
            raise call.error
        return call.result

    def done(self) -> "tuple[asyncio.Future[None], Callable[[], None]]":
        """Returns a future, and what ends it."""
        future: "asyncio.Future[None]" = asyncio.get_running_loop().create_future()

        def end() -> None:
            if not future.done():
                future.set_result(None)

        return future, end

    async def gone(self, longest: float) -> None:
        """Waits until the connections are closed."""
        if self._gone is not None:
            await asyncio.wait([self._gone], timeout=longest)

    # The loop.

    def _soon(self) -> None:
        """Settles in this round of the loop, once for all that happens in it."""
        if not self._settling and self._loop is not None:
            self._settling = True
            self._loop.call_soon(self._settle)

    def _tick(self) -> None:
        self._timer = None
        self.core.tick(time.monotonic())
        self._settle()

    def _settle(self) -> None:
        """Does what the core wants: writes, connects, closes, tells, and sets the timer."""
        self._settling = False
        core, loop = self.core, self._loop
        assert loop is not None
        for link in core.links:
            if link.broken is not None:
                self._close(link, link.broken)
            else:
                self._write(link)
            at = core.dial_at(link)
            if at is not None and at <= time.monotonic():
                link.dialing, link.dial_at = True, None
                self._spawn(self._dial(link))
        happened, core.events = core.events, []
        for event in happened:
            self._told(event)
        if core.ended:
            self._end()
            return
        due = core.next_timer()
        if due is None or self._timer is not None and self._due <= due:
            return  # a timer that is too early looks again; most are moved back again and again
        if self._timer is not None:
            self._timer.cancel()
        self._due = due
        self._timer = loop.call_later(max(0.0, due - time.monotonic()), self._tick)

    def _write(self, link: Link) -> None:
        if link.out and link.broken is None and link in self._writers:
            self._writers[link].write(bytes(link.out))
            link.out.clear()

    def _spawn(self, work: Any) -> None:
        task: "asyncio.Task[None]" = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for writer in self._writers.values():
            writer.close()
        self._writers = {}
        for task in list(self._tasks):
            task.cancel()
        if self._gone is not None and not self._gone.done():
            self._gone.set_result(None)

    def _close(self, link: Link, why: Exception) -> None:
        writer = self._writers.pop(link, None)
        if writer is not None:
            writer.transport.abort()  # what the server has not read it is not to read later
        if link is self.core.attached:
            # Of a group another member is asked first: one that was stopped would hold up the next attempt as well.
            self.endpoint.moved(self.core.moved or "")
            self.core.moved = None
        self.core.failed(link, why, time.monotonic())
        self._soon()

    async def _dial(self, link: Link) -> None:
        core = self.core
        try:
            _, writer = await connect(self.endpoint, self._name, self.endpoint.patience(self._limit, core.lease))
        except Exception as e:
            self.endpoint.missed()
            core.failed(link, error_of(e), time.monotonic())
            self._soon()
            return
        if core.ended:
            writer.close()
            return
        self._writers[link] = writer
        core.opened(link, time.monotonic())
        other = self._writers.get(core.commands)
        if other not in (None, writer) and _peer(other) != _peer(writer):  # another server leads now
            core.commands.broken = errors.NoConnection("another server leads")
        # Bytes are taken as they come: a stream would wake a task for each piece.
        writer.transport.set_protocol(_Receiver(self, link, writer))
        self._soon()

    def received(self, link: Link, writer: asyncio.StreamWriter, data: bytes) -> None:
        """Bytes have come by a connection."""
        if self._writers.get(link) is writer:
            self.core.received(link, data, time.monotonic())
            self._write(link)  # grants are confirmed before their callers go on, which may keep the loop for long
            self._soon()

    def ended(self, link: Link, writer: asyncio.StreamWriter, why: str) -> None:
        """A connection has ended."""
        if self._writers.get(link) is writer:
            self._close(link, errors.NoConnection(why))


class _Receiver(asyncio.Protocol):
    """Hands on what comes by a connection."""

    def __init__(self, driver: AsyncDriver, link: Link, writer: asyncio.StreamWriter) -> None:
        self._driver, self._link = driver, link
        self._writer = writer  # a writer that nothing refers to closes its connection

    def data_received(self, data: bytes) -> None:
        self._driver.received(self._link, self._writer, data)

    def connection_lost(self, exc: Optional[Exception]) -> None:
        why = "the server has closed the connection" if exc is None else str(exc)
        self._driver.ended(self._link, self._writer, why)


async def connect(endpoint: Endpoint, name: str, timeout: float) -> "tuple[asyncio.StreamReader, asyncio.StreamWriter]":
    """Returns the streams of a new connection that is logged in."""
    await endpoint.prepare_async(name, timeout)
    connection = endpoint.connection(name, timeout)
    await connection.connect()
    reader, writer = connection._reader, connection._writer
    connection._reader = connection._writer = None  # they are not closed with the object
    return reader, writer


def _peer(writer: Optional[asyncio.StreamWriter]) -> Any:
    return None if writer is None else writer.get_extra_info("peername")
