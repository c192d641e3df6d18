// What is asked for: a lock, several of them, permits of a semaphore, or units of a limiter, in the words of the server.

import type { Word } from './resp.js';

export interface Wish {
  kind: 'lock' | 'all' | 'semaphore' | 'limiter';
  keys: readonly string[];
  shared: boolean;
  /** Milliseconds; 0: the server renews the lease. */
  lease: number;
  /** It does not wait. */
  tries: boolean;
  /** The traceparent of the call; empty: none. */
  trace?: string | undefined;
  /** Of a semaphore. */
  limit?: number | undefined;
  /** The limit counts only for the call that makes the semaphore. */
  isInitial?: boolean;
  permits?: number | undefined;
  /** The place among the calls that wait; 0 or undefined: the last. */
  priority?: number | undefined;
  /** Of limiters: the command. */
  rate?: readonly Word[] | undefined;
}

/** Returns the command that asks. It may be sent twice. */
export function askWords(w: Wish, owner: string): Word[] {
  if (w.kind === 'limiter') return [...w.rate!];
  const words: Word[] = w.kind === 'all'
    ? ['MLOCK', w.keys.length, ...w.keys, owner]
    : [w.kind === 'lock' ? 'LOCK' : 'SEM.ACQUIRE', w.keys[0]!, owner];
  if (w.shared) words.push('SHARED');
  if (w.limit !== undefined) words.push(w.isInitial ? 'INITIAL' : 'LIMIT', w.limit);
  if (w.permits !== undefined) words.push('PERMITS', w.permits);
  if (w.lease > 0) words.push('PX', w.lease);
  if (w.trace) words.push('TRACE', w.trace);
  words.push('ONCE');
  return words;
}

/** Returns the commands that end a wait, and release what it may have got. */
export function undoWords(w: Wish, owner: string): Word[][] {
  const commands: Word[][] = w.tries ? [] : [['LOCK.CANCEL', w.keys[0]!, owner]];
  if (w.kind === 'limiter') return commands;
  if (w.kind === 'all') commands.push(['MUNLOCK', w.keys.length, ...w.keys, owner]);
  else commands.push([w.kind === 'lock' ? 'UNLOCK' : 'SEM.RELEASE', w.keys[0]!, owner]);
  return commands;
}

/** Returns the command that releases what is held with these tokens. It may be sent twice. */
export function releaseWords(w: Wish, owner: string, tokens: readonly number[]): Word[] {
  if (w.kind === 'all') return ['MUNLOCK', w.keys.length, ...w.keys, owner, 'TOKENS', ...tokens];
  return [w.kind === 'lock' ? 'UNLOCK' : 'SEM.RELEASE', w.keys[0]!, owner, 'TOKEN', tokens[0]!];
}

/** Returns the commands that renew each key, with a lease of `ms`, or the server's own. */
export function renewWords(w: Wish, owner: string, tokens: readonly number[], ms: number): Word[][] {
  const name = w.kind === 'semaphore' ? 'SEM.RENEW' : 'RENEW';
  return w.keys.map((key, i) => [name, key, owner, ...(ms > 0 ? ['PX', ms] : []), 'TOKEN', tokens[i]!]);
}

/** Returns the commands that confirm a grant. A fixed lease begins anew with that. */
export function confirmWords(w: Wish, owner: string, tokens: readonly number[]): Word[][] {
  if (w.lease > 0) return renewWords(w, owner, tokens, w.lease);
  return [['LOCK.CONFIRM', w.keys[0]!, owner, tokens[0]!]]; // one of several keys stands for all
}

/**
 * Returns the commands that ask whether the server still has each key, without making the lease shorter. `left` is what is
 * left of a fixed lease, in milliseconds.
 */
export function checkWords(w: Wish, owner: string, tokens: readonly number[], left: number): Word[][] {
  return renewWords(w, owner, tokens, w.lease === 0 ? 0 : Math.max(1, Math.ceil(left)));
}

/** Takes the reply to askWords apart: the tokens; undefined if it is no grant. */
export function tokensOf(reply: unknown): number[] | undefined {
  if (typeof reply === 'number') return [reply];
  if (Array.isArray(reply) && reply.length > 0 && reply.every((it) => typeof it === 'number')) return reply as number[];
  return undefined;
}
