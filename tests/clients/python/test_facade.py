"""redis-py against one server in test mode that looks like a cluster, or like Sentinels."""

import pytest
import redis
from redis.sentinel import Sentinel

from server import IS_REDIS, Server, eventually

pytestmark = pytest.mark.skipif(IS_REDIS, reason="test mode is lockserver's")


def cluster(server):
    return redis.cluster.RedisCluster(server.host, server.port, decode_responses=True)


def master(server):
    sentinel = Sentinel([(server.host, server.port)], decode_responses=True)
    return sentinel.master_for("mymaster")


# redis-py 3.5 knows no clusters.
WAYS = [("cluster", cluster)] * hasattr(redis, "cluster") + [("sentinel", master)]


@pytest.mark.parametrize(("topology", "connect"), WAYS)
def test_it_follows_the_leader(topology, connect):
    with Server("--test-mode", "yes", "--test-topology", topology) as server:
        control = redis.Redis(server.host, server.port, decode_responses=True)
        client = connect(server)
        leaders = set()

        def written(value):
            try:
                return client.set("key", value)
            except redis.exceptions.RedisError:
                return False

        for value in "1234":
            eventually(lambda value=value: written(value), "the leader is found")
            assert client.get("key") == value
            leaders.add(control.execute_command("TEST.FAILOVER"))
        assert len(leaders) == 3
        client.close()
        control.close()
