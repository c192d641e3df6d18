// BullMQ: queues, delays, priorities, retries, schedulers, limits, flows, events, and workers that die. Nearly all of it is
// Lua on the server, with job options packed by cmsgpack.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { FlowProducer, Queue, QueueEvents, UnrecoverableError, Worker } from 'bullmq';

import { Server, eventually } from './server.js';

let server;
before(async () => { server = await Server.start(); });
after(() => server.close());

// Everything of a test is closed after it: open(Queue, 'name', ...).
let opened = [];
function open(Kind, ...args) {
  const last = typeof args.at(-1) === 'object' && typeof args.at(-1) !== 'function' ? args.pop() : {};
  const made = new Kind(...args, { connection: { port: server.port }, ...last });
  made.on('error', () => {});
  opened.push(made);
  return made;
}

// story is a test with a queue, its events, and whatever it opens besides.
function story(name, play) {
  test(name, async () => {
    const queue = open(Queue, name);
    const events = open(QueueEvents, name, { lastEventId: '0' }); // from the beginning, whenever it begins to read
    await events.waitUntilReady();
    try {
      await play(queue, events);
    } finally {
      await Promise.all(opened.map((it) => it.close(true)));
      opened = [];
    }
  });
}

const worker = (queue, work, options = {}) => open(Worker, queue.name, work, { drainDelay: 1, ...options });

story('jobs', async (queue, events) => {
  const jobs = await queue.addBulk(Array.from({ length: 200 }, (_, i) => ({ name: 'double', data: { n: i } })));
  assert.equal(await queue.getWaitingCount(), 200);
  worker(queue, async (job) => {
    await job.updateProgress(50);
    await job.log(`working on ${job.data.n}`);
    return job.data.n * 2;
  }, { concurrency: 20 });
  const results = await Promise.all(jobs.map((job) => job.waitUntilFinished(events)));
  assert.deepEqual(results, jobs.map((_, i) => i * 2));
  await eventually(async () => (await queue.getJobCounts()).completed === 200, 'all are completed');
  const first = await queue.getJob(jobs[0].id);
  assert.equal(await first.getState(), 'completed');
  assert.deepEqual((await queue.getJobLogs(first.id)).logs, ['working on 0']);
  const again = await queue.add('double', { n: 1 }, { jobId: 'mine' });
  const same = await queue.add('double', { n: 2 }, { jobId: 'mine' });
  assert.equal(again.id, same.id);
  assert.equal((await queue.getJob('mine')).data.n, 1);
  assert.ok((await queue.getWorkers()).length === 1);
  const metrics = await queue.getMetrics('completed').catch(() => null);
  assert.ok(metrics);
});

story('delays and priorities', async (queue, events) => {
  const order = [];
  await queue.pause();
  for (const [name, options] of Object.entries({ low: { priority: 10 }, high: { priority: 1 }, middle: { priority: 5 }, plain: {}, first: { lifo: true } })) {
    await queue.add(name, {}, options);
  }
  const began = Date.now();
  const delayed = await queue.add('delayed', {}, { delay: 4_000 });
  const far = await queue.add('far', {}, { delay: 3_600_000 });
  assert.deepEqual(await queue.getJobCounts('delayed', 'prioritized'), { delayed: 2, prioritized: 3 });
  worker(queue, async (job) => { order.push(job.name); });
  await sleep(100); // nothing may happen meanwhile
  assert.deepEqual(order, []);
  assert.equal(await queue.isPaused(), true);
  await queue.resume();
  await delayed.waitUntilFinished(events);
  assert.ok(Date.now() - began >= 3_995);
  assert.deepEqual(order, ['first', 'plain', 'high', 'middle', 'low', 'delayed']);
  await far.changeDelay(1);
  await far.waitUntilFinished(events);
  const promoted = await queue.add('promoted', {}, { delay: 3_600_000 });
  await promoted.promote();
  await promoted.waitUntilFinished(events);
  const raised = await queue.add('raised', {}, { delay: 3_600_000, priority: 7 });
  await raised.changePriority({ priority: 2 });
  assert.equal((await queue.getJob(raised.id)).priority, 2);
  await raised.remove();
  assert.equal(await queue.getJob(raised.id), undefined);
});

story('retries', async (queue, events) => {
  const times = [];
  worker(queue, async (job) => {
    if (job.name === 'hopeless') throw new UnrecoverableError('never');
    if (job.name === 'doomed') throw new Error('always');
    times.push(Date.now());
    if (job.attemptsMade < 3) throw new Error(`attempt ${job.attemptsMade}`);
    return 'at last';
  });
  const job = await queue.add('flaky', {}, { attempts: 5, backoff: { type: 'exponential', delay: 50 } });
  assert.equal(await job.waitUntilFinished(events), 'at last');
  assert.equal(times.length, 4);
  assert.ok(times[3] - times[2] >= 195 && times[1] - times[0] >= 45, `${times}`);
  const doomed = await queue.add('doomed', {}, { attempts: 2, backoff: { type: 'fixed', delay: 10 } });
  await assert.rejects(doomed.waitUntilFinished(events), /always/);
  const hopeless = await queue.add('hopeless', {}, { attempts: 5 });
  await assert.rejects(hopeless.waitUntilFinished(events), /never/);
  const failed = await queue.getFailed();
  assert.deepEqual(failed.map((j) => [j.name, j.attemptsMade]).sort(), [['doomed', 2], ['hopeless', 1]]);
  assert.equal((await queue.getJob(doomed.id)).stacktrace.length, 2);
  await (await queue.getJob(doomed.id)).retry();
  await eventually(async () => (await queue.getJob(doomed.id)).attemptsMade === 3, 'it is tried again');
});

story('schedulers', async (queue) => {
  const seen = [];
  worker(queue, async (job) => { seen.push(`${job.name} ${job.data.from}`); });
  await queue.upsertJobScheduler('every', { every: 150 }, { name: 'tick', data: { from: 'every' } });
  await queue.upsertJobScheduler('cron', { pattern: '* * * * * *' }, { name: 'cron', data: { from: 'cron' } });
  await queue.upsertJobScheduler('thrice', { every: 50, limit: 3 }, { name: 'thrice', data: { from: 'limit' } });
  const count = (name) => seen.filter((s) => s.startsWith(name)).length;
  await eventually(() => count('tick') >= 4 && count('cron') >= 2 && count('thrice') === 3, 'they tick');
  const schedulers = await queue.getJobSchedulers();
  assert.ok(schedulers.some((s) => s.key === 'every' && Number(s.every) === 150));
  assert.equal(await queue.removeJobScheduler('every'), true);
  assert.equal(await queue.removeJobScheduler('every'), false);
  const before = count('tick');
  await sleep(400); // more than two periods, in which only one that had begun may come
  assert.ok(count('tick') <= before + 1);
});

story('rate limits', async (queue, events) => {
  const times = [];
  const began = Date.now(); // a slow machine makes the time from here longer, never shorter
  worker(queue, async () => { times.push(Date.now()); }, { limiter: { max: 5, duration: 300 }, concurrency: 10 });
  const jobs = await queue.addBulk(Array.from({ length: 12 }, () => ({ name: 'j', data: {} })));
  await Promise.all(jobs.map((job) => job.waitUntilFinished(events)));
  assert.equal(times.length, 12);
  assert.ok(times[11] - began >= 500, `three windows of 300 ms: ${times.map((t) => t - began)}`);
});

story('flows', async (queue, events) => {
  const flow = open(FlowProducer);
  const children = open(Queue, 'flow-children');
  worker(queue, async (job) => {
    const values = await job.getChildrenValues();
    return Object.values(values).reduce((a, b) => a + b, 0);
  });
  worker(children, async (job) => {
    if (job.data.fail) throw new Error('a child fails');
    return job.data.n;
  }, { concurrency: 5 });
  const tree = await flow.add({
    name: 'sum', queueName: queue.name, children: [
      ...Array.from({ length: 10 }, (_, i) => ({ name: 'leaf', queueName: children.name, data: { n: i } })),
      { name: 'inner', queueName: queue.name, children: [{ name: 'leaf', queueName: children.name, data: { n: 100 }, opts: { delay: 100 } }] },
    ],
  });
  assert.equal(await tree.job.waitUntilFinished(events), 145);
  assert.equal(Object.keys(await tree.job.getChildrenValues()).length, 11);
  const found = await flow.getFlow({ id: tree.job.id, queueName: queue.name });
  assert.equal(found.children.length, 11);
  const broken = await flow.add({
    name: 'sum', queueName: queue.name,
    children: [{ name: 'bad', queueName: children.name, data: { fail: true }, opts: { failParentOnFailure: true } }],
  });
  await assert.rejects(broken.job.waitUntilFinished(events), /child/);
  const tolerant = await flow.add({
    name: 'sum', queueName: queue.name,
    children: [{ name: 'bad', queueName: children.name, data: { fail: true }, opts: { ignoreDependencyOnFailure: true } },
      { name: 'good', queueName: children.name, data: { n: 7 } }],
  });
  assert.equal(await tolerant.job.waitUntilFinished(events), 7);
});

story('events', async (queue, events) => {
  const seen = [];
  for (const name of ['waiting', 'active', 'progress', 'completed', 'failed', 'delayed', 'removed', 'drained']) {
    events.on(name, ({ jobId }) => seen.push(`${name} ${jobId ?? ''}`));
  }
  worker(queue, async (job) => {
    await job.updateProgress({ half: true });
    if (job.name === 'bad') throw new Error('bad');
  });
  const good = await queue.add('good', {}, { jobId: 'g' });
  const bad = await queue.add('bad', {}, { jobId: 'b' });
  await good.waitUntilFinished(events);
  await assert.rejects(bad.waitUntilFinished(events));
  await (await queue.getJob('g')).remove();
  const want = ['waiting g', 'active g', 'progress g', 'completed g', 'waiting b', 'active b', 'failed b', 'removed g'];
  await eventually(() => want.every((w) => seen.includes(w)), `all of ${want}`);
  const completed = seen.indexOf('completed g');
  assert.ok(seen.indexOf('waiting g') < seen.indexOf('active g') && seen.indexOf('active g') < completed);
});

story('a worker that dies', async (queue, events) => {
  let crashed = 0;
  const dying = worker(queue, async () => {
    crashed++;
    return new Promise(() => {}); // it never ends, and its lock is not renewed
  }, { lockDuration: 300, skipLockRenewal: true, skipStalledCheck: true });
  const job = await queue.add('stalls', { n: 7 });
  await eventually(() => crashed === 1, 'it works');
  await dying.close(true);
  const healthy = worker(queue, async (j) => j.data.n, { stalledInterval: 200 }); // its own lock is long: a starved process must not stall, too
  const stalled = once(healthy, 'stalled');
  assert.equal(await job.waitUntilFinished(events), 7);
  assert.deepEqual((await stalled)[0], job.id);
});

story('draining and obliterating', async (queue) => {
  await queue.addBulk(Array.from({ length: 20 }, () => ({ name: 'j', data: {} })));
  await queue.add('later', {}, { delay: 100_000 });
  await queue.drain();
  assert.deepEqual(await queue.getJobCounts('wait', 'delayed'), { wait: 0, delayed: 1 });
  await queue.drain(true);
  assert.deepEqual(await queue.getJobCounts('wait', 'delayed'), { wait: 0, delayed: 0 });
  await queue.add('done', {}, { removeOnComplete: { count: 2 } });
  await queue.addBulk(Array.from({ length: 5 }, () => ({ name: 'done', data: {}, opts: { removeOnComplete: { count: 2 } } })));
  const working = worker(queue, async () => {});
  await once(working, 'drained');
  await eventually(async () => await queue.getCompletedCount() === 2, 'only two are kept');
  assert.equal((await queue.clean(0, 100, 'completed')).length, 2);
  await working.close();
  await queue.add('left', {});
  await queue.obliterate({ force: true });
  assert.equal(await queue.count(), 0);
});

story('deduplication and locks', async (queue, events) => {
  const first = await queue.add('j', { n: 1 }, { deduplication: { id: 'once', ttl: 60_000 } });
  const second = await queue.add('j', { n: 2 }, { deduplication: { id: 'once', ttl: 60_000 } });
  assert.equal(second.id, first.id);
  assert.equal(await queue.getWaitingCount(), 1);
  const manual = open(Worker, queue.name, null, {});
  const job = await manual.getNextJob('token');
  assert.equal(job.id, first.id);
  assert.equal(await job.extendLock('wrong', 1000), 0);
  assert.equal(await job.extendLock('token', 60_000), 1);
  await job.moveToCompleted('by hand', 'token', false);
  assert.equal(await job.waitUntilFinished(events), 'by hand');
});
