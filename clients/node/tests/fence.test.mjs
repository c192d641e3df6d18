// The fence in SQL: SQLite always, PostgreSQL and MariaDB or MySQL if POSTGRES and MYSQL name a database (URLs).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FenceError, fence, fenceSync, LockLostError } from 'lockserver';
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
if (process.env.BETTER_SQLITE3) { // the folder of the package, which has to be compiled
  databases['SQLite, better-sqlite3'] = async (end) => {
    const { default: Database } = await import(process.env.BETTER_SQLITE3);
    const db = end(new Database(':memory:'));
    return { db, run: async (sql, ...args) => (/^SELECT/.test(sql) ? db.prepare(sql).get(...args) : db.prepare(sql).run(...args).changes), mark: () => '?' };
  };
}
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
if (process.env.POSTGRES) {
  databases['PostgreSQL, postgres.js'] = async (end) => {
    const { default: postgres } = await import('postgres');
    const { parse } = (await import('pg-connection-string')).default; // the URL may name a folder of a socket
    const { host, port, user, password, database } = parse(process.env.POSTGRES);
    const db = postgres({ host, port: Number(port) || 5432, user, password, database, max: 1, onnotice: () => {} });
    end(db, () => db.end());
    return { db, run: async (sql, ...args) => {
      const it = await db.unsafe(sql, args);
      return it[0] ?? it.count;
    }, mark: (n) => `$${n}` };
  };
}
if (process.env.MYSQL) {
  databases['MySQL, with callbacks'] = async (end) => {
    const { createConnection } = await import('mysql2');
    const db = createConnection(process.env.MYSQL);
    end(db, () => db.promise().end());
    return { db, run: async (sql, ...args) => {
      const [it] = await db.promise().execute(sql, args);
      return Array.isArray(it) ? it[0] : it.affectedRows;
    }, mark: () => '?' };
  };
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
    if (name.startsWith('SQLite')) {
      await run('UPDATE prices SET fence = 0');
      b.fenceSync(db, row);
      assert.equal(Number((await run("SELECT fence FROM prices WHERE id = 'shoe'")).fence), b.token);
      assert.throws(() => fenceSync(db, 'prices', 'shoe', a.token), FenceError);
      assert.throws(() => a.fenceSync(db, row), LockLostError);
    } else assert.throws(() => fenceSync(db, 'prices', 'shoe', b.token), TypeError);
    await b.release();
    await run('CREATE TEMPORARY TABLE lockserver_entries (stream VARCHAR(255) NOT NULL, worker VARCHAR(255) NOT NULL, entry VARCHAR(64) NOT NULL, PRIMARY KEY (stream, worker, entry))');
    const recorded = [];
    await server.call('XADD', 'orders', '*', 'n', 1);
    const worker = locks.worker('orders', 'billing', async (entry) => {
      recorded.push(await entry.once(db), await entry.once(db));
      if (name.startsWith('SQLite')) recorded.push(entry.onceSync(db));
      void worker.stop();
    });
    await worker.run();
    assert.deepEqual(recorded, name.startsWith('SQLite') ? [true, false, false] : [true, false]);
  });
}

test('a database that does not answer as those that are known is refused', async () => {
  await assert.rejects(fence({ query: async () => [[], 1] }, 'prices', 'shoe', 1), /did not say how many rows/);
  await assert.rejects(fence({ execute: async () => [{}] }, 'prices', 'shoe', 1), /did not say how many rows/);
});

test('a database that is none is refused', async () => {
  await assert.rejects(fence({}, 'prices', 'shoe', 1), TypeError);
});
