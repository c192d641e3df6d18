// Checks of what callers give, in the call that they give it to: a value that cannot be sent is refused there, also
// before the first connection. Each check returns the value, or throws a TypeError or RangeError with its name.

import { inspect } from 'node:util';
import { exactText, type Word } from './resp.js';

/** A key: text, or bytes. A key of bytes that are UTF-8 is the same as that text. */
export type Key = string | Uint8Array;

/** The longest time, in milliseconds: the server adds it to the date. */
const LONGEST = 9e15;

export const show = (value: unknown): string => inspect(value, { depth: 0, breakLength: Infinity, maxStringLength: 50 });

/** A text that UTF-8 can express. Half of a surrogate pair would be sent as the same character as any other half. */
export function text(value: unknown, what: string): string {
  if (typeof value !== 'string') throw new TypeError(`${what} is a text, and not ${show(value)}`);
  if (!(value as string & { isWellFormed(): boolean }).isWellFormed()) throw new TypeError(`${what} has half of a surrogate pair: ${show(value)}`);
  return value;
}

/** An id: a text that is not empty. */
export function name(value: unknown, what: string): string {
  if (text(value, what) === '') throw new RangeError(`${what} is empty`);
  return value as string;
}

/** A key as this package has it inside: see exactText. */
export function key(value: unknown, what = 'a key'): string {
  const found = value instanceof Uint8Array ? exactText(Buffer.from(value.buffer, value.byteOffset, value.byteLength)) : text(value, what);
  if (found === '') throw new RangeError(`${what} is empty`);
  return found;
}

/** Several keys, each once and in order. */
export function keys(value: unknown): string[] {
  if (!Array.isArray(value)) throw new TypeError(`keys are an array, and not ${show(value)}`);
  if (value.length === 0) throw new RangeError('no keys to lock');
  return [...new Set(value.map((it) => key(it)))].sort();
}

/** A whole number from `least` on. */
export function whole(value: unknown, what: string, least = 1, most = Number.MAX_SAFE_INTEGER): number {
  if (typeof value !== 'number') throw new TypeError(`${what} is a whole number, and not ${show(value)}`);
  if (!Number.isSafeInteger(value) || value < least || value > most) {
    throw new RangeError(`${what} of ${value} is not a whole number from ${least}${most < Number.MAX_SAFE_INTEGER ? ` to ${most}` : ''}`);
  }
  return value;
}

/** A time: whole milliseconds, from 1 or `least` on. */
export function time(value: unknown, what: string, least = 1): number {
  if (typeof value === 'number' && value > 0 && value < LONGEST && !Number.isInteger(value)) {
    throw new RangeError(`${what} of ${value} ms is not a whole number of milliseconds: take a longer one, and more in it`);
  }
  return whole(value, what, least, LONGEST);
}

/** How long a call waits: milliseconds, also parts of one; undefined: without end, which Infinity is, too. */
export function wait(value: unknown): number | undefined {
  if (value === undefined || value === Infinity) return undefined;
  if (typeof value !== 'number') throw new TypeError(`a wait is a number of milliseconds, and not ${show(value)}`);
  if (!(value >= 0 && value <= LONGEST)) throw new RangeError(`a wait of ${value} ms is not a number from 0 to ${LONGEST}`);
  return value;
}

export function signal(value: unknown): AbortSignal | undefined {
  if (value === undefined) return undefined;
  const it = value as Partial<AbortSignal> | null;
  if (typeof it?.aborted !== 'boolean' || typeof it.addEventListener !== 'function') throw new TypeError(`a signal is an AbortSignal, and not ${show(value)}`);
  return value as AbortSignal;
}

/** A function that runs while a lock is held. A generator's work would begin when the lock is released. */
export function task<T>(value: T, what: string): T {
  if (typeof value !== 'function') throw new TypeError(`${what} needs a function, and not ${show(value)}`);
  if (/Generator/.test(Object.prototype.toString.call(value))) throw new TypeError(`${what} needs a function whose work is done when its promise is: ${show(value)} makes a generator`);
  return value;
}

/** What such a function has returned. */
export function finished<T>(result: T): T {
  if (/Generator/.test(Object.prototype.toString.call(result))) {
    throw new TypeError('the function has returned a generator: its work is not done when the lock is released. Take the lock where the work is done');
  }
  return result;
}

/** An object with no other fields than those that are known: a mistyped option would be none. */
export function options<T extends object>(value: T | undefined, what: string, ...known: string[]): T {
  if (value === undefined) return {} as T;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new TypeError(`${what} needs an object with options, and not ${show(value)}`);
  for (const field of Object.keys(value)) {
    if (!known.includes(field)) throw new TypeError(`${what} has no option ${show(field)}, but ${known.join(', ')}`);
  }
  return value;
}

/** A word of a command, or a value that is sent as it is. */
export function word(value: unknown, what: string): Word {
  if (typeof value === 'string') return text(value, what);
  if (typeof value === 'bigint' || Buffer.isBuffer(value)) return value;
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (typeof value !== 'number') throw new TypeError(`${what} is a text, a number or bytes, and not ${show(value)}`);
  if (!Number.isFinite(value)) throw new RangeError(`${what} is ${value}`);
  return value;
}

/** A command with its arguments. */
export function command(words: readonly unknown[]): Word[] {
  name(words[0], 'a command');
  return words.map((it, i) => word(it, i === 0 ? 'a command' : `an argument of ${String(words[0])}`));
}

/** The words of fields and values. */
export function fields(value: unknown): Word[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new TypeError(`fields are an object, and not ${show(value)}`);
  const words = Object.entries(value).flatMap(([field, it]) => [text(field, 'a field'), word(it, `the field ${show(field)}`)]);
  if (words.length === 0) throw new RangeError('an entry without fields');
  return words;
}
