// The fence in SQL: SQLite always, PostgreSQL and MariaDB or MySQL if POSTGRES and MYSQL name a database (URLs).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FenceError, fence, fenceSync, LockLostError } from 'lockserver';

import { cleanup, lockserver, rejection } from './harness.mjs';

const databases = {
  async SQLite(end) {
    const { default: load } = await import('sql.js');
    const { Database } = await load();
    const sqlite = end(new Database());
    // As node:sqlite (Node 22.16) and better-sqlite3 have it.
    const db = {
      isTransaction: false,
      prepare: (sql) => ({
        run: (...args) => {
          if (/^(BEGIN|COMMIT|ROLLBACK)$/.test(sql)) db.isTransaction = sql === 'BEGIN';
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
    // That of a transaction has no begin().
    const begun = { unsafe: (sql, args) => db.unsafe(sql, args) };
    return { db, begun, transaction: (work) => db.begin(work), run: async (sql, ...args) => {
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

/** Does what is given in a transaction. */
async function inTransaction({ db, run, transaction }, isMysql, work) {
  if (transaction) return transaction(work);
  await run(isMysql ? 'SET autocommit = 0' : 'BEGIN');
  try {
    const got = await work(db);
    await run('COMMIT');
    return got;
  } catch (error) {
    await run('ROLLBACK');
    throw error;
  } finally {
    if (isMysql) await run('SET autocommit = 1');
  }
}

for (const [name, connect] of Object.entries(databases)) {
  test(`scenario: fence, ${name}`, async (t) => {
    const end = cleanup(t);
    const connection = await connect(end);
    const { db, run, mark } = connection;
    const within = (work) => inTransaction(connection, name.startsWith('MySQL'), work);
    await run('CREATE TEMPORARY TABLE prices (id VARCHAR(20) PRIMARY KEY, price INTEGER NOT NULL, fence BIGINT NOT NULL DEFAULT 0)');
    await run("INSERT INTO prices (id, price) VALUES ('shoe', 1)");
    const server = await lockserver(t);
    const locks = await server.locks();
    const row = { table: 'prices', id: 'shoe' };
    const a = await locks.acquire('shoe');
    await within((it) => a.fence(it, row));
    await within((it) => a.fence(it, row)); // the same holder again
    await server.call('LOCK.FORCE', 'shoe');
    const b = await locks.acquire('shoe');
    await within((it) => b.fence(it, row)); // b reads
    assert.equal(Number((await run("SELECT fence FROM prices WHERE id = 'shoe'")).fence), b.token);
    const write = async (price, token) =>
      Number(await run(`UPDATE prices SET price = ${mark(1)} WHERE id = 'shoe' AND fence = ${mark(2)}`, price, token));
    assert.equal(await write(10, a.token), 0, 'a writes in vain');
    assert.ok(await rejection(within((it) => fence(it, 'prices', 'shoe', a.token))) instanceof FenceError);
    assert.ok(await rejection(within((it) => a.fence(it, row))) instanceof LockLostError);
    assert.equal(await write(20, b.token), 1);
    assert.equal((await run("SELECT price FROM prices WHERE id = 'shoe'")).price, 20);
    await assert.rejects(within((it) => fence(it, 'prices', 'hat', b.token)), /no row/);
    await assert.rejects(within((it) => fence(it, 'prices; DROP TABLE prices', 'shoe', b.token)), /no name/);
    await assert.rejects(within((it) => fence(it, 'prices', 'shoe', 0)), RangeError);
    if (name.startsWith('SQLite')) {
      await run('UPDATE prices SET fence = 0');
      await within((it) => b.fenceSync(it, row));
      assert.equal(Number((await run("SELECT fence FROM prices WHERE id = 'shoe'")).fence), b.token);
      await assert.rejects(within((it) => fenceSync(it, 'prices', 'shoe', a.token)), FenceError);
      assert.throws(() => a.fenceSync(db, row), LockLostError);
    } else assert.throws(() => fenceSync(db, 'prices', 'shoe', b.token), TypeError);
    await b.release();
    await run('CREATE TEMPORARY TABLE pieces (shoe VARCHAR(20) NOT NULL, fence BIGINT NOT NULL DEFAULT 0)');
    await run("INSERT INTO pieces (shoe) VALUES ('left'), ('left')");
    await assert.rejects(within((it) => fence(it, 'pieces', 'left', 1, { idColumn: 'shoe' })), /no key/);
  });

  test(`an entry is recorded once, ${name}`, async (t) => {
    const end = cleanup(t);
    const connection = await connect(end);
    const { run } = connection;
    const isMysql = name.startsWith('MySQL');
    const once = (it) => inTransaction(connection, isMysql, (db) => it.once(db));
    const make = (definition) => run(`CREATE TEMPORARY TABLE lockserver_entries (${definition})`);
    const names = isMysql ? 'VARBINARY' : 'VARCHAR';
    const columns = `stream ${names}(255) NOT NULL, worker ${names}(255) NOT NULL, entry ${names}(64) NOT NULL`;
    const server = await lockserver(t);
    const locks = await server.locks();
    const entry = (stream, group, id = '1-0') => entryOf(server, locks, stream, group, id);
    await make(`${columns}, PRIMARY KEY (stream, worker, entry)`);
    for (const words of [['orders', 'billing'], ['Orders', 'billing'], ['orders ', 'billing'], ['orders', 'Billing'], ['orders', 'billing', '1-1'],
      ['ä'.repeat(127), 'g'.repeat(255)]]) {
      const it = await entry(...words);
      assert.deepEqual([await once(it), await once(it)], [true, false], words.join());
      if (name.startsWith('SQLite')) assert.equal(await inTransaction(connection, isMysql, (db) => it.onceSync(db)), false);
    }
    for (const [stream, group] of [[`${'s'.repeat(255)}1`, 'billing'], [`${'s'.repeat(255)}2`, 'billing'], ['ä'.repeat(128), 'billing'], ['orders', 'g'.repeat(256)]]) {
      await assert.rejects(once(await entry(stream, group)), /256 bytes/);
    }
    assert.equal(Number((await run('SELECT count(*) AS n FROM lockserver_entries')).n), 6);
    await run('DROP TABLE lockserver_entries');
    if (!isMysql) { // without the key an entry would be applied each time that it comes; MariaDB cannot see that
      await make(columns);
      await assert.rejects(once(await entry('orders', 'billing')), /ON CONFLICT/);
      return;
    }
    for (const [definition, ...other] of [ // tables that take two names for one, or have another key
      [`${columns.replaceAll('(255)', '(8)')}, PRIMARY KEY (stream, worker, entry)`, 'orders:ab', 'billing'],
      [`${columns.replaceAll('VARBINARY', 'VARCHAR')}, PRIMARY KEY (stream, worker, entry)`, 'Orders:a', 'billing'],
      [`${columns.replaceAll('VARBINARY', 'VARCHAR')}, PRIMARY KEY (stream, worker, entry)`, 'orders:a', 'billing '],
      [`${columns}, PRIMARY KEY (stream)`, 'orders:a', 'billing', '1-1'],
    ]) {
      await make(definition);
      const first = await entry('orders:a', 'billing');
      assert.deepEqual([await once(first), await once(first)], [true, false]);
      await assert.rejects(once(await entry(...other)), /VARBINARY/, definition);
      await run('DROP TABLE lockserver_entries');
    }
  });

  test(`an entry is not recorded outside of a transaction, nor a fence raised, ${name}`, async (t) => {
    const end = cleanup(t);
    const { db, run } = await connect(end);
    await run('CREATE TEMPORARY TABLE lockserver_entries (stream VARCHAR(255), worker VARCHAR(255), entry VARCHAR(64), PRIMARY KEY (stream, worker, entry))');
    const server = await lockserver(t);
    const it = await entryOf(server, await server.locks(), 'orders', 'billing', '1-0');
    const refusal = { name: 'TypeError', message: /no transaction/ };
    await assert.rejects(it.once(db), refusal);
    if (name.startsWith('SQLite')) assert.throws(() => it.onceSync(db), refusal);
    assert.equal(Number((await run('SELECT count(*) AS n FROM lockserver_entries')).n), 0);
    const pools = {
      PostgreSQL: async () => new (await import('pg')).default.Pool({ connectionString: process.env.POSTGRES }),
      MySQL: async () => (await import('mysql2/promise')).createPool(process.env.MYSQL),
      'MySQL, with callbacks': async () => (await import('mysql2')).createPool(process.env.MYSQL),
    };
    const pool = await pools[name]?.();
    if (pool) await assert.rejects(it.once(end(pool, () => (pool.promise?.() ?? pool).end())), refusal);
    await run('CREATE TEMPORARY TABLE prices (id VARCHAR(20) PRIMARY KEY, fence BIGINT NOT NULL DEFAULT 0)');
    await run("INSERT INTO prices (id) VALUES ('shoe')");
    await assert.rejects(fence(db, 'prices', 'shoe', 5), refusal);
    if (name.startsWith('SQLite')) assert.throws(() => fenceSync(db, 'prices', 'shoe', 5), refusal);
    if (pool) await assert.rejects(fence(pool, 'prices', 'shoe', 5), refusal);
    assert.equal(Number((await run("SELECT fence FROM prices WHERE id = 'shoe'")).fence), 0);
  });

  if (!name.startsWith('SQLite')) { // which has one transaction at a time
    test(`two transactions, ${name}`, async (t) => {
      const end = cleanup(t);
      const [one, other] = [await connect(end), await connect(end)];
      const isMysql = name.startsWith('MySQL');
      const begin = async ({ run }) => {
        await run(isMysql ? 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ' : 'SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ');
        await run(isMysql ? 'SET autocommit = 0' : 'BEGIN'); // which begins with the next statement
      };
      await one.run('CREATE TABLE prices (id VARCHAR(20) PRIMARY KEY, fence BIGINT NOT NULL DEFAULT 0)');
      end(one, () => one.run('DROP TABLE prices'));
      end(other, () => other.run('ROLLBACK')); // before that
      await one.run("INSERT INTO prices (id) VALUES ('shoe')");
      await inTransaction(one, isMysql, (it) => fence(it, 'prices', 'shoe', 5));
      await begin(other); // the holder of the token 5 was paused here
      assert.equal(Number((await other.run("SELECT fence FROM prices WHERE id = 'shoe'")).fence), 5);
      await inTransaction(one, isMysql, (it) => fence(it, 'prices', 'shoe', 6));
      await assert.rejects(fence(other.begun ?? other.db, 'prices', 'shoe', 5), isMysql ? FenceError : /concurrent/);
    });
  }
}

/** An entry that a worker has in hand. */
async function entryOf(server, locks, stream, group, id) {
  await server.call('DEL', stream);
  await server.call('XADD', stream, id, 'n', 1);
  let found;
  const worker = locks.worker(stream, group, (entry) => {
    found = entry;
    void worker.stop();
  });
  await worker.run();
  return found;
}

test('a database that does not answer as those that are known is refused', async () => {
  await assert.rejects(fence({ query: async () => [[], 1] }, 'prices', 'shoe', 1), /did not say how many rows/);
  await assert.rejects(fence({ execute: async () => [{}] }, 'prices', 'shoe', 1), /did not say how many rows/);
});

test('a database that is none is refused', async () => {
  await assert.rejects(fence({}, 'prices', 'shoe', 1), TypeError);
});
