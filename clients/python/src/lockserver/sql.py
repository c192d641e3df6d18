"""A fence for rows of a database: a holder that was paused past its lease cannot write over what a later one has read."""

from __future__ import annotations

import re
import sys
from typing import Any, Optional

from . import errors

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?")
#: Drivers of databases that count changed rows, and not those that were found.
_MYSQL = ("pymysql", "MySQLdb", "mysql", "mariadb")


def fence(connection: Any, table: str, row: Any, token: int, *, key: str = "id", column: str = "fence") -> None:
    """Raises the fence of a row to a token. Do this in the transaction that follows, **before** reading the row.

    connection: one of a DB-API 2.0 driver (sqlite3, psycopg, PyMySQL, mariadb ...). table, key, column: the names of the
    table, of its key's column and of the fence's, which is a BIGINT with the default 0. row: the key's value.

    Raises :class:`StaleFence` if a later holder was here, LookupError if there is no such row, ValueError for a name
    that is no identifier. It does not commit.
    """
    for name in (table, key, column):
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a table or column")
    driver = type(connection).__module__.split(".")[0]
    mark = "?" if _paramstyle(driver) == "qmark" else "%s"
    cursor = connection.cursor()
    try:
        cursor.execute(f"UPDATE {table} SET {column} = {mark} WHERE {key} = {mark} AND {column} <= {mark}", (token, row, token))
        if cursor.rowcount > 0:
            return
        mysql = driver in _MYSQL
        cursor.execute(f"SELECT {column} FROM {table} WHERE {key} = {mark}" + (" FOR UPDATE" if mysql else ""), (row,))
        found: Optional[Any] = cursor.fetchone()
    finally:
        cursor.close()
    if found is None:
        raise LookupError(f"{table} has no row with {key} = {row!r}")
    stored = next(iter(found.values())) if isinstance(found, dict) else found[0]
    if not (mysql and stored == token):  # such a database does not count a row that has the token already
        raise errors.StaleFence(f"{table} {key} = {row!r}: a later holder, of token {stored}, was here; ours is {token}")


def _paramstyle(driver: str) -> str:
    module = sys.modules.get(driver)
    style = getattr(module, "paramstyle", None)
    if style is None:  # mysql.connector has it one level below
        style = getattr(sys.modules.get(f"{driver}.connector"), "paramstyle", "qmark")
    if style not in ("qmark", "format", "pyformat"):
        raise ValueError(f"the driver {driver} marks parameters in a way that is not known here: {style}")
    return str(style)
