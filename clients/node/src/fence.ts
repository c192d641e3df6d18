// A fence for data in SQL: a column with the highest token of the holders that have read or written a row.

import { FenceError } from './errors.js';
import * as values from './values.js';

/** The parts of SQLite's drivers that are used: node:sqlite and better-sqlite3. */
export interface SqliteDatabase {
  prepare(sql: string): { run(...args: any[]): { changes: number | bigint }; get(...args: any[]): any }; // eslint-disable-line @typescript-eslint/no-explicit-any
}

/** The part of pg that is used: a Client, a PoolClient or a Pool. */
export interface PgDatabase {
  query(sql: string, values: any[]): Promise<{ rowCount: number | null; rows: any[] }>; // eslint-disable-line @typescript-eslint/no-explicit-any
}

/** The part of mysql2/promise that is used: a Connection or a Pool. */
export interface MysqlDatabase {
  execute(sql: string, values: any[]): Promise<[any, ...any[]]>; // eslint-disable-line @typescript-eslint/no-explicit-any
}

export type Database = SqliteDatabase | PgDatabase | MysqlDatabase;

/** A row that has a fence. Names are not quoted: letters, digits and underscores, with dots between them. */
export interface FenceRow {
  table: string;
  id: string | number | bigint;
  /** The column of `id`: "id" by default. */
  idColumn?: string;
  /** The column of the fence, a BIGINT NOT NULL: "fence" by default. */
  column?: string;
}

/**
 * Raises the fence of a row to a token, before the holder reads the row. So a former holder that was paused cannot
 * write over what its successor has read, if it writes in the same transaction, or `WHERE fence = token`. The same
 * holder may do so again. Throws a FenceError if a later holder has raised it, or there is no such row.
 */
export async function fence(db: Database, table: string, id: FenceRow['id'], token: number, columns: { idColumn?: string; column?: string } = {}): Promise<void> {
  await raiseFence(db, { table, id, ...columns, token });
}

export async function raiseFence(db: Database, { table, id, idColumn = 'id', column = 'fence', token }: FenceRow & { token: number }): Promise<void> {
  for (const name of [table, idColumn, column]) {
    values.text(name, 'a name in SQL');
    if (!/^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/.test(name)) throw new TypeError(`${JSON.stringify(name)} is no name that can go into SQL unquoted`);
  }
  values.whole(token, 'a token');
  if (typeof id === 'boolean' || values.word(id, 'the id of a row') === '') throw new RangeError('the id of a row is empty');
  const sql = dialectOf(db);
  const raised = await sql.change(`UPDATE ${table} SET ${column} = ${sql.mark(1)} WHERE ${idColumn} = ${sql.mark(2)} AND ${column} <= ${sql.mark(3)}`,
    [token, id, token]);
  if (raised > 0) return;
  const found = await sql.value(`SELECT ${column} AS fence FROM ${table} WHERE ${idColumn} = ${sql.mark(1)}`, [id]);
  if (found === undefined) throw new FenceError(`there is no row ${String(id)} in ${table}`);
  if (found === BigInt(token)) return; // some drivers count only rows that have changed
  throw new FenceError(`row ${String(id)} of ${table} has the fence ${found}, which is above the token ${token}`);
}

/** Records that a worker applies an entry, in the table lockserver_entries. false: it was applied before. */
export async function recordOnce(db: Database, stream: string, worker: string, entry: string): Promise<boolean> {
  const sql = dialectOf(db);
  const into = `INTO lockserver_entries (stream, worker, entry) VALUES (${sql.mark(1)}, ${sql.mark(2)}, ${sql.mark(3)})`;
  return await sql.change(sql.isMysql ? `INSERT IGNORE ${into}` : `INSERT ${into} ON CONFLICT DO NOTHING`, [stream, worker, entry]) > 0;
}

interface Dialect {
  isMysql?: boolean;
  mark(n: number): string;
  /** Runs an UPDATE and returns how many rows it has found. */
  change(sql: string, args: unknown[]): Promise<number>;
  /** Returns the column "fence" of the first row; undefined: there is none. */
  value(sql: string, args: unknown[]): Promise<bigint | undefined>;
}

function fenceOf(row: { fence: string | number | bigint } | undefined | null): bigint | undefined {
  return row ? BigInt(row.fence) : undefined;
}

function dialectOf(db: Database): Dialect {
  if ('execute' in db && typeof db.execute === 'function') {
    return {
      isMysql: true,
      mark: () => '?',
      change: async (sql, args) => Number((await db.execute(sql, args))[0].affectedRows),
      value: async (sql, args) => fenceOf((await db.execute(sql, args))[0][0]),
    };
  }
  if ('query' in db && typeof db.query === 'function') {
    return {
      mark: (n) => `$${n}`,
      change: async (sql, args) => (await db.query(sql, args)).rowCount ?? 0,
      value: async (sql, args) => fenceOf((await db.query(sql, args)).rows[0]),
    };
  }
  if ('prepare' in db && typeof db.prepare === 'function') {
    const whole = (args: unknown[]) => args.map((arg) => (typeof arg === 'number' && Number.isSafeInteger(arg) ? BigInt(arg) : arg));
    return {
      mark: () => '?',
      change: async (sql, args) => Number(db.prepare(sql).run(...whole(args)).changes),
      value: async (sql, args) => fenceOf(db.prepare(sql).get(...whole(args))),
    };
  }
  throw new TypeError('a database of pg, mysql2/promise, node:sqlite or better-sqlite3 is needed');
}
