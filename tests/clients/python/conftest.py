"""Fixtures of the tests of redis-py and rq."""

from importlib.metadata import version

import pytest
import redis

from server import IS_REDIS, PATIENCE, PROGRAM, Server

# An earlier redis-py, with which the tests run that need no more than it has. It speaks RESP2 and does not retry.
EARLIER = int(version("redis").split(".")[0]) < 5

# Options of a client that sends nothing twice.
ONCE = {} if EARLIER else {"retry": None}

collect_ignore = ["test_native.py", "test_broken.py", "test_clients_page.py", "test_sentinel.py"] if IS_REDIS else []
if EARLIER:
    collect_ignore += ["test_async.py", "test_broken.py", "test_cache.py", "test_group_users.py", "test_redis.py", "test_rq.py", "test_sentinel.py", "test_tls.py", "test_users.py"]


def pytest_report_header():
    return f"redis-py {version('redis')}, hiredis {version('hiredis')}, against {PROGRAM}"


@pytest.fixture(scope="module")
def server():
    """A server for the tests of one file."""
    with Server() as s:
        yield s


@pytest.fixture(params=[2] if EARLIER else [2, 3], ids="RESP{}".format)
def protocol(request):
    return request.param


@pytest.fixture
def connect(server, protocol):
    """Makes clients with decoded replies, closed after the test; the server's data is gone before."""
    clients = []

    def make(**options):
        if not EARLIER:
            options = {"protocol": protocol, **options}
        c = redis.Redis(port=server.port, **{"decode_responses": True, "socket_timeout": PATIENCE, **options})
        clients.append(c)
        return c

    make().flushall()
    yield make
    for c in clients:
        c.close()


@pytest.fixture
def r(connect):
    return connect()
