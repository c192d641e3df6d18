// Connections for commands that block theirs: a wait for a latch, or for a rate. Each is used by one call at a time.
// There are none while no call waits.

import { Timer } from './clock.js';
import { abortedBy, ClosedError, isElsewhere } from './errors.js';
import type { Reply, Word } from './resp.js';
import type { Route } from './route.js';
import type { Wire } from './wire.js';

/** How long a connection is kept that no call uses, in milliseconds. */
const KEPT = 1000;

export class Blocking {
  private readonly free: Array<{ wire: Wire; idle: Timer }> = [];
  private readonly busy = new Set<Wire>();
  private closed = false;

  /**
   * @param limit of a call besides its wait, in milliseconds
   * @param opening how long a connection may take to be one
   */
  constructor(private readonly route: Route, readonly limit: number, private readonly opening: () => number) {}

  private async take(): Promise<Wire> {
    for (let it = this.free.pop(); it; it = this.free.pop()) {
      it.idle.stop();
      if (!it.wire.error) return it.wire;
    }
    return this.route.connect(Math.min(this.limit, this.opening()), (wire) => this.route.leads(wire));
  }

  private give(wire: Wire): void {
    if (wire.error || this.closed) {
      wire.close(new ClosedError());
      return;
    }
    const idle = new Timer(KEPT, () => {
      const i = this.free.findIndex((it) => it.wire === wire);
      if (i >= 0) this.free.splice(i, 1);
      wire.close(new ClosedError());
    });
    this.free.push({ wire, idle });
  }

  /**
   * Sends a command once that may block for `wait` milliseconds (undefined: without limit). If `signal` is aborted the
   * connection is closed, and the server gives the wait up. Errors: the signal's, NoAnswerError, BrokenError,
   * ReplyError, ClosedError.
   */
  async call(words: readonly Word[], wait: number | undefined, signal: AbortSignal | undefined): Promise<Reply> {
    if (this.closed) throw new ClosedError();
    if (signal?.aborted) throw abortedBy(signal);
    const wire = await this.take();
    this.busy.add(wire);
    const stop = () => wire.close(abortedBy(signal!));
    if (this.closed) wire.close(new ClosedError());
    else if (signal?.aborted) stop();
    signal?.addEventListener('abort', stop, { once: true });
    try {
      return await wire.call(words, wait === undefined ? undefined : wait + this.limit);
    } catch (error) {
      if (isElsewhere(error)) wire.close(error as Error);
      throw error;
    } finally {
      signal?.removeEventListener('abort', stop);
      this.busy.delete(wire);
      this.give(wire);
    }
  }

  /** Ends the connections. Calls by them end with that error. */
  drop(why: Error): void {
    for (const wire of this.busy) wire.close(why);
    for (const { wire, idle } of this.free.splice(0)) {
      idle.stop();
      wire.close(why);
    }
  }

  close(): void {
    this.closed = true;
    this.drop(new ClosedError());
  }
}
