// The connection for commands to a shard, which is made anew when it breaks.

import { Timer } from './clock.js';
import { abortedBy, BrokenError, ClosedError, isElsewhere, NoAnswerError } from './errors.js';
import type { Raw, Word } from './resp.js';
import type { Route } from './route.js';
import type { Endpoint, Wire } from './wire.js';

/** How much of a wait is kept for the last question, in milliseconds. */
export function lastWord(wait: number): number {
  return wait === Infinity ? 0 : Math.min(1000, Math.max(wait / 10, Math.min(wait / 2, 50)));
}

/** Between the attempts of a command that may be sent twice, in milliseconds; the last one repeats. */
export const PAUSES = [10, 50, 200, 500];

export class Channel {
  private wire: Wire | undefined;
  private left: Wire | undefined; // leads to a server that no longer leads, and has answers to come
  private dialing: Promise<Wire> | undefined;
  private ended = false;

  /**
   * @param limit of a call, in milliseconds, all attempts together
   * @param opening how long a connection may take to be one
   * @param redirected whether an answer redirects one key, and not the connection
   */
  constructor(
    private readonly route: Route,
    readonly limit: number,
    private readonly opening: () => number,
    private readonly redirected: (error: unknown) => boolean,
  ) {}

  private async connect(): Promise<Wire> {
    if (this.wire && !this.wire.error) return this.wire;
    this.dialing ??= this.route.connect(this.opening(), (wire) => this.route.leads(wire)).finally(() => { this.dialing = undefined; });
    const wire = await this.dialing;
    if (this.ended) wire.close(new ClosedError());
    else this.wire = wire;
    return wire;
  }

  /**
   * Sends a command once. Errors: NoAnswerError, BrokenError (it may have been done), ReplyError. One that was not
   * sent within the limit is not sent later. If `signal` is aborted first it rejects with that.
   */
  raw(words: readonly Word[], limit = this.limit, signal?: AbortSignal): Promise<Raw> {
    if (signal?.aborted) return Promise.reject(abortedBy(signal));
    return new Promise((done, fail) => {
      let over = false;
      let by: Wire | undefined;
      const end = () => {
        over = true;
        timer.stop();
        signal?.removeEventListener('abort', aborted);
      };
      const resolve = (reply: Raw) => {
        end();
        done(reply);
      };
      const reject = (error: Error) => {
        end();
        fail(error);
      };
      const aborted = () => reject(abortedBy(signal!));
      signal?.addEventListener('abort', aborted, { once: true });
      const timer = new Timer(limit, () => {
        // The server stands still: the next command asks who leads. A caller with little time does not know that.
        if (limit >= this.limit) by?.close(new NoAnswerError());
        reject(new NoAnswerError());
      }, true);
      this.connect().then((wire) => {
        if (over) return;
        by = wire;
        wire.send(words, (error, reply) => {
          // Of what else was sent by the connection it is not known whether it was done.
          if (isElsewhere(error) && !this.redirected(error)) wire.close(new BrokenError(error));
          if (error) reject(error);
          else resolve(reply);
        });
      }).catch((error: unknown) => reject(error as Error));
    });
  }

  /** Ends the present connection if it leads to another server than this one. */
  follow(endpoint: Endpoint): void {
    if (this.isElsewhere(endpoint)) this.drop(new BrokenError(new Error('another server leads')));
  }

  private isElsewhere(endpoint: Endpoint): boolean {
    const { host, port, path } = this.wire?.endpoint ?? endpoint;
    return host !== endpoint.host || port !== endpoint.port || path !== endpoint.path;
  }

  /** As follow(), when the present server has said so: the commands that were sent get their answers. */
  leaveFor(endpoint: Endpoint): void {
    if (!this.isElsewhere(endpoint)) return;
    this.left?.close(new BrokenError(new Error('another server leads')));
    this.left = this.wire;
    this.wire = undefined;
    this.left?.leave(new BrokenError(new Error('another server leads')));
  }

  /** Ends the present connection: another server leads. */
  drop(why: Error): void {
    for (const wire of [this.left, this.wire]) wire?.close(why);
    this.left = this.wire = undefined;
  }

  /** Ends the connection for good. Commands that have no answer yet fail. */
  close(): void {
    this.ended = true;
    this.drop(new ClosedError());
  }
}
