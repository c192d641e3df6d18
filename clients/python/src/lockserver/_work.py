"""What a worker asks the server, and what it knows of its entries. It has no sockets, threads or clocks."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any, List, Mapping, Optional, Sequence, Tuple

from . import errors, sql
from ._plans import Plan, Step
from ._resp import Word, decode
from ._views import due_of
from ._wish import Command, identifier, milliseconds, whole

#: For how many seconds one reading waits for new entries.
BLOCK = 1.0

# Each script acts only on entries that the consumer still has: another worker may have taken them over meanwhile.
_MINE = "local function mine(id) return #redis.call('XPENDING', KEYS[1], ARGV[1], id, id, 1, ARGV[2]) == 1 end\n"
#: A sign of life for the entries in hand.
_KEEP = _MINE + """
for n = 3, #ARGV do
  if mine(ARGV[n]) then redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[n], 'JUSTID') end
end
return 1"""
#: Has an entry come again: to whom may claim what is idle for ARGV[4] ms less than now, with so many deliveries.
_AGAIN = _MINE + """
if not mine(ARGV[3]) then return 0 end
redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[3], 'IDLE', ARGV[4], 'RETRYCOUNT', ARGV[5], 'JUSTID')
return 1"""
#: Moves an entry to the dead letter stream.
_BURY = _MINE + """
if not mine(ARGV[3]) or redis.call('XACK', KEYS[1], ARGV[1], ARGV[3]) == 0 then return 0 end
redis.call('XADD', KEYS[2], '*', unpack(ARGV, 4))
return 1"""
#: Takes over what no worker has given a sign of life for, and says how often it was delivered.
_CLAIM = """
local found = redis.call('XAUTOCLAIM', KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4], 'COUNT', ARGV[5])
local entries = {}
for _, entry in ipairs(found[2]) do
  local pending = redis.call('XPENDING', KEYS[1], ARGV[1], entry[1], entry[1], 1)
  entries[#entries + 1] = {entry[1], entry[2], pending[1] and pending[1][4] or 1}
end
return {found[1], entries}"""
#: Removes a consumer that has nothing in hand.
_LEAVE = """
if #redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2]) == 0 then redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2]) end
return 1"""


@dataclass(frozen=True)
class EntryBase:
    """An entry of a stream that a worker has in hand."""

    stream: str
    group: str  #: the consumer group
    id: str  #: by which the stream knows it
    fields: Mapping[Any, Any]  #: bytes, or text if the client decodes responses
    attempt: int  #: 1 for the first one
    _due: Optional[float] = None

    @property
    def due(self) -> Optional[float]:
        """When a recurring entry was due, however late it was added: Unix time in seconds. None for any other entry.

        The ticket of the delayed entry and this time name one run of a job.
        """
        return self._due


class Entry(EntryBase):
    """An entry that a :class:`Worker` has in hand."""

    def once(self, connection: Any) -> bool:
        """Records in the caller's transaction that this entry is applied. False: it was applied before, so do nothing.

        connection: as for :func:`lockserver.fence`. The table is ``lockserver_entries`` with the columns stream, worker and
        entry, which are its key (docs/CLIENTS.md; VARBINARY in MySQL and MariaDB).

        Raises ValueError if the stream or the group is longer than 255 bytes, and :class:`Error` if MySQL or MariaDB did
        not record it whole. Roll back then.
        """
        return sql.carry_out(connection, lambda mysql: sql.once(self.stream, self.group, self.id, mysql), "entry.once")


class AsyncEntry(EntryBase):
    """An entry that an :class:`AsyncWorker` has in hand."""

    async def once(self, connection: Any) -> bool:
        """As :meth:`lockserver.Entry.once`. connection: as for :func:`lockserver.async_fence`."""
        return await sql.carry_out_async(connection, lambda mysql: sql.once(self.stream, self.group, self.id, mysql))


#: An entry as the server says it: id, fields and values, and the number of its deliveries.
Found = Tuple[bytes, Sequence[bytes], int]


class Work:
    """What a worker knows."""

    def __init__(self, stream: Word, group: Word, attempts: int, claim_after: float, dead: Optional[Word], parallel: int,
                 name: Optional[Word]) -> None:
        self.stream, self.group = identifier(stream, "a stream"), identifier(group, "a group")
        self.attempts, self.parallel = whole(attempts, "a number of attempts"), whole(parallel, "a number of handlers")
        self.claim_ms = milliseconds(claim_after, "claim_after")
        self.dead = self.stream + b":dead" if dead is None else identifier(dead, "a stream")
        self.name = uuid.uuid4().hex.encode() if name is None else identifier(name, "a consumer's name")
        self.hand: "dict[bytes, Found]" = {}  # by their ids
        self._cursor = b"0-0"

    def start(self) -> Plan[None]:
        """Makes the group, unless it is there. In a cluster the dead letter stream needs the slot of its stream."""
        try:
            yield Step(["EXISTS", self.stream, self.dead])
        except errors.CrossSlot:
            raise  # now, and not with the first dead letter
        except errors.ServerError:
            pass  # the user may lack the right
        try:
            yield Step(["XGROUP", "CREATE", self.stream, self.group, 0, "MKSTREAM"])
        except errors.ServerError as e:
            if not str(e).startswith("BUSYGROUP"):
                raise

    def claim(self) -> Plan[List[Found]]:
        """Takes over entries that no worker has given a sign of life for, and those that are to come again."""
        while True:
            reply = yield self._script(_CLAIM, [self.claim_ms, self._cursor, self.parallel])
            self._cursor = reply[0]
            if reply[1] or self._cursor == b"0-0":
                return self._take([(name, fields, count) for name, fields, count in reply[1]])

    def read(self) -> Command:
        """The command that waits for new entries."""
        return ["XREADGROUP", "GROUP", self.group, self.name, "COUNT", self.parallel, "BLOCK", round(BLOCK * 1000), "STREAMS", self.stream, ">"]

    def took(self, reply: Any) -> List[Found]:
        """Returns the entries of the reply of that."""
        if not reply:
            return []
        of_stream = next(iter(reply.values())) if isinstance(reply, dict) else reply[0][1]
        return self._take([(name, fields, 1) for name, fields in of_stream])

    def _take(self, found: List[Found]) -> List[Found]:
        self.hand.update((entry[0], entry) for entry in found)
        return found

    def spent(self, entry: Found) -> bool:
        """Whether an entry has had all its attempts, and its last worker has died with it."""
        return entry[2] > self.attempts

    def keep(self) -> Plan[None]:
        """Gives a sign of life for the entries in hand."""
        if self.hand:
            yield self._script(_KEEP, list(self.hand))

    def done(self, entry: Found) -> Plan[None]:
        """Acknowledges an entry."""
        self.hand.pop(entry[0], None)
        yield Step(["XACK", self.stream, self.group, entry[0]])

    def failed(self, entry: Found, error: str) -> Plan[bool]:
        """A handler has failed: the entry comes again after a pause, or is dead, which is True."""
        name, fields, attempt = entry
        dead = attempt >= self.attempts
        self.hand.pop(name, None)
        if dead:
            yield self._script(_BURY, [name, *fields, "entry-id", name, "entry-error", error, "entry-attempts", attempt], self.dead)
        else:
            pause = min(self.claim_ms, 1000 * 2 ** min(attempt - 1, 30))
            yield self._script(_AGAIN, [name, self.claim_ms - pause, attempt])
        return dead

    def give_back(self, entry: Found) -> Plan[None]:
        """Another worker may have an entry at once, which was not begun."""
        self.hand.pop(entry[0], None)
        yield self._script(_AGAIN, [entry[0], self.claim_ms, entry[2] - 1])

    def leave(self) -> Plan[None]:
        """Removes the consumer, unless it has entries in hand."""
        yield self._script(_LEAVE, [])

    def values(self, entry: Found, encoding: Optional[str]) -> Tuple[str, str, str, Mapping[Any, Any], int, Optional[float]]:
        """The values of an Entry."""
        name, fields, attempt = entry
        return (self.stream.decode(errors="surrogateescape"), self.group.decode(errors="surrogateescape"), name.decode(),
                decode(dict(zip(fields[::2], fields[1::2])), encoding), attempt, due_of(fields))

    def _script(self, text: str, args: Sequence[Word], *keys: Word) -> Step:
        return Step(["EVAL", text, 1 + len(keys), self.stream, *keys, self.group, self.name, *args])
