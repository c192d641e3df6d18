// A program of TestProgramsOfACutShard with the package for Node: visitor.mjs section turn list calm kept,kept... url...

import { openSync, closeSync, unlinkSync } from 'node:fs';
import readline from 'node:readline';

import { Locks } from '../../../clients/node/dist/index.js';

const [section, turn, tokens, calm, kept, ...urls] = process.argv.slice(2);
const say = (...words) => process.stdout.write(`${words.join(' ')}\n`);

/** Whether a call may end with this error while a shard has no leader, or a connection breaks. */
const passing = (error) => ['ERR_LOCK_NO_ANSWER', 'ERR_LOCK_LOST', 'ERR_LOCK_NOT_ACQUIRED', 'ERR_LOCK_REPLY'].includes(error.code);
const unlessPassing = (error) => { if (!passing(error)) throw error; };

/** Runs work, and says so if another holder of the lock does the same. */
async function alone(work) {
  try {
    closeSync(openSync(section, 'wx'));
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    say('fault', 'two holders');
    return;
  }
  try {
    await work();
  } finally {
    unlinkSync(section);
  }
}

/** Takes the lock of the shard that is cut off, and writes its token. */
async function takeTurn(locks) {
  const lock = await locks.acquire(turn, { wait: 1000 }).catch(unlessPassing);
  if (!lock) return;
  await alone(() => lock.guard('RPUSH', tokens, lock.token).then(() => say('pushed', lock.token), unlessPassing));
  await lock.release().catch(unlessPassing);
}

/** Takes a lock of a shard that nothing happens to. */
async function goCalmly(locks) {
  try {
    const lock = await locks.acquire(calm, { wait: 3_600_000 });
    say('calm', await lock.guard('INCR', `${calm}:n`).finally(() => lock.release()));
  } catch (error) {
    unlessPassing(error);
    say('shaken', error);
  }
}

let over = false;
const again = async (step, locks) => {
  try {
    while (!over) await step(locks);
  } catch (error) {
    say('fault', error);
  }
};

const locks = await Locks.connect(urls, { timeout: 3_600_000, logger: false }); // a call that hangs is noticed
const held = await Promise.all(kept.split(',').map((key) => locks.acquire(key)));
const all = [again(takeTurn, locks), again(goCalmly, locks)];
for await (const _ of readline.createInterface({ input: process.stdin })) { // a line asks whether the locks are held, the end ends all
  for (const lock of held) lock.signal.throwIfAborted();
  say('held');
}
over = true;
await Promise.all(all);
for (const lock of held) {
  await lock.guard('SET', `${lock.keys[0]}:n`, 1);
  await lock.release();
}
await locks.close();
say('end');
