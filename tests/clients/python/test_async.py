"""redis.asyncio: the same library without threads."""

import asyncio

import pytest
import redis.asyncio
from redis.exceptions import LockError, LockNotOwnedError, WatchError

from server import PATIENCE


@pytest.fixture
def play(server, protocol):
    """Runs a coroutine function with a client, whose server is empty."""
    def run(story):
        async def main():
            async with redis.asyncio.Redis(port=server.port, protocol=protocol, decode_responses=True,
                                           socket_timeout=PATIENCE, max_connections=300) as r:
                await r.flushall()
                await asyncio.wait_for(story(r), 2 * PATIENCE)

        asyncio.run(main())

    return run


def test_commands_and_pipelines(play):
    async def story(r):
        assert await r.set("k", "v") and await r.get("k") == "v"
        await asyncio.gather(*(r.incr("n") for _ in range(200)))
        assert await r.get("n") == "200"
        async with r.pipeline(transaction=True) as p:
            assert await p.set("a", 1).incr("a").hset("h", "f", "v").execute() == [True, 2, 1]
        async with r.pipeline() as p:
            await p.watch("a")
            await r.incr("a")
            p.multi()
            p.set("a", 0)
            with pytest.raises(WatchError):
                await p.execute()
        assert {k async for k in r.scan_iter(count=1)} == {"k", "n", "a", "h"}
        script = r.register_script("return redis.call('incrby', KEYS[1], ARGV[1])")
        assert await script(keys=["n"], args=[5]) == 205

    play(story)


def test_pubsub_and_blocking(play):
    async def story(r):
        async with r.pubsub() as p:
            await p.subscribe("news")
            assert (await p.get_message(timeout=PATIENCE))["type"] == "subscribe"
            popped = asyncio.create_task(r.blpop("q", timeout=PATIENCE))
            read = asyncio.create_task(r.xread({"s": "0"}, block=PATIENCE * 1000))
            while (await r.info("clients"))["blocked_clients"] < 2:
                pass
            assert await r.publish("news", "hello") == 1
            assert (await p.get_message(timeout=PATIENCE))["data"] == "hello"
            await r.rpush("q", "x")
            id_ = await r.xadd("s", {"k": "v"})
            assert list(await popped) == ["q", "x"]
            assert id_ in str(await read)

    play(story)


def test_lock(play):
    async def story(r):
        inside = []

        async def work():
            for _ in range(5):
                async with r.lock("door", timeout=60, sleep=0.002):
                    inside.append(1)
                    assert len(inside) == 1
                    await asyncio.sleep(0)
                    inside.pop()

        await asyncio.gather(*(work() for _ in range(6)))
        lock = r.lock("door", timeout=10, thread_local=False)
        assert await lock.acquire()
        assert not await r.lock("door").acquire(blocking=False)
        assert not await r.lock("door", sleep=0.005).acquire(blocking_timeout=0.05)
        assert await lock.extend(30) and await r.pttl("door") > 35_000
        assert await lock.reacquire() and await r.pttl("door") <= 10_000
        assert await lock.owned() and await lock.locked()
        await r.set("door", "somebody else")
        with pytest.raises(LockNotOwnedError):
            await lock.release()
        with pytest.raises(LockError):
            await lock.release()
        assert await r.get("door") == "somebody else"

    play(story)
