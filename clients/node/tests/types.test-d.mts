// What the types of the package must accept, and refuse. It is compiled, and not run.

import { Cluster, Redis } from 'ioredis';
import {
  Locks, LockLostError, type Delayed, type Latch, type Limiter, type LimitsTaken, type Lock, type LockInfo, type Logger, type LossReason, type LostMessage,
  type Outcome, type Sale, type Semaphore, type SemaphoreInfo, type Taken,
} from 'lockserver';
import Redlock, { ResourceLockedError, type Settings } from 'lockserver/redlock';
import { TestServer } from 'lockserver/testing';
import { createClient, createCluster } from 'redis';

export async function accepted(url: string): Promise<void> {
  const locks: Locks = await Locks.connect(new Redis(url), { name: 'billing', timeout: 1000 });
  new Locks(new Cluster([{ host: 'a', port: 1 }]));
  new Locks(createClient({ url }));
  new Locks(createCluster({ rootNodes: [{ url }] }));
  new Locks({ name: 'mymaster', sentinelRootNodes: [{ host: 'a', port: 1 }] });
  const n: number = await locks.using('k', { wait: 5000, signal: AbortSignal.timeout(1) }, async (lock) => lock.token);
  const s: string = await locks.using(['a', 'b'], (lock) => lock.owner);
  new Locks(url, { reentrant: true, logger: false });
  const all: LimitsTaken = await locks.takeLimits([locks.limiter('a', { count: 1, period: 1000 })], { cost: 1, wait: 5, signal: AbortSignal.timeout(1) });
  const back: Taken = await locks.limiter('a', { count: 1, period: 1000 }).give(all.refusedBy, { signal: AbortSignal.timeout(1) });
  const tell = (it: LostMessage): string => `${it.client} ${it.error.key} ${it.held} ${back.remaining}`;
  void tell;
  const tried: Lock | undefined = await locks.tryAcquire('k');
  const outcome: Outcome = await locks.sale('shoe').buy('ann', 'o1');
  await using held = await locks.acquire('k', { lease: 1000, within: tried! });
  const reply = await held.guard('SET', 'n', n, s, outcome);
  if (typeof reply === 'string') reply.toUpperCase();
  if (held.signal.reason instanceof LockLostError) {
    const reason: LossReason = held.signal.reason.reason;
    void reason;
  }
  const tools: [Semaphore, Latch, Limiter, Delayed, Sale] = [
    locks.semaphore(Buffer.from('s')).initial(2), locks.latch('l'), locks.limiter('a', { count: 1, period: 1000 }), locks.delayed('d'), locks.sale('shoe'),
  ];
  const seen: [LockInfo | undefined, SemaphoreInfo | undefined] = [await locks.info('k'), await tools[0].info()];
  const logger: Logger = console;
  void [seen, new Locks(url, { logger }), new Locks(url, { logger: false })];
  const settings: Settings = { retryCount: 5 };
  const redlock = new Redlock([new Redis(url)], settings);
  await redlock.using(['a'], 5000, { retryCount: 1 }, async (signal, { extensions }) => {
    if (signal.aborted) throw signal.error;
    return extensions;
  });
  void [ResourceLockedError, TestServer];
}

export async function refused(locks: Locks): Promise<void> {
  // @ts-expect-error a number is no key
  await locks.acquire(7);
  // @ts-expect-error there is no such option
  await locks.acquire('k', { ttl: 5 });
  // @ts-expect-error nothing has a host here
  new Locks({ host: 'a' });
  // @ts-expect-error an object is no value of a field
  await locks.delayed('d').add({ a: { b: 1 } }, { delay: 1 });
  // @ts-expect-error nothing is no user
  await locks.sale('shoe').buy(undefined);
  // @ts-expect-error it is internal
  locks.shards;
}
