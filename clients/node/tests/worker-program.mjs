// A worker of worker.test.mjs, which may be killed at any moment. Its database is in the test's process.

import { Locks } from 'lockserver';

let calls = 0;
const answers = new Map();
process.on('message', (message) => {
  answers.get(message.call)(message);
  answers.delete(message.call);
});
process.on('disconnect', () => process.exit());

let transactions = 0;
const ask = (transaction, text, args) => new Promise((resolve) => {
  const call = ++calls;
  answers.set(call, resolve);
  process.send({ of: transaction, call, text, args });
});

const urls = process.argv.slice(2);
const locks = new Locks(urls.length > 1 ? urls : urls[0], { name: 'worker' });
await locks.worker('{s}', 'g', async (entry) => {
  const transaction = ++transactions;
  await ask(transaction, 'BEGIN');
  const db = { query: (text, args) => ask(transaction, text, args) };
  if (await entry.once(db)) await db.query('UPDATE sums SET sum = sum + ?', [Number(entry.fields.n)]);
  await ask(transaction, 'COMMIT');
}, { claimAfter: 500, parallel: 4 }).run();
