"""A command that waits on the server, over a connection that it has to itself. It has no sockets of its own."""

from __future__ import annotations

from typing import Any, Callable, List, Optional

from . import errors
from ._core import LEAST
from ._plans import raised
from ._resp import Malformed, Parser, Push, encode
from ._wish import Command


class Alone:
    """The state of one such call: its connection is made anew as long as there is time, unless it is sent once."""

    pause = 0.05  # seconds between two connections

    def __init__(self, words: Callable[[Optional[float]], Command], wait: Optional[float], once: bool, limit: float,
                 now: float) -> None:
        self._words, self._once, self._limit = words, once, limit
        self._end = None if wait is None else now + wait
        self._reach = now + limit  # until when there must be a connection
        self._sent = False
        self._parser = Parser()
        self._replies: List[Any] = []
        self.error: Optional[Exception] = None

    @property
    def answered(self) -> bool:
        """Whether the reply is there."""
        return bool(self._replies)

    @property
    def over(self) -> bool:
        """Whether there is a reply or an error."""
        return self.answered or self.error is not None

    def opened(self, now: float) -> bytes:
        """A connection is there. Returns what to send."""
        self._parser, self._sent = Parser(), True
        left = None if self._end is None else max(0.001, self._end - now)
        return encode(self._words(left))

    def patience(self, now: float) -> float:
        """Returns for how many seconds to wait for the next bytes."""
        if self._end is None:
            return 3600.0
        return max(0.001, self._end - now) + min(LEAST, self._limit)

    def received(self, data: bytes, now: float) -> None:
        """Bytes have come. None of them: the connection has ended."""
        if not data:
            raise OSError("the server has closed the connection")
        try:
            for reply in self._parser.feed(data):
                if isinstance(reply, errors.ServerError) and errors.is_elsewhere(reply):
                    raise OSError(str(reply))
                if not isinstance(reply, Push):
                    self._replies.append(reply)
        except Malformed as e:
            raise OSError(str(e)) from None

    def failed(self, why: Exception, now: float) -> None:
        """The connection has ended, or there is none."""
        if self._sent:
            self._reach = now + self._limit
        if self._sent and self._once or isinstance(why, errors.ServerError) or now >= self._reach \
                or self._end is not None and now >= self._end:
            self.error = why
        self._sent = False

    def result(self) -> Any:
        """Returns the reply, or raises its error, or the connection's."""
        if self._replies:
            error = raised(self._replies[0])
            if error is not None:
                raise error
            return self._replies[0]
        assert self.error is not None
        raise self.error
