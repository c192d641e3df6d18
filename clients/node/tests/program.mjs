// A program with a lock, for a test that stops it: it does what the lines of its input say, and prints a line for each.

import readline from 'node:readline';
import { Locks } from 'lockserver';

const urls = process.argv.slice(2);
const locks = await Locks.connect(urls.length > 1 ? urls : urls[0]);
let lock;

async function run([command, ...words]) {
  switch (command) {
    case 'acquire': {
      const lease = Number(words[1]);
      lock = await locks.acquire(words[0], lease > 0 ? { lease } : {});
      return { token: lock.token };
    }
    case 'guard':
      for (;;) {
        try {
          return { reply: await lock.guard(...words) };
        } catch (error) {
          if (error.code !== 'ERR_LOCK_NO_ANSWER') throw error; // the connection that was closed
        }
      }
    case 'state':
      return { held: lock.ended === undefined, token: lock.token };
    case 'release':
      await lock.release();
      return { released: true };
    default:
      throw new Error(`what is ${command}?`);
  }
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const answer = await run(line.split(' ')).catch((error) => ({ error: error.code ?? error.message, reason: error.reason }));
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
