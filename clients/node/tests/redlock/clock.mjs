// Time in redlock's own tests, which have leases of 0.2 s. The servers' clocks stand still, and so do the timers of this
// process. Both go on by one step when the servers have had nothing to do since the last look but that look. So a slow
// machine makes no lease end early.

import { afterAll, vi } from 'vitest';
import { Redis } from 'ioredis-itself';

const STEP = 10; // milliseconds

const controls = Object.values(JSON.parse(process.env.REDLOCK_HOSTS)).map((at) => new Redis(at));
const all = (...words) => Promise.all(controls.map((control) => control.call(...words)));

/** Returns how many commands the servers have done, with this one. */
async function done() {
  const texts = await all('INFO', 'stats');
  return texts.reduce((sum, text) => sum + Number(/^total_commands_processed:(\d+)/m.exec(text)[1]), 0);
}

let over = false;

async function pass() {
  let before = await done();
  while (!over) {
    await new Promise(setImmediate); // what has arrived is read first
    const now = await done();
    const idle = now === before + look;
    before = now;
    if (!idle) continue;
    await all('TEST.CLOCK', 'ADVANCE', STEP);
    vi.advanceTimersByTime(STEP);
    before = await done();
  }
}

await all('TEST.CLOCK', 'FREEZE');
const before = await done();
const look = await done() - before; // what a look itself adds: a cluster's member counts it twice
vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
const passing = pass();

afterAll(async () => {
  over = true;
  await passing;
  vi.useRealTimers();
  for (const control of controls) control.disconnect();
});
