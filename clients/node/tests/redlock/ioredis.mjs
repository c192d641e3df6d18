// ioredis for redlock's own tests, which are as their authors have written them.
//
// - They look at a lock by GET, where redlock keeps a string. Here that is the name of the lock's owner.
// - Their hosts are servers of the test.

import { Cluster as RealCluster, Redis as RealRedis } from 'ioredis-itself';

const hosts = JSON.parse(process.env.REDLOCK_HOSTS);
const mapped = (options) => (hosts[options?.host] ? { ...options, ...hosts[options.host] } : options);

async function owner(client, key) {
  if (await client.type(key) === 'string') return client.call('GET', key);
  const info = await client.call('LOCK.INFO', key);
  return info === null ? null : info[info.indexOf('owner') + 1];
}

export class Redis extends RealRedis {
  constructor(options) {
    super(mapped(options));
    this.on('error', () => {});
  }

  get(key) { return owner(this, key); }
}

export class Cluster extends RealCluster {
  constructor(nodes, options) {
    super(nodes.map(mapped), options);
    this.on('error', () => {});
  }

  get(key) { return owner(this, key); }
}

export default Redis;
