// Metrics: what becomes of locks, for counters and logs.

import type { LockLostError } from './errors.js';

/**
 * Hears what becomes of locks. Times are milliseconds. What an observer throws is ignored. lockserver/prom-client and
 * lockserver/opentelemetry are observers.
 */
export interface Observer {
  /** A lock was acquired, after so long. */
  acquired?(key: string, waited: number): void;
  /** It was not, after so long, for that reason. */
  refused?(key: string, waited: number, error: Error): void;
  /** It was released, having been held for so long. */
  released?(key: string, held: number): void;
  /** It was lost. */
  lost?(error: LockLostError): void;
  /** The attached connection is there (undefined), or was lost: why. */
  connected?(error: Error | undefined): void;
}

/** Figures of a client at a moment. */
export interface Stats {
  /** Locks and semaphores that are held; each key counts. */
  held: number;
  /** Calls that wait for a lock. */
  waiting: number;
  /** Releases that the server has not answered yet. */
  owed: number;
  /** The age of the oldest hold, in milliseconds; 0: there is none. */
  oldest: number;
  /** Whether the attached connection is there. */
  attached: boolean;
}

/** Names the reason of a refusal, for a label: not_acquired, deadline, cancelled, deadlock, no_answer, closed, error. */
export function reasonOf(error: Error): string {
  const code = (error as { code?: unknown }).code;
  const known = ['not_acquired', 'deadline', 'cancelled', 'deadlock', 'no_answer', 'closed', 'lost'];
  const name = typeof code === 'string' ? code.replace(/^ERR_LOCK_/, '').toLowerCase() : '';
  return known.includes(name) ? name : 'error';
}
