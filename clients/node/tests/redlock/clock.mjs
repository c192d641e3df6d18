// Time in redlock's own tests, which have leases of 0.2 s. The servers' clocks stand still, and so do the timers of this
// process. Both go on by one step when no connection is being made and each one has its answer. So a slow machine makes
// no lease end early.

import net from 'node:net';
import { afterAll, vi } from 'vitest';
import { Redis } from 'ioredis-itself';

const STEP = 10; // milliseconds

const ours = new WeakSet(); // connections to servers
const busy = new Set(); // those of them that are being made, or wait for an answer
const { connect, write } = net.Socket.prototype;

net.Socket.prototype.connect = function (...args) {
  ours.add(this);
  busy.add(this);
  for (const event of ['connect', 'data', 'close']) this.on(event, () => busy.delete(this));
  return connect.apply(this, args);
};
net.Socket.prototype.write = function (...args) {
  if (ours.has(this) && !this.destroyed) busy.add(this);
  return write.apply(this, args);
};

let over = false;

async function pass() {
  let idle = 0;
  while (!over) {
    await new Promise(setImmediate); // what has arrived is read, and answered, first
    idle = busy.size === 0 ? idle + 1 : 0;
    if (idle < 3) continue;
    await Promise.all(controls.map((control) => control.call('TEST.CLOCK', 'ADVANCE', STEP)));
    vi.advanceTimersByTime(STEP);
    idle = 0;
  }
}

const places = new Map(Object.values(JSON.parse(process.env.REDLOCK_HOSTS)).map((at) => [at.port, at])); // some have two names
const controls = [...places.values()].map((at) => new Redis(at));
await Promise.all(controls.map((control) => control.call('TEST.CLOCK', 'FREEZE')));
vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
const passing = pass();

afterAll(async () => {
  over = true;
  await passing;
  vi.useRealTimers();
  for (const control of controls) control.disconnect();
});
