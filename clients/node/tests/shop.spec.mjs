// The vitest helper, as a program would use it.

import { expect } from 'vitest';
import { test } from 'lockserver/vitest';

test('a fixed lease ends in the test\'s time', async ({ lockserver }) => {
  const locks = await lockserver.locks();
  await lockserver.freeze();
  const first = await locks.acquire('bill', { lease: 600_000 });
  const next = locks.acquire('bill', { lease: 600_000 });
  await expect.poll(async () => (await lockserver.call('LOCK.WAITERS')).length).toBe(1);
  await lockserver.advance(600_000);
  const second = await next;
  expect(second.token).toBeGreaterThan(first.token);
  await expect.poll(() => first.ended?.reason).toBe('expired');
});

test('each test has its own data', async ({ lockserver }) => {
  expect(await lockserver.call('DBSIZE')).toBe(0);
});

test('a fault that never strikes fails', async ({ lockserver }) => {
  const locks = await lockserver.locks();
  await expect(lockserver.fault('CLOSE MATCH GET', async () => {})).rejects.toThrow(/never struck/);
  const sold = lockserver.fault('ERROR BUSY MATCH SECKILL', () => locks.sale('shoe').buy('ann', 'o1'));
  await expect(sold).rejects.toThrow(/BUSY/);
});
