"""The fence on the connections of Django, SQLAlchemy and asynchronous drivers. Those on PostgreSQL run with DATABASES=all."""

import asyncio
import sqlite3

import pytest

import lockserver as package
from server import PATIENCE

LOW, HIGH = 1795226281904471, 1795226281904472
TABLE = "CREATE TABLE prices (id INTEGER PRIMARY KEY, price INTEGER NOT NULL, fence BIGINT NOT NULL DEFAULT 0)"


@pytest.fixture
def path(tmp_path):
    name = str(tmp_path / "db")
    with sqlite3.connect(name) as c:
        c.execute(TABLE)
        c.execute("INSERT INTO prices (id, price) VALUES (1, 100), (2, 100)")
    return name


def fences(path):
    with sqlite3.connect(path) as c:
        return [fence for fence, in c.execute("SELECT fence FROM prices ORDER BY id")]


def play(fence):
    """What a fence does on every connection."""
    fence(1, LOW)
    fence(1, LOW)
    fence(1, HIGH)
    with pytest.raises(package.StaleFence, match=str(HIGH)):
        fence(1, LOW)
    with pytest.raises(LookupError):
        fence(3, LOW)


async def play_async(fence):
    await fence(1, LOW)
    await fence(1, LOW)
    await fence(1, HIGH)
    with pytest.raises(package.StaleFence, match=str(HIGH)):
        await fence(1, LOW)
    with pytest.raises(LookupError):
        await fence(3, LOW)


def test_sqlalchemy(path):
    sqlalchemy = pytest.importorskip("sqlalchemy")
    orm = pytest.importorskip("sqlalchemy.orm")
    engine = sqlalchemy.create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        play(lambda row, token: package.fence(connection, "prices", row, token))
    assert fences(path) == [HIGH, 0]
    with engine.connect() as connection:  # the transaction of the connection: what it did not commit is gone
        package.fence(connection, "prices", 2, HIGH)
        connection.rollback()
    assert fences(path) == [HIGH, 0]
    with orm.Session(engine) as session:
        package.fence(session, "prices", 2, LOW)
        session.commit()
    assert fences(path) == [HIGH, LOW]
    with engine.begin() as connection:
        package.fence(connection.connection, "prices", 2, HIGH)
        with pytest.raises(package.StaleFence):
            package.fence(connection.connection, "prices", 2, LOW)
    assert fences(path) == [HIGH, HIGH]
    raw = engine.raw_connection()
    package.fence(raw, "prices", 2, HIGH + 1)
    raw.commit()
    raw.close()
    assert fences(path) == [HIGH, HIGH + 1]
    engine.dispose()


def test_sqlalchemy_in_asyncio(path):
    aio = pytest.importorskip("sqlalchemy.ext.asyncio")
    pytest.importorskip("aiosqlite")
    pytest.importorskip("greenlet")

    async def trial():
        engine = aio.create_async_engine(f"sqlite+aiosqlite:///{path}")
        async with engine.begin() as connection:
            await play_async(lambda row, token: package.async_fence(connection, "prices", row, token))
            with pytest.raises(TypeError, match="async_fence"):
                package.fence(connection, "prices", 1, HIGH)
        async with aio.AsyncSession(engine) as session:
            await package.async_fence(session, "prices", 2, LOW)
            await session.commit()
        await engine.dispose()

    asyncio.run(asyncio.wait_for(trial(), PATIENCE))
    assert fences(path) == [HIGH, LOW]


def test_aiosqlite(path):
    aiosqlite = pytest.importorskip("aiosqlite")

    async def trial():
        async with aiosqlite.connect(path) as connection:
            await play_async(lambda row, token: package.async_fence(connection, "prices", row, token))
            await connection.commit()
            with pytest.raises(TypeError, match="async_fence"):
                package.fence(connection, "prices", 1, HIGH)
        with pytest.raises(TypeError, match="no asynchronous"), sqlite3.connect(path) as connection:
            await package.async_fence(connection, "prices", 1, HIGH)

    asyncio.run(asyncio.wait_for(trial(), PATIENCE))
    assert fences(path) == [HIGH, 0]


def test_django(path):
    django = pytest.importorskip("django")
    from django.conf import settings
    if not settings.configured:
        settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": path}}, USE_TZ=True)
        django.setup()
    from django.db import connection, connections, transaction
    with transaction.atomic():
        play(lambda row, token: package.fence(connection, "prices", row, token))
    assert fences(path) == [HIGH, 0]
    with transaction.atomic():
        package.fence(connections["default"], "prices", 2, LOW)
    with pytest.raises(package.Error, match="atomic"):
        package.fence(connection, "prices", 2, HIGH)
    assert fences(path) == [HIGH, LOW]
    connection.close()


def test_asynchronous_psycopg(path):
    import os
    psycopg = pytest.importorskip("psycopg")
    if os.environ.get("DATABASES") != "all":
        pytest.skip("DATABASES=all starts PostgreSQL")
    import databases

    async def trial(info):
        async with await psycopg.AsyncConnection.connect(info) as connection:
            await connection.execute("DROP TABLE IF EXISTS prices")
            await connection.execute(TABLE)
            await connection.execute("INSERT INTO prices (id, price) VALUES (1, 100), (2, 100)")
            await play_async(lambda row, token: package.async_fence(connection, "prices", row, token))
            await connection.execute("DROP TABLE prices")

    with databases.postgres() as connect:
        with connect() as connection:
            info = connection.info.dsn
        asyncio.run(asyncio.wait_for(trial(info), PATIENCE))
