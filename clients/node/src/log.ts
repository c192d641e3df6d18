// What operators are told if nobody listens: lost locks, lost connections, forgotten locks.

import { channel } from 'node:diagnostics_channel';
import type { Claim } from './claim.js';
import type { LockLostError } from './errors.js';

/** Where a client writes: console, pino, winston and others are such objects. */
export interface Logger {
  warn(text: string): void;
  info?(text: string): void;
  debug?(text: string): void;
}

/** The messages of the channel `lockserver:lost`. */
export interface LostMessage {
  /** The name of the client. */
  client: string;
  error: LockLostError;
  /** For how long it was held, in milliseconds. */
  held: number;
}

/** The messages of the channels `lockserver:disconnected`, of which each outage has one, and `lockserver:connected`. */
export interface ConnectionMessage {
  client: string;
  /** The server, as far as it is known. */
  address: string;
  /** Why; undefined: the connection is there. */
  error: unknown;
}

/** The messages of the channel `lockserver:forgotten`: a lock was dropped without a release, and stays held. */
export interface ForgottenMessage {
  client: string;
  keys: readonly string[];
  /** Where it was acquired. */
  place: string;
  /** The lease in milliseconds; 0: the server renews it. */
  lease: number;
}

/** The channels of node:diagnostics_channel. */
const LOST = channel('lockserver:lost');
const DISCONNECTED = channel('lockserver:disconnected');
const CONNECTED = channel('lockserver:connected');
const FORGOTTEN = channel('lockserver:forgotten');

/** Without a logger of the program only what is wrong is written, to stderr. */
const STDERR: Logger = { warn: (text) => console.warn(text) };

export class Log {
  private readonly logger: Logger | undefined;
  private away = false; // said that there is no connection

  constructor(logger: Logger | false | undefined, private readonly name: string) {
    this.logger = logger === false ? undefined : logger ?? STDERR;
  }

  /** What a logger throws is its own. */
  private say(level: 'warn' | 'info' | 'debug', text: string): void {
    try {
      this.logger?.[level]?.(`lockserver ${this.name}: ${text}`);
    } catch {
      // a logger that fails ends no lock
    }
  }

  /** A lock was lost, after so many milliseconds. A client that is closed releases on purpose. */
  lost(error: LockLostError, held: number): void {
    LOST.publish({ client: this.name, error, held } satisfies LostMessage);
    this.say(error.reason === 'closed' ? 'debug' : 'warn', `${error.message}, after ${Math.round(held)} ms`);
  }

  /** A connection was lost, or could not be made. Each outage is told once. */
  detached(address: string, why: unknown): void {
    if (this.away) return;
    this.away = true;
    DISCONNECTED.publish({ client: this.name, address, error: why } satisfies ConnectionMessage);
    this.say('warn', `no connection to ${address}, which is tried again: ${why instanceof Error ? why.message : String(why)}`);
  }

  attached(address: string): void {
    CONNECTED.publish({ client: this.name, address, error: undefined } satisfies ConnectionMessage);
    if (this.away) this.say('info', `connected to ${address} again`);
    this.away = false;
  }

  /** A handler of a worker has failed. */
  failed(stream: string, id: string, attempt: number, error: string): void {
    this.say('warn', `the handler of entry ${id} of ${JSON.stringify(stream)} has failed (attempt ${attempt}): ${error}`);
  }

  buried(stream: string, id: string, dead: string, error: string): void {
    this.say('warn', `entry ${id} of ${JSON.stringify(stream)} is in ${JSON.stringify(dead)} now: ${error}`);
  }

  unsettled(stream: string, what: string, error: unknown): void {
    this.say('warn', `${what} of ${JSON.stringify(stream)} was not settled, and comes again: ${error instanceof Error ? error.message : String(error)}`);
  }

  forgotten({ hold, keys, place }: Claim): void {
    FORGOTTEN.publish({ client: this.name, keys, place, lease: hold.wish.lease } satisfies ForgottenMessage);
    const names = keys.map((key) => JSON.stringify(key)).join(', ');
    const lease = hold.wish.lease > 0 ? 'until its lease ends' : 'as long as the client lives';
    this.say(hold.wish.lease > 0 ? 'info' : 'warn', `the lock ${names} was not released, and stays held ${lease}; it was acquired at ${place}`);
  }
}
