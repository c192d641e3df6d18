"""Calls that are commands and what their replies mean, for both transports.

A plan is a generator: it yields a command, and is sent the reply. An error reply is thrown into it. So the rules for a
sale, a limiter or a latch are written once.
"""

from __future__ import annotations

import enum
import uuid
from dataclasses import dataclass
from typing import Any, Dict, Generator, Generic, List, Mapping, NamedTuple, Optional, Sequence, TypeVar, Union

from . import _views, errors
from ._resp import Word
from ._views import LockInfo, Pending
from ._wish import Command, exact_milliseconds, identifier, key_of, milliseconds, number as seconds_of, whole

T = TypeVar("T")
L = TypeVar("L")


class Step(NamedTuple):
    """A command. once: it is not sent again, even if its answer is lost."""

    words: Command
    once: bool = False


Plan = Generator[Step, Any, T]


class Outcome(enum.IntEnum):
    """What came of an order at a sale, by the server's numbers."""

    SOLD = 0  #: stock was deducted, and the order appended to the sale's stream
    SOLD_OUT = 1  #: there is not enough stock
    BOUGHT_ALREADY = 2  #: the user has all that the limit of the sale allows
    NOT_STARTED = 3  #: the sale is not open yet
    OVER = 4  #: it is not open any more
    TAKEN_BACK = 5  #: this order was cancelled, or not confirmed in time: a new one needs a new id
    TOO_FAST = 6  #: the rate of the sale does not allow the call now


def ids(voucher: Word, user: Word, order: Word) -> Command:
    """The ids of an order, none of which may be empty."""
    return [identifier(voucher, "a voucher"), identifier(user, "a user"), identifier(order, "an order")]


def buy(voucher: Word, user: Word, order: Word, pieces: int) -> Plan[Outcome]:
    """SECKILL."""
    pieces = whole(pieces, "a number of pieces")
    words: Command = ["SECKILL", *ids(voucher, user, order)]
    reply = yield Step(words if pieces == 1 else [*words, "QTY", pieces])
    return Outcome(reply)


def settle(command: str, voucher: Word, user: Word, order: Word, state: bytes) -> Plan[bool]:
    """SECKILL.CONFIRM and SECKILL.CANCEL, whose reply is 1, or 0 when there is nothing left to do.

    What was done may have been done by the same command, sent before, with an answer that was lost. So the record of
    the order is looked at: it begins with the state.
    """
    if (yield Step([command, *ids(voucher, user, order)])) == 1:
        return True
    text = voucher.decode() if isinstance(voucher, bytes) else str(voucher)
    record = yield Step(["HGET", f"seckill:orders:{text}", order])
    return isinstance(record, bytes) and record.startswith(state + b" ")


def cancel_part(voucher: Word, user: Word, order: Word, pieces: int) -> Plan[bool]:
    """SECKILL.CANCEL with QTY, which is sent once: a second one would give back once more."""
    words: Command = ["SECKILL.CANCEL", *ids(voucher, user, order), "QTY", whole(pieces, "a number of pieces")]
    return bool((yield Step(words, once=True)) == 1)


def extend(voucher: Word, user: Word, order: Word, seconds: float) -> Plan[bool]:
    """SECKILL.EXTEND."""
    return bool((yield Step(["SECKILL.EXTEND", *ids(voucher, user, order), milliseconds(seconds, "a hold")])) == 1)


#: How many sales one cart may name.
MOST_PARTS = 64


@dataclass(frozen=True)
class CartOutcome:
    """What came of a cart. It is true if all parts are sold."""

    refused: Optional[int]  #: the first part that was refused, counted from 0; None: all are sold
    outcome: Outcome  #: its answer

    def __bool__(self) -> bool:
        return self.refused is None


def cart(user: Word, order: Word, parts: "Sequence[tuple[Word, int]]") -> Plan[CartOutcome]:
    """SECKILL.CART."""
    if not 1 <= len(parts) <= MOST_PARTS:
        raise ValueError(f"a cart of {len(parts)} parts: it has 1 to {MOST_PARTS}")
    words: Command = ["SECKILL.CART", identifier(user, "a user"), identifier(order, "an order"), len(parts)]
    for voucher, pieces in parts:
        words += [identifier(voucher, "a voucher"), whole(pieces, "a number of pieces")]
    reply = yield Step(words)
    return CartOutcome(None, Outcome.SOLD) if reply == 0 else CartOutcome(reply[0] - 1, Outcome(reply[1]))


def ask(key: Word, reason: str) -> Plan[int]:
    """LOCK.ASK, which is sent once."""
    words: Command = ["LOCK.ASK", identifier(key, "a key")]
    return int((yield Step([*words, "REASON", reason] if reason else words, once=True)))


def count_down(key: Word, count: int) -> Plan[int]:
    """LATCH.DOWN."""
    return int((yield Step(["LATCH.DOWN", key, count], once=True)))


def number(words: Command) -> Plan[int]:
    """A command whose reply is a number."""
    return int((yield Step(words)))


@dataclass(frozen=True)
class Taken:
    """The answer of a limiter. Times are in seconds."""

    allowed: bool  #: the units are taken
    limit: int  #: the burst
    remaining: int  #: units that could be taken now
    retry_after: float  #: if refused, when the cost could be taken
    reset_after: float  #: when the limiter is full again

    def __bool__(self) -> bool:
        return self.allowed


def taken(reply: Any) -> Taken:
    """Returns the reply of LIMIT.TAKE."""
    allowed, limit, remaining, retry, reset = reply
    return Taken(allowed == 1, limit, remaining, retry / 1000, reset / 1000)


@dataclass(frozen=True)
class LimitsTaken(Generic[L]):
    """The answer of several limiters. Times are in seconds."""

    allowed: bool  #: the units are taken, of all of them
    refused_by: Optional[L]  #: the first limiter that refuses, or None
    remaining: int  #: units that could be taken now: the least of all
    retry_after: float  #: if refused, when all could give the cost
    full_after: float  #: when all are full again

    def __bool__(self) -> bool:
        return self.allowed


def limits_taken(reply: Any, limiters: Sequence[L]) -> LimitsTaken[L]:
    """Returns the reply of LIMIT.MTAKE."""
    allowed, place, remaining, retry, full = reply
    return LimitsTaken(allowed == 1, limiters[place - 1] if place else None, remaining, retry / 1000, full / 1000)


def take(words: Command) -> Plan[List[int]]:
    """LIMIT.TAKE, LIMIT.MTAKE or LIMIT.GIVE without a wait. It is sent once: a second one would take, or give, twice."""
    numbers: List[int] = yield Step(words, once=True)
    return numbers


def with_cost(words: Command, cost: int) -> Command:
    """A command for units of limiters, with its cost."""
    cost = whole(cost, "a cost", 0)
    return words if cost == 1 else [*words, "COST", cost]


def give(words: Command, cost: int) -> Plan[Taken]:
    """LIMIT.GIVE. words: those of LIMIT.TAKE."""
    return taken((yield from take(with_cost(["LIMIT.GIVE", *words[1:]], cost))))


def when(after: Optional[float], at: Optional[float]) -> Command:
    """The time of a delayed entry: seconds from now by the server's clock, or a Unix time in seconds."""
    if (after is None) == (at is None):
        raise ValueError("say either after or at")
    return ["AT", milliseconds(at, "a time")] if at is not None else ["PX", milliseconds(after or 0, "a delay")]


#: What becomes of times that pass while the server cannot add entries.
_MISSED = ("once", "skip", "all")


def recurs(after: Optional[float], at: Optional[float], every: Optional[float], cron: Optional[str], zone: Optional[str],
           times: Optional[int], until: Optional[float], missed: Optional[str]) -> Command:
    """The time of a delayed entry, or its rule, or both: the options of Delay.add."""
    if every is None and cron is None:
        for name, value in (("zone", zone), ("times", times), ("until", until), ("missed", missed)):
            if value is not None:
                raise ValueError(f"{name} is for entries that recur: say every or cron, too")
        return when(after, at)
    words: Command = [] if after is None and at is None else when(after, at)
    if every is not None:
        if cron is not None:
            raise ValueError("say either every or cron")
        if zone is not None:
            raise ValueError("zone is the time zone of a cron expression")
        words += ["EVERY", exact_milliseconds(every, "an interval")]
    else:
        words += ["CRON", _text(cron, "a cron expression")]
        if zone is not None:
            words += ["TZ", _text(zone, "a zone")]
    if times is not None:
        words += ["TIMES", whole(times, "a number of times")]
    if until is not None:
        words += ["UNTIL", milliseconds(until, "an end")]
    if missed is not None:
        if missed not in _MISSED:
            raise ValueError(f"missed is one of {', '.join(_MISSED)}, and not {missed!r}")
        words += ["MISSED", missed.upper()]
    return words


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what} is a text, and not {value!r}")
    if not value:
        raise ValueError(f"{what} is empty")
    return value


def delay_add(stream: Word, fields: Mapping[Any, Any], at: Command, ticket: Optional[Word]) -> Plan[Optional[str]]:
    """DELAY.ADD. Its request (ONCE) is known to the server if it is sent again, also when the entry has fallen due."""
    name: Word = uuid.uuid4().hex if ticket is None else ticket
    if not fields:
        raise ValueError("an entry without fields")
    words: Command = ["DELAY.ADD", key_of(stream), *at, "ID", identifier(name, "a ticket"), "ONCE", uuid.uuid4().hex]
    for field, value in fields.items():
        words += [field, value]
    if (yield Step(words)) is None:
        return None
    return name.decode(errors="surrogateescape") if isinstance(name, bytes) else str(name)


def delay_change(words: Command) -> Plan[bool]:
    """DELAY.CANCEL and DELAY.MOVE. Sent again, they have the answer of the first time."""
    identifier(words[2], "a ticket")
    return bool((yield Step([*words, "ONCE", uuid.uuid4().hex])) == 1)


def delay_get(stream: Word, ticket: Word, encoding: Optional[str]) -> Plan[Optional[Pending]]:
    """DELAY.GET."""
    reply = yield Step(["DELAY.GET", key_of(stream), identifier(ticket, "a ticket")])
    return None if reply is None else _views.pending(ticket, reply, encoding)


def delay_list(stream: Word, since: float, count: int, encoding: Optional[str]) -> Plan[List[Pending]]:
    """DELAY.LIST."""
    since, count = seconds_of(since, "a time"), whole(count, "a count")
    if not 0 <= since <= 1e12:
        raise ValueError(f"a time of {since} s is not between 0 and 1e12 s")
    reply = yield Step(["DELAY.LIST", key_of(stream), "FROM", round(since * 1000), "COUNT", count])
    return [_views.pending(name, entry, encoding) for name, *entry in reply]


def lock_info(key: Word) -> Plan[Optional[LockInfo]]:
    """LOCK.INFO."""
    return _views.lock_info((yield Step(["LOCK.INFO", key_of(key)])))


def locked(key: Word) -> Plan[bool]:
    """Whether any owner holds a key."""
    found = _views.lock_info((yield Step(["LOCK.INFO", key_of(key), "COUNT", 1])))
    return found is not None and bool(found.holders)


def force_unlock(key: Word) -> Plan[bool]:
    """LOCK.FORCE, for each owner that is seen before. So a repetition takes nothing from an owner that came later."""
    found = yield from lock_info(key)
    done = False
    for holder in found.holders if found is not None else ():
        yield Step(["LOCK.FORCE", key_of(key), "OWNER", holder.owner])
        done = True
    return done


def sale_create(voucher: Word, stock: int, start: Optional[float], end: Optional[float], limit: Optional[int],
                hold: Optional[float], stream: Optional[Word], rate: "Optional[tuple[int, float]]", burst: Optional[int],
                replace: bool, hold_max: Optional[float] = None) -> Plan[bool]:
    """SECKILL.CREATE. A sale of the same terms that is there already is the one that was to be made."""
    terms: Dict[bytes, Any] = {b"total": whole(stock, "a stock"), b"start": 0, b"end": 0, b"limit": 0, b"hold": 0}
    words: Command = ["SECKILL.CREATE", identifier(voucher, "a voucher"), "STOCK", terms[b"total"]]
    terms[b"hold-max"] = 0
    for name, option, value in ((b"start", "START", start), (b"end", "END", end), (b"hold", "HOLD", hold),
                                (b"hold-max", "HOLDMAX", hold_max)):
        if value is not None:
            terms[name] = milliseconds(value, name.decode())
            words += [option, terms[name]]
    if limit is not None:
        terms[b"limit"] = whole(limit, "a limit")
        words += ["LIMIT", terms[b"limit"]]
    if stream is not None:
        terms[b"stream"] = identifier(stream, "a stream")
        words += ["STREAM", terms[b"stream"]]
    if rate is not None:
        words += ["RATE", whole(rate[0], "a count"), exact_milliseconds(rate[1], "a period")]
    if burst is not None:
        words += ["BURST", whole(burst, "a burst")]
    if replace:
        words.append("REPLACE")
    try:
        yield Step(words, once=replace)
    except errors.ServerError as e:
        if "exists already" not in str(e):
            raise
        there = yield from sale_info(voucher)
        if there is None:
            return False
        there.setdefault(b"hold-max", 0)  # a sale without a bound has no such field
        return all(there.get(name) == value for name, value in terms.items())
    return True


def wait_words(key: Word, wait: Optional[float]) -> Command:
    """LATCH.WAIT."""
    return ["LATCH.WAIT", key, "WAIT", 0 if wait is None else milliseconds(wait, "a wait")]


def fields_of(reply: Any) -> Any:
    """Returns a map that came as a list of names and values as a dict."""
    if isinstance(reply, list) and len(reply) % 2 == 0 and all(isinstance(name, bytes) for name in reply[::2]):
        return dict(zip(reply[::2], reply[1::2]))
    return reply


def information(words: Command) -> Plan[Optional[Dict[bytes, Any]]]:
    """A command whose reply is a map, or nil."""
    reply = fields_of((yield Step(words)))
    return reply if isinstance(reply, dict) else None


def sale_info(voucher: Word) -> Plan[Optional[Dict[bytes, Any]]]:
    """SECKILL.INFO."""
    try:
        return (yield from information(["SECKILL.INFO", identifier(voucher, "a voucher")]))
    except errors.ServerError as e:
        if str(e).startswith("ERR no such seckill"):
            return None
        raise


def guard(key: bytes, token: int, args: List[Word]) -> Plan[Any]:
    """GUARD, which is sent once."""
    if not args:
        raise TypeError("guard needs a command")
    return (yield Step(["GUARD", key, token, *args], once=True))


def raised(reply: Any) -> Union[errors.Error, None]:
    """Returns the error of an error reply, or None."""
    return errors.from_reply(reply) if isinstance(reply, errors.ServerError) else None
