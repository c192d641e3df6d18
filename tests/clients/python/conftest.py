"""Fixtures of the tests of redis-py and rq."""

import hiredis
import pytest
import redis
import rq

from server import IS_REDIS, PATIENCE, PROGRAM, Server

# The cache asks for version 7.4.
collect_ignore = ["test_native.py", "test_cache.py"] if IS_REDIS else []


def pytest_report_header():
    return f"redis-py {redis.__version__}, hiredis {hiredis.__version__}, rq {rq.VERSION}, against {PROGRAM}"


@pytest.fixture(scope="module")
def server():
    """A server for the tests of one file."""
    with Server() as s:
        yield s


@pytest.fixture(params=[2, 3], ids=["RESP2", "RESP3"])
def protocol(request):
    return request.param


@pytest.fixture
def connect(server, protocol):
    """Makes clients with decoded replies, closed after the test; the server's data is gone before."""
    clients = []

    def make(**options):
        options = {"decode_responses": True, "socket_timeout": PATIENCE, "protocol": protocol, **options}
        c = redis.Redis(port=server.port, **options)
        clients.append(c)
        return c

    make().flushall()
    yield make
    for c in clients:
        c.close()


@pytest.fixture
def r(connect):
    return connect()
