"""redis-py's RedisCluster over three shards in one process: sell, lock, wait, attach, list, publish."""

import threading

import pytest
import redis

from server import IS_REDIS, PATIENCE, Server, eventually

pytestmark = pytest.mark.skipif(IS_REDIS or not hasattr(redis, "cluster"), reason="shards are lockserver's, and redis-py 3.5 knows no clusters")

DOORS = [f"door-{i}" for i in range(60)]


@pytest.fixture(scope="module")
def shards():
    with Server("--shards", "3") as s:
        yield s


@pytest.fixture
def cluster(shards, protocol):
    c = redis.cluster.RedisCluster(shards.host, shards.port, protocol=protocol, decode_responses=True, socket_timeout=PATIENCE)
    c.flushall(target_nodes=redis.cluster.RedisCluster.PRIMARIES)
    yield c
    c.close()


def ask_all(cluster, *words):
    """Asks all shards, and returns their replies."""
    replies = cluster.execute_command(*words, target_nodes=cluster.get_primaries())
    assert len(replies) == 3
    return list(replies.values())


def key_of(row):
    """The key of a row of LOCK.LIST: a map, or names and values."""
    return row["key"] if isinstance(row, dict) else row[row.index("key") + 1]


def test_keys_are_spread(cluster):
    for door in DOORS:
        cluster.set(door, f"value-{door}")
    pipe = cluster.pipeline()
    for door in DOORS:
        pipe.get(door)
    assert pipe.execute() == [f"value-{door}" for door in DOORS]
    assert all(cluster.get_redis_connection(node).dbsize() > 0 for node in cluster.get_primaries())
    assert sorted(cluster.keys("*", target_nodes=cluster.get_primaries())) == sorted(DOORS)
    assert sorted(cluster.scan_iter("*")) == sorted(DOORS)
    assert cluster.mset_nonatomic({"a": "1", "b": "2", "c": "3"})
    assert cluster.mget_nonatomic("a", "b", "c") == ["1", "2", "3"]
    for door in DOORS:
        assert cluster.eval("return redis.call('GET', KEYS[1])", 1, door) == f"value-{door}"
    with pytest.raises(redis.exceptions.RedisClusterException):
        cluster.mget("a", "b")


def test_locks(cluster):
    tokens = {door: cluster.execute_command("LOCK", door, "ann", "PX", 600_000) for door in DOORS}
    assert all(isinstance(token, int) and token > 0 for token in tokens.values())
    assert cluster.execute_command("LOCK", DOORS[0], "ben") is None
    listed = [key_of(row) for rows in ask_all(cluster, "LOCK.LIST") for row in rows]
    assert sorted(listed) == sorted(DOORS)

    later = {}

    def wait(door):
        later[door] = cluster.execute_command("LOCK", door, "ben", "PX", 600_000, "WAIT", PATIENCE * 1000)

    threads = [threading.Thread(target=wait, args=(door,)) for door in DOORS[:12]]
    for t in threads:
        t.start()
    eventually(lambda: sum(len(rows) for rows in ask_all(cluster, "LOCK.WAITERS")) == len(threads), "all wait")
    for door in DOORS[:12]:
        assert cluster.execute_command("UNLOCK", door, "ann", "TOKEN", tokens[door]) == 1
    for t in threads:
        t.join()
    assert all(later[door] > tokens[door] for door in DOORS[:12])
    with pytest.raises(redis.exceptions.RedisClusterException, match="slot"):
        cluster.execute_command("MLOCK", 2, "a", "b", "ann", "PX", 1000)


def test_a_lock_is_kept_by_the_attached_connection_of_its_shard(cluster):
    lost = []
    for node in cluster.get_primaries():
        plain = cluster.get_redis_connection(node)
        with redis.Redis(plain.connection_pool.connection_kwargs["host"], node.port, protocol=3, decode_responses=True,
                         socket_timeout=PATIENCE, single_connection_client=True) as attached:
            assert attached.execute_command("LOCK.ATTACH", "keeper") == 0
            door = next(d for d in DOORS if cluster.get_node_from_key(d).port == node.port)
            token = cluster.execute_command("LOCK", door, "keeper")
            assert token > 0
            info = cluster.execute_command("LOCK.INFO", door)
            assert "keeper" in str(info)
            assert cluster.delete(door) == 1
            # The message comes before the reply of the next command.
            attached.connection.send_command("PING")
            message = attached.connection.read_response(push_request=True)
            while message != "PONG":
                lost.append(message)
                message = attached.connection.read_response(push_request=True)
    assert len(lost) == 3, lost


def test_sales(cluster):
    for door in DOORS[:12]:
        voucher = "{" + door + "}"
        assert cluster.execute_command("SECKILL.CREATE", voucher, "STOCK", 3, "STREAM", f"orders:{voucher}") in ("OK", b"OK", True)
        replies = [cluster.execute_command("SECKILL", voucher, f"user-{i}", f"order-{i}") for i in range(5)]
        assert replies == [0, 0, 0, 1, 1]
        assert cluster.xlen(f"orders:{voucher}") == 3
        assert cluster.execute_command("NEXTID", voucher) > 0
    with pytest.raises(redis.exceptions.ResponseError, match="put a hash tag into the name"):
        cluster.execute_command("SECKILL", "door-1", "ann", "1")


def test_messages_reach_all_shards(cluster):
    nodes = cluster.get_primaries()
    listener = cluster.pubsub(node=nodes[0])
    listener.subscribe("news")
    assert listener.get_message(timeout=PATIENCE)["type"] == "subscribe"
    for node in nodes:
        cluster.get_redis_connection(node).publish("news", node.name)
    got = {listener.get_message(timeout=PATIENCE)["data"] for _ in nodes}
    assert got == {node.name for node in nodes}
    listener.close()


def test_a_plain_client_is_told_where_a_key_is(shards):
    with redis.Redis(shards.host, shards.port, decode_responses=True) as plain:
        moved = 0
        for door in DOORS:
            try:
                plain.set(door, "v")
            except redis.exceptions.MovedError as e:
                assert e.host == "127.0.0.1"
                moved += 1
        assert 10 < moved < len(DOORS)
