"""redis-py's own tests of Lock, for threads and for asyncio, with ``lock_class=lockserver.Lock``.

They are those of the source distribution of the installed version, which pip fetches (REDIS_SDIST names it, if not). Not a line
of them is changed, but the import of the class. Two things are given to them that redis-py's Lock has and a native
lock does not: its key is a string with the owner's name, and it has no expiry if it has no timeout. So the clients
that the tests look with translate: GET of a lock is its owner, and TTL of one that the server renews is -1.

Their leases are as short as 0.1 s. So the server is in test mode with a clock that stands still, the package goes by the
same clock, and only the sleeps of the tests and of the package move it. A slow machine changes nothing.

Three tests of each kind are left out: they count the sleeps of a polling loop, which there is none here. What they are about,
that blocking_timeout holds, is tested below.
"""

import asyncio
import os
import pathlib
import subprocess
import sys
import tarfile
import threading
import time
from importlib.metadata import version

import pytest
import redis
import redis.asyncio

import lockserver as package
from server import PATIENCE, Server, eventually

POLLING = ["test_blocking_timeout", "test_context_manager_blocking_timeout", "test_high_sleep_small_blocking_timeout"]

CONFTEST = '''
import asyncio
import os
import sys
import time

import pytest
import pytest_asyncio
import redis
import redis.asyncio

import lockserver

PORT = int(os.environ["LOCKSERVER_PORT"])
CONTROL = redis.Redis(port=PORT)


class Time:
    """The module time, with a clock that only sleep moves, and the server's with it."""

    def __init__(self):
        self._now = time.monotonic()

    def __getattr__(self, name):
        return getattr(time, name)

    def monotonic(self):
        return self._now

    def sleep(self, seconds):
        CONTROL.execute_command("TEST.CLOCK", "ADVANCE", round(seconds * 1000))
        self._now += seconds


class Asyncio:
    """The module asyncio, with a sleep by that clock."""

    def __getattr__(self, name):
        return getattr(asyncio, name)

    async def sleep(self, seconds):
        if seconds > 0:
            CLOCK.sleep(seconds)
        await asyncio.sleep(0)


CLOCK = Time()
MODULES = {"time": CLOCK, "asyncio": Asyncio()}
REAL = {"time": time, "asyncio": asyncio}


def by_our_clock(module):
    for name, ours in MODULES.items():
        if getattr(module, name, None) is REAL[name]:
            setattr(module, name, ours)


for name, module in list(sys.modules.items()):
    if name.split(".")[0] == "lockserver":
        by_our_clock(module)


@pytest.fixture(autouse=True)
def sleeps_of_the_tests(request):
    by_our_clock(request.module)


def token_of(fields):
    owner = next(field for field in fields if field not in (b"$token", b"$watchdog", "$token", "$watchdog"))
    mark = b"=" if isinstance(owner, bytes) else "="
    return owner.partition(mark)[2] or owner


class SyncRedis(redis.Redis):
    def get(self, name):
        if self.type(name) in (b"hash", "hash"):
            return token_of(self.hkeys(name))
        return super().get(name)

    def ttl(self, name):
        if self.type(name) in (b"hash", "hash") and self.hexists(name, "$watchdog"):
            assert 0 < super().ttl(name) <= 30
            return -1
        return super().ttl(name)


class AsyncRedis(redis.asyncio.Redis):
    async def get(self, name):
        if await self.type(name) in (b"hash", "hash"):
            return token_of(await self.hkeys(name))
        return await super().get(name)

    async def ttl(self, name):
        if await self.type(name) in (b"hash", "hash") and await self.hexists(name, "$watchdog"):
            assert 0 < await super().ttl(name) <= 30
            return -1
        return await super().ttl(name)


def _get_client(cls, request, **options):
    client = SyncRedis(port=PORT, **options)
    client.flushall()
    return client
'''

SYNC = '''
@pytest.fixture
def r(request):
    client = _get_client(None, request)
    yield client
    client.flushall()
    client.close()
'''

ASYNC = '''
@pytest_asyncio.fixture
async def create_redis():
    made = []

    async def create(**options):
        made.append(AsyncRedis(port=PORT, **options))
        await made[-1].flushall()
        return made[-1]

    yield create
    for client in made:
        await client.flushall()
        await lockserver.async_locks_of(client).close()
        await client.aclose()


@pytest_asyncio.fixture
async def r(create_redis):
    return await create_redis()
'''


@pytest.fixture(scope="module")
def server():
    with Server() as s:
        yield s


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The tests of redis-py, from its source distribution."""
    folder = tmp_path_factory.mktemp("redis-py")
    archive = os.environ.get("REDIS_SDIST")
    if not archive:
        name = f"redis=={version('redis')}"
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps",
                        "--no-binary", "redis", "--no-build-isolation", "-d", str(folder), name], check=True)
        archive = str(next(folder.glob("redis-*.tar.gz")))
    with tarfile.open(archive) as tar:
        texts = {}
        for kind, end in (("threads", "/tests/test_lock.py"), ("asyncio", "/tests/test_asyncio/test_lock.py")):
            member = next(m for m in tar.getmembers() if m.name.endswith(end))
            texts[kind] = tar.extractfile(member).read().decode()
    return texts


@pytest.mark.parametrize("kind, least", [("threads", 25), ("asyncio", 20)])
def test_redis_pys_own_tests(kind, least, source, lockserver, clock, tmp_path):
    text = source[kind]
    for old in ("from redis.lock import Lock", "from redis.asyncio.lock import Lock"):
        text = text.replace(old, "from lockserver import Lock")
    assert "from lockserver import Lock" in text
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "conftest.py").write_text(CONFTEST + (SYNC if kind == "threads" else ASYNC))
    (folder / "test_lock.py").write_text(text)

    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-o", "asyncio_mode=auto", "-p", "no:cacheprovider", "--rootdir", str(folder),
         "-k", " and ".join(f"not {name}" for name in POLLING), str(folder)],
        env={**os.environ, "LOCKSERVER_PORT": str(lockserver.port)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        universal_newlines=True, timeout=4 * PATIENCE)
    assert result.returncode == 0, result.stdout
    passed = int(result.stdout.rsplit(" passed", 1)[0].rsplit(None, 1)[-1])
    assert passed >= least and " failed" not in result.stdout


@pytest.fixture
def r(server):
    client = redis.Redis(port=server.port)
    client.flushall()
    yield client
    package.locks_of(client).close()
    client.close()


def test_blocking_timeout(r):
    held = r.lock("foo", lock_class=package.Lock)
    assert held.acquire(blocking=False)
    other = r.lock("foo", blocking_timeout=0.1, lock_class=package.Lock)
    began = time.monotonic()
    assert not other.acquire()
    assert time.monotonic() - began > 0.09  # the server counts in milliseconds
    held.release()
    assert other.acquire()
    other.release()


def test_locks_of_redis_py_and_these_keep_each_other_out(r):
    old, new = r.lock("foo"), r.lock("foo", sleep=0.01, blocking_timeout=PATIENCE, lock_class=package.Lock)
    assert old.acquire()
    assert not new.acquire(blocking=False)
    box = []
    thread = threading.Thread(target=lambda: box.append(new.acquire()))
    thread.start()
    old.release()
    thread.join(PATIENCE)
    assert box == [True]
    assert not old.acquire(blocking=False)


def test_another_process_releases_by_the_token(r, server):
    lock = r.lock("foo", lock_class=package.Lock)
    assert lock.acquire(token="job-17")
    info = r.execute_command("LOCK.INFO", "foo")
    info = info if isinstance(info, dict) else dict(zip(info[::2], info[1::2]))
    assert info[b"owner"].startswith(b"redis-lock:") and info[b"owner"].endswith(b"=job-17") and info[b"attached"]
    with redis.Redis(port=server.port) as elsewhere:
        other = elsewhere.lock("foo", lock_class=package.Lock)
        other.local.token = b"job-17"
        assert other.owned() and other.locked()
        other.release()
        assert not other.locked()
        package.locks_of(elsewhere).close()
    with pytest.raises(redis.exceptions.LockNotOwnedError):
        lock.release()


HOLDER = """
import sys
import redis
import lockserver

lock = redis.Redis(port=int(sys.argv[1])).lock("foo", lock_class=lockserver.Lock)
print(lock.acquire(blocking=False, token="job-17"), flush=True)
sys.stdin.read()
"""


def test_callers_token(r, server, lockserver_processes):
    """Two processes, and two Lock objects of one, take a lock with the same token: one has it. Any process may release it."""
    first, second = lockserver_processes(HOLDER, server.port), lockserver_processes(HOLDER, server.port)
    assert sorted([first.stdout.readline().strip(), second.stdout.readline().strip()]) == ["False", "True"]
    lock = r.lock("foo", lock_class=package.Lock)
    assert not lock.acquire(blocking=False, token="job-17")
    lock.local.token = b"job-17"
    assert lock.owned()
    lock.release()
    assert not lock.locked() and lock.acquire(blocking=False, token="job-17")
    assert not r.lock("foo", lock_class=package.Lock).acquire(blocking=False, token="job-17")
    assert r.lock("bar", lock_class=package.Lock).acquire(blocking=False, token="job-17"), "a token is for any number of locks"
    assert lock.owned()
    lock.release()
    r.delete("bar")


def test_callers_token_in_asyncio(server):
    async def play():
        async with redis.asyncio.Redis(port=server.port) as one, redis.asyncio.Redis(port=server.port) as two:
            lock, other = one.lock("foo", lock_class=package.Lock), two.lock("foo", lock_class=package.Lock)
            assert await lock.acquire(blocking=False, token="job-17")
            assert not await other.acquire(blocking=False, token="job-17")
            other.local.token = b"job-17"
            assert await other.owned()
            await other.release()
            assert not await lock.owned()

    asyncio.run(play())


@pytest.fixture
def lockserver_processes():
    """Starts programs in Python, which end when their input does."""
    started = []

    def start(program, *args):
        process = subprocess.Popen([sys.executable, "-c", program, *map(str, args)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, universal_newlines=True)
        started.append(process)
        return process

    yield start
    for process in started:
        process.stdin.close()
        process.wait(PATIENCE)
        process.stdout.close()


def test_a_lock_that_was_not_released_takes_no_memory(r, server):
    """Leases that have ended, and locks that were taken away, leave nothing behind."""
    for number in range(50):
        assert r.lock(f"foo{number}", timeout=0.2, lock_class=package.Lock).acquire()
    forced = r.lock("forced", lock_class=package.Lock)
    assert forced.acquire()
    r.execute_command("LOCK.FORCE", "forced")
    claims = package.compat._Claims.of(package.locks_of(r))
    eventually(lambda: len(claims) == 0, "all of them are forgotten")

    async def play():
        async with redis.asyncio.Redis(port=server.port) as client:
            for number in range(50):
                assert await client.lock(f"foo{number}", timeout=0.2, lock_class=package.Lock).acquire()
            claims = package.compat._Claims.of(package.async_locks_of(client))
            while len(claims):
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(play(), PATIENCE))


def connections(control):
    """The connections of the package."""
    return [client for client in control.client_list() if client["name"].startswith("redis-lock")]


def test_a_closed_client_has_no_connections(server):
    """They end with close and aclose. A lock with a timeout stays until that, as with redis-py; one without ends."""
    control = redis.Redis(port=server.port)
    with redis.Redis(port=server.port) as client:
        assert client.lock("stays", timeout=60, lock_class=package.Lock).acquire()
        assert client.lock("ends", lock_class=package.Lock).acquire()
        assert connections(control)
    eventually(lambda: not connections(control), "the connections end")
    assert control.exists("stays") == 1 and control.exists("ends") == 0
    control.delete("stays")

    async def play():
        async with redis.asyncio.Redis(port=server.port) as client:
            assert await client.lock("stays", timeout=60, lock_class=package.Lock).acquire()
            assert await client.lock("ends", lock_class=package.Lock).acquire()
            assert connections(control)

    asyncio.run(play())
    eventually(lambda: not connections(control), "the connections end")
    assert control.exists("stays") == 1 and control.exists("ends") == 0
    control.close()


def test_no_polling(r):
    """A waiter that sleeps for an hour between two looks has the lock at once."""
    held = r.lock("foo", lock_class=package.Lock)
    assert held.acquire()
    other = r.lock("foo", sleep=3600, thread_local=False, lock_class=package.Lock)
    thread = threading.Thread(target=other.acquire)
    thread.start()
    eventually(lambda: r.info("locks")["lock_waiters_notify"] == 1, "it waits")
    held.release()
    thread.join(PATIENCE)
    assert other.owned()
    other.release()
