"""What the tests share: servers, and one face of both kinds of clients."""

import asyncio
import inspect
import pathlib
import sys
import threading

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "clients" / "python"))  # the server processes of the tests of redis-py

import lockserver as package  # noqa: E402
from server import PATIENCE, Server, eventually  # noqa: E402
from sharded import SHARDS, ClusterServer, Process, is_scenario  # noqa: E402


def pytest_collection_modifyitems(config, items):
    """Over shards only the scenarios are played."""
    if SHARDS > 1:
        config.hook.pytest_deselected(items=[item for item in items if not is_scenario(item.originalname)])
        items[:] = [item for item in items if is_scenario(item.originalname)]


if SHARDS > 1:
    @pytest.fixture
    def lockserver():
        """A cluster for one test."""
        with Process("--test-mode", "yes") as process:
            server = ClusterServer(process)
            yield server
            server.close()


class Loop:
    """An event loop in a thread, and objects that live in it, with methods to be called from any thread."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work, *args, **keywords):
        """Calls a function in the loop, and waits for what it returns."""

        async def call():
            result = work(*args, **keywords)
            return await result if inspect.isawaitable(result) else result

        return self.wrap(asyncio.run_coroutine_threadsafe(call(), self.loop).result(PATIENCE))

    def wrap(self, value):
        ours = type(value).__module__ == "lockserver.aio"
        return Face(self, value) if ours else value

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(PATIENCE)
        self.loop.close()


def inner(value):
    """Returns the object behind a face, also in a list of them."""
    return [inner(item) for item in value] if isinstance(value, list) else value._inner if isinstance(value, Face) else value


class Face:
    """An object of lockserver.aio as one of lockserver.sync."""

    def __init__(self, loop, inner):
        self._loop, self._inner = loop, inner

    def __getattr__(self, name):
        found = getattr(self._inner, name)
        if not callable(found):
            return found
        return lambda *args, **keywords: self._loop.run(found, *map(inner, args), **keywords)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._loop.run(self._inner.release)


@pytest.fixture(params=["threads", "asyncio"])
def make(request):
    """Makes clients of one kind or the other: make(url, ...). They are closed after the test."""
    made = []
    loop = Loop() if request.param == "asyncio" else None

    def build(url, **options):
        options = {"name": "test", **options}
        if loop is None:
            locks = package.Locks.from_url(url, **options)
        else:
            locks = loop.wrap(package.AsyncLocks.from_url(url, **options))
        made.append(locks)
        return locks

    build.kind = request.param
    yield build
    for locks in made:
        locks.close()
    if loop is not None:
        loop.close()


@pytest.fixture
def locks(make, lockserver):
    """A client of the test's server."""
    return make(lockserver.url)


@pytest.fixture
def background():
    """Runs functions in threads: background(f) returns what waits for the result."""
    running = []

    def start(work, *args):
        box = {}

        def run():
            try:
                box["result"] = work(*args)
            except BaseException as e:
                box["error"] = e

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        running.append(thread)

        def result():
            thread.join(PATIENCE)
            assert not thread.is_alive(), "it has not ended"
            if "error" in box:
                raise box["error"]
            return box["result"]

        result.over = lambda: not thread.is_alive()
        return result

    yield start
    for thread in running:
        thread.join(PATIENCE)


@pytest.fixture(scope="session")
def all_places(tmp_path_factory):
    """The databases by name: SQLite, and with DATABASES=all PostgreSQL and MariaDB."""
    from places import places
    with places(tmp_path_factory.mktemp("databases")) as found:
        yield found


def waiting(control, count=1):
    """Waits until so many calls are in the server's queues."""
    eventually(lambda: int(control.info("locks")["lock_waiters_notify"]) >= count, f"{count} wait")


def free(control, key):
    """Waits until a lock is free."""
    eventually(lambda: control.execute_command("LOCK.INFO", key) is None, f"{key} is free")


def info(control, key):
    """Returns LOCK.INFO as a dict, by either version of the protocol, or None."""
    return as_map(control.execute_command("LOCK.INFO", key))


def listed(control):
    """Returns LOCK.LIST as dicts."""
    return [as_map(lock) for lock in control.execute_command("LOCK.LIST")]


def as_map(reply):
    return dict(zip(reply[::2], reply[1::2])) if isinstance(reply, list) else reply
