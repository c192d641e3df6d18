"""Several shards: a client over all of them, while one is killed, cut off or elsewhere."""

import contextlib
import socket
import threading

import pytest
import redis
from redis.asyncio.cluster import ClusterNode as AsyncNode, RedisCluster as AsyncCluster
from redis.cluster import ClusterNode, RedisCluster

import lockserver as package
from conftest import Loop, waiting
from lockserver import _cluster
from lockserver._resp import Parser, encode
from server import PATIENCE, Server, eventually, free_port


class Cluster:
    """A server process of three shards in test mode."""

    def __init__(self, *directives):
        self.first = self._ports()
        self.server = Server("--shards", "3", "--test-mode", "yes", "--port", str(self.first), *directives)
        self.controls = [redis.Redis("127.0.0.1", self.first + n, decode_responses=True) for n in range(3)]

    @staticmethod
    def _ports():
        return free_port()

    @property
    def urls(self):
        return [f"redis://127.0.0.1:{self.first + n}" for n in range(3)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for control in self.controls:
            control.close()
        self.server.close()

    def attached(self, shard):
        return [c for c in self.controls[shard].client_list() if c["name"] == "test"]


def keys_of(words):
    """Returns a key of each shard that begins with these words."""
    keys, n = {}, 0
    while len(keys) < 3:
        key = f"{words}{n}"
        keys.setdefault(_cluster.slot_of(key.encode()) * 3 // 16384, key)
        n += 1
    return [keys[shard] for shard in range(3)]


@pytest.fixture
def cluster():
    with Cluster() as cluster:
        yield cluster


def test_slots_are_those_of_redis():
    for key, slot in {"": 0, "foo": 12182, "123456789": 12739, "{foo}.bar": 12182, "a{foo}b{bar}": 12182, "{}foo": 9500,
                      "foo{}{bar}": 8363, "foo{{bar}}": 4015, "foo{bar": 15278}.items():
        assert _cluster.slot_of(key.encode()) == slot


def by_cluster(cluster, kind):
    nodes = [("127.0.0.1", cluster.first)]
    if kind == "asyncio":
        return AsyncCluster(startup_nodes=[AsyncNode(*a) for a in nodes])
    return RedisCluster(startup_nodes=[ClusterNode(*a) for a in nodes])


def test_all_calls_on_each_shard(cluster, make, background):
    locks, other = make(cluster.urls), make(cluster.urls[:1])
    for shard, key in enumerate(keys_of("k")):
        held = locks.lock(key).acquire()
        assert cluster.controls[shard].execute_command("EXISTS", key) == 1
        later = background(lambda: other.lock(key, wait=PATIENCE).acquire())
        waiting(cluster.controls[shard])
        assert held.guard("SET", f"{{{key}}}x", "1") == b"OK"
        assert locks.info(key).holders[0].token == held.token
        held.release()
        next_one = later()
        assert next_one.token > held.token
        assert locks.force_unlock(key)
        eventually(lambda: next_one.lost is not None, "it is lost")
        assert next_one.lost.reason == "forced"
        with locks.lock(key, lease=600).acquire() as short:
            short.renew(1000)
        with locks.lock_all([f"{{{key}}}a", f"{{{key}}}b"]).acquire() as both:
            assert len(both.tokens) == 2
        with locks.semaphore(f"sem{key}", 1).permits().acquire():
            pass
        latch = locks.latch(f"latch{key}")
        assert latch.set(1)
        opened = background(lambda: latch.wait(PATIENCE))
        assert latch.down() == 0 and opened()
        limiter = locks.limiter(f"rate{key}", burst=2, count=1, period=3600)
        assert limiter.take().remaining == 1 and limiter.take(wait=1).remaining == 0 and not limiter.take()
        assert limiter.give().remaining == 1
        many = [locks.limiter(f"{{{key}}}r{n}", burst=1, count=1, period=60) for n in range(2)]
        assert locks.take_limits(many) and not locks.take_limits(many)
        delay = locks.delay(f"stream{key}")
        ticket = delay.add({"f": "v"}, after=600)
        assert delay.get(ticket).due > 0 and delay.cancel(ticket)
        sale = locks.sale(f"{{{key}}}")
        assert sale.create(1, stream=f"orders{{{key}}}", hold=600)
        assert sale.buy("ann", "1") == package.Outcome.SOLD
        assert sale.cancel("ann", "1") and sale.cancel("ann", "1")
        assert sale.create(1, stream=f"orders{{{key}}}", replace=True)
    assert locks.stats().held == 0 and locks.attached
    for shard in range(3):
        assert len(cluster.attached(shard)) == 3, "two connections of one client, and one of the other, which sends no commands"


def test_by_a_cluster_client(cluster):
    for kind in ("threads", "asyncio"):
        if kind == "threads":
            client = by_cluster(cluster, kind)
            locks = package.Locks(client)
            for key in keys_of("k"):
                locks.lock(key).acquire().release()
            locks.close()
            client.close()
            continue
        loop = Loop()

        async def play():
            client = by_cluster(cluster, "asyncio")
            await client.initialize()
            locks = package.AsyncLocks(client)
            for key in keys_of("k"):
                held = await locks.lock(key).acquire()
                await held.release()
            await locks.close()
            await client.aclose()

        loop.run(play)
        loop.close()


def test_a_worker_on_each_shard(cluster, background):
    locks = package.Locks.from_url(cluster.urls)
    with pytest.raises(package.CrossSlot):
        locks.worker("stream", "g", print).run()
    for key in keys_of("stream"):
        done = []
        worker = locks.worker(key, "g", lambda entry: done.append(entry.fields), dead=f"{{{key}}}:dead")
        runs = background(worker.run)
        locks.execute("XADD", key, "*", "f", "v")
        eventually(lambda: done, "it is worked off")
        worker.stop()
        runs()
    locks.close()


def test_two_locks_with_one_token(cluster, make):
    locks = make(cluster.urls)
    keys, tokens = keys_of("k"), []
    for shard, key in enumerate(keys):
        tokens.append(locks.lock(key).acquire())
    highest = max(held.token for held in tokens)
    for held in tokens:
        held.release()
    for shard, key in enumerate(keys):  # each shard counts on from the highest one
        control = cluster.controls[shard]
        control.execute_command("TEST.CLOCK", "FREEZE", highest // 1000 + 10_000)
    held = [locks.lock(key).acquire() for key in keys]
    assert len({one.token for one in held}) == 1
    cluster.controls[1].execute_command("LOCK.FORCE", keys[1])
    eventually(lambda: held[1].lost is not None, "it is lost")
    held[0].check()
    held[2].check()
    held[0].release()
    held[2].check()
    held[2].release()


def test_a_wrong_map(cluster, make, background):
    locks = make(cluster.urls)
    locks.lock("k").acquire().release()
    shards = getattr(locks, "_inner", locks)._shards
    for order in ((0, 0, 0), (1, 2, 0)):
        for shard, key in enumerate(keys_of("k")):
            for slot in range(16384):
                shards.owners[slot] = ("127.0.0.1", cluster.first + order[slot * 3 // 16384])
            held = locks.lock(key).acquire()
            later = background(lambda: locks.lock(key, wait=PATIENCE).acquire())
            waiting(cluster.controls[shard])
            shards.owners[_cluster.slot_of(key.encode())] = ("127.0.0.1", cluster.first + order[shard])
            limiter = locks.limiter(f"{{{key}}}{order}", burst=2, count=1, period=3600)
            assert limiter.take().remaining == 1, "it is taken once"
            held.release()
            later().release()


def test_several_slots(cluster, make):
    locks = make(cluster.urls)
    keys = keys_of("k")
    with pytest.raises(package.CrossSlot, match=keys[0]):
        locks.lock_all(keys).acquire()
    with pytest.raises(package.CrossSlot):
        locks.take_limits([locks.limiter(key, burst=1, count=1, period=1) for key in keys])
    with pytest.raises(package.CrossSlot, match="{shoe}"):
        locks.sale("shoe").create(1)
    with pytest.raises(package.CrossSlot, match="STREAM and a name that has the hash tag {shoe}$"):
        locks.sale("{shoe}").create(1)
    assert locks.sale("{shoe}").info() is None
    with pytest.raises(package.ServerError, match="no such seckill"):
        locks.sale("{shoe}").buy("ann", "order-1")
    assert locks.stats().held == 0
    for shard, key in enumerate(keys):
        assert cluster.controls[shard].exists(key) == 0


class Proxy:
    """The way to one shard, which can be cut off."""

    def __init__(self, port, to):
        self._listener, self._to, self._open, self._lock = socket.create_server(("127.0.0.1", port)), to, [], threading.Lock()
        self.cut = False
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        try:
            while True:
                client = self._listener.accept()[0]
                with self._lock:
                    if self.cut:
                        client.close()
                        continue
                    server = socket.create_connection(("127.0.0.1", self._to))
                    self._open += [client, server]
                for a, b in ((client, server), (server, client)):
                    threading.Thread(target=self._copy, args=(a, b), daemon=True).start()
        except OSError:
            pass

    @staticmethod
    def _copy(a, b):
        try:
            while data := a.recv(1 << 16):
                b.sendall(data)
        except OSError:
            pass
        for s in (a, b):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self, cut):
        """Ends all connections. cut: no other one is made from now on."""
        with self._lock:
            self.cut, ends, self._open = cut, self._open, []
        for s in ends:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            s.close()

    def count(self):
        """Returns how many connections were made."""
        return len(self._open) // 2

    def end(self):
        self._listener.close()
        self.close(True)


def test_one_shard_is_cut_off(make, background):
    announced = free_port()
    with Cluster("--cluster-announce-ip", "127.0.0.1", "--cluster-announce-port", str(announced)) as cluster:
        ways = [Proxy(announced + n, cluster.first + n) for n in range(3)]
        try:
            locks, other = make(cluster.urls, timeout=1), make(cluster.urls, timeout=1)
            keys = keys_of("k")
            held = [locks.lock(key).acquire() for key in keys]
            waits = [background(lambda key=key: other.lock(key, wait=PATIENCE).acquire()) for key in keys]
            for control in cluster.controls:
                waiting(control)
            ways[2].close(cut=False)  # a short break changes nothing
            ways[1].close(cut=True)
            eventually(lambda: held[1].lost is not None, "it is lost")
            assert held[1].lost.reason == "unreachable"
            with pytest.raises(package.NoConnection):
                waits[1]()
            with pytest.raises(package.NoConnection):
                locks.lock(keys[1], wait=0.2).acquire()
            assert not locks.attached
            for shard in (0, 2):
                held[shard].check()
                assert held[shard].guard("EXISTS", keys[shard]) == 1
                held[shard].release()
                waits[shard]().release()
            ways[1].cut = False
            eventually(lambda: locks.attached, "it is attached again")
            locks.lock(keys[1], wait=PATIENCE).acquire().release()
        finally:
            for way in ways:
                way.end()


@contextlib.contextmanager
def ways_to(cluster, first):
    """Proxies to all shards, at ports in a row."""
    ways = [Proxy(first + n, cluster.first + n) for n in range(3)]
    try:
        yield ways
    finally:
        for way in ways:
            way.end()


def test_an_observer_hears_of_all_shards(make):
    """Attached while the connections of all used shards are there: it hears of the first that ends and of the last that is back."""
    told = []

    class Told(package.Observer):
        def attached(self, up, why):
            told.append(up)

    announced = free_port()
    with Cluster("--cluster-announce-ip", "127.0.0.1", "--cluster-announce-port", str(announced)) as cluster, \
            ways_to(cluster, announced) as ways:
        locks = make(cluster.urls, observer=Told())
        assert not locks.attached
        keys = keys_of("k")
        for key in keys:
            locks.lock(key).acquire()
        eventually(lambda: told == [True] and locks.attached, "a further shard is no news")

        def count():  # of the shards that the client has no connection to
            return len(getattr(locks, "_inner", locks)._shards._down)

        for n, shard in enumerate((1, 2)):
            ways[shard].close(cut=True)
            eventually(lambda: count() == n + 1, "the end is noticed")
            assert told == [True, False] and not locks.attached
        ways[1].cut = False
        eventually(lambda: count() == 1, "one is back")
        assert told == [True, False] and not locks.attached
        ways[2].cut = False
        eventually(lambda: told == [True, False, True] and locks.attached, "all are back")


def test_shards_with_other_addresses(make, background):
    """Locks and waits go on at the addresses that the cluster says now. The former ones are gone."""
    before, after = free_port(), free_port()
    with Cluster("--cluster-announce-ip", "127.0.0.1", "--cluster-announce-port", str(before)) as cluster:
        with ways_to(cluster, before):
            locks, other = make(cluster.urls), make(cluster.urls)
            keys = keys_of("k")
            held = [locks.lock(key).acquire() for key in keys]
            waits = [background(lambda key=key: other.lock(key, wait=PATIENCE).acquire()) for key in keys]
            for control in cluster.controls:
                waiting(control)
            cluster.controls[0].config_set("cluster-announce-port", after)
        with ways_to(cluster, after) as ways:
            for shard, key in enumerate(keys):
                eventually(lambda: ways[shard].count() >= 2, "both clients are at the new address")
                assert held[shard].lost is None
                assert held[shard].guard("EXISTS", key) == 1
                held[shard].release()
                waits[shard]().release()
            eventually(lambda: locks.attached and other.attached, "both are attached")


class Member(Proxy):
    """The way to shard 0 as one of two members of it. The way to the one that does not lead redirects, and stays open."""

    def __init__(self, port, to, other):
        """other: the port of the other member."""
        self.leads, self._ports, self.asked = True, (port, other), []
        super().__init__(port, to)

    def _copy(self, a, b):
        parser = None if a.getpeername()[1] == self._to else Parser()  # of the client's commands
        try:
            while data := a.recv(1 << 16):
                if parser is None:
                    b.sendall(data)
                    continue
                for words in parser.feed(data):
                    self._take(words, a, b)
        except OSError:
            pass
        for s in (a, b):
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)

    def _take(self, words, client, shard):
        if words[0] == b"CLUSTER":
            nodes = b"".join(b"*2\r\n$9\r\n127.0.0.1\r\n:%d\r\n" % port for port in self._ports)
            ranges = (b"*4\r\n:0\r\n:5460\r\n" + nodes, b"*3\r\n:5461\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:1\r\n")
            client.sendall(b"*2\r\n" + b"".join(ranges))
        elif not self.leads and words[0] in (b"LOCK", b"UNLOCK", b"GUARD", b"LOCK.ATTACH", b"LOCK.RENEW"):
            self.asked.append(words[0].decode())
            client.sendall(b"-MOVED %d 127.0.0.1:%d\r\n" % (_cluster.slot_of(words[1]), self._ports[1]))
        else:
            shard.sendall(encode(words))


def test_a_member_that_leads_no_more_is_left(cluster, make):
    """It answers, and redirects each command: a call is sent there once, and the next one is not."""
    ports = [free_port(), free_port()]
    ways = [Member(ports[n], cluster.first, ports[1 - n]) for n in range(2)]
    try:
        locks = make([f"redis://127.0.0.1:{ports[0]}"])
        key = keys_of("k")[0]
        for now, other in ((0, 1), (1, 0)) * 2:
            held = locks.lock(key).acquire()
            assert held.guard("SET", f"{{{key}}}n", now) == b"OK"
            ways[now].leads, ways[other].leads, ways[now].asked = False, True, []
            assert held.guard("SET", f"{{{key}}}n", now) == b"OK"
            held.release()
            locks.lock(key).acquire().release()
            assert ways[now].asked.count("GUARD") == 1 and ways[now].asked.count("LOCK") <= 1, ways[now].asked
    finally:
        for way in ways:
            way.end()


def test_close_releases_on_all_shards(cluster, make):
    locks, other = make(cluster.urls), make(cluster.urls)
    keys = keys_of("k")
    for key in keys:
        locks.lock(key).acquire()
    locks.close()
    for shard, key in enumerate(keys):
        other.lock(key, wait=PATIENCE).acquire().release()
        assert cluster.controls[shard].exists(key) == 0
    with pytest.raises(package.Closed):
        locks.lock(keys[0]).acquire()
