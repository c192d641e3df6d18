// An owner: what holds locks. Locks that are acquired `within` another lock have its owner, so that the server can
// find cycles of owners that wait for each other.

import { abortedBy } from './errors.js';
import type { Hold } from './hold.js';

export class Task {
  readonly holds = new Map<string, Hold>();
  /** Keys for which a call is under way; each resolves when that is over. */
  private readonly busy = new Map<string, Promise<void>>();
  private readonly ends = new Map<string, () => void>();

  constructor(readonly owner: string) {}

  /**
   * Waits until no other call of the owner is under way for any of the keys: a lock that is asked for again while it
   * is released would be neither. Throws if `limited` ends first.
   */
  async enter(keys: readonly string[], limited?: AbortSignal): Promise<void> {
    for (;;) {
      const other = keys.map((key) => this.busy.get(key)).find((it) => it !== undefined);
      if (!other) break;
      if (!limited) {
        await other;
        continue;
      }
      if (limited.aborted) throw abortedBy(limited);
      let ended!: () => void;
      const end = new Promise<void>((resolve) => { ended = resolve; });
      limited.addEventListener('abort', ended, { once: true });
      await Promise.race([other, end]);
      limited.removeEventListener('abort', ended);
    }
    this.begin(keys);
  }

  /** enter(), if the owner has none of the keys and no call is under way for any; false: it is not so. */
  enterIdle(keys: readonly string[]): boolean {
    if (!this.isIdle(keys)) return false;
    this.begin(keys);
    return true;
  }

  /** Whether the owner has none of the keys, and no call is under way for any. */
  isIdle(keys: readonly string[]): boolean { return !keys.some((key) => this.busy.has(key) || this.holds.has(key)); }

  private begin(keys: readonly string[]): void {
    let over!: () => void;
    const promise = new Promise<void>((resolve) => { over = resolve; });
    for (const key of keys) {
      this.busy.set(key, promise);
      this.ends.set(key, over);
    }
  }

  /** Lets the next call for the keys go on. */
  exit(keys: readonly string[]): void {
    const over = this.ends.get(keys[0]!);
    for (const key of keys) {
      this.busy.delete(key);
      this.ends.delete(key);
    }
    over?.();
  }
}
