"""A fence for rows of a database: a holder that was paused past its lease cannot write over what a later one has read."""

from __future__ import annotations

import inspect
import re
import sys
from typing import Any, Callable, Generator, Tuple, TypeVar, cast

from . import errors

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?")
#: Drivers of databases that count changed rows, and not those that were found.
_ASYNC_MYSQL = ("aiomysql", "asyncmy")
_MYSQL = ("pymysql", "MySQLdb", "mysql", "mariadb", *_ASYNC_MYSQL)
#: Stands for a parameter, which drivers mark in their own ways.
_MARK = "\0"

T = TypeVar("T")
#: Statements with their parameters. It is sent the number of changed rows, or the first row of a SELECT.
Plan = Generator[Tuple[str, Tuple[Any, ...]], Any, T]


def fence(connection: Any, table: str, row: Any, token: int, *, key: str = "id", column: str = "fence") -> None:
    """Raises the fence of a row to a token. Do this in the transaction that follows, **before** reading the row.

    connection: one of a DB-API 2.0 driver (sqlite3, psycopg, PyMySQL, mariadb ...), Django's ``connection``, SQLAlchemy's
    ``Connection`` or ``Session``, or its ``conn.connection``. table, key, column: the names of the table, of its key's column
    and of the fence's, which is a BIGINT with the default 0. row: the key's value.

    Raises :class:`StaleFence` if a later holder was here, LookupError if there is no such row, ValueError for a name
    that is no identifier and for several rows with this key, TypeError for an asynchronous connection
    (:func:`async_fence`), and :class:`Error` for a connection that commits each statement by itself: Django's outside of
    ``transaction.atomic()``, and those of drivers and SQLAlchemy with autocommit. It does not commit; after an error roll back.
    """
    carry_out(connection, lambda mysql: _fence(table, row, token, key, column, mysql), "lockserver.async_fence")


async def async_fence(connection: Any, table: str, row: Any, token: int, *, key: str = "id", column: str = "fence") -> None:
    """:func:`fence` for an asynchronous connection: psycopg's ``AsyncConnection``, one of asyncpg, aiosqlite, aiomysql or asyncmy,
    or SQLAlchemy's ``AsyncConnection`` or ``AsyncSession``. With asyncpg it is inside of ``async with connection.transaction()``."""
    await carry_out_async(connection, lambda mysql: _fence(table, row, token, key, column, mysql))


def carry_out(connection: Any, plan_for: Callable[[bool], Plan[T]], instead: str) -> T:
    """Carries out a plan on a connection. plan_for: is told whether it is MySQL or MariaDB. instead: for asynchronous ones."""
    connection = _unwrapped(connection)
    if _is_async(connection):
        raise TypeError(f"an asynchronous connection: await {instead}(...)")
    _check_transaction(connection)
    plan = plan_for(_is_mysql(connection))
    run = _of_alchemy if _is_alchemy(connection) else _of_driver(connection)
    try:
        sql, values = next(plan)
        while True:
            sql, values = plan.send(run(connection, sql, values))
    except StopIteration as end:
        return cast(T, end.value)


async def carry_out_async(connection: Any, plan_for: Callable[[bool], Plan[T]]) -> T:
    """As carry_out, on an asynchronous connection."""
    connection = _unwrapped(connection)
    if not _is_async(connection):
        raise TypeError(f"no asynchronous connection: {connection!r}")
    _check_transaction(connection)
    plan = plan_for(_is_mysql(connection))
    try:
        sql, values = next(plan)
        while True:
            sql, values = plan.send(await _of_async(connection, sql, values))
    except StopIteration as end:
        return cast(T, end.value)


def once(stream: str, worker: str, entry: str, mysql: bool) -> Plan[bool]:
    """Records that a worker applies an entry, in the table lockserver_entries. False: it was applied before.

    Raises ValueError for a name that the table has no room for, before anything is sent.
    """
    names = (stream, worker, entry)
    for what, name, most in zip(("stream", "group", "entry"), names, (255, 255, 64)):
        size = len(name.encode(errors="surrogateescape"))
        if size > most:
            raise ValueError(f"the name of the {what} has {size} bytes, and lockserver_entries takes {most} at most")
    values = f"INTO lockserver_entries (stream, worker, entry) VALUES ({_MARK}, {_MARK}, {_MARK})"
    if not mysql:
        return bool((yield f"INSERT {values} ON CONFLICT (stream, worker, entry) DO NOTHING", names) > 0)
    if (yield f"INSERT IGNORE {values}", names) > 0:
        return True
    # IGNORE also hides other errors, and a column may take two names for one. Only this very row says that it was applied.
    # The read locks the row, for another one would see the transaction's snapshot, which may be older than the row.
    columns = ("stream", "worker", "entry")
    is_it = " AND ".join([f"{column} = {_MARK}" for column in columns]
                         + [f"CAST({column} AS BINARY) = CAST({_MARK} AS BINARY)" for column in columns])
    if (yield f"SELECT entry FROM lockserver_entries WHERE {is_it} LOCK IN SHARE MODE", names + names) is None:
        raise errors.Error(f"lockserver_entries did not record entry {entry} of {stream!r} for {worker!r}: its columns must be"
                           " VARBINARY(255), VARBINARY(255) and VARBINARY(64), and its key all three")
    return False


def _fence(table: str, row: Any, token: int, key: str, column: str, mysql: bool) -> Plan[None]:
    for name in (table, key, column):
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a table or column")
    changed = yield (f"UPDATE {table} SET {column} = {_MARK} WHERE {key} = {_MARK} AND {column} <= {_MARK}", (token, row, token))
    if changed > 1:
        raise ValueError(f"{key} is no key of {table}: {changed} rows have {key} = {row!r}")
    if changed == 1:
        return
    found = yield (f"SELECT {column} FROM {table} WHERE {key} = {_MARK}" + (" FOR UPDATE" if mysql else ""), (row,))
    if found is None:
        raise LookupError(f"{table} has no row with {key} = {row!r}")
    stored = next(iter(found.values())) if isinstance(found, dict) else found[0]
    if not (mysql and stored == token):  # such a database does not count a row that has the token already
        raise errors.StaleFence(f"{table} {key} = {row!r}: a later holder, of token {stored}, was here; ours is {token}")


def _module(connection: Any) -> str:
    return type(connection).__module__.split(".")[0]


def _unwrapped(connection: Any) -> Any:
    """Returns the driver's connection of SQLAlchemy's ``conn.connection``, and others as they are."""
    if _module(connection) == "sqlalchemy" and not hasattr(type(connection), "execute"):
        return getattr(connection, "dbapi_connection", None) or connection
    return connection


def _is_alchemy(connection: Any) -> bool:
    return _module(connection) in ("sqlalchemy", "sqlmodel")


def _is_async(connection: Any) -> bool:
    if _module(connection) in ("aiosqlite", "asyncpg", *_ASYNC_MYSQL):
        return True
    return inspect.iscoroutinefunction(getattr(type(connection), "execute", None))


def _is_mysql(connection: Any) -> bool:
    if _is_alchemy(connection):
        dialect = getattr(connection, "dialect", None) or connection.get_bind().dialect
        return dialect.name in ("mysql", "mariadb")
    return _module(connection) in _MYSQL or _is_django(connection) and connection.vendor == "mysql"


def _is_django(connection: Any) -> bool:
    return hasattr(connection, "vendor") and hasattr(connection, "in_atomic_block")


def _check_transaction(connection: Any) -> None:
    """Raises Error if the connection commits each statement by itself, as far as that can be known."""
    how = None
    if _is_django(connection):
        if not connection.in_atomic_block and connection.get_autocommit():
            how = "use transaction.atomic()"
    elif _is_alchemy(connection):
        if _alchemy_commits(connection):
            how = "the isolation level is AUTOCOMMIT"
    elif _driver_commits(connection):
        how = "use connection.transaction()" if _module(connection) in ("asyncpg", "psycopg") else "the connection has autocommit"
    if how is not None:
        raise errors.Error(f"outside of a transaction a fence, or an entry, protects nothing: {how}")


def _driver_commits(connection: Any) -> bool:
    """Reports whether a driver commits the next statement by itself."""
    driver = _module(connection)
    if driver == "asyncpg":
        return not connection.is_in_transaction()
    if driver == "psycopg":
        return bool(connection.autocommit and connection.info.transaction_status == 0)  # IDLE
    if driver in ("sqlite3", "aiosqlite"):
        own = getattr(connection, "autocommit", -1)  # of Python 3.12 and later; -1: isolation_level decides
        return not connection.in_transaction and (own is True or own == -1 and connection.isolation_level is None)
    if driver in ("pymysql", *_ASYNC_MYSQL):
        return bool(connection.get_autocommit() and not connection.server_status & 1)  # SERVER_STATUS_IN_TRANS
    return False


def _alchemy_commits(connection: Any) -> bool:
    """Reports whether SQLAlchemy was told AUTOCOMMIT."""
    told = getattr(connection, "sync_connection", None) or connection
    if hasattr(told, "get_bind"):  # a session
        told = told.get_bind()
    options: Any = told.get_execution_options() if hasattr(told, "get_execution_options") else {}
    return bool(options.get("isolation_level") == "AUTOCOMMIT")


def _of_driver(connection: Any) -> Callable[[Any, str, Tuple[Any, ...]], Any]:
    """Returns what runs a statement on a connection of a driver, or of Django."""
    mark = "?" if not _is_django(connection) and _paramstyle(_module(connection)) == "qmark" else "%s"

    def run(connection: Any, sql: str, values: Tuple[Any, ...]) -> Any:
        cursor = connection.cursor()
        try:
            cursor.execute(sql.replace(_MARK, mark), values)
            return cursor.fetchone() if sql.startswith("SELECT") else cursor.rowcount
        finally:
            cursor.close()

    return run


def _named(sql: str, values: Tuple[Any, ...]) -> Tuple[Any, Any]:
    """Returns a statement and its parameters as SQLAlchemy has them."""
    import sqlalchemy
    names = [f"p{number}" for number in range(len(values))]
    for name in names:
        sql = sql.replace(_MARK, ":" + name, 1)
    return sqlalchemy.text(sql), dict(zip(names, values))


def _of_alchemy(connection: Any, sql: str, values: Tuple[Any, ...]) -> Any:
    result = connection.execute(*_named(sql, values))
    return result.fetchone() if sql.startswith("SELECT") else result.rowcount


async def _of_async(connection: Any, sql: str, values: Tuple[Any, ...]) -> Any:
    change = not sql.startswith("SELECT")
    if _is_alchemy(connection):
        result = await connection.execute(*_named(sql, values))
        return result.rowcount if change else result.fetchone()
    if _module(connection) == "asyncpg":
        for number in range(len(values)):
            sql = sql.replace(_MARK, f"${number + 1}", 1)
        if change:
            return int((await connection.execute(sql, *values)).split()[-1])
        return await connection.fetchrow(sql, *values)
    if _module(connection) in _ASYNC_MYSQL:
        async with connection.cursor() as cursor:
            await cursor.execute(sql.replace(_MARK, "%s"), values)
            return cursor.rowcount if change else await cursor.fetchone()
    mark = "?" if _module(connection) == "aiosqlite" else "%s"
    cursor = await connection.execute(sql.replace(_MARK, mark), values)
    try:
        return cursor.rowcount if change else await cursor.fetchone()
    finally:
        await cursor.close()


def _paramstyle(driver: str) -> str:
    module = sys.modules.get(driver)
    style = getattr(module, "paramstyle", None)
    if style is None:  # mysql.connector has it one level below
        style = getattr(sys.modules.get(f"{driver}.connector"), "paramstyle", "qmark")
    if style not in ("qmark", "format", "pyformat"):
        raise ValueError(f"the driver {driver} marks parameters in a way that is not known here: {style}")
    return str(style)
