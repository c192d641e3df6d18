// The trace of a call: the option, and OpenTelemetry's current span.

import { context, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import Redlock from 'lockserver/redlock';
import { Redis } from 'ioredis';

import { eventually, lockserver, rejection } from './harness.mjs';

const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

/** OpenTelemetry's context in Node, as its SDK keeps it. */
const store = new AsyncLocalStorage();
context.setGlobalContextManager({
  active: () => store.getStore() ?? ROOT_CONTEXT,
  with: (of, call, self, ...args) => store.run(of, () => call.apply(self, args)),
  bind: (of, call) => call,
  enable() { return this; },
  disable() { return this; },
});

/** Runs a function within a span. */
const within = (traceFlags, call, spanId = 'b7ad6b7169203331') => context.with(
  trace.setSpanContext(ROOT_CONTEXT, { traceId: '0af7651916cd43dd8448eb211c80319c', spanId, traceFlags }), call);

/** The traces of the events of a key, by event. */
async function traces(server, key) {
  const { events } = fields(await server.call('LOCK.HISTORY', 'KEY', key));
  return events.map(fields).map((it) => `${it.event} ${it.trace}`);
}

const fields = (reply) => Object.fromEntries(Array.from({ length: reply.length / 2 }, (_, i) => [reply[2 * i], reply[2 * i + 1]]));

test('the option names the trace of a call, of each kind', async (t) => {
  const server = await lockserver(t);
  const locks = await server.locks();
  const held = await locks.acquire('k', { trace: TRACE });
  const waiting = locks.acquire('k', { trace: TRACE.replace(/01$/, '00'), wait: 60_000 });
  await eventually(async () => (await server.call('LOCK.WAITERS')).length === 1, 'it waits');
  await held.release();
  await (await waiting).release();
  assert.deepEqual(await traces(server, 'k'), [
    `granted ${TRACE}`, `queued ${TRACE.replace(/01$/, '00')}`, `released ${TRACE}`,
    `granted ${TRACE.replace(/01$/, '00')}`, `confirmed ${TRACE.replace(/01$/, '00')}`, `released ${TRACE.replace(/01$/, '00')}`]);
  await (await locks.acquireAll(['a', 'b'], { trace: TRACE })).release();
  assert.deepEqual(await traces(server, 'b'), [`granted ${TRACE}`, `released ${TRACE}`]);
  await (await locks.semaphore('s', 2).acquire({ trace: TRACE })).release();
  assert.deepEqual(await traces(server, 's'), [`granted ${TRACE}`, `released ${TRACE}`]);
});

test('without the option it is that of the current span', async (t) => {
  const server = await lockserver(t);
  const locks = await server.locks();
  const current = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-';
  await within(1, () => locks.using('k', () => {}));
  await within(0, () => locks.using('unsampled', () => {}));
  await within(1, () => locks.using('none', { trace: '' }, () => {}));
  await within(1, () => locks.using('other', { trace: TRACE }, () => {}));
  await within(1, () => locks.using('invalid', () => {}), '0000000000000000');
  await locks.using('outside', () => {});
  assert.deepEqual(await traces(server, 'k'), [`granted ${current}01`, `released ${current}01`]);
  assert.deepEqual(await traces(server, 'unsampled'), [`granted ${current}00`, `released ${current}00`]);
  assert.deepEqual(await traces(server, 'other'), [`granted ${TRACE}`, `released ${TRACE}`]);
  for (const key of ['none', 'invalid', 'outside']) assert.deepEqual(await traces(server, key), ['granted null', 'released null']);
  const redlock = new Redlock([new Redis(server.port, server.host)]);
  await (await within(1, () => redlock.acquire(['red'], 5000))).release();
  await redlock.quit();
  assert.ok((await traces(server, 'red')).includes(`granted ${current}01`));
});

test('a trace that is none is refused, and changes nothing', async (t) => {
  const server = await lockserver(t);
  const locks = await server.locks();
  assert.match(String(await rejection(locks.acquire('k', { trace: 'x' }))), /traceparent/);
  assert.ok(await rejection(locks.acquire('k', { trace: 7 })) instanceof TypeError);
  assert.deepEqual(await server.call('LOCK.LIST'), []);
});

test('a program without @opentelemetry/api has no current span', () => {
  const program = `
    const load = require('node:module');
    const usual = load._load;
    load._load = function (name, ...rest) {
      if (name === '@opentelemetry/api') throw Object.assign(new Error('not found'), { code: 'MODULE_NOT_FOUND' });
      return usual.call(this, name, ...rest);
    };
    const { currentTrace } = require('./dist/trace.js');
    console.log(JSON.stringify([currentTrace(), currentTrace()]));
  `;
  const cwd = new URL('..', import.meta.url);
  assert.equal(execFileSync(process.execPath, ['-e', program], { cwd, encoding: 'utf8' }).trim(), '["",""]');
});
