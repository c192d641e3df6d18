// Where the server is, as the application's own Redis library was told. Nothing of that library is called: the
// connections of this package are its own.

import type { ConnectionOptions } from 'node:tls';
import type { Endpoint, Opening } from './wire.js';

/** Who logs in. */
export interface Credentials {
  username?: string | undefined;
  password?: string | undefined;
}

/** A server, the members of a raft group (which look like a cluster), or what Sentinels say is the master. */
export interface Target {
  kind: 'server' | 'cluster' | 'sentinel';
  /** The servers, or the Sentinels. */
  endpoints: Endpoint[];
  tls?: ConnectionOptions | undefined;
  socket?: Opening['socket'];
  database?: number | undefined;
  credentials?: (() => Credentials | Promise<Credentials>) | undefined;
  /** The master's name at the Sentinels. */
  master?: string | undefined;
  sentinelTls?: ConnectionOptions | undefined;
  sentinelCredentials?: Credentials | undefined;
  /** Translates an address that a server has said, as "host:port". */
  translate?: ((address: string) => Endpoint | undefined) | undefined;
}

/** A client of ioredis: Redis or Cluster, of version 4 or later. */
export interface IoredisClient {
  readonly options: object;
  duplicate(...args: never[]): unknown;
  disconnect(...args: never[]): unknown;
}

/** A client of node-redis: of createClient or createCluster; version 4 or later. */
export interface NodeRedisClient {
  sendCommand(...args: never[]): unknown;
}

/** What says where the server is: a client of ioredis or node-redis, options of createSentinel, a URL, URLs of servers of a cluster, a target. */
export type Source = IoredisClient | NodeRedisClient | NodeRedisSentinelOptions | string | readonly string[] | Target;

/** The options of node-redis' createSentinel: its client does not say them. */
export interface NodeRedisSentinelOptions {
  name: string;
  sentinelRootNodes: Array<{ host: string; port: number }>;
  nodeClientOptions?: object;
  sentinelClientOptions?: object;
}

type Loose = Record<string, any>; // eslint-disable-line @typescript-eslint/no-explicit-any

/**
 * Returns the target that a source stands for. Throws a TypeError if it is none. `cluster` says whether it is a cluster, where
 * the source does not say so.
 */
export function targetOf(source: Source, cluster?: boolean): Target {
  const target = found(source);
  if (cluster === undefined || cluster === (target.kind === 'cluster')) return target;
  if (!cluster) throw new TypeError('cluster is false, and the servers are those of a cluster');
  if (target.kind === 'sentinel') throw new TypeError('cluster is true, and the servers are Sentinels');
  return clusterOf([target]);
}

/** Returns a cluster with the servers of targets: the rest is that of the first one. */
function clusterOf(targets: readonly Target[]): Target {
  const [first] = targets;
  if (!first) throw new RangeError('no server is named');
  if (targets.some(({ database }) => database)) throw new RangeError('a cluster has the database 0 only');
  return { ...first, kind: 'cluster', endpoints: targets.flatMap(({ endpoints }) => endpoints) };
}

function found(source: Source): Target {
  if (typeof source === 'string') return ofUrl(source);
  if (Array.isArray(source)) return clusterOf((source as readonly string[]).map(ofUrl));
  const loose = source as Loose;
  if (loose === null || typeof loose !== 'object') throw new TypeError('a client of ioredis or node-redis, or a URL, is needed');
  if (Array.isArray(loose['endpoints']) && typeof loose['kind'] === 'string') return source as Target;
  if (Array.isArray(loose['sentinelRootNodes'])) return ofNodeRedisSentinel(loose);
  if (loose['isCluster'] === true && Array.isArray(loose['startupNodes'])) return ofIoredisCluster(loose);
  if (loose['_options']?.rootNodes) return ofNodeRedisCluster(loose['_options']);
  const options = loose['options'] as Loose | undefined;
  if (typeof loose['sendCommand'] === 'function' && typeof loose['duplicate'] === 'function' && 'status' in loose && options) {
    return ofIoredis(options);
  }
  if (typeof loose['sendCommand'] === 'function' && options) return ofNodeRedis(options);
  throw new TypeError('this client does not say where its server is: pass a URL, its client, or the options of createSentinel');
}

function ofUrl(text: string): Target {
  const url = new URL(text);
  if (!/^rediss?:$/.test(url.protocol)) throw new TypeError(`the URL begins with redis:// or rediss://, not ${url.protocol}//`);
  const database = url.pathname.length > 1 ? Number(url.pathname.slice(1)) : 0;
  if (!Number.isInteger(database) || database < 0) throw new TypeError(`${url.pathname} is no number of a database`);
  return {
    kind: 'server',
    endpoints: [{ host: url.hostname.replace(/^\[(.*)\]$/, '$1') || '127.0.0.1', port: url.port ? Number(url.port) : 6379 }],
    tls: url.protocol === 'rediss:' ? {} : undefined,
    database,
    credentials: () => ({
      username: url.username ? decodeURIComponent(url.username) : undefined,
      password: url.password ? decodeURIComponent(url.password) : undefined,
    }),
  };
}

/** Returns natMap of ioredis, or nodeAddressMap of node-redis, as a function. */
function translation(map: unknown): Target['translate'] {
  if (typeof map === 'function') return (address) => (map as (address: string) => Endpoint | undefined)(address) ?? undefined;
  if (map && typeof map === 'object') return (address) => (map as Record<string, Endpoint>)[address];
  return undefined;
}

function tlsOf(value: unknown): ConnectionOptions | undefined {
  if (!value) return undefined;
  return value === true ? {} : (value as ConnectionOptions);
}

/** The options of net.connect that ioredis passes on. */
function familyOf(options: Loose): Opening['socket'] {
  return options['family'] ? { family: options['family'] as number } : {};
}

function ofIoredis(options: Loose): Target {
  const common = {
    socket: familyOf(options),
    database: options['db'] as number | undefined,
    credentials: () => ({ username: options['username'] ?? undefined, password: options['password'] ?? undefined }),
  };
  if (Array.isArray(options['sentinels'])) {
    return {
      ...common,
      kind: 'sentinel',
      endpoints: (options['sentinels'] as Loose[]).map((s) => ({ host: s['host'] ?? '127.0.0.1', port: s['port'] ?? 26379 })),
      master: options['name'] as string,
      tls: options['enableTLSForSentinelMode'] ? tlsOf(options['tls']) : undefined,
      sentinelTls: tlsOf(options['sentinelTLS']),
      sentinelCredentials: { username: options['sentinelUsername'] ?? undefined, password: options['sentinelPassword'] ?? undefined },
      translate: translation(options['natMap']),
    };
  }
  const endpoint = options['path'] ? { path: options['path'] as string } : { host: options['host'] ?? '127.0.0.1', port: options['port'] ?? 6379 };
  return { ...common, kind: 'server', endpoints: [endpoint], tls: tlsOf(options['tls']) };
}

function ofIoredisCluster(cluster: Loose): Target {
  const options = (cluster['options'] ?? {}) as Loose;
  const node = (options['redisOptions'] ?? {}) as Loose;
  const endpoints = (cluster['startupNodes'] as unknown[]).map((it): Endpoint => {
    if (typeof it === 'number') return { host: '127.0.0.1', port: it };
    if (typeof it === 'string') {
      const url = new URL(/^rediss?:/.test(it) ? it : `redis://${it}`);
      return { host: url.hostname, port: url.port ? Number(url.port) : 6379 };
    }
    return { host: (it as Endpoint).host ?? '127.0.0.1', port: Number((it as Endpoint).port ?? 6379) };
  });
  return {
    kind: 'cluster',
    endpoints,
    tls: tlsOf(node['tls']),
    socket: familyOf(node),
    credentials: () => ({ username: node['username'] ?? undefined, password: node['password'] ?? undefined }),
    translate: translation(options['natMap']),
  };
}

function nodeRedisCredentials(options: Loose): Target['credentials'] {
  const provider = options['credentialsProvider'] as Loose | undefined;
  if (provider?.['type'] === 'async-credentials-provider') return () => provider['credentials']() as Promise<Credentials>;
  if (provider?.['type'] === 'streaming-credentials-provider') {
    return async () => {
      const [credentials, subscription] = await provider['subscribe']({ onNext() {}, onError() {} });
      subscription?.dispose?.();
      return credentials as Credentials;
    };
  }
  return () => ({ username: options['username'], password: options['password'] });
}

const TLS_KEYS = ['ca', 'cert', 'key', 'pfx', 'passphrase', 'servername', 'rejectUnauthorized', 'checkServerIdentity', 'ciphers',
  'minVersion', 'maxVersion', 'secureContext', 'ALPNProtocols', 'crl', 'dhparam', 'ecdhCurve', 'sigalgs'];

function nodeRedisTls(socket: Loose): ConnectionOptions | undefined {
  if (!socket['tls']) return undefined;
  return Object.fromEntries(TLS_KEYS.filter((key) => socket[key] !== undefined).map((key) => [key, socket[key]]));
}

function ofNodeRedis(given: Loose): Target {
  const options = given['url'] ? { ...given, ...nodeRedisUrl(given) } : given;
  const socket = (options['socket'] ?? {}) as Loose;
  const endpoint = socket['path'] ? { path: socket['path'] as string } : { host: socket['host'] ?? 'localhost', port: socket['port'] ?? 6379 };
  return {
    kind: 'server',
    endpoints: [endpoint],
    tls: nodeRedisTls(socket),
    socket: socket['family'] ? { family: socket['family'] as number } : {},
    database: options['database'] as number | undefined,
    credentials: nodeRedisCredentials(options),
  };
}

/** Returns what the url of node-redis' options says, as its other options would. */
function nodeRedisUrl(options: Loose): Loose {
  const target = ofUrl(options['url'] as string);
  const { username, password } = target.credentials!() as Credentials;
  return {
    socket: { ...target.endpoints[0], ...(options['socket'] as Loose | undefined), ...(target.tls ? { tls: true } : {}) },
    username: options['username'] ?? username,
    password: options['password'] ?? password,
    database: options['database'] ?? target.database,
  };
}

function ofNodeRedisCluster(options: Loose): Target {
  const defaults = (options['defaults'] ?? {}) as Loose;
  const roots = (options['rootNodes'] as Loose[]).map((root) => ofNodeRedis({ ...defaults, ...root }));
  return {
    ...roots[0]!,
    kind: 'cluster',
    database: 0,
    tls: roots[0]!.tls ?? nodeRedisTls((defaults['socket'] ?? {}) as Loose),
    endpoints: roots.map((root) => root.endpoints[0]!),
    translate: translation(options['nodeAddressMap']),
  };
}

function ofNodeRedisSentinel(options: Loose): Target {
  const node = ofNodeRedis((options['nodeClientOptions'] ?? {}) as Loose);
  const sentinel = (options['sentinelClientOptions'] ?? {}) as Loose;
  return {
    ...node,
    kind: 'sentinel',
    endpoints: (options['sentinelRootNodes'] as Endpoint[]).map(({ host, port }) => ({ host: host!, port: port! })),
    master: options['name'] as string,
    sentinelTls: nodeRedisTls((sentinel['socket'] ?? {}) as Loose),
    sentinelCredentials: { username: sentinel['username'] as string | undefined, password: sentinel['password'] as string | undefined },
    translate: translation(options['nodeAddressMap']),
  };
}
