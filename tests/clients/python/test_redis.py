"""redis-py: types, pipelines, transactions, messages, streams, scripts, scans, and connections that break."""

import datetime
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis
from redis.backoff import ExponentialBackoff, NoBackoff
from redis.retry import Retry

from server import IS_REDIS, Server, eventually

ONCE = Retry(NoBackoff(), 0)


def test_handshake(protocol):
    with Server("--requirepass", "secret") as server:
        with pytest.raises(redis.AuthenticationError):
            redis.Redis(port=server.port, protocol=protocol, retry=ONCE).ping()
        with pytest.raises(redis.AuthenticationError):
            redis.Redis(port=server.port, protocol=protocol, retry=ONCE, password="wrong").ping()
        c = redis.Redis(port=server.port, protocol=protocol, username="default", password="secret", db=3, client_name="shop")
        assert c.ping()
        info = c.client_info()
        assert info["db"] == 3 and info["name"] == "shop" and int(info["resp"]) == protocol
        if not IS_REDIS:  # of 7.2
            assert info["lib-name"] == "redis-py"
        c.close()


def test_types(r):
    assert r.set("s", b"\x00binary\r\n", ex=60) and r.ttl("s") > 50
    assert r.set("s", "x", nx=True) is None
    assert r.set("s", "y", get=True) == "\x00binary\r\n"
    assert r.getex("s", px=5000) == "y" and 0 < r.pttl("s") <= 5000
    assert r.incrbyfloat("f", 0.1) == 0.1
    assert r.mget("s", "absent") == ["y", None]
    r.hset("h", mapping={"a": 1, "b": "two"})
    assert r.hgetall("h") == {"a": "1", "b": "two"}
    assert r.hrandfield("h", 2, withvalues=True)
    assert r.rpush("l", 1, 2, 3) == 3 and r.lmpop(2, "none", "l", direction="RIGHT", count=2) == ["l", ["3", "2"]]
    assert r.sadd("set", *range(10)) == 10 and r.smembers("set") == {str(i) for i in range(10)}
    assert list(map(bool, r.smismember("set", ["1", "x"]))) == [True, False]
    assert r.zadd("z", {"a": 1, "b": 2.5}) == 2
    assert [tuple(pair) for pair in r.zrange("z", 0, -1, withscores=True)] == [("a", 1.0), ("b", 2.5)]
    assert r.zadd("z", {"a": 5}, gt=True, ch=True) == 1 and r.zscore("z", "a") == 5.0
    assert r.zrangestore("copy", "z", 0, -1) == 2
    assert r.geoadd("geo", (13.361389, 38.115556, "P", 15.087269, 37.502669, "C")) == 2
    assert r.geosearch("geo", longitude=15, latitude=37, radius=200, unit="km", sort="ASC") == ["C", "P"]
    assert r.setbit("bits", 7, 1) == 0 and r.bitfield("bits").incrby("u8", 0, 5).get("u4", 4).execute() == [6, 6]
    assert r.pfadd("hll", "a", "b") == 1 and r.pfcount("hll") == 2
    assert r.sort("set", desc=True, start=0, num=2) == ["9", "8"]
    assert r.copy("s", "s2") and r.expiretime("s2") > datetime.datetime.now().timestamp() - 1
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        r.incr("h")
    with pytest.raises(redis.ResponseError, match="unknown command"):
        r.execute_command("NOSUCH", 1)


def test_server_information(r):
    assert r.info("server")["tcp_port"] > 0
    assert r.command_count() > 200
    assert r.command_getkeys("MSET", "a", 1, "b", 2) == ["a", "b"]
    assert r.config_get("max*")["maxmemory"] == "0"
    assert r.config_set("slowlog-log-slower-than", 0)
    r.set("slow", 1)
    assert r.config_set("slowlog-log-slower-than", 10000)
    assert any("slow" in str(entry["command"]) for entry in r.slowlog_get())
    assert r.time()[0] > 1_600_000_000
    assert any(c["id"] == str(r.client_id()) for c in r.client_list()) or len(r.client_list()) > 0
    assert r.memory_usage("slow") > 0
    assert r.object("encoding", "slow") == "int"


def test_dump_and_restore(connect):
    raw = connect(decode_responses=False)
    raw.zadd("z", {"a": 1, "b": 2})
    dump = raw.dump("z")
    assert raw.restore("z2", 0, dump)
    assert raw.zrange("z2", 0, -1) == [b"a", b"b"]


def test_pipelines(r):
    with r.pipeline(transaction=False) as p:
        for i in range(5000):
            p.incr("n").set(f"k{i % 10}", i)
        replies = p.execute()
    assert replies[-2:] == [5000, True]
    with r.pipeline() as p:
        p.set("a", 1).lpush("a", "x").incr("a")
        replies = p.execute(raise_on_error=False)
    assert replies[0] is True and isinstance(replies[1], redis.ResponseError) and replies[2] == 2
    with r.pipeline() as p:
        p.set("a", 100).execute_command("NOSUCH")
        with pytest.raises(redis.ResponseError, match="unknown command"):
            p.execute()
    assert r.get("a") == "2"


def test_watch(r):
    """A counter without INCR, by many at a time."""
    def add(p):
        n = int(p.get("counter") or 0)
        p.multi()
        p.set("counter", n + 1)

    def work(_):
        for _ in range(20):
            r.transaction(add, "counter")

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
    assert r.get("counter") == "120"
    with r.pipeline() as p:
        p.watch("counter")
        r.incr("counter")
        p.multi()
        p.set("counter", 0)
        with pytest.raises(redis.WatchError):
            p.execute()


def test_pubsub(r, protocol):
    seen = []
    with r.pubsub() as p:
        p.subscribe("news", **{"sport": lambda m: seen.append(m["data"])})
        p.psubscribe("new*")
        for _ in range(3):
            assert p.get_message(timeout=30)["type"].endswith("subscribe")
        assert r.pubsub_numsub("news", "nobody") == [("news", 1), ("nobody", 0)]
        assert r.pubsub_numpat() == 1
        for i in range(200):
            r.publish("news", i)
        messages = [p.get_message(timeout=30) for _ in range(400)]
        for kind in ("message", "pmessage"):
            assert [m["data"] for m in messages if m["type"] == kind] == [str(i) for i in range(200)]
        r.publish("sport", "goal")
        eventually(lambda: p.get_message(timeout=0.01) is None and seen == ["goal"], "the handler is called")
        if protocol == 2:  # in the other one the library takes the reply for itself
            p.ping()
            eventually(lambda: (p.get_message(timeout=1) or {}).get("type") == "pong", "a pong")
        p.unsubscribe()
        p.punsubscribe()
        eventually(lambda: r.publish("news", "x") == 0, "unsubscribed")
    with r.pubsub() as p:
        p.ssubscribe("shard")
        assert p.get_message(timeout=30)["type"] == "ssubscribe"
        assert r.spublish("shard", "s") == 1
        assert p.get_sharded_message(timeout=30)["data"] == "s"


def test_pubsub_in_a_thread(r):
    got = threading.Event()
    p = r.pubsub()
    p.subscribe(news=lambda m: got.set())
    thread = p.run_in_thread(sleep_time=0.01, daemon=True)
    eventually(lambda: r.publish("news", "x") and got.wait(0.01), "the thread gets it")
    thread.stop()
    thread.join()


def test_keyspace_events(r):
    r.config_set("notify-keyspace-events", "KEA")
    with r.pubsub() as p:
        p.psubscribe("__keyevent@0__:*")
        p.get_message(timeout=30)
        r.set("k", "v", px=1)
        eventually(lambda: (p.get_message(timeout=1) or {}).get("channel") == "__keyevent@0__:expired", "it expires")
    r.config_set("notify-keyspace-events", "")


def test_streams(r):
    """Orders are read by a group, a worker dies, and another one takes over what it had not acknowledged."""
    assert r.xgroup_create("orders", "g", id="0", mkstream=True)
    with pytest.raises(redis.ResponseError, match="BUSYGROUP"):
        r.xgroup_create("orders", "g")
    for i in range(100):
        r.xadd("orders", {"user": i})
    done = []

    def entries(reply):
        groups = reply.items() if isinstance(reply, dict) else reply
        found = []
        for _, messages in groups:
            if messages and isinstance(messages[0], list) and messages[0] and isinstance(messages[0][0], (list, tuple)):
                messages = messages[0]  # RESP3: a list for each part of the reply
            found += messages
        return found

    def finish(messages):
        for id_, fields in messages:
            assert r.xack("orders", "g", id_) == 1
            done.append(fields["user"])

    finish(entries(r.xreadgroup("g", "alice", {"orders": ">"}, count=40))[:15])
    finish(entries(r.xreadgroup("g", "bob", {"orders": ">"}, count=1000)))
    assert r.xpending("orders", "g")["pending"] == 25
    assert len(r.xpending_range("orders", "g", "-", "+", 100, consumername="alice")) == 25
    assert len(entries(r.xreadgroup("g", "alice", {"orders": "0"}, count=5))) == 5
    start = "0-0"
    while True:
        start, messages, _deleted = r.xautoclaim("orders", "g", "bob", 0, start, count=10)
        finish(messages)
        if start == "0-0":
            break
    assert sorted(map(int, done)) == list(range(100))
    group, = r.xinfo_groups("orders")
    assert (group["pending"], group["lag"], group["entries-read"]) == (0, 0, 100)
    assert r.xinfo_stream("orders", full=True)["length"] == 100
    assert r.xtrim("orders", maxlen=10, approximate=False) == 90
    assert len(r.xrevrange("orders")) == 10


def blocked(r):
    return r.info("clients")["blocked_clients"]


def test_blocking(r):
    assert r.blpop("q", timeout=0.01) is None
    assert r.bzpopmin("z", timeout=0.01) is None
    assert not r.xread({"s": "$"}, block=10)
    with ThreadPoolExecutor(4) as pool:
        replies = [pool.submit(r.blpop, ["other", "q"], 20), pool.submit(r.blmove, "q2", "r", 20),
                   pool.submit(r.bzpopmax, "z", 20), pool.submit(r.xread, {"s": "$"}, block=20_000)]
        eventually(lambda: blocked(r) == 4, "all wait")
        r.rpush("q", "a", "b")
        r.rpush("q2", "c")
        r.zadd("z", {"m": 1.5})
        id_ = r.xadd("s", {"k": "v"})
        got = [f.result() for f in replies]
    assert list(got[0]) == ["q", "a"] and got[1] == "c" and list(got[2]) == ["z", "m", 1.5]
    assert id_ in str(got[3])


def test_scans(r):
    with r.pipeline(transaction=False) as p:
        for i in range(3000):
            p.set(f"key:{i}", i).hset("h", f"f{i}", i).sadd("set", i).zadd("z", {i: i})
        p.execute()
    assert set(r.scan_iter("key:*", count=100)) == {f"key:{i}" for i in range(3000)}
    assert list(r.scan_iter(_type="zset")) == ["z"]
    assert dict(r.hscan_iter("h")) == {f"f{i}": str(i) for i in range(3000)}
    assert len(set(r.sscan_iter("set", match="1*"))) == 1111
    assert len(dict(r.zscan_iter("z"))) == 3000
    if not IS_REDIS:  # of 7.4
        assert set(r.hscan_iter("h", no_values=True)) == {f"f{i}" for i in range(3000)}


def test_scripts(r):
    r.script_flush()
    unlock = r.register_script("if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end")
    r.set("lock", "me")
    assert unlock(keys=["lock"], args=["other"]) == 0
    assert r.script_exists(unlock.sha) == [True]
    assert unlock(keys=["lock"], args=["me"]) == 1
    with r.pipeline() as p:
        p.set("lock", "me")
        unlock(keys=["lock"], args=["me"], client=p)
        assert p.execute() == [True, 1]
    r.script_flush()
    with r.pipeline() as p:  # the pipeline loads what the server has forgotten
        unlock(keys=["lock"], args=["me"], client=p)
        assert p.execute() == [0]
    assert r.eval("return {1, 'two', {3}, false, 5.9, nil, 6}", 0) == [1, "two", [3], None, 5]
    with pytest.raises(redis.exceptions.NoScriptError):
        r.evalsha("0" * 40, 0)
    with pytest.raises(redis.ResponseError, match="MY own error"):
        r.eval("return redis.error_reply('MY own error')", 0)
    assert r.eval_ro("return redis.call('exists', KEYS[1])", 1, "lock") == 0


def test_functions(r):
    r.function_flush()
    code = "#!lua name=shop\nredis.register_function('take', function(k, a) return redis.call('decrby', k[1], a[1]) end)"
    assert r.function_load(code) == "shop"
    r.set("stock", 10)
    assert r.fcall("take", 1, "stock", 3) == 7
    with pytest.raises(redis.ResponseError):
        r.function_load(code)
    assert r.function_load(code, replace=True) == "shop"
    assert "take" in str(r.function_list(withcode=True))
    assert r.function_delete("shop")


def test_monitor(connect):
    watcher, r = connect(), connect()
    with watcher.monitor() as m:
        r.set("seen", "x y")
        command = next(c for c in iter(m.next_command, None) if "seen" in c["command"])
        assert command["command"] == "SET seen x y" and command["db"] == 0


def test_reconnects(protocol):
    with Server() as server:
        retry = Retry(ExponentialBackoff(cap=0.05, base=0.01), 20)
        r = redis.Redis(port=server.port, protocol=protocol, retry=retry, health_check_interval=1, decode_responses=True)
        other = redis.Redis(port=server.port)
        r.set("k", "v")
        assert other.client_kill_filter(_type="normal", skipme=True) >= 1
        assert r.get("k") == "v"
        server.restart()
        assert r.get("k") == "v"
        r.close()
        other.close()


def test_blocking_pool(server, protocol):
    pool = redis.BlockingConnectionPool(port=server.port, max_connections=3, timeout=30, protocol=protocol)
    r = redis.Redis(connection_pool=pool)
    r.delete("pooled")
    with ThreadPoolExecutor(20) as threads:
        list(threads.map(lambda _: [r.incr("pooled") for _ in range(50)], range(20)))
    assert int(r.get("pooled")) == 1000
    pool.disconnect()
