"""What applications do with redis-py, in all versions of it: scripts, messages, streams, sessions, and a sale."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis

import sale
from server import PATIENCE, eventually


def test_scripts(r):
    unlock = r.register_script("if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end")
    r.set("lock", "me", nx=True, px=60_000)
    assert unlock(keys=["lock"], args=["other"]) == 0
    r.script_flush()
    assert unlock(keys=["lock"], args=["me"]) == 1, "sent again after NOSCRIPT"
    assert r.eval("return {KEYS[1], 'two', {3}, false, 5.9, nil, 6}", 1, "k") == ["k", "two", [3], None, 5]
    with pytest.raises(redis.ResponseError, match="MY own error"):
        r.eval("return redis.error_reply('MY own error')", 0)


def test_transactions(r):
    def add(p):
        n = int(p.get("counter") or 0)
        p.multi()
        p.set("counter", n + 1)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: [r.transaction(add, "counter") for _ in range(10)], range(4)))
    assert r.get("counter") == "40"
    with r.pipeline() as p:
        p.set("a", 1).lpush("a", "x").incr("a")
        replies = p.execute(raise_on_error=False)
    assert replies[0] is True and isinstance(replies[1], redis.ResponseError) and replies[2] == 2


def test_messages(r):
    with r.pubsub() as p:
        p.subscribe("news")
        p.psubscribe("new*")
        for _ in range(2):
            assert p.get_message(timeout=PATIENCE)["type"].endswith("subscribe")
        for i in range(100):
            assert r.publish("news", i) == 2
        messages = [p.get_message(timeout=PATIENCE) for _ in range(200)]
    for kind in ("message", "pmessage"):
        assert [m["data"] for m in messages if m["type"] == kind] == [str(i) for i in range(100)]


def test_streams(connect):
    """A group of two, of which one dies with orders in its hands."""
    r = connect()
    assert r.xgroup_create("orders", "workers", id="0", mkstream=True)
    for i in range(60):
        r.xadd("orders", {"order": i})
    done = []

    def entries(reply):
        (_, messages), = reply.items() if isinstance(reply, dict) else reply
        return messages[0] if isinstance(messages[0], list) else messages  # RESP3: a list for each part of the reply

    def finish(messages):
        for id_, fields in messages:
            assert r.xack("orders", "workers", id_) == 1
            done.append(int(fields["order"]))

    assert len(entries(r.xreadgroup("workers", "ann", {"orders": ">"}, count=20))) == 20
    finish(entries(r.xreadgroup("workers", "ben", {"orders": ">"})))
    assert r.xpending("orders", "workers")["pending"] == 20
    lost = [entry["message_id"] for entry in r.xpending_range("orders", "workers", "-", "+", 100, consumername="ann")]
    finish(r.xclaim("orders", "workers", "ben", 0, lost))
    assert sorted(done) == list(range(60))
    group, = r.xinfo_groups("orders")
    assert group["pending"] == 0 and r.xinfo_stream("orders")["length"] == 60
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(connect().xreadgroup, "workers", "ann", {"orders": ">"}, block=PATIENCE * 500)
        eventually(lambda: r.info("clients")["blocked_clients"] == 1, "it waits")
        id_ = r.xadd("orders", {"order": "last"})
        assert entries(waiting.result()) == [(id_, {"order": "last"})]


def test_sessions(r):
    r.hset("session:1", mapping={"id": 7, "name": "Ann"})
    assert r.expire("session:1", 1800) and r.ttl("session:1") > 1700
    assert r.hgetall("session:1") == {"id": "7", "name": "Ann"}
    assert r.hincrby("session:1", "id", 1) == 8
    r.pexpire("session:1", 50)
    eventually(lambda: not r.exists("session:1"), "it ends")


def test_sale(connect):
    r = connect()
    sell = r.register_script(sale.SCRIPT)
    sale.play(r, lambda *words: sell(args=words))


def test_connects_again(connect):
    r, other = connect(), connect()
    r.set("k", "v")
    assert other.execute_command("CLIENT KILL", "TYPE", "normal", "SKIPME", "yes") >= 1
    assert r.get("k") == "v"
