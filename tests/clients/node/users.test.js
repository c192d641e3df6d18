// ioredis and node-redis as a user with a name, who may do less than the others.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';

import { Redis } from 'ioredis';
import { createClient } from 'redis';

import { Server } from './server.js';

const RULES = ['reset', 'on', '>secret', '~ann:*', '&ann:*', '+@all', '-@dangerous', '+info'];

let server;
before(async () => { server = await Server.start(); });
after(() => server.close());

// story is what ann can do and what not, by a client of hers.
async function story(call, setUser) {
  assert.equal(await call('ACL', 'WHOAMI'), 'ann');
  assert.equal(await call('SET', 'ann:k', 'v'), 'OK');
  for (const words of [['GET', 'k'], ['FLUSHALL'], ['PUBLISH', 'news', 'x'], ['EVAL', "return redis.call('get', KEYS[1])", '1', 'k']]) {
    await assert.rejects(call(...words), /NOPERM/, words.join(' '));
  }
  await setUser('-set');
  await assert.rejects(call('SET', 'ann:k', 'w'), /NOPERM/);
  assert.equal(await call('GET', 'ann:k'), 'v');
}

for (const protocol of [2, 3]) {
  test(`ioredis, RESP${protocol}`, async () => {
    const admin = new Redis({ port: server.port });
    await admin.call('ACL', 'SETUSER', 'ann', ...RULES);
    const wrong = new Redis({ port: server.port, protocol, username: 'ann', password: 'wrong', retryStrategy: null, lazyConnect: true });
    const seen = once(wrong, 'error');
    wrong.connect().catch(() => {});
    assert.match((await seen)[0].message, /WRONGPASS/);
    wrong.disconnect();
    const ann = new Redis({ port: server.port, protocol, username: 'ann', password: 'secret' });
    await story((...words) => ann.call(...words), (rule) => admin.call('ACL', 'SETUSER', 'ann', rule));
    ann.disconnect();
    admin.disconnect();
  });

  test(`node-redis, RESP${protocol}`, async () => {
    const admin = await createClient({ socket: { port: server.port } }).connect();
    await admin.aclSetUser('ann', RULES);
    const options = { RESP: protocol, socket: { port: server.port, reconnectStrategy: false }, username: 'ann' };
    const wrong = createClient({ ...options, password: 'wrong' }).on('error', () => {});
    await assert.rejects(wrong.connect(), /WRONGPASS/);
    const ann = await createClient({ ...options, password: 'secret' }).connect();
    await story((...words) => ann.sendCommand(words), (rule) => admin.aclSetUser('ann', rule));
    ann.destroy();
    admin.destroy();
  });
}
