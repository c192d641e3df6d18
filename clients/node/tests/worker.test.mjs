// Workers: handlers that fail, workers that die, and entries that are applied once in SQL.

import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ClosedError, Locks } from 'lockserver';
import load from 'sql.js';

import { cleanup, eventually, lockserver, rejection } from './harness.mjs';

const TABLES = `
  CREATE TABLE lockserver_entries (stream VARCHAR(255) NOT NULL, worker VARCHAR(255) NOT NULL, entry VARCHAR(64) NOT NULL,
                                   PRIMARY KEY (stream, worker, entry));
  CREATE TABLE sums (name TEXT PRIMARY KEY, sum INTEGER NOT NULL);
  INSERT INTO sums VALUES ('all', 0);`;

/** A database that gives its one connection to one caller at a time, from BEGIN to COMMIT. */
class Sql {
  static async open() {
    const { Database } = await load();
    const sql = new Sql();
    sql.db = new Database();
    sql.db.run(TABLES);
    sql.turn = Promise.resolve();
    return sql;
  }

  value(text) { return this.db.exec(text)[0].values[0][0]; }

  async begin() {
    let over;
    const before = this.turn;
    this.turn = new Promise((resolve) => { over = resolve; });
    await before;
    this.db.run('BEGIN');
    return (end) => {
      this.db.run(end);
      over();
    };
  }

  query(text, args) {
    this.db.run(text, args);
    return { rowCount: this.db.getRowsModified(), rows: [] };
  }
}

/** A connection as pg has it, in this process. */
async function transaction(sql, work) {
  const end = await sql.begin();
  try {
    await work({ query: async (text, args) => sql.query(text, args) });
    end('COMMIT');
  } catch (error) {
    end('ROLLBACK');
    throw error;
  }
}

const apply = (sql, entry) => transaction(sql, async (db) => {
  if (await entry.once(db)) await db.query('UPDATE sums SET sum = sum + ?', [Number(entry.fields.n)]);
});

const pending = async (server) => (await server.call('XPENDING', '{s}', 'g'))[0];

/** Waits for something, with steps of the server's clock, which stands still otherwise. */
const passing = (server, condition, what) => eventually(async () => {
  await server.advance(250);
  return condition();
}, what);

/** Waits until a promise is kept or broken, in the same way. */
function over(server, promise) {
  let done = false;
  promise.then(() => { done = true; }, () => { done = true; });
  return passing(server, () => done, 'it has ended');
}

/** Starts a worker, which ends with the test. */
async function work(t, server, handler, options, locks) {
  locks ??= await server.locks({ name: 'worker', logger: false });
  const worker = locks.worker('{s}', 'g', handler, options);
  const run = worker.run();
  run.catch(() => {});
  t.after(() => run.catch(() => {})); // the server's end closes the client, which ends it
  return { worker, run };
}

test('an entry says when it was due, if it is of a rule', async (t) => {
  const server = await lockserver(t);
  const entries = [[['a', 1, 'delay.due', 1500], 1500], [['delay.due', 1500, 'a', 1500], undefined], [['delay.due', 'soon'], undefined], [['a', 1], undefined]];
  for (const [words] of entries) await server.call('XADD', '{s}', '*', ...words);
  const found = [];
  await work(t, server, (entry) => { found.push(entry.due); });
  await eventually(() => found.length === entries.length, 'all are done');
  assert.deepEqual(found, entries.map(([, due]) => due));
});

test('scenario: worker', async (t) => {
  const server = await lockserver(t);
  await server.freeze();
  const told = [];
  const locks = await server.locks({ name: 'worker', logger: { warn: (text) => told.push(text) } });
  const time = async () => {
    const [seconds, micros] = (await server.call('TIME')).map(Number);
    return seconds * 1000 + micros / 1000;
  };
  const seen = new Map();
  const { worker } = await work(t, server, async (entry) => {
    seen.set(`${entry.fields.n} ${entry.attempt}`, await time());
    if (entry.fields.n === 'bad' || (entry.fields.n === 'twice' && entry.attempt < 2)) throw new RangeError('no');
  }, { attempts: 3 }, locks);
  const bad = await server.call('XADD', '{s}', '*', 'n', 'bad', 'b', Buffer.from([0xff]));
  await server.call('XADD', '{s}', '*', 'n', 'good');
  await server.call('XADD', '{s}', '*', 'n', 'twice');
  await passing(server, async () => await server.call('XLEN', '{s}:dead') === 1 && await pending(server) === 0, 'all are done');
  assert.deepEqual([...seen.keys()].sort(), ['bad 1', 'bad 2', 'bad 3', 'good 1', 'twice 1', 'twice 2']);
  assert.ok(seen.get('bad 2') - seen.get('bad 1') >= 1000, 'a pause');
  assert.ok(seen.get('bad 3') - seen.get('bad 2') >= 2000, 'a longer one');
  const [[id, fields]] = await server.call('XRANGE', '{s}:dead', '-', '+');
  assert.deepEqual(fields.filter((_, i) => i !== 3), ['n', 'bad', 'b', 'entry-id', bad, 'entry-error', 'RangeError: no', 'entry-attempts', '3']);
  assert.equal(await server.call('EVAL', "return redis.call('XRANGE', KEYS[1], '-', '+')[1][2][4] == '\\255'", 1, '{s}:dead'), 1, 'bytes stay as they are');
  assert.notEqual(id, bad);
  assert.ok(told.some((it) => it.includes(bad) && it.includes('attempt 2')) && told.some((it) => it.includes('"{s}:dead"')), told.join('\n'));
  const stopped = worker.stop();
  await over(server, stopped);
  assert.deepEqual(await server.call('XINFO', 'CONSUMERS', '{s}', 'g'), [], 'a worker that has ended leaves the group');
});

test('a worker that died, and one that was paused', async (t) => {
  const server = await lockserver(t);
  await server.freeze();
  const sql = await Sql.open();
  const locks = await server.locks({ logger: false });
  await server.call('XGROUP', 'CREATE', '{s}', 'g', 0, 'MKSTREAM');
  await server.call('XADD', '{s}', '*', 'n', 7);
  // Another worker has the entry, and is paused in its handler.
  let go;
  let late;
  const paused = locks.worker('{s}', 'g', async (entry) => {
    late = entry;
    await new Promise((resolve) => { go = resolve; });
  }, { claimAfter: 30_000, name: 'paused' });
  paused.script = async () => ['0-0', []]; // no sign of life, and it takes nothing over
  const first = paused.run();
  await eventually(() => late, 'it has the entry');
  const done = new Map();
  await work(t, server, async (entry) => {
    await apply(sql, entry);
    done.set(entry.fields.n, entry.attempt);
  }, { claimAfter: 30_000 });
  await server.call('XADD', '{s}', '*', 'n', 5);
  await eventually(() => done.size === 1, 'the new one is done');
  assert.deepEqual([...done], [['5', 1]]);
  await passing(server, () => done.size === 2, 'both are done');
  assert.equal(done.get('7'), 2);
  await apply(sql, late);
  assert.equal(sql.value('SELECT sum FROM sums'), 12, 'the paused one changes nothing');
  go();
  paused.stop();
  await over(server, first);
});

test('an entry that takes long stays with its worker', async (t) => {
  const server = await lockserver(t);
  await server.freeze();
  const begun = [];
  let go;
  const wait = new Promise((resolve) => { go = resolve; });
  for (let i = 0; i < 2; i++) {
    await work(t, server, async (entry) => {
      begun.push(entry.attempt);
      await wait;
    }, { claimAfter: 600 });
  }
  await server.call('XADD', '{s}', '*', 'n', 1);
  await eventually(() => begun.length === 1, 'it has begun');
  for (let i = 0; i < 3; i++) {
    await server.advance(400);
    await eventually(async () => (await server.call('XPENDING', '{s}', 'g', '-', '+', 1))[0][2] === 0, 'a sign of life');
  }
  assert.deepEqual(begun, [1]);
  go();
  await eventually(async () => await pending(server) === 0, 'it is acknowledged');
});

test('what is not begun is given back, and what runs may end', async (t) => {
  const server = await lockserver(t);
  await server.freeze();
  let go;
  const { worker, run } = await work(t, server, () => new Promise((resolve) => { go = resolve; }));
  await server.call('XADD', '{s}', '*', 'n', 1);
  await eventually(() => go, 'it has begun');
  const stopped = worker.stop();
  assert.equal(await Promise.race([stopped.then(() => 'over'), new Promise((resolve) => setTimeout(resolve, 50, 'it waits'))]), 'it waits');
  go();
  await over(server, run);
  assert.equal(await pending(server), 0);
});

test('a worker ends with its client, and goes on after broken connections', async (t) => {
  const server = await lockserver(t);
  const locks = await server.locks({ logger: false });
  const done = [];
  const { run } = await work(t, server, (entry) => { done.push(entry.fields.n); }, { claimAfter: 1000 }, locks);
  for (let i = 0; i < 5; i++) {
    await server.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await server.call('XADD', '{s}', '*', 'n', i);
    await eventually(() => done.includes(String(i)), `entry ${i} is done`);
  }
  await locks.close();
  assert.ok(await rejection(run) instanceof ClosedError);
});

test('whichever worker is killed, each entry is applied once', async (t) => {
  const server = await lockserver(t);
  const end = cleanup(t);
  const sql = await Sql.open();
  const entries = 120;
  for (let i = 0; i < entries; i++) await server.call('XADD', '{s}', '*', 'n', i);
  const start = () => {
    const child = fork(fileURLToPath(new URL('worker-program.mjs', import.meta.url)), [server.url].flat());
    end(child, async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    });
    const open = new Map(); // transactions of the process, by number
    child.on('exit', () => { for (const finish of open.values()) finish('ROLLBACK'); });
    child.on('message', async ({ of, call, text, args }) => {
      const answer = (reply) => child.connected && child.send({ call, ...reply }, () => {});
      if (text === 'BEGIN') {
        const finish = await sql.begin();
        if (!child.connected) finish('ROLLBACK');
        else {
          open.set(of, finish);
          answer({});
        }
      } else if (text === 'COMMIT') {
        open.get(of)('COMMIT');
        open.delete(of);
        answer({});
      } else answer(sql.query(text, args));
    });
    return child;
  };
  const workers = [start(), start()];
  const applied = () => sql.value('SELECT count(*) FROM lockserver_entries');
  for (const least of [entries / 4, entries / 2]) {
    await eventually(() => applied() >= least, `${least} are applied`);
    workers.shift().kill('SIGKILL');
    workers.push(start());
  }
  await eventually(async () => applied() === entries && await pending(server) === 0, 'all are applied');
  assert.equal(sql.value('SELECT sum FROM sums'), (entries * (entries - 1)) / 2);
  assert.equal(await server.call('XLEN', '{s}:dead'), 0);
});

test('a worker refuses values that it cannot use', async (t) => {
  const end = cleanup(t);
  const locks = end(new Locks('redis://127.0.0.1:1', { logger: false, timeout: 100 }));
  const handler = () => {};
  for (const [stream, group, use, options] of [
    ['', 'g', handler], [undefined, 'g', handler], ['{s}', '', handler], ['{s}', 7, handler], ['{s}', 'g', undefined], ['{s}', 'g', function* () {}],
    ...[{ attempts: 0 }, { attempts: 1.5 }, { claimAfter: 'x' }, { claimAfter: 0.5 }, { parallel: true }, { parallel: NaN }, { dead: '' }, { name: '' }, { atempts: 1 }, null]
      .map((it) => ['{s}', 'g', handler, it]),
  ]) {
    assert.throws(() => locks.worker(stream, group, use, options), (error) => error instanceof TypeError || error instanceof RangeError, `${stream} ${group} ${JSON.stringify(options)}`);
  }
});
