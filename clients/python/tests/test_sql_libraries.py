"""The fence on the connections of Django, SQLAlchemy and asynchronous drivers.

It is on SQLite always, and with DATABASES=all on PostgreSQL and MariaDB (make clients-python-sql).
"""

import asyncio
import contextlib

import django
import pytest
import sqlalchemy
import sqlalchemy.ext.asyncio
import sqlalchemy.orm

import lockserver as package
from server import PATIENCE
from test_sql import DATABASES, ENTRIES, HIGH, LOW, TABLE


@pytest.fixture(scope="module")
def started(all_places):
    from django.conf import settings
    settings.configure(DATABASES={"default": {}, **{name: place.django for name, place in all_places.items()}}, USE_TZ=True)
    django.setup()
    return all_places


@pytest.fixture(params=[database.__name__ for database in DATABASES])
def place(request, started):
    """A database with two prices."""
    place = started[request.param]
    entries = ENTRIES.format("VARBINARY" if place.name == "mariadb" else "VARCHAR")
    drop = ["DROP TABLE IF EXISTS prices", "DROP TABLE IF EXISTS lockserver_entries"]
    place.run(*drop, TABLE, entries, "INSERT INTO prices (id, price) VALUES (1, 100), (2, 100)")
    yield place
    place.run(*drop)


def bytes_of(entry):
    """MariaDB gives binary columns as bytes."""
    return entry if isinstance(entry, bytes) else entry.encode()


def play(connection):
    """What a fence and an entry do on every connection, inside of a transaction."""
    package.fence(connection, "prices", 1, LOW)
    package.fence(connection, "prices", 1, LOW)
    package.fence(connection, "prices", 1, HIGH)
    with pytest.raises(package.StaleFence, match=str(HIGH)):
        package.fence(connection, "prices", 1, LOW)
    with pytest.raises(LookupError):
        package.fence(connection, "prices", 3, LOW)
    entry = package.Entry("orders", "billing", "1-0", {}, 1)
    assert entry.once(connection) and not entry.once(connection)


async def play_async(connection):
    await package.async_fence(connection, "prices", 1, LOW)
    await package.async_fence(connection, "prices", 1, LOW)
    await package.async_fence(connection, "prices", 1, HIGH)
    with pytest.raises(package.StaleFence, match=str(HIGH)):
        await package.async_fence(connection, "prices", 1, LOW)
    with pytest.raises(LookupError):
        await package.async_fence(connection, "prices", 3, LOW)
    entry = package.AsyncEntry("orders", "billing", "1-0", {}, 1)
    assert await entry.once(connection) and not await entry.once(connection)
    with pytest.raises(TypeError, match="async_fence"):
        package.fence(connection, "prices", 1, HIGH)


def played(place):
    """Asserts that all of play was committed."""
    assert place.fences == [HIGH, 0] and list(map(bytes_of, place.entries)) == [b"1-0"]


def refused(connection, how):
    """A connection that commits each statement is refused, and nothing was sent."""
    for call in (lambda: package.fence(connection, "prices", 2, HIGH), lambda: package.Entry("orders", "billing", "2-0", {}, 1).once(connection)):
        with pytest.raises(package.Error, match="outside of a transaction .*" + how):
            call()


def test_sqlalchemy_without_a_transaction(place):
    engine = sqlalchemy.create_engine(place.url)
    by_itself = engine.execution_options(isolation_level="AUTOCOMMIT")
    with by_itself.connect() as connection:
        refused(connection, "AUTOCOMMIT")
        if place.name != "sqlite":  # SQLAlchemy has a way of its own with SQLite
            refused(connection.connection, "transaction|autocommit")
    with sqlalchemy.orm.Session(by_itself) as session:
        refused(session, "AUTOCOMMIT")
    with engine.connect() as connection:
        play(connection)
    engine.dispose()
    assert place.fences == [0, 0] and place.entries == []


def test_drivers_without_a_transaction(place):
    with contextlib.closing(place.connect()) as connection:
        begin = connection.cursor()
        if place.name == "sqlite":
            connection.isolation_level = None
        elif place.name == "postgres":
            connection.autocommit = True
        else:
            connection.autocommit(True)
        refused(connection, "transaction|autocommit")
        begin.execute("BEGIN")
        play(connection)
        connection.commit()
        played(place)
        refused(connection, "transaction|autocommit")
    played(place)


def test_sqlalchemy(place):
    engine = sqlalchemy.create_engine(place.url)
    with engine.connect() as connection:  # what is not committed is gone
        play(connection)
        connection.rollback()
    assert place.fences == [0, 0] and place.entries == []
    with engine.begin() as connection:
        play(connection)
    played(place)
    with sqlalchemy.orm.Session(engine) as session:
        package.fence(session, "prices", 2, LOW)
        session.commit()
    assert place.fences == [HIGH, LOW]
    with engine.begin() as connection:
        package.fence(connection.connection, "prices", 2, HIGH)
        with pytest.raises(package.StaleFence):
            package.fence(connection.connection, "prices", 2, LOW)
    assert place.fences == [HIGH, HIGH]
    raw = engine.raw_connection()
    package.fence(raw, "prices", 2, HIGH + 1)
    raw.commit()
    raw.close()
    assert place.fences == [HIGH, HIGH + 1]
    engine.dispose()


def test_sqlalchemy_in_asyncio(place):
    aio = sqlalchemy.ext.asyncio

    async def trial(url):
        engine = aio.create_async_engine(url)
        async with engine.connect() as connection:
            await play_async(connection)
            await connection.rollback()
        assert place.fences == [0, 0] and place.entries == []
        async with aio.AsyncSession(engine) as session:
            await package.async_fence(session, "prices", 2, LOW)
            await session.commit()
        assert place.fences == [0, LOW]
        async with aio.AsyncSession(engine) as session, session.begin():
            await package.async_fence(session, "prices", 2, LOW)
            await play_async(session)
        assert place.fences == [HIGH, LOW] and list(map(bytes_of, place.entries)) == [b"1-0"]
        await engine.dispose()

    for url in place.asynchronous:
        place.run("UPDATE prices SET fence = 0", "DELETE FROM lockserver_entries")
        asyncio.run(asyncio.wait_for(trial(url), PATIENCE))


def test_django(place):
    from django.db import connections, transaction
    connection = connections[place.name]
    with pytest.raises(KeyError), transaction.atomic(place.name):  # what is rolled back is gone
        play(connection)
        raise KeyError
    assert place.fences == [0, 0] and place.entries == []
    with transaction.atomic(place.name):
        play(connection)
    played(place)
    refused(connection, "atomic")
    played(place)
    connection.close()


def test_django_in_asyncio(place):
    """Django's transactions are for one thread, in which asgiref runs the whole of it."""
    from asgiref.sync import sync_to_async
    from django.db import connections, transaction

    def pay():
        with transaction.atomic(place.name):
            play(connections[place.name])
        connections.close_all()

    asyncio.run(asyncio.wait_for(sync_to_async(pay)(), PATIENCE))
    played(place)


@contextlib.asynccontextmanager
async def asyncpg_connection(place):
    import asyncpg
    connection = await asyncpg.connect(host=place.connect.folder, user="postgres", database="postgres")
    try:
        yield connection
    finally:
        await connection.close()


@contextlib.asynccontextmanager
async def asyncpg_pool(place):
    import asyncpg
    async with asyncpg.create_pool(host=place.connect.folder, user="postgres", database="postgres", min_size=1) as pool:
        async with pool.acquire() as connection:
            yield connection


@contextlib.asynccontextmanager
async def psycopg_connection(place):
    import psycopg
    async with await psycopg.AsyncConnection.connect(place.connect.url) as connection:
        yield connection


@contextlib.asynccontextmanager
async def aiomysql_connection(place):
    import aiomysql
    connection = await aiomysql.connect(unix_socket=f"{place.connect.folder}/socket", user="root", db="mysql")
    try:
        yield connection
    finally:
        connection.close()


@contextlib.asynccontextmanager
async def asyncmy_connection(place):
    import asyncmy
    async with asyncmy.connect(unix_socket=f"{place.connect.folder}/socket", user="root", db="mysql") as connection:
        yield connection


@contextlib.asynccontextmanager
async def aiosqlite_connection(place, **options):
    import aiosqlite
    async with aiosqlite.connect(place.django["NAME"], **options) as connection:
        yield connection


#: The asynchronous drivers of each database.
DRIVERS = {"sqlite": [aiosqlite_connection], "postgres": [asyncpg_connection, asyncpg_pool, psycopg_connection], "mariadb": [aiomysql_connection, asyncmy_connection]}


@contextlib.asynccontextmanager
async def transaction_of(connection):
    """A transaction: asyncpg is told when one begins, and with others it ends with commit."""
    if hasattr(connection, "transaction"):
        async with connection.transaction():
            yield
    else:
        yield
        await connection.commit()


async def commits_by_itself(connection):
    """Has a connection commit each statement, as asyncpg's do."""
    if type(connection).__module__.startswith("psycopg"):
        await connection.set_autocommit(True)
    elif hasattr(connection, "autocommit"):
        await connection.autocommit(True)


def test_asynchronous_drivers_without_a_transaction(place):
    async def trial(driver):
        options = {"isolation_level": None} if driver is aiosqlite_connection else {}
        async with driver(place, **options) as connection:
            await commits_by_itself(connection)
            with pytest.raises(package.Error, match="outside of a transaction"):
                await package.async_fence(connection, "prices", 1, HIGH)
            with pytest.raises(package.Error, match="outside of a transaction"):
                await package.AsyncEntry("orders", "billing", "1-0", {}, 1).once(connection)

    for driver in DRIVERS[place.name]:
        asyncio.run(asyncio.wait_for(trial(driver), PATIENCE))
    assert place.fences == [0, 0] and place.entries == []


def test_asynchronous_drivers(place):
    async def trial(driver):
        async with driver(place) as connection:
            async with transaction_of(connection):
                await play_async(connection)
        played(place)
        with contextlib.closing(place.connect()) as connection, pytest.raises(TypeError, match="no asynchronous"):
            await package.async_fence(connection, "prices", 1, HIGH)

    for driver in DRIVERS[place.name]:
        place.run("UPDATE prices SET fence = 0", "DELETE FROM lockserver_entries")
        asyncio.run(asyncio.wait_for(trial(driver), PATIENCE))
