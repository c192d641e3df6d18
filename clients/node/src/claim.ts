// What stands for a lock on the side of the client: it ends when the lock is released or lost. A Lock is the caller's
// handle of it. Nothing here keeps that handle, so that a forgotten one is found.

import { setMaxListeners } from 'node:events';
import type { LockserverError } from './errors.js';
import type { Hold } from './hold.js';

export class Claim {
  readonly controller = new AbortController();
  private readonly cancelled = () => this.controller.abort(this.outer!.reason);

  /** @param place where the caller has acquired it */
  constructor(readonly hold: Hold, readonly keys: readonly string[], private readonly outer: AbortSignal | undefined, readonly place: string) {
    setMaxListeners(0, this.controller.signal);
    if (outer?.aborted) this.cancelled();
    else outer?.addEventListener('abort', this.cancelled, { once: true });
    hold.claims!.add(this);
  }

  /** Why the lock is not held any more; undefined: it is held, as far as is known. */
  get ended(): LockserverError | undefined { return this.hold.ended(this); }

  end(reason: LockserverError): void {
    this.outer?.removeEventListener('abort', this.cancelled);
    this.controller.abort(reason);
  }
}

/** Hears of the handles that the collector finds: their locks stay held. */
const forgotten = new FinalizationRegistry<Claim>((claim) => {
  if (!claim.ended) claim.hold.keeper.log.forgotten(claim);
});

/** Has the collector tell of a handle that its caller has dropped without a release. */
export function watch(handle: object, claim: Claim): void {
  forgotten.register(handle, claim, claim);
}

/** The handle was released. */
export function unwatch(claim: Claim): void {
  forgotten.unregister(claim);
}

/** Returns the place that has called a function which is running: file, line and column. */
export function callerOf(running: (...args: never[]) => unknown): string {
  const limit = Error.stackTraceLimit;
  const at: { stack?: string } = {};
  try {
    Error.stackTraceLimit = 1;
    Error.captureStackTrace(at, running);
    return /^\s*at (.*)$/m.exec(at.stack ?? '')?.[1] ?? 'an unknown place';
  } catch {
    return 'an unknown place'; // a program may have frozen Error
  } finally {
    try {
      Error.stackTraceLimit = limit;
    } catch {
      // as above
    }
  }
}
