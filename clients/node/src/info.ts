// What the inspecting calls resolve to. Times are milliseconds.

import type { Reply } from './resp.js';

/** An owner of a lock, or of permits of a semaphore. */
export interface Holder {
  owner: string;
  /** The fencing token. */
  token: number;
  /** How many times it has the lock; of a semaphore its permits. */
  holds: number;
  /** Until the lease ends; undefined: it has no end. */
  remaining: number | undefined;
  /** The server renews the lease. */
  renewed: boolean;
  /** Address and name of the client that acquired it; undefined: it is gone. */
  client: string | undefined;
}

/** A call that waits. */
export interface Waiter {
  owner: string;
  /** When it came, since 1970 by the server's clock. */
  since: number;
  /** When it gives up; undefined: never. */
  deadline: number | undefined;
  /** From 0 to 9. */
  priority: number;
}

/** A key that is locked, or waited for. */
export interface LockInfo {
  /** "latch" for a latch that calls wait for. */
  mode: 'lock' | 'shared' | 'semaphore' | 'latch';
  /** In the server's order, at most 1,000. */
  holders: Holder[];
  /** In the order in which they are granted, at most 1,000. */
  waiters: Waiter[];
}

/** A semaphore of which permits are held. */
export interface SemaphoreInfo extends LockInfo {
  limit: number;
  /** Permits that could be acquired now. */
  available: number;
  used: number;
}

export type Fields = Record<string, Reply>;

/** Returns a map, which has come as names and values in turn. */
export function fieldsOf(reply: Reply | undefined): Fields {
  const fields: Fields = {};
  if (Array.isArray(reply)) for (let i = 0; i + 1 < reply.length; i += 2) fields[String(reply[i])] = reply[i + 1]!;
  return fields;
}

function clientOf(reply: Reply | undefined): string | undefined {
  const { address, name } = fieldsOf(reply) as { address?: Reply; name?: Reply };
  return address === undefined ? undefined : [address, name].filter((it) => it).join(' ');
}

function holderOf(of: Fields): Holder {
  const ttl = Number(of['ttl'] ?? -1);
  return {
    owner: String(of['owner']), token: Number(of['token']), holds: Number(of['holds'] ?? of['permits'] ?? 1),
    remaining: ttl < 0 ? undefined : ttl, renewed: of['watchdog'] === true || of['watchdog'] === 1, client: clientOf(of['client']),
  };
}

function waiterOf(of: Fields): Waiter {
  const deadline = Number(of['deadline'] ?? 0);
  return {
    owner: String(of['owner'] ?? ''), since: Number(of['waiting-since'] ?? of['since'] ?? 0), deadline: deadline > 0 ? deadline : undefined,
    priority: Number(of['priority'] ?? 0),
  };
}

/** Returns the reply of LOCK.INFO; undefined: the key is free. */
export function lockInfoOf(reply: Reply): LockInfo | undefined {
  if (!Array.isArray(reply)) return undefined;
  const of = fieldsOf(reply);
  const list = (it: Reply | undefined): Fields[] => (Array.isArray(it) ? it : []).map(fieldsOf);
  const holders = 'holders' in of ? list(of['holders']) : 'owner' in of ? [of] : [];
  return { mode: String(of['mode'] ?? 'lock') as LockInfo['mode'], holders: holders.map(holderOf), waiters: list(of['waiters']).map(waiterOf) };
}

/** Returns the reply of SEM.INFO; undefined: no owner holds a permit. */
export function semaphoreInfoOf(reply: Reply): SemaphoreInfo | undefined {
  const info = lockInfoOf(reply);
  const { limit, available, used } = fieldsOf(reply);
  return info && { ...info, mode: 'semaphore', limit: Number(limit), available: Number(available), used: Number(used) };
}
