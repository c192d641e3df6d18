// Locks, semaphores, latches, rates, delayed entries, sales and leader election on a lockserver.

export { Locks, type LockOptions, type LocksOptions, type LockTask } from './locks.js';
export type { Lock } from './lock.js';
export type { Semaphore, SemaphoreOptions } from './semaphore.js';
export type { Latch } from './latch.js';
export type { Limiter, LimitsTaken, Rate, TakeOptions, Taken } from './limiter.js';
export { DUE_FIELD, type Delayed, type Due, type FieldValue, type Missed, type Pending, type PendingRule, type Rule, type RuleOptions } from './delay.js';
export type { CartOutcome, CartPart, Outcome, Sale, SaleInfo, SaleTerms } from './sale.js';
export type { Fields, Holder, LockInfo, SemaphoreInfo, Waiter } from './info.js';
export {
  fence, fenceSync, type Database, type FenceRow, type MysqlCallbackDatabase, type MysqlDatabase, type PgDatabase, type PostgresDatabase, type SqliteDatabase,
} from './fence.js';
export type { ConnectionMessage, ForgottenMessage, Logger, LostMessage } from './log.js';
export { reasonOf, type Observer, type Stats } from './observer.js';
export { targetOf, type Credentials, type IoredisClient, type NodeRedisClient, type NodeRedisSentinelOptions, type Source, type Target } from './target.js';
export type { Key } from './values.js';
export type { Endpoint } from './wire.js';
export type { Entry, EntryHandler, Worker, WorkerOptions } from './worker.js';
export type { Raw, Reply, Word } from './resp.js';
export {
  CancelledError, ClosedError, CrossSlotError, DeadlineError, DeadlockError, FenceError, HeldOtherwiseError, LockLostError,
  LockReleasedError, LockserverError, NoAnswerError, NotAcquiredError, NotLockserverError, ReplyError, ShardedError, type LossReason,
} from './errors.js';
