"""redis-py as the users of docs/SECURITY.md, at a raft group whose clients see a cluster."""

import re

import pytest
import redis
from redis.cluster import ClusterNode, RedisCluster
from redis.sentinel import Sentinel

from fleet import Fleet
from server import ROOT

PAGE = (ROOT / "docs" / "SECURITY.md").read_text()


def users_of_the_page():
    """The lines of the page that make users: name, password, and the directive of a configuration."""
    block = re.search(r"^```text users\n(.*?)^```", PAGE, re.M | re.S)[1]
    users = [line.split(maxsplit=3)[2:] for line in block.splitlines()]
    made = {name: (re.search(r">(\S+)", rules)[1], f"user {name} {rules}") for name, rules in users if name != "default"}
    assert set(made) == {"admin", "worker", "watcher"}
    return made


def rules_by_sentinels():
    """What the page says that a client by Sentinels needs."""
    return re.search(r"by Sentinels of a group.*\| `(.*)` \|$", PAGE, re.M)[1].replace("\\|", "|")


def use(worker, watcher):
    """What the users are for, and not more."""
    assert worker.ping() and watcher.ping()
    assert int(worker.execute_command("LOCK", "lock:1", "me", "PX", "60000")) > 0
    assert watcher.execute_command("LOCK.INFO", "lock:1")
    for user, words in ((worker, ("LOCK", "other", "me")), (worker, ("LOCK.FORCE", "lock:1")), (watcher, ("LOCK", "lock:2", "me"))):
        with pytest.raises(redis.exceptions.NoPermissionError):
            user.execute_command(*words)
    assert worker.execute_command("UNLOCK", "lock:1", "me") == 1


@pytest.mark.parametrize("protocol", [2, 3])
def test_cluster(protocol):
    users = users_of_the_page()
    with Fleet(*(line for _, line in users.values()), group="cluster") as fleet:
        def connect(name):
            nodes = [ClusterNode(*address) for address in fleet.nodes]
            return RedisCluster(startup_nodes=nodes, username=name, password=users[name][0], decode_responses=True, protocol=protocol)

        with connect("worker") as worker, connect("watcher") as watcher, connect("admin") as admin:
            use(worker, watcher)
            assert admin.acl_whoami() == "admin"
            fleet("plan")  # another member leads: the clients look for it
            use(worker, watcher)


def test_sentinel():
    users, more = users_of_the_page(), rules_by_sentinels()
    with Fleet(*(f"{users[name][1]} {more}" for name in ("worker", "watcher")), group="sentinel") as fleet:
        def connect(name):
            login = {"username": name, "password": users[name][0]}
            return Sentinel(fleet.sentinels, sentinel_kwargs=login).master_for(fleet.name, decode_responses=True, **login)

        with connect("worker") as worker, connect("watcher") as watcher:
            use(worker, watcher)
