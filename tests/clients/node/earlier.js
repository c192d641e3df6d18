// Earlier versions of ioredis and node-redis, behind what their tests need of both: connect(port) has a client with
//   call(...words)              the reply of any command
//   hash(key)                   the fields and values of a hash, as an object
//   script(lua)                 a function of keys and arguments, by the library's own way to run scripts
//   multi(commands)             the replies of a transaction, null if what it watched has changed
//   listen(channel, pattern)    an array to which messages are appended; resolves when it is subscribed to both
//   close()

import { createHash } from 'node:crypto';
import { promisify } from 'node:util';

import Redis from 'ioredis4';
import redis from 'redis3';

function ioredis4(port) {
  const client = new Redis({ port });
  let scripts = 0;
  return {
    call: (...words) => client.call(...words),
    hash: (key) => client.hgetall(key),
    script(lua) {
      const name = `script${++scripts}`;
      client.defineCommand(name, { lua });
      return (keys, args) => client[name](keys.length, ...keys, ...args);
    },
    multi: async (commands) => (await client.multi(commands).exec())?.map(([error, reply]) => error ?? reply) ?? null,
    async listen(channel, pattern) {
      const heard = [];
      client.on('message', (from, message) => heard.push(`${from}: ${message}`));
      client.on('pmessage', (by, from, message) => heard.push(`${by} ${from}: ${message}`));
      await client.subscribe(channel);
      await client.psubscribe(pattern);
      return heard;
    },
    close: () => client.disconnect(),
  };
}

function nodeRedis3(port) {
  const client = redis.createClient({ port, retry_strategy: () => 10 });
  client.on('error', () => {}); // it connects again
  const send = promisify(client.send_command).bind(client);
  const call = (name, ...args) => send(name, args);
  return {
    call,
    hash: promisify(client.hgetall).bind(client),
    script(lua) {
      const sha = createHash('sha1').update(lua).digest('hex');
      return async (keys, args) => {
        const words = [keys.length, ...keys, ...args];
        try {
          return await call('evalsha', sha, ...words);
        } catch (error) {
          if (error.code !== 'NOSCRIPT') throw error;
          return call('eval', lua, ...words);
        }
      };
    },
    multi(commands) {
      const multi = client.multi(commands);
      return promisify(multi.exec).call(multi);
    },
    async listen(channel, pattern) {
      const heard = [];
      client.on('message', (from, message) => heard.push(`${from}: ${message}`));
      client.on('pmessage', (by, from, message) => heard.push(`${by} ${from}: ${message}`));
      await promisify(client.subscribe).call(client, channel);
      await promisify(client.psubscribe).call(client, pattern);
      return heard;
    },
    close: () => client.end(false),
  };
}

export const EARLIER = [
  { name: 'ioredis 4', connect: ioredis4 },
  { name: 'node-redis 3', connect: nodeRedis3 },
];
