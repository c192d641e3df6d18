// The agent of the client package for Node: it does what the runner of tests/scenarios asks, with Locks.

import { createRequire } from 'node:module';
import readline from 'node:readline';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';

// The package is not installed: it is the one that was built in clients/node.
const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', '..', '..', '..', 'clients', 'node');
const { Locks } = createRequire(pathToFileURL(path.join(root, 'package.json')))('lockserver');

/** The time of the monotonic clock, in microseconds. */
const now = () => Number(process.hrtime.bigint() / 1000n);

const KINDS = {
  ERR_LOCK_LOST: 'lost', ERR_LOCK_RELEASED: 'released', ERR_LOCK_CLOSED: 'closed', ERR_LOCK_NOT_ACQUIRED: 'not_acquired',
  ERR_LOCK_DEADLINE: 'deadline', ERR_LOCK_CANCELLED: 'cancelled', ERR_LOCK_DEADLOCK: 'deadlock', ERR_LOCK_NO_ANSWER: 'no_connection',
};
const ELSEWHERE = /^(MOVED|CLUSTERDOWN|MASTERDOWN|READONLY|LOADING) /;

/** The answer for an error. */
function failed(error) {
  const kind = error.code === 'ERR_LOCK_REPLY' && ELSEWHERE.test(error.message) ? 'no_connection' : KINDS[error.code];
  return { error: kind ?? 'other', text: `${error}`, reason: error.reason };
}

const write = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const tell = (event, key, token, reason = '') => write({ event, at: now(), key, token, reason });

let locks;
let resting = false;
let workers = [];
let sections = 0;
let noAnswer = 0;
let stalled = 0;
const named = new Map();
const cancels = new Map();
const tasks = new Map();

// By how much this program's timers are late.
let expected = now() + 20_000;
setInterval(() => {
  stalled = Math.max(stalled, now() - expected);
  expected = now() + 20_000;
}, 20).unref();

function optionsOf(q) {
  const options = {};
  if ((q.wait_ms ?? 0) >= 0) options.wait = q.wait_ms ?? 0;
  if (q.lease_ms) options.lease = q.lease_ms;
  return options;
}

/** Counts an error that a broken connection explains, and reports any other. A loss is an event. */
async function unanswered(what, error) {
  const found = failed(error);
  if (found.error === 'no_connection' || found.error === 'lost') {
    noAnswer++;
    await sleep(5);
  } else {
    tell('failure', '', 0, `${what}: ${found.error}: ${found.text}`);
    await sleep(100);
  }
}

async function work(q) {
  const options = optionsOf(q);
  while (!resting) {
    const key = q.keys[Math.floor(Math.random() * q.keys.length)];
    let lock;
    try {
      lock = await locks.acquire(key, options);
    } catch (error) {
      await unanswered('acquire', error);
      continue;
    }
    if (!q.quiet) {
      tell('in', key, lock.token);
      await lock.guard('SET', `written:${key}`, lock.token).catch((error) => unanswered('guard', error));
      tell('out', key, lock.token);
    }
    await lock.release().catch((error) => unanswered('release', error));
    sections++;
  }
}

const does = {
  async connect(q) {
    const observer = { lost: (error) => tell('lost', error.key, error.token, error.reason) };
    const endpoints = q.addrs.map((it) => ({ host: it.split(':')[0], port: Number(it.split(':')[1]) }));
    const source = {
      server: () => `redis://${q.addrs[0]}`,
      cluster: () => ({ kind: 'cluster', endpoints }),
      sentinel: () => ({ name: q.master, sentinelRootNodes: endpoints }),
    }[q.kind]();
    locks = await Locks.connect(source, { name: 'node', timeout: q.timeout_ms, observers: [observer] });
  },
  async acquire(q) {
    const options = optionsOf(q);
    const controller = new AbortController();
    cancels.set(q.as, controller);
    options.signal = q.deadline_ms ? AbortSignal.timeout(q.deadline_ms) : controller.signal;
    if (tasks.has(q.task)) options.within = tasks.get(q.task);
    const lock = await locks.acquire(q.key, options);
    tell('in', q.key, lock.token);
    named.set(q.as, lock);
    if (q.task) tasks.set(q.task, lock);
    return { token: lock.token };
  },
  cancel(q) { cancels.get(q.as).abort(); },
  async release(q) {
    const lock = named.get(q.as);
    tell('out', lock.keys[0], lock.token);
    await lock.release();
  },
  async guard(q) { await named.get(q.as).guard(...q.words); },
  check(q) {
    const { ended } = named.get(q.as);
    if (ended) throw ended;
  },
  work(q) {
    resting = false;
    sections = 0;
    noAnswer = 0;
    workers = Array.from({ length: q.workers }, () => work(q));
  },
  count() { return { sections, no_answer: noAnswer }; },
  async rest() {
    resting = true;
    await Promise.all(workers);
    return does.count();
  },
  stalled() {
    const it = stalled;
    stalled = 0;
    return { stalled: it };
  },
  async close() { await locks.close(); },
};

for await (const line of readline.createInterface({ input: process.stdin })) {
  const q = JSON.parse(line);
  Promise.resolve().then(() => does[q.do](q)).catch(failed).then((answer) => write({ id: q.id, at: now(), ...answer }));
}
process.exit(0);
