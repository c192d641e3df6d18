"""The shards of a cluster: which of them serves a key, and where each is.

A transport, with a core, is for one server. In a cluster there is one for each shard that is used, and all have the same
names of owners. A call goes to the shard of its key. If that answers ``MOVED``, the call ends there with
:class:`~lockserver._core.Redirected`, and begins again at the other shard.
"""

from __future__ import annotations

import binascii
import logging
import threading
import time
from typing import Any, Callable, Dict, Generic, List, Optional, Sequence, Set, Tuple, TypeVar

import redis.exceptions

from . import errors
from ._core import Event, Redirected, hop_pause
from ._dial import Address, Endpoint, error_of
from ._resp import Word, encode_word
from ._views import Stats

_log = logging.getLogger("lockserver")

D = TypeVar("D", bound=Any)

SLOTS = 16384
#: For how long one server is asked for the map, in seconds.
_ASK = 1.0

#: The places of the first key in commands where it is not the second word. Those of None have no key.
_FIRST_KEY: Dict[bytes, Optional[int]] = {
    b"MLOCK": 2, b"MUNLOCK": 2, b"LIMIT.MTAKE": 2, b"XGROUP": 2, b"XINFO": 2, b"OBJECT": 2, b"EVAL": 3, b"EVALSHA": 3, b"FCALL": 3,
    b"SECKILL.CART": 4, b"PING": None, b"ECHO": None, b"TIME": None, b"INFO": None, b"CONFIG": None, b"CLUSTER": None, b"COMMAND": None,
    b"CLIENT": None, b"ACL": None, b"SCRIPT": None, b"FUNCTION": None, b"DBSIZE": None, b"FLUSHALL": None, b"FLUSHDB": None,
    b"SCAN": None, b"KEYS": None, b"RANDOMKEY": None, b"LATENCY": None, b"SLOWLOG": None, b"WAIT": None, b"PUBLISH": None,
    b"LOCK.LIST": None, b"LOCK.WAITERS": None, b"LOCK.STATS": None, b"LOCK.HISTORY": None, b"LOCK.HOT": None,
    b"LOCK.DEADLOCKS": None, b"LOCK.ATTACH": None, b"LOCK.DETACH": None, b"SECKILL.LIST": None,
}


def slot_of(key: bytes) -> int:
    """Returns the slot of a key, 0 to 16383. If the key has a hash tag (``{tag}``), only the tag counts.

    The rule is Redis': https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec
    """
    start = key.find(b"{")
    if start >= 0:
        end = key.find(b"}", start + 1)
        if end > start + 1:
            key = key[start + 1:end]
    return binascii.crc_hqx(key, 0) % SLOTS


def first_key(words: Sequence[Word]) -> Optional[bytes]:
    """Returns the first key of a command, or None if it has none."""
    at = _FIRST_KEY.get(encode_word(words[0]).upper(), 1)
    return encode_word(words[at]) if at is not None and len(words) > at else None


def map_of(reply: Any, host: str) -> List[Address]:
    """Returns the addresses by slot, of the reply of CLUSTER SLOTS. host: the server's that has sent it."""
    owners: List[Address] = [("", 0)] * SLOTS
    for start, end, node, *_ in reply:
        owners[start:end + 1] = [(_text(node[0]) or host, int(node[1]))] * (end + 1 - start)
    return owners


def _text(name: Any) -> str:
    return name.decode() if isinstance(name, bytes) else name or ""


class ShardEndpoint(Endpoint):
    """Where a shard is. After each attempt that failed the cluster is asked where that is now."""

    stale = False

    def __init__(self, of: "Shards[Any]", address: Address, slot: int) -> None:
        home = of.home
        super().__init__(home._class, home._settings, [address])
        self.encoding, self.slot, self._of = home.encoding, slot, of

    @property
    def address(self) -> Address:
        """The address of the next connection."""
        return self._addresses[self._next % len(self._addresses)]

    def moved(self, address: str) -> None:
        """As :meth:`Endpoint.moved`. The former address is not tried any more."""
        super().moved(address)
        if address:
            self.go(self.address)

    def missed(self) -> None:
        """Has the cluster asked before the next attempt."""
        self.stale = True

    def go(self, address: Address) -> None:
        """Has the next connection made to this address."""
        former = self.address
        self._addresses, self._next, self.stale = [address], 0, False
        if former != address:
            self._of.renamed(former, address)

    def prepare(self, name: str, timeout: float) -> None:
        """Asks the cluster where the shard is now."""
        if self.stale:
            for address in self._of.others(self.address):
                owners = self._of.fetch(address, name, min(timeout, _ASK))
                if owners is not None:
                    self._found(owners)
                    return

    async def prepare_async(self, name: str, timeout: float) -> None:
        """As :meth:`prepare`."""
        if self.stale:
            for address in self._of.others(self.address):
                owners = await self._of.fetch_async(address, name, min(timeout, _ASK))
                if owners is not None:
                    self._found(owners)
                    return

    def _found(self, owners: List[Address]) -> None:
        """A shard that serves nothing at its address any more is where its slots are now."""
        former, self._of.owners = self._of.owners or [], owners
        if self.address in owners:
            self.go(self.address)
            return
        mine = [slot for slot, owner in enumerate(former) if owner == self.address]
        for slot in [*mine, self.slot]:
            if owners[slot][0]:
                self.go(owners[slot])
                return


class Shards(Generic[D]):
    """The transports of a client: one for the only server, or one for each shard that is used."""

    def __init__(self, home: Endpoint, make: Callable[[Endpoint, Callable[[Event], None]], D], lock: Callable[[], Any],
                 told: Callable[[Event], None]) -> None:
        """make: makes a transport. lock: returns the lock of all of them. told: is told of events."""
        self.home, self._make, self._lock, self._told = home, make, lock, told
        self.single = not home.cluster  # one server, or a group with one leader
        self.owners: Optional[List[Address]] = None  # addresses by slot
        self.members: Dict[Address, Set[Address]] = {}  # by address: all members of the shard that the server is in
        self.closed = False
        self._finding = threading.Lock()
        self._by_address: Dict[Address, D] = {}
        self._up: Set[int] = set()  # shards with a connection
        self._down: Set[int] = set()  # those that had one
        self.first = self._new(home)

    def _new(self, endpoint: Endpoint) -> D:
        return self._make(endpoint, lambda event: self._hear(id(endpoint), event))

    def all(self) -> List[D]:
        """Returns all transports."""
        with self._lock():
            return [self.first, *self._by_address.values()]

    def known(self, key: Optional[bytes]) -> Optional[D]:
        """Returns the transport for a key; None: the cluster has to be asked first. key: None is any of them."""
        if self.single:
            return self.first
        owners = self.owners
        if owners is None:
            return None
        slot = 0 if key is None else slot_of(key)
        address = owners[slot]
        if not address[0]:
            raise errors.NoConnection(f"no shard of the cluster serves the slot {slot}")
        return self._at(address, slot)

    def _at(self, address: Address, slot: int) -> D:
        """Returns the transport to the shard at an address, which serves a slot."""
        with self._lock():
            found = self._by_address.get(address)
            if found is None and self.closed:
                return self.first  # which says so
            same = None if found is not None else self._same(address)
            if found is None and same is None:
                found = self._by_address[address] = self._new(ShardEndpoint(self, address, slot))
                found.redirect(self._elsewhere(found))
        if same is not None:
            same.endpoint.go(address)  # outside of the lock, which it takes itself
        found = same if same is not None else found
        assert found is not None
        return found

    def _same(self, address: Address) -> Optional[D]:
        """Returns the transport of the shard that has a member at an address, if it has one for another member.

        A second transport for a shard would release the locks of the first: they have one prefix of owners."""
        for former in self.members.get(address, ()):
            if former in self._by_address:
                self._by_address[address] = self._by_address.pop(former)
                return self._by_address[address]
        return None

    def learn(self, key: bytes, moved: str) -> Optional[Address]:
        """Records a redirection: MOVED, a slot, and host:port. Returns the address; None: there is none in the reply."""
        host, _, port = moved.split()[-1].rpartition(":")
        owners = self.owners
        if owners is None or not port.isdigit():
            return None
        former = owners[slot_of(key)]
        address = (host.strip("[]") or former[0], int(port))
        owners[slot_of(key)] = address
        if address in self.members.get(former, ()):  # another member leads that shard
            self.owners = [address if owner == former else owner for owner in owners]
        return address

    def redirected(self, key: bytes, e: Redirected, asked: D) -> None:
        """Follows the redirection of a call. asked: its transport, which leaves a server that no longer leads its shard. If the
        slot has moved, what is held in it is asked for at the other shard."""
        address, slot = self.learn(key, e.moved), slot_of(key)
        if address is None:  # no shard serves the slot
            return
        to = self._at(address, slot)  # and not known(key): another call may be redirected to and fro
        if to is asked:
            asked.run(lambda core, now: core.leave(e))
        elif to is not self.first:
            asked.run(lambda core, now: [core.give(hold, to) for hold in core.held_of(lambda key: slot_of(key) == slot)])

    def _elsewhere(self, asked: D) -> Callable[[Sequence[Word], str], Optional[D]]:
        """Returns what finds the transport of the shard that a redirection of a command names; None: it is of the same shard."""
        def find(words: Sequence[Word], moved: str) -> Optional[D]:
            key = first_key(words)
            if key is None or self.owners is None:
                return None
            address = self.learn(key, moved)
            to = asked if address is None else self._at(address, slot_of(key))
            return None if to is asked or to is self.first else to

        return find

    def renamed(self, former: Address, address: Address) -> None:
        """A shard has another address."""
        with self._lock():
            if address not in self._by_address and former in self._by_address:
                self._by_address[address] = self._by_address.pop(former)

    def others(self, address: Address) -> List[Address]:
        """Returns the addresses of servers that may know the map, and this one last."""
        found = dict.fromkeys([*self._by_address, *(self.owners or ()), *self.home.addresses])
        return [other for other in found if other != address and other[0]] + [address]

    # The map.

    def find(self, name: str, limit: float) -> None:
        """Asks for the map, within so many seconds. Raises NoConnection, or ServerError if the server refuses."""
        end = time.monotonic() + limit
        if not self._finding.acquire(timeout=limit):
            raise errors.NoConnection("no server of the cluster answers")
        try:
            while self.owners is None and not self.single:
                for address in self.home.addresses:
                    owners = self.fetch(address, name, max(0.05, min(_ASK, end - time.monotonic())))
                    if owners is not None:
                        self._begin(owners)
                        return
                if time.monotonic() >= end:
                    raise self.why or errors.NoConnection("no server of the cluster answers")
                time.sleep(0.02)
        finally:
            self._finding.release()

    async def find_async(self, name: str, limit: float) -> None:
        """As :meth:`find`."""
        import asyncio
        end = time.monotonic() + limit
        while self.owners is None and not self.single:
            for address in self.home.addresses:
                owners = await self.fetch_async(address, name, max(0.05, min(_ASK, end - time.monotonic())))
                if owners is not None:
                    self._begin(owners)
                    return
            if time.monotonic() >= end:
                raise self.why or errors.NoConnection("no server of the cluster answers")
            await asyncio.sleep(0.02)

    why: Optional[Exception] = None  # the last server that was asked did not answer

    def _begin(self, owners: List[Address]) -> None:
        if len(set(owners)) < 2:  # of a cluster of one, or of a group: its transport finds the leader
            self.single = True
        else:
            self.owners = owners

    def fetch(self, address: Address, name: str, timeout: float) -> Optional[List[Address]]:
        """Asks a server for the map. None: it has not answered. A server that is no cluster has a map of nothing."""
        connection = self.home.at(address).connection(name, timeout)
        try:
            connection.connect()
            connection.send_command("CLUSTER", "SLOTS")
            return self._read(connection.read_response(disable_decoding=True), address[0])
        except Exception as e:
            return self._failed(e)
        finally:
            connection.disconnect()

    async def fetch_async(self, address: Address, name: str, timeout: float) -> Optional[List[Address]]:
        """As :meth:`fetch`."""
        connection = self.home.at(address).connection(name, timeout)
        try:
            await connection.connect()
            await connection.send_command("CLUSTER", "SLOTS")
            return self._read(await connection.read_response(disable_decoding=True), address[0])
        except Exception as e:
            return self._failed(e)
        finally:
            await connection.disconnect(nowait=True)

    def _read(self, reply: Any, host: str) -> List[Address]:
        """Returns the owners of a reply of CLUSTER SLOTS, and keeps which servers are members of one shard."""
        for _, _, *nodes in reply:
            shard = {(_text(name) or host, int(port)) for name, port, *_ in nodes}
            for known in [self.members.get(address, set()) for address in shard]:
                shard |= known
            for address in shard:
                self.members[address] = shard
        return map_of(reply, host)

    def _failed(self, e: Exception) -> Optional[List[Address]]:
        self.why = error_of(e)
        if isinstance(e, redis.exceptions.ResponseError) and str(e).startswith("This instance has cluster support disabled"):
            return map_of((), "")
        if isinstance(self.why, errors.ServerError):
            raise self.why
        return None

    # All together.

    def stats(self) -> Stats:
        """What the client has now."""
        each = [transport.stats() for transport in self.all()]
        return Stats(sum(s.held for s in each), sum(s.waiting for s in each), max(s.oldest for s in each))

    @property
    def attached(self) -> bool:
        """Whether the connections of all used shards are there."""
        with self._lock():
            return bool(self._up) and not self._down

    def _hear(self, shard: int, event: Event) -> None:
        """Tells of an event. The connections are there while those of all used shards are."""
        if event.what not in ("attached", "detached"):
            self._told(event)
            return
        with self._lock():
            was = bool(self._up) and not self._down
            to, of = (self._up, self._down) if event.what == "attached" else (self._down, self._up)
            of.discard(shard)
            to.add(shard)
            new = bool(self._up) and not self._down
        if was != new:
            self._told(event)
        elif event.what == "detached":
            _log.warning("the connection that keeps the locks of another shard has ended: %s", event.error)


def follow(hops: int) -> Tuple[int, float]:
    """Returns the number of redirections with this one, and for how many seconds the next call waits."""
    return hops + 1, hop_pause(hops + 1)


__all__ = ["Redirected", "Shards", "first_key", "follow", "slot_of"]
