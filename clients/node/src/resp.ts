// The protocol: encoding of commands, and a decoder of RESP 2 and 3 that takes bytes as they come.
// https://redis.io/docs/latest/develop/reference/protocol-spec

import { ReplyError } from './errors.js';

/**
 * A reply: null, a boolean, an integer (a bigint beyond 2^53), bytes, a text that the server sent as a line, an
 * error, or an array. Maps and sets are arrays, keys and values in turn. Doubles are texts, as sent.
 */
export type Raw = null | boolean | number | bigint | string | Buffer | ReplyError | Raw[];

/** A Raw with bytes as UTF-8 text. */
export type Reply = null | boolean | number | bigint | string | ReplyError | Reply[];

/** A word of a command. */
export type Word = string | number | bigint | Buffer;

/** A message that the server sends without a request. */
export class Push {
  constructor(readonly items: Reply[]) {}
}

const MAX_DEPTH = 16;
const MAX_LINE = 64 << 10;
const MAX_STRING = 512 << 20;
const MAX_ITEMS = 1 << 20;

const INCOMPLETE = Symbol('incomplete');
const CR = 13;
const LF = 10;

/** Returns a reply with bytes as text. */
export function texts(value: Raw): Reply {
  if (Buffer.isBuffer(value)) return value.toString();
  if (Array.isArray(value)) return value.map(texts);
  return value;
}

/**
 * Returns bytes as text from which encode() makes the same bytes: each byte that is no UTF-8 is half of a surrogate pair,
 * U+DC80 to U+DCFF. A text of a caller has no such halves.
 */
export function exactText(bytes: Buffer): string {
  const whole = bytes.toString();
  if (!whole.includes('\ufffd') || Buffer.from(whole).equals(bytes)) return whole;
  let text = '';
  for (let at = 0; at < bytes.length;) {
    const lead = bytes[at]!;
    const piece = bytes.subarray(at, at + (lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4));
    const one = piece.toString();
    if (Buffer.from(one).equals(piece)) {
      text += one;
      at += piece.length;
    } else {
      text += String.fromCharCode(0xdc00 + lead);
      at++;
    }
  }
  return text;
}

/** Returns the bytes of a text: see exactText. */
export function exactBytes(text: string): Buffer {
  return Buffer.concat(text.split(/([\udc80-\udcff])/u).map((piece, i) => (i % 2 ? Buffer.from([piece.charCodeAt(0) - 0xdc00]) : Buffer.from(piece))));
}

/** Returns a reply with bytes as exactText. */
export function exactTexts(value: Raw): Reply {
  if (Buffer.isBuffer(value)) return exactText(value);
  if (Array.isArray(value)) return value.map(exactTexts);
  return value;
}

const isPlain = (word: Word): boolean => typeof word !== 'string' || (word as string & { isWellFormed(): boolean }).isWellFormed();

/** Returns the bytes of a command. */
export function encode(given: readonly Word[]): Buffer | string {
  const words = given.every(isPlain) ? given : given.map((word) => (isPlain(word) ? word : exactBytes(word as string)));
  if (!words.some(Buffer.isBuffer)) {
    let text = `*${words.length}\r\n`;
    for (const word of words) {
      const s = String(word);
      text += `$${Buffer.byteLength(s)}\r\n${s}\r\n`;
    }
    return text;
  }
  const parts: Buffer[] = [Buffer.from(`*${words.length}\r\n`)];
  for (const word of words) {
    const bytes = Buffer.isBuffer(word) ? word : Buffer.from(String(word));
    parts.push(Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n'));
  }
  return Buffer.concat(parts);
}

/**
 * Decoder reads replies from pieces of bytes. `take` gets each whole reply. feed() throws if the bytes are no
 * reply: the connection is of no use then.
 */
export class Decoder {
  private pieces: Buffer[] = [];
  private size = 0; // of pieces
  private need = 1; // bytes without which the next attempt would fail
  private buf: Buffer = Buffer.alloc(0);
  private at = 0;

  constructor(private readonly take: (reply: Raw | Push) => void) {}

  feed(piece: Buffer): void {
    this.pieces.push(piece);
    this.size += piece.length;
    if (this.size < this.need) return;
    this.buf = this.pieces.length === 1 ? piece : Buffer.concat(this.pieces);
    this.at = 0;
    this.need = 1;
    while (this.at < this.buf.length) {
      const begin = this.at;
      const reply = this.read(0, begin);
      if (reply === INCOMPLETE) {
        this.at = begin;
        break;
      }
      this.take(reply);
    }
    const rest = this.buf.subarray(this.at);
    this.pieces = rest.length > 0 ? [rest] : [];
    this.size = rest.length;
    this.buf = rest;
  }

  /** line returns the text up to CR LF. */
  private line(begin: number): string | typeof INCOMPLETE {
    const end = this.buf.indexOf(LF, this.at);
    if (end < 0) {
      if (this.buf.length - this.at > MAX_LINE) throw new Error('malformed reply: the line is too long');
      this.need = this.buf.length - begin + 1;
      return INCOMPLETE;
    }
    if (end === this.at || this.buf[end - 1] !== CR) throw new Error('malformed reply: a line does not end with CR LF');
    const text = this.buf.toString('utf8', this.at, end - 1);
    this.at = end + 1;
    return text;
  }

  private read(depth: number, begin: number): Raw | Push | typeof INCOMPLETE {
    if (depth > MAX_DEPTH) throw new Error('malformed reply: too many levels');
    if (this.at >= this.buf.length) {
      this.need = this.buf.length - begin + 1;
      return INCOMPLETE;
    }
    const kind = String.fromCharCode(this.buf[this.at++]!);
    const text = this.line(begin);
    if (text === INCOMPLETE) return INCOMPLETE;
    switch (kind) {
      case '+':
      case ',':
        return text;
      case '-':
        return new ReplyError(text);
      case ':':
      case '(':
        return integer(text);
      case '_':
        return null;
      case '#':
        return text === 't';
      case '$':
      case '=':
      case '!':
        return this.bulk(kind, length(text, MAX_STRING), begin);
      case '*':
      case '~':
      case '%':
      case '>':
      case '|':
        return this.aggregate(kind, length(text, MAX_ITEMS), depth, begin);
      default:
        throw new Error(`malformed reply: no type begins with ${JSON.stringify(kind)}`);
    }
  }

  private bulk(kind: string, n: number, begin: number): Raw | typeof INCOMPLETE {
    if (n < 0) return null;
    const end = this.at + n;
    if (this.buf.length < end + 2) {
      this.need = end + 2 - begin;
      return INCOMPLETE;
    }
    if (this.buf[end] !== CR || this.buf[end + 1] !== LF) throw new Error('malformed reply: a string does not end with CR LF');
    const bytes = this.buf.subarray(this.at + (kind === '=' ? 4 : 0), end);
    this.at = end + 2;
    return kind === '!' ? new ReplyError(bytes.toString()) : bytes;
  }

  private aggregate(kind: string, n: number, depth: number, begin: number): Raw | Push | typeof INCOMPLETE {
    if (n < 0) return null;
    const items: Raw[] = [];
    for (let left = kind === '%' || kind === '|' ? 2 * n : n; left > 0; left--) {
      const item = this.read(depth + 1, begin);
      if (item === INCOMPLETE) return INCOMPLETE;
      items.push(item as Raw);
    }
    if (kind === '|') return this.read(depth, begin); // attributes of the reply that follows
    return kind === '>' ? new Push(items.map(exactTexts)) : items;
  }
}

function integer(text: string): number | bigint {
  const n = Number(text);
  if (Number.isSafeInteger(n)) return n;
  if (!/^[+-]?\d+$/.test(text)) throw new Error(`malformed reply: integer ${JSON.stringify(text)}`);
  return BigInt(text);
}

function length(text: string, most: number): number {
  const n = Number(text);
  if (text === '' || !Number.isInteger(n) || n < -1 || n > most) throw new Error(`malformed reply: length ${JSON.stringify(text)}`);
  return n;
}
