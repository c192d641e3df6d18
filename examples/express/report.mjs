// A thread that makes reports. One report is made by one thread at a time, whichever process it belongs to.

import { parentPort, workerData } from 'node:worker_threads';
import { Locks } from 'lockserver';

const locks = await Locks.connect(workerData.url, { name: 'report' });
const inside = new Int32Array(workerData.inside); // how many are inside, and the most that there were

parentPort.on('message', async ({ call, id }) => {
  try {
    const text = await locks.using(`report:${id}`, { wait: 30_000 }, async (lock) => {
      const now = Atomics.add(inside, 0, 1) + 1;
      for (let most = Atomics.load(inside, 1); most < now; most = Atomics.load(inside, 1)) Atomics.compareExchange(inside, 1, most, now);
      const number = await lock.guard('INCR', `report:${id}:number`);
      Atomics.sub(inside, 0, 1);
      return `report ${id}, number ${number}`;
    });
    parentPort.postMessage({ call, text });
  } catch (error) {
    parentPort.postMessage({ call, error: error.message });
  }
});
parentPort.postMessage('ready');
