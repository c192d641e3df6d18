// ioredis and node-redis over TLS, to a server that asks clients for a certificate and to one that does not.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Redis } from 'ioredis';
import { createClient } from 'redis';

import { Server, UNLOCK, eventually } from './server.js';

// Each library, as far as these tests need it. connect resolves when the client is ready and rejects if it is refused.
const LIBRARIES = {
  async ioredis(port, tls, protocol) {
    const client = new Redis({ host: 'localhost', port, tls, protocol, lazyConnect: true, maxRetriesPerRequest: null, retryStrategy: (times) => (ready ? 10 : null) });
    let ready = false;
    client.on('error', () => {}); // refused, or the server is being replaced
    await client.connect();
    ready = true;
    return {
      call: (...words) => client.call(...words),
      listen: async (channel, heard) => {
        client.on('message', (from, message) => heard.push(message));
        await client.subscribe(channel);
      },
      close: () => client.disconnect(),
    };
  },
  async 'node-redis'(port, tls, RESP) {
    let ready = false;
    const client = createClient({ RESP, socket: { host: 'localhost', port, tls: true, ...tls, reconnectStrategy: () => (ready ? 10 : false) } });
    client.on('error', () => {});
    await client.connect();
    ready = true;
    return {
      call: (...words) => client.sendCommand(words),
      listen: (channel, heard) => client.subscribe(channel, (message) => heard.push(message)),
      close: () => client.destroy(),
    };
  },
};

for (const authClients of ['no', 'yes']) {
  describe(`tls-auth-clients ${authClients}`, () => {
    let server;
    before(async () => { server = await Server.startSecure(authClients); });
    after(() => server.close());
    const certificate = authClients === 'yes' ? 'client' : undefined;

    for (const [name, connect] of Object.entries(LIBRARIES)) {
      for (const protocol of [2, 3]) {
        test(`${name}, RESP${protocol}`, async () => {
          const redis = await connect(server.port, server.tls(certificate), protocol);
          const sub = await connect(server.port, server.tls(certificate), protocol);
          try {
            await redis.call('FLUSHALL');
            assert.equal(await redis.call('SET', 'lock', 'me', 'NX', 'PX', '60000'), 'OK');
            assert.equal(await redis.call('SET', 'lock', 'you', 'NX', 'PX', '60000'), null);
            assert.equal(await redis.call('EVAL', UNLOCK, '1', 'lock', 'you'), 0);
            assert.equal(await redis.call('EVAL', UNLOCK, '1', 'lock', 'me'), 1);
            await redis.call('SET', 'big', 'x'.repeat(1_000_000));
            assert.equal((await redis.call('GET', 'big')).length, 1_000_000);
            const heard = [];
            await sub.listen('news', heard);
            assert.equal(await redis.call('PUBLISH', 'news', 'hello'), 1);
            await eventually(() => heard.length === 1 && heard[0] === 'hello', 'the message');
            await redis.call('XGROUP', 'CREATE', 'orders', 'workers', '0', 'MKSTREAM');
            const id = await redis.call('XADD', 'orders', '*', 'order', '1');
            assert.match(JSON.stringify(await redis.call('XREADGROUP', 'GROUP', 'workers', 'ann', 'STREAMS', 'orders', '>')), new RegExp(id));
            assert.equal(await redis.call('XACK', 'orders', 'workers', id), 1);
            await server.replace();
            await eventually(() => redis.call('SET', 'k', 'v').catch(() => null), 'connected again');
            assert.equal(await redis.call('GET', 'k'), 'v');
            await eventually(() => redis.call('PUBLISH', 'news', 'again'), 'subscribed again');
            await eventually(() => heard.at(-1) === 'again', 'the message');
          } finally {
            redis.close();
            sub.close();
          }
        });
      }

      test(`who is refused, ${name}`, async () => {
        const others = [server.tls(certificate, 'other')]; // the client refuses
        if (authClients === 'yes') others.push(server.tls(), server.tls('stranger'));
        for (const tls of others) {
          await assert.rejects(connect(server.port, tls, 2).then((client) => {
            client.close();
          }));
        }
      });
    }
  });
}
