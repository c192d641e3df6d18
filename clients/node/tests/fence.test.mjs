// The fence in SQL: SQLite always, PostgreSQL and MariaDB or MySQL if POSTGRES and MYSQL name a database (URLs).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FenceError, fence, LockLostError } from 'lockserver';
import { lockserver } from 'lockserver/node-test';

import { cleanup, rejection } from './harness.mjs';

const databases = {
  async SQLite(end) {
    const { default: load } = await import('sql.js');
    const { Database } = await load();
    const sqlite = end(new Database());
    // As node:sqlite (Node 22) and better-sqlite3 have it.
    const db = {
      prepare: (sql) => ({
        run: (...args) => {
          sqlite.run(sql, args.map((arg) => (typeof arg === 'bigint' ? String(arg) : arg)));
          return { changes: sqlite.getRowsModified() };
        },
        get: (...args) => {
          const it = sqlite.prepare(sql, args.map((arg) => (typeof arg === 'bigint' ? String(arg) : arg)));
          try {
            return it.step() ? it.getAsObject() : undefined;
          } finally {
            it.free();
          }
        },
      }),
    };
    return { db, run: async (sql, ...args) => (/^SELECT/.test(sql) ? db.prepare(sql).get(...args) : db.prepare(sql).run(...args).changes), mark: () => '?' };
  },
};
if (process.env.POSTGRES) {
  databases.PostgreSQL = async (end) => {
    const { default: pg } = await import('pg');
    const db = new pg.Client(process.env.POSTGRES);
    await db.connect();
    end(db, () => db.end());
    return { db, run: async (sql, ...args) => {
      const it = await db.query(sql, args);
      return it.rows[0] ?? it.rowCount;
    }, mark: (n) => `$${n}` };
  };
}
if (process.env.MYSQL) {
  databases.MySQL = async (end) => {
    const { createConnection } = await import('mysql2/promise');
    const db = await createConnection(process.env.MYSQL);
    end(db, () => db.end());
    return { db, run: async (sql, ...args) => {
      const [it] = await db.execute(sql, args);
      return Array.isArray(it) ? it[0] : it.affectedRows;
    }, mark: () => '?' };
  };
}

for (const [name, connect] of Object.entries(databases)) {
  test(`scenario: fence, ${name}`, async (t) => {
    const end = cleanup(t);
    const { db, run, mark } = await connect(end);
    await run('CREATE TEMPORARY TABLE prices (id VARCHAR(20) PRIMARY KEY, price INTEGER NOT NULL, fence BIGINT NOT NULL DEFAULT 0)');
    await run("INSERT INTO prices (id, price) VALUES ('shoe', 1)");
    const server = await lockserver(t);
    const locks = await server.locks();
    const row = { table: 'prices', id: 'shoe' };
    const a = await locks.acquire('shoe');
    await a.fence(db, row);
    await a.fence(db, row); // the same holder again
    await server.call('LOCK.FORCE', 'shoe');
    const b = await locks.acquire('shoe');
    await b.fence(db, row); // b reads
    assert.equal(Number((await run("SELECT fence FROM prices WHERE id = 'shoe'")).fence), b.token);
    const write = async (price, token) =>
      Number(await run(`UPDATE prices SET price = ${mark(1)} WHERE id = 'shoe' AND fence = ${mark(2)}`, price, token));
    assert.equal(await write(10, a.token), 0, 'a writes in vain');
    assert.ok(await rejection(fence(db, 'prices', 'shoe', a.token)) instanceof FenceError);
    assert.ok(await rejection(a.fence(db, row)) instanceof LockLostError);
    assert.equal(await write(20, b.token), 1);
    assert.equal((await run("SELECT price FROM prices WHERE id = 'shoe'")).price, 20);
    await assert.rejects(fence(db, 'prices', 'hat', b.token), /no row/);
    await assert.rejects(fence(db, 'prices; DROP TABLE prices', 'shoe', b.token), TypeError);
    await assert.rejects(fence(db, 'prices', 'shoe', 0), RangeError);
    await b.release();
  });
}

test('a database that is none is refused', async () => {
  await assert.rejects(fence({}, 'prices', 'shoe', 1), TypeError);
});
