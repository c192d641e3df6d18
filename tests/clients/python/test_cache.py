"""redis-py's client-side cache, which needs RESP3 and CLIENT TRACKING."""

import pytest
import redis
from redis.cache import CacheConfig

from server import eventually


@pytest.fixture
def cached(server):
    r = redis.Redis(port=server.port, protocol=3, decode_responses=True, cache_config=CacheConfig(max_size=100))
    r.flushall()
    yield r
    r.close()


def hits(server, r):
    """How many commands the server has run."""
    return r.info("stats")["total_commands_processed"]


def test_reads_once(server, cached):
    with redis.Redis(port=server.port, decode_responses=True) as other:
        other.set("k", "v")
        assert cached.get("k") == "v"
        before = hits(server, other)
        assert [cached.get("k") for _ in range(100)] == ["v"] * 100
        assert hits(server, other) - before < 50
        assert cached.get_cache().size == 1


def test_sees_changes(server, cached):
    with redis.Redis(port=server.port, decode_responses=True) as other:
        for i in range(50):
            other.set("k", i)
            eventually(lambda: cached.get("k") == str(i), "the change is seen")
        other.hset("h", "f", "1")
        assert cached.hgetall("h") == {"f": "1"}
        other.hset("h", "f", "2")
        eventually(lambda: cached.hgetall("h") == {"f": "2"}, "the change is seen")
        other.set("gone", "x", px=1)
        eventually(lambda: cached.get("gone") is None, "its end is seen")
        other.set("k", "last")
        assert cached.mget("k", "h2") == ["last", None]
        other.flushall()
        eventually(lambda: cached.get("k") is None, "the flush is seen")


def test_in_a_transaction(cached):
    cached.set("k", "1")
    assert cached.get("k") == "1"
    with cached.pipeline() as p:
        assert p.incr("k").get("k").execute() == [2, "2"]
    eventually(lambda: cached.get("k") == "2", "its own change is seen")
