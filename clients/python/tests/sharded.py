"""With SHARDS=3 each server of a test is a cluster of three shards, for the same tests (clients/SCENARIOS.md)."""

import contextlib
import os
import random
import re

import redis
from redis.exceptions import MovedError

from lockserver import pytest_plugin
from server import ROOT, Server, free_port
from test_broken import Way

SHARDS = int(os.environ.get("SHARDS", "1"))
LEFT_OUT = "failover_in_a_group|hand_off|fence|limits_of_the_user|callers_token"  # clients/SCENARIOS.md says so


def is_scenario(name):
    """Whether a test is of a scenario that is played over shards."""
    table = (ROOT / "clients" / "SCENARIOS.md").read_text()
    names = re.findall(r"`(\w+)`", " ".join(row.split(" | ")[0] for row in table.splitlines() if row.startswith("| `")))
    found = re.fullmatch(r"test_(\w+?)(_in_threads|_in_asyncio)?", name)
    return found[1] in names and not re.fullmatch(LEFT_OUT, found[1])


def url(server, ports=None):
    """What from_url takes for a server, or for ports on the way to it: of a cluster the addresses of all shards."""
    urls = [f"redis://{server.host}:{port}" for port in ports or ports_of(server)]
    return urls if SHARDS > 1 else urls[0]


def ports_of(server):
    return range(server.port, server.port + SHARDS)


def operator(server):
    """A client of redis-py for a server of a test, or for all shards."""
    if SHARDS == 1:
        return redis.Redis(port=server.port, decode_responses=True)
    return Operator(server)


class Operator(redis.Redis):
    """Sends each command to all shards. The shard of the key answers, or all do: their replies become one."""

    def __init__(self, server):
        super().__init__(server.host, server.port, decode_responses=True)
        self.shards = [redis.Redis(server.host, port, decode_responses=True) for port in ports_of(server)]

    def execute_command(self, *words, **options):
        if words[0] in ("TEST.CLOCK", "TIME"):  # one for all shards
            return self.shards[0].execute_command(*words, **options)
        replies = []
        for shard in self.shards:
            with contextlib.suppress(MovedError):
                replies.append(shard.execute_command(*words, **options))
        return whole(replies)

    def close(self):
        super().close()
        for shard in self.shards:
            shard.close()


def whole(replies):
    """Returns the replies of several shards as one."""
    first = replies[0]
    if len(replies) == 1 or isinstance(first, bool):
        return first
    if isinstance(first, list):
        return [item for reply in replies for item in reply]
    if isinstance(first, int):
        return sum(replies)
    if isinstance(first, dict):
        return {name: whole([reply[name] for reply in replies if name in reply]) for name in first}
    return first


class ClusterServer(pytest_plugin.Server):
    """A cluster in test mode for one test, with the face of the plugin's server."""

    def __init__(self, process):
        self.process = process
        super().__init__(f"{process.host}:{process.port}")
        self.url = url(self)
        self.client().close()
        self.control = Operator(self)
        self.clock = pytest_plugin.Clock(self.control)
        self._closing.append(self.control)

    @contextlib.contextmanager
    def fault(self, *words):
        """The same fault at each shard. It must strike at one of them."""
        numbers = [shard.execute_command("TEST.FAULT", "ADD", *words) for shard in self.control.shards]
        yield
        struck = 0
        for shard, number in zip(self.control.shards, numbers):
            for fault in shard.execute_command("TEST.FAULT", "LIST"):
                fault = dict(zip(fault[::2], fault[1::2])) if isinstance(fault, list) else fault
                struck += fault["struck"] if fault["id"] == number else 0
            shard.execute_command("TEST.FAULT", "DEL", number)
        assert struck > 0, f"the fault never struck: {words}"


class Process(Server):
    """A server process, which is a cluster with SHARDS=3."""

    def __init__(self, *directives):
        if SHARDS > 1:
            directives = ("--shards", str(SHARDS), "--port", str(free_ports()), *directives)
        super().__init__(*directives)


def free_ports():
    """Returns the first of as many free ports in a row as there are shards."""
    return free_port(SHARDS)


class Ways:
    """Proxies to all shards. The cluster says that it is there."""

    def __init__(self, server, operator):
        first = free_ports()
        self._all = [Way(port, first + n) for n, port in enumerate(ports_of(server))]
        operator.config_set("cluster-announce-port", first)
        self.ports = [way.port for way in self._all]

    @property
    def broken(self):
        return sum(way.broken for way in self._all)

    def break_one(self, moment):
        random.choice(self._all).break_one(moment)

    def kill(self, operator):
        random.choice(self._all).kill(operator)

    def close(self):
        for way in self._all:
            way.close()


def way_to(server, operator):
    """A way to a server that a test can break, and its ports."""
    if SHARDS > 1:
        return Ways(server, operator)
    way = Way(server.port)
    way.ports = [way.port]
    return way
