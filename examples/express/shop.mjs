// A shop: a flash sale, reports that threads make, and a worker that books the orders.

import { once } from 'node:events';
import { Worker as Thread } from 'node:worker_threads';
import express from 'express';
import { CancelledError, DeadlineError, Locks, NoAnswerError, NotAcquiredError } from 'lockserver';

const STATUS = { sold: 201, 'sold out': 409, 'bought already': 409, 'not started': 403, over: 410, 'taken back': 410, 'too fast': 429 };

/**
 * Starts a shop. `book(entry)` books an order: it is called at least once for each, so it asks entry.once(db) in its
 * transaction. `inside` counts the threads that make one report, for the test.
 */
export async function startShop({ url, book, inside = new SharedArrayBuffer(8), threads = 2 }) {
  const locks = await Locks.connect(url, { name: 'shop' });
  const pool = Array.from({ length: threads }, () => new Thread(new URL('report.mjs', import.meta.url), { workerData: { url, inside } }));
  for (const thread of pool) thread.setMaxListeners(0);
  await Promise.all(pool.map((thread) => once(thread, 'message'))); // it is connected
  let calls = 0;

  const report = (id) => new Promise((resolve, reject) => {
    const call = ++calls;
    const thread = pool[call % pool.length];
    const heard = (message) => {
      if (message.call !== call) return;
      thread.off('message', heard);
      if (message.error) reject(Object.assign(new Error(message.error), { status: 503 }));
      else resolve(message.text);
    };
    thread.on('message', heard);
    thread.postMessage({ call, id });
  });

  const app = express();
  app.use(express.json());

  app.post('/sales/:voucher', async (request, response) => {
    const made = await locks.sale(request.params.voucher).create({ stock: request.body.stock, limit: 1, stream: 'orders' });
    response.status(made ? 201 : 409).end();
  });

  app.post('/sales/:voucher/orders', async (request, response) => {
    const { user, order } = request.body;
    const { allowed, retryAfter } = await locks.limiter(`orders:${user}`, { count: 5, period: 1000 }).take();
    if (!allowed) return response.status(429).set('Retry-After', String(Math.ceil(retryAfter / 1000))).end();
    const outcome = await locks.sale(request.params.voucher).buy(user, order);
    return response.status(STATUS[outcome]).json({ outcome });
  });

  app.post('/reports/:id', async (request, response) => {
    response.json({ text: await report(request.params.id) });
  });

  app.post('/stock/:id', async (request, response) => {
    const gone = new AbortController(); // the client has closed the request
    response.once('close', () => gone.abort());
    const count = await locks.using(`stock:${request.params.id}`, { wait: 2000, signal: gone.signal }, (lock) =>
      lock.guard('INCRBY', `stock:${request.params.id}:count`, request.body.add));
    response.json({ count });
  });

  app.use((error, _request, response, next) => {
    if (response.headersSent || error instanceof CancelledError) return next(error);
    if (error instanceof NotAcquiredError) return response.status(409).json({ error: error.message });
    if (error instanceof NoAnswerError || error instanceof DeadlineError) return response.status(503).json({ error: error.message });
    if (error instanceof TypeError || error instanceof RangeError) return response.status(400).json({ error: error.message });
    return response.status(error.status ?? 500).json({ error: error.message });
  });

  const worker = locks.worker('orders', 'books', book, { claimAfter: 5000, parallel: 4 });
  const working = worker.run();
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    async close() {
      server.close();
      server.closeAllConnections();
      await worker.stop();
      await working;
      await Promise.all(pool.map((thread) => thread.terminate()));
      await locks.close();
    },
  };
}
