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

/** The part of postgres (postgres.js) that is used: `sql`, or the one of `sql.begin`. */
export interface PostgresDatabase {
  unsafe(sql: string, values: any[]): PromiseLike<ReadonlyArray<any> & { count: number }>; // eslint-disable-line @typescript-eslint/no-explicit-any
}

/** The part of mysql2 that is used: a Connection or a Pool of mysql2 or mysql2/promise. */
export interface MysqlDatabase {
  execute(sql: string, values: any[]): Promise<[any, ...any[]]>; // eslint-disable-line @typescript-eslint/no-explicit-any
}

/** A connection or a pool of mysql2 with callbacks. */
export interface MysqlCallbackDatabase {
  promise(): MysqlDatabase;
}

export type Database = SqliteDatabase | PgDatabase | PostgresDatabase | MysqlDatabase | MysqlCallbackDatabase;

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
 * write over what its successor has read, if it writes in the same transaction. The same holder may do so again. Throws a
 * FenceError if a later holder has raised it, or there is no such row, a RangeError if several rows have this id (roll back then),
 * and a TypeError if the driver says that there is no transaction, or is a pool.
 */
export async function fence(db: Database, table: string, id: FenceRow['id'], token: number, columns: { idColumn?: string; column?: string } = {}): Promise<void> {
  await raiseFence(db, { table, id, ...columns, token });
}

/** fence() for better-sqlite3 and node:sqlite, at once: for `db.transaction(() => { ... })`, where no promise is awaited. */
export function fenceSync(db: SqliteDatabase, table: string, id: FenceRow['id'], token: number, columns: { idColumn?: string; column?: string } = {}): void {
  raiseFenceSync(db, { table, id, ...columns, token });
}

type TokenRow = FenceRow & { token: number };

export async function raiseFence(db: Database, row: TokenRow): Promise<void> {
  if (await dialectOf(db).isAlone?.()) throw noTransaction(UNFENCED);
  await carryOut(db, (dialect) => raising(dialect, row));
}

export function raiseFenceSync(db: SqliteDatabase, row: TokenRow): void {
  if (sqliteOf(db)?.isAlone?.()) throw noTransaction(UNFENCED);
  carryOutSync(db, (dialect) => raising(dialect, row));
}

/** Records that a worker applies an entry, in the table lockserver_entries. false: it was applied before. */
export async function recordOnce(db: Database, stream: string, worker: string, entry: string): Promise<boolean> {
  if (await dialectOf(db).isAlone?.()) throw noTransaction(UNRECORDED);
  return carryOut(db, (dialect) => recording(dialect, [stream, worker, entry]));
}

export function recordOnceSync(db: SqliteDatabase, stream: string, worker: string, entry: string): boolean {
  if (sqliteOf(db)?.isAlone?.()) throw noTransaction(UNRECORDED);
  return carryOutSync(db, (dialect) => recording(dialect, [stream, worker, entry]));
}

const UNRECORDED = 'an entry that is recorded alone counts as applied, whatever becomes of the work';
const UNFENCED = 'a later holder may read the row between its fence and what is written to it';
const noTransaction = (why: string) => new TypeError(`the database is in no transaction: ${why}`);

/** A statement, and the number of rows that it has changed, or the column "fence" of the row that it has found. */
interface Statement {
  kind: 'change' | 'value';
  sql: string;
  args: unknown[];
}

/** What is done, whether or not the driver answers with promises. */
type Plan<T> = Generator<Statement, T, number | bigint | undefined>;

function* raising({ mark, isMysql }: Dialect, { table, id, idColumn = 'id', column = 'fence', token }: TokenRow): Plan<void> {
  for (const name of [table, idColumn, column]) {
    values.text(name, 'a name in SQL');
    if (!/^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/.test(name)) throw new TypeError(`${JSON.stringify(name)} is no name that can go into SQL unquoted`);
  }
  values.whole(token, 'a token');
  if (values.word(id, 'the id of a row') === '') throw new RangeError('the id of a row is empty');
  const raised = yield {
    kind: 'change', args: [token, id, token],
    sql: `UPDATE ${table} SET ${column} = ${mark(1)} WHERE ${idColumn} = ${mark(2)} AND ${column} <= ${mark(3)}`,
  };
  if (Number(raised) > 1) throw new RangeError(`${idColumn} is no key of ${table}: ${raised} rows have ${String(id)}`);
  if (Number(raised) === 1) return;
  // MySQL and MariaDB need the lock: another read would see the transaction's snapshot, which may be older than a later holder.
  const sql = `SELECT ${column} AS fence FROM ${table} WHERE ${idColumn} = ${mark(1)}${isMysql ? ' FOR UPDATE' : ''}`;
  const found = yield { kind: 'value', sql, args: [id] };
  if (found === undefined) throw new FenceError(`there is no row ${String(id)} in ${table}`);
  if (isMysql && found === BigInt(token)) return; // such a driver may count only rows that have changed
  throw new FenceError(`row ${String(id)} of ${table} has the fence ${found}, which is above the token ${token}`);
}

/** The columns of lockserver_entries, with the bytes that they have room for. */
const ENTRY_COLUMNS = { stream: 255, worker: 255, entry: 64 };

function* recording({ mark, isMysql }: Dialect, args: string[]): Plan<boolean> {
  const columns = Object.entries(ENTRY_COLUMNS);
  columns.forEach(([column, most], i) => {
    const size = Buffer.byteLength(args[i]!);
    if (size > most) throw new RangeError(`the name of the ${column} has ${size} bytes, and lockserver_entries takes ${most} at most`);
  });
  const into = `INTO lockserver_entries (stream, worker, entry) VALUES (${mark(1)}, ${mark(2)}, ${mark(3)})`;
  if (!isMysql) return Number(yield { kind: 'change', sql: `INSERT ${into} ON CONFLICT (stream, worker, entry) DO NOTHING`, args }) > 0;
  if (Number(yield { kind: 'change', sql: `INSERT IGNORE ${into}`, args }) > 0) return true;
  // IGNORE also hides other errors, and a column may take two names for one: only a row with these very bytes says that the
  // entry was applied. The read locks it, for another one would see the transaction's snapshot, which may be older than the row.
  const same = [...columns.map(([it]) => `${it} = ?`), ...columns.map(([it]) => `CAST(${it} AS BINARY) = CAST(? AS BINARY)`)];
  const sql = `SELECT 1 AS fence FROM lockserver_entries WHERE ${same.join(' AND ')} LOCK IN SHARE MODE`;
  if ((yield { kind: 'value', sql, args: [...args, ...args] }) === undefined) {
    throw new Error(`lockserver_entries did not record entry ${args[2]} of ${JSON.stringify(args[0])} for ${JSON.stringify(args[1])}: its columns must be `
      + 'VARBINARY(255), VARBINARY(255) and VARBINARY(64), and its key all three');
  }
  return false;
}

async function carryOut<T>(db: Database, plan: (dialect: Dialect) => Plan<T>): Promise<T> {
  const dialect = dialectOf(db);
  const steps = plan(dialect);
  let step = steps.next();
  while (!step.done) step = steps.next(numberOf(step.value, await dialect.run(step.value)));
  return step.value;
}

function carryOutSync<T>(db: SqliteDatabase, plan: (dialect: Dialect) => Plan<T>): T {
  const dialect = sqliteOf(db);
  if (!dialect) throw new TypeError('a database of node:sqlite or better-sqlite3 is needed: others answer later');
  const steps = plan(dialect);
  let step = steps.next();
  while (!step.done) step = steps.next(numberOf(step.value, dialect.run(step.value) as Answer));
  return step.value;
}

/** The number of changed rows, and the first row. */
interface Answer {
  changed: unknown;
  row: { fence: string | number | bigint } | undefined | null;
}

function numberOf({ kind }: Statement, { changed, row }: Answer): number | bigint | undefined {
  if (kind === 'value') return row ? BigInt(row.fence) : undefined;
  if (typeof changed !== 'number' && typeof changed !== 'bigint') throw new TypeError('the database did not say how many rows have changed: it is none of those that fence() knows');
  return changed;
}

interface Dialect {
  isMysql?: boolean;
  /** Whether a statement would be committed by itself, as far as the driver tells. */
  isAlone?(): boolean | Promise<boolean>;
  mark(n: number): string;
  run(statement: Statement): Answer | Promise<Answer>;
}

/** The bits of the status that MySQL and MariaDB send with each answer. */
const [IN_TRANSACTION, AUTOCOMMIT] = [1, 2];

const has = (db: unknown, method: string): boolean => typeof (db as Record<string, unknown> | null | undefined)?.[method] === 'function';

function sqliteOf(db: unknown): Dialect | undefined {
  if (!has(db, 'prepare') || has(db, 'execute') || has(db, 'query')) return undefined;
  const whole = (args: unknown[]) => args.map((arg) => (typeof arg === 'number' && Number.isSafeInteger(arg) ? BigInt(arg) : arg));
  const { inTransaction, isTransaction } = db as { inTransaction?: boolean; isTransaction?: boolean };
  return {
    isAlone: () => (inTransaction ?? isTransaction) === false, // of better-sqlite3; of node:sqlite, which has it since Node 22.16
    mark: () => '?',
    run: ({ kind, sql, args }) => {
      const statement = (db as SqliteDatabase).prepare(sql);
      if (kind === 'value') return { changed: undefined, row: statement.get(...whole(args)) };
      return { changed: statement.run(...whole(args)).changes, row: undefined };
    },
  };
}

function dialectOf(db: Database): Dialect {
  if (has(db, 'promise')) return dialectOf((db as MysqlCallbackDatabase).promise());
  if (has(db, 'execute')) {
    return {
      isMysql: true,
      isAlone: async () => {
        if (has(db, 'getConnection')) return true; // a pool
        const [{ serverStatus }] = await (db as MysqlDatabase).execute('DO 0', []);
        return typeof serverStatus === 'number' && (serverStatus & (IN_TRANSACTION | AUTOCOMMIT)) === AUTOCOMMIT;
      },
      mark: () => '?',
      run: async ({ kind, sql, args }) => {
        const [result] = await (db as MysqlDatabase).execute(sql, args);
        return kind === 'value' ? { changed: undefined, row: result[0] } : { changed: result.affectedRows, row: undefined };
      },
    };
  }
  if (has(db, 'query')) {
    return {
      isAlone: () => {
        const { totalCount, readyForQuery, getTransactionStatus } = db as { totalCount?: number; readyForQuery?: boolean; getTransactionStatus?(): string | null };
        if (typeof totalCount === 'number') return true; // a pool
        return readyForQuery === true && getTransactionStatus?.call(db) === 'I'; // idle, with nothing under way
      },
      mark: (n) => `$${n}`,
      run: async ({ sql, args }) => {
        const { rowCount, rows = [] } = await (db as PgDatabase).query(sql, args);
        return { changed: rowCount, row: rows[0] };
      },
    };
  }
  if (has(db, 'unsafe')) {
    return {
      isAlone: () => has(db, 'begin'), // that of sql.begin() has none
      mark: (n) => `$${n}`,
      run: async ({ sql, args }) => {
        const rows = await (db as PostgresDatabase).unsafe(sql, args);
        return { changed: rows.count, row: rows[0] };
      },
    };
  }
  const sqlite = sqliteOf(db);
  if (sqlite) return sqlite;
  throw new TypeError('a database of pg, postgres, mysql2, node:sqlite or better-sqlite3 is needed');
}
