// The errors of this package. Each has a `code`, for programs that load both the ESM and the CommonJS form.

/** Why a lock was lost. The first four are the server's words. */
export type LossReason =
  /** The lease ended. */
  | 'expired'
  /** An operator released it (LOCK.FORCE). */
  | 'forced'
  /** The key was removed. */
  | 'deleted'
  /** The key has another value. */
  | 'overwritten'
  /** The server says that the lock is not held with this token any more. */
  | 'stale'
  /** The server did not answer until a moment at which the lease may have ended. */
  | 'unreachable'
  /** Locks.close() was called. */
  | 'closed';

const quoted = (keys: readonly string[]): string => keys.map((key) => JSON.stringify(key)).join(', ');
const of = (keys: readonly string[]): string => (keys.length === 0 ? '' : `, for ${quoted(keys)}`);

/** The base of all errors of this package. */
export class LockserverError extends Error {
  /** A stable name: ERR_LOCK_... */
  readonly code: string;

  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
    this.name = new.target.name;
  }
}

/** Another owner holds the lock, or still held it when `wait` was over. */
export class NotAcquiredError extends LockserverError {
  readonly keys: readonly string[];
  /** The owner, if it is one of the same client. Locks.info() asks the server for others. */
  readonly owner: string | undefined;

  constructor(keys: readonly string[], owner?: string, lease?: string) {
    super('ERR_LOCK_NOT_ACQUIRED', `another owner holds ${quoted(keys)}${owner === undefined ? '' : `: ${owner} of this client, ${lease}`}`);
    this.keys = keys;
    this.owner = owner;
  }
}

/** The caller's signal ended the wait by its time limit (AbortSignal.timeout). `cause` is the signal's reason. */
export class DeadlineError extends LockserverError {
  readonly keys: readonly string[];

  constructor(cause: unknown, keys: readonly string[] = []) {
    super('ERR_LOCK_DEADLINE', `the deadline of the caller's signal is over${of(keys)}`, { cause });
    this.keys = keys;
  }
}

/** The caller's signal was aborted. `cause` is the signal's reason. */
export class CancelledError extends LockserverError {
  readonly keys: readonly string[];

  constructor(cause: unknown, keys: readonly string[] = []) {
    super('ERR_LOCK_CANCELLED', `the call was cancelled by its signal${of(keys)}`, { cause });
    this.keys = keys;
  }
}

/** Waiting would have closed a cycle of owners that wait for each other. */
export class DeadlockError extends LockserverError {
  /** The cycle in the server's words, or the key if another wait has closed it. */
  readonly cycle: string;

  constructor(cycle: string) {
    super('ERR_LOCK_DEADLOCK', `waiting for the lock would never end: ${cycle}`);
    this.cycle = cycle;
  }
}

/** The server has not answered in time, or its connection broke before it did. What it was asked may have been done. */
export class NoAnswerError extends LockserverError {
  readonly keys: readonly string[];

  constructor(cause?: unknown, keys: readonly string[] = []) {
    const why = cause instanceof Error ? `: ${cause.message || (cause as { code?: string }).code || cause.name}` : '';
    super('ERR_LOCK_NO_ANSWER', `the server does not answer${of(keys)}${why}`, cause === undefined ? undefined : { cause });
    this.keys = keys;
  }
}

/** A lock was lost, though its holder has not released it. */
export class LockLostError extends LockserverError {
  readonly key: string;
  readonly token: number;
  readonly reason: LossReason;
  /** Its holder. */
  readonly owner: string;
  /** The fixed lease in milliseconds; 0: the server renewed it. */
  readonly lease: number;

  constructor(key: string, token: number, reason: LossReason, owner: string, lease: number) {
    const length = lease > 0 ? `lease of ${lease} ms` : 'renewed by the server';
    super('ERR_LOCK_LOST', `the lock ${JSON.stringify(key)} is lost: ${reason} (token ${token}, owner ${owner}, ${length})`);
    this.key = key;
    this.token = token;
    this.reason = reason;
    this.owner = owner;
    this.lease = lease;
  }
}

/** The lock was released before. It is the reason of its signal, and what guard() and a second release() throw. */
export class LockReleasedError extends LockserverError {
  constructor(key: string) {
    super('ERR_LOCK_RELEASED', `the lock ${JSON.stringify(key)} was released`);
  }
}

/** The owner holds some of the keys in another way: shared, alone, or together with others. */
export class HeldOtherwiseError extends LockserverError {
  constructor(keys: readonly string[]) {
    super('ERR_LOCK_HELD_OTHERWISE', `the same owner holds some of ${keys.join(', ')} in another way`);
  }
}

/** The keys of one call are of several slots, which a cluster refuses. Keys with the same hash tag, as {order}:1, share a slot. */
export class CrossSlotError extends LockserverError {
  readonly keys: readonly string[];

  constructor(keys: readonly string[], cause?: unknown) {
    // What the server says of keys that follow from a name says more than that some keys differ.
    const said = cause instanceof Error && !cause.message.startsWith('CROSSSLOT Keys in request') ? cause.message.slice('CROSSSLOT '.length) : undefined;
    const which = keys.length === 0 ? 'the keys of the call' : keys.length === 1 ? `the keys of the command and ${quoted(keys)}` : `the keys ${quoted(keys)}`;
    super('ERR_LOCK_CROSS_SLOT', said ?? `${which} are of different slots of the cluster: give them the same hash tag, which is the part in braces, `
      + 'as {order}:1 and {order}:2', { cause });
    this.keys = keys;
  }
}

/** The server is one of several shards, and the client was told of this one alone. */
export class ShardedError extends LockserverError {
  constructor(cause?: unknown) {
    super('ERR_LOCK_SHARDED', 'the server is one of several shards: name several of them, pass a client of the cluster, or say { cluster: true }', { cause });
  }
}

/** The server lacks the native commands, as Redis does. */
export class NotLockserverError extends LockserverError {
  constructor(cause?: unknown) {
    super('ERR_LOCK_NOT_LOCKSERVER', 'the server has no LOCK.ATTACH: it is no lockserver, or one of another version', { cause });
  }
}

/** close() was called. */
export class ClosedError extends LockserverError {
  constructor() {
    super('ERR_LOCK_CLOSED', 'the client is closed');
  }
}

/** A later holder has raised the fence of a row, or the row is missing. */
export class FenceError extends LockserverError {
  constructor(message: string) {
    super('ERR_LOCK_FENCED', message);
  }
}

/** An error that the server replied, in its own words: "NOPERM ...". */
export class ReplyError extends LockserverError {
  constructor(text: string) {
    super('ERR_LOCK_REPLY', text);
  }

  /** The first word of the reply. */
  get word(): string {
    const end = this.message.indexOf(' ');
    return end < 0 ? this.message : this.message.slice(0, end);
  }
}

/** A connection ended before the reply came. Callers get it as the cause of a NoAnswerError. */
export class BrokenError extends LockserverError {
  constructor(cause?: unknown) {
    super('ERR_LOCK_BROKEN', `the connection is broken${cause instanceof Error ? `: ${cause.message || cause.name}` : ''}`, { cause });
  }
}

const ELSEWHERE = new Set(['MOVED', 'CLUSTERDOWN', 'MASTERDOWN', 'READONLY', 'LOADING']);

/**
 * Reports whether an error says that another server leads, or none does. Such a server has not done what it was
 * asked: the command is to be sent again, elsewhere.
 */
export function isElsewhere(error: unknown): boolean {
  return error instanceof ReplyError && (ELSEWHERE.has(error.word) || error.message.startsWith('UNBLOCKED force unblock'));
}

/** Reports whether the server has answered, if only with an error. */
export function isReply(error: unknown): boolean {
  return error === undefined || error === null || (error instanceof ReplyError && !isElsewhere(error));
}

/** Reports whether the server has said that the lock is not held with this token. */
export function isStale(error: unknown): boolean {
  return error instanceof ReplyError && error.word === 'STALETOKEN';
}

/** Reports whether the server has said that there is no lock at the key, but another value. */
export function isWrongType(error: unknown): boolean {
  return error instanceof ReplyError && error.word === 'WRONGTYPE';
}

/** Returns an error reply as the error of this package that it stands for. */
export function translated(error: unknown): unknown {
  if (error instanceof BrokenError) return new NoAnswerError(error);
  if (!(error instanceof ReplyError)) return error;
  if (error.word === 'CROSSSLOT') return new CrossSlotError([], error);
  if (error.word === 'DEADLOCK') return new DeadlockError(error.message.slice('DEADLOCK '.length));
  if (/^ERR unknown command/i.test(error.message)) return new NotLockserverError(error);
  return error;
}

/** Returns an error with the keys of the call that it has ended. */
export function about(error: unknown, keys: readonly string[]): unknown {
  if (error instanceof CrossSlotError && error.keys.length === 0) return new CrossSlotError(keys, error.cause);
  if (error instanceof NoAnswerError) return new NoAnswerError(error.cause, keys);
  if (error instanceof DeadlineError) return new DeadlineError(error.cause, keys);
  if (error instanceof CancelledError) return new CancelledError(error.cause, keys);
  return error;
}

/** Returns the error for a signal that has ended a call. */
export function abortedBy(signal: AbortSignal): LockserverError {
  const reason: unknown = signal.reason;
  if (reason instanceof LockserverError) return reason; // the signal of another lock
  return (reason as { name?: string } | undefined)?.name === 'TimeoutError' ? new DeadlineError(reason) : new CancelledError(reason);
}
