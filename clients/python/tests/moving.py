"""A cluster that a test has the map of, and moves slots of."""

import contextlib
import socket
import threading

from lockserver import _cluster
from lockserver._resp import Parser, encode
from server import free_port

HALF = _cluster.SLOTS // 2


def key_of(words, shard, other_than=()):
    """Returns a key of a shard of two, in a slot of its own."""
    slots = {_cluster.slot_of(key.encode()) for key in other_than}
    for n in range(1 << 16):
        key = f"{words}{n}"
        slot = _cluster.slot_of(key.encode())
        if slot // HALF == shard and slot not in slots:
            return key
    raise AssertionError("there is no such key")


class Moving:
    """Two ways to one server, as two shards. Each answers MOVED for the slots of the other.

    So a slot moves with all that is in it when the map says so. As a server does, the way to the former shard ends the
    connections that are attached to owners.
    """

    def __init__(self, port):
        self.to, self.ports, self.redirected = port, [free_port(), free_port()], []
        self.elsewhere, self.nowhere, self.closed = set(), set(), set()  # slots, slots, shards
        self.unserved, self.counted, self.answers = b"", "", 0  # see bounce
        self._lock, self._open, self._listeners = threading.Lock(), [], []
        for shard, own in enumerate(self.ports):
            listener = socket.create_server(("127.0.0.1", own))
            self._listeners.append(listener)
            threading.Thread(target=self._accept, args=(shard, listener), daemon=True).start()

    @property
    def urls(self):
        return [f"redis://127.0.0.1:{port}" for port in self.ports]

    def owner(self, slot):
        return slot // HALF ^ (slot in self.elsewhere)

    def move(self, key):
        """Moves the slot of a key to the other shard."""
        slot = _cluster.slot_of(key.encode())
        former = self.owner(slot)
        self.elsewhere ^= {slot}
        self.end(lambda way: way.shard == former and way.attached)

    def hide(self, key, hidden):
        """Has each shard say that the other one serves the slot of a key."""
        self.nowhere = {_cluster.slot_of(key.encode())} if hidden else set()

    def bounce(self, key, unserved, counted, answers):
        """Has no shard serve the slot of a key, until a command has had a number of answers. unserved: what they are, in place of MOVED."""
        self.redirected, self.unserved, self.counted, self.answers = [], unserved, counted, answers
        self.hide(key, True)

    def count(self, name):
        """Counts an answer to a command."""
        with self._lock:
            self.answers -= name == self.counted
            if self.counted and self.answers == 0:
                self.counted, self.nowhere = "", set()

    def end(self, which):
        """Ends connections."""
        for way in [way for way in self.ways() if which(way)]:
            way.end()

    def ways(self):
        with self._lock:
            return list(self._open)

    def attached(self, shard):
        """Returns how many connections to a shard are attached to owners."""
        return sum(way.shard == shard and way.attached for way in self.ways())

    def shut(self, shard):
        """A shard is gone for good."""
        self.closed.add(shard)
        self.end(lambda way: way.shard == shard)

    def close(self):
        for listener in self._listeners:
            listener.close()
        self.end(lambda way: True)

    def _accept(self, shard, listener):
        with contextlib.suppress(OSError):
            while True:
                client = listener.accept()[0]
                if shard in self.closed:
                    client.close()
                    continue
                way = _Way(self, shard, client)
                with self._lock:
                    self._open.append(way)
                for work in (way.commands, way.replies):
                    threading.Thread(target=self._run, args=(way, work), daemon=True).start()

    def _run(self, way, work):
        with contextlib.suppress(OSError):
            work()
        way.end()
        with self._lock:
            if way in self._open:
                self._open.remove(way)

    def slots(self):
        """The reply of CLUSTER SLOTS."""
        ranges, first = [], 0
        for slot in range(1, _cluster.SLOTS + 1):
            if slot == _cluster.SLOTS or self.owner(slot) != self.owner(first):
                port = self.ports[self.owner(first)]
                ranges.append(b"*3\r\n:%d\r\n:%d\r\n*2\r\n$9\r\n127.0.0.1\r\n:%d\r\n" % (first, slot - 1, port))
                first = slot
        return b"*%d\r\n" % len(ranges) + b"".join(ranges)


class _Way:
    """A connection to a shard."""

    def __init__(self, of, shard, client):
        self.shard, self.attached, self._of, self._client = shard, False, of, client
        self._server = socket.create_connection(("127.0.0.1", of.to))
        self._answers, self._lock = [], threading.Lock()  # of the proxy, and None for each of the server's

    def commands(self):
        parser = Parser()
        while data := self._client.recv(1 << 16):
            for words in parser.feed(data):
                answer = self._answer(words)
                with self._lock:
                    self._answers.append(answer)
                    if answer is None:
                        self._server.sendall(encode(words))
                    self._flush()

    def _answer(self, words):
        of, key = self._of, _cluster.first_key(words)
        if words[0] == b"CLUSTER":
            return of.slots()
        self.attached |= words[0] == b"LOCK.ATTACH"
        if key is None or words[0] == b"HELLO":
            return None
        slot = _cluster.slot_of(key)
        if of.owner(slot) == self.shard and slot not in of.nowhere:
            return None
        of.redirected.append((words[0].decode(), key.decode()))
        unserved = of.unserved if slot in of.nowhere else b""
        of.count(words[0].decode())
        return unserved or b"-MOVED %d 127.0.0.1:%d\r\n" % (slot, of.ports[1 - self.shard])

    def _flush(self):
        """Replies keep their order."""
        while self._answers and self._answers[0] is not None:
            self._client.sendall(self._answers.pop(0))

    def replies(self):
        rest = b""
        while data := self._server.recv(1 << 16):
            rest += data
            while size := _size(rest):
                reply, rest = rest[:size], rest[size:]
                with self._lock:
                    if reply[:1] != b">":
                        self._client.sendall(reply)
                        self._answers.pop(0)
                        self._flush()
                    elif self._concerns(next(iter(Parser().feed(reply)))):
                        self._client.sendall(reply)

    def _concerns(self, message):
        """Whether a push is about a key of this shard: another shard does not send it."""
        key = message[1][0] if isinstance(message[1], list) else message[1]
        return self._of.owner(_cluster.slot_of(key)) == self.shard

    def end(self):
        for s in (self._client, self._server):
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)


def _size(data, begin=0):
    """Returns the size of the first whole value; 0: there is none yet."""
    end = data.find(b"\r\n", begin)
    if end < 0:
        return 0
    kind, at = data[begin:begin + 1], end + 2
    if kind in b"$=!" and data[begin + 1:end] != b"-1":
        at += int(data[begin + 1:end]) + 2
    if kind in b"*>~%" and data[begin + 1:end] != b"-1":
        for _ in range(int(data[begin + 1:end]) * (2 if kind == b"%" else 1)):
            size = _size(data, at)
            if size == 0:
                return 0
            at += size
    return at - begin if at <= len(data) else 0
