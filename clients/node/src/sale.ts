// Flash sales. What is asked may be sent again: the server knows an order by its id.

import { about, ReplyError, translated } from './errors.js';
import { fieldsOf, type Fields } from './info.js';
import { Limiter, type Rate } from './limiter.js';
import type { Locks } from './locks.js';
import type { Word } from './resp.js';
import * as values from './values.js';
import type { Key } from './values.js';

/** What came of an order. */
export type Outcome =
  /** Stock was deducted, and the order appended to the sale's stream. */
  | 'sold'
  /** There is not enough stock. */
  | 'sold out'
  /** The user has all that the sale's limit allows. */
  | 'bought already'
  | 'not started'
  | 'over'
  /** This order was cancelled, or not confirmed in time: a new one needs a new id. */
  | 'taken back'
  /** The sale has a rate, and does not allow the call now. */
  | 'too fast';

const OUTCOMES: readonly Outcome[] = ['sold', 'sold out', 'bought already', 'not started', 'over', 'taken back', 'too fast'];

/** The terms of a sale. Times are milliseconds since 1970, or a Date. */
export interface SaleTerms {
  /** How many pieces there are. */
  stock: number;
  /** When it opens: at once without it. */
  start?: number | Date;
  /** When it closes: when it is sold out without it. */
  end?: number | Date;
  /** How many pieces a user gets: 1 by default. */
  limit?: number;
  /** How many milliseconds an order waits for confirm(): it needs none without it. */
  hold?: number;
  /** How many milliseconds a hold lasts at most, with all that extend() adds: without it there is no bound. */
  holdMax?: number;
  /** The stream of the orders: "stream.orders" by default. In a cluster it needs the hash tag of the voucher, as "orders:{shoe}" for "{shoe}". */
  stream?: Key;
  /** At most so many calls in a period, with bursts. */
  rate?: Rate;
  /** Replaces a sale that is there, with all that it knows. */
  replace?: boolean;
}

/** A sale at a moment. `fields` has all that SECKILL.INFO says. */
export interface SaleInfo {
  /** "open" and so on, in the server's words. */
  state: string;
  /** Pieces that are left. */
  stock: number;
  total: number;
  sold: number;
  held: number;
  confirmed: number;
  buyers: number;
  fields: Readonly<Fields>;
}

/** A part of a cart. */
export interface CartPart {
  voucher: Key;
  /** 1 by default. */
  pieces?: number;
}

/** What came of a cart. */
export interface CartOutcome {
  /** "sold" for all parts, or what the sale of the first part that is refused would have said. */
  outcome: Outcome;
  /** The part that is refused, counted from 0; undefined: all are sold. */
  part: number | undefined;
}

/** How many parts a cart may have on the server. */
const MOST_PARTS = 64;

/** See Locks.cart. */
export async function buyCart(locks: Locks, user: string, order: string, parts: readonly CartPart[]): Promise<CartOutcome> {
  if (!Array.isArray(parts)) throw new TypeError('the parts of a cart are an array');
  if (parts.length === 0 || parts.length > MOST_PARTS) throw new RangeError(`${parts.length} parts of a cart, and not 1 to ${MOST_PARTS}`);
  const vouchers: string[] = [];
  const words: Word[] = ['SECKILL.CART', ...idsOf(user, order), parts.length];
  for (const it of parts as readonly CartPart[]) {
    const { voucher, pieces = 1 } = values.options(it, 'a part of a cart', 'voucher', 'pieces');
    vouchers.push(values.key(voucher, 'a voucher'));
    words.push(vouchers.at(-1)!, values.whole(pieces, 'a number of pieces'));
  }
  locks.shards.together(vouchers);
  const reply = await locks.shards.ask(words).catch((error: unknown) => { throw about(error, vouchers); });
  const [place, answer] = Array.isArray(reply) ? reply.map(Number) : [0, Number(reply)];
  const outcome = OUTCOMES[answer!];
  if (outcome === undefined) throw new ReplyError(`ERR SECKILL.CART: an outcome of ${answer}`);
  return { outcome, part: place === 0 ? undefined : place! - 1 };
}

const dateOf = (it: number | Date | undefined): number | undefined => (it instanceof Date ? it.getTime() : it);

const idsOf = (user: string, order: string): Word[] => [values.name(user, 'a user'), values.name(order, 'an order')];

export class Sale {
  /** @internal */
  constructor(private readonly locks: Locks, readonly voucher: string) {}

  private async number(words: Word[]): Promise<number> {
    const reply = await this.locks.shards.ask(words);
    if (typeof reply !== 'number') throw new ReplyError(`ERR the reply of ${String(words[0])} is no number`);
    return reply;
  }

  /**
   * Makes the sale. true: it was made, or there is one with these terms, as after a call whose answer was lost. false: there is
   * another one, which is left alone. With `replace` it is sent once.
   */
  async create(terms: SaleTerms): Promise<boolean> {
    const given = values.options(terms, 'create()', 'stock', 'start', 'end', 'limit', 'hold', 'holdMax', 'stream', 'rate', 'replace');
    const { replace = false, stream, rate } = given;
    if (typeof replace !== 'boolean') throw new TypeError('replace is true or false');
    const same: Fields = { total: values.whole(given.stock, 'a stock'), start: 0, end: 0, limit: 1, hold: 0 };
    const words: Word[] = ['SECKILL.CREATE', this.voucher, 'STOCK', given.stock];
    const put = (name: string, value: number | undefined) => {
      if (value === undefined) return;
      same[name] = value;
      words.push(name.toUpperCase(), value);
    };
    put('start', given.start === undefined ? undefined : values.time(dateOf(given.start), 'a start'));
    put('end', given.end === undefined ? undefined : values.time(dateOf(given.end), 'an end'));
    if (given.start !== undefined && given.end !== undefined && same['end']! <= same['start']!) throw new RangeError('an end that is not after the start');
    put('limit', given.limit === undefined ? undefined : values.whole(given.limit, 'a limit'));
    put('hold', given.hold === undefined ? undefined : values.time(given.hold, 'a hold'));
    if (given.holdMax !== undefined) words.push('HOLDMAX', values.time(given.holdMax, 'holdMax'));
    if (stream !== undefined) {
      same['stream'] = values.key(stream, 'a stream');
      words.push('STREAM', same['stream']);
    }
    if (rate !== undefined) {
      const { count, period, burst } = new Limiter(this.locks, this.voucher, rate).rate;
      words.push('RATE', count, period, 'BURST', burst);
    }
    const { shards } = this.locks;
    try {
      if (replace) await shards.once([...words, 'REPLACE']);
      else await shards.again(words);
      return true;
    } catch (error) {
      if (!(error instanceof ReplyError && error.message.includes('exists already'))) throw translated(error);
      const there = (await this.info())?.fields;
      return there !== undefined && there['hold-max'] === given.holdMax && Object.entries(same).every(([name, value]) => there[name] === value);
    }
  }

  /** The state of the sale; undefined: there is none. */
  async info(): Promise<SaleInfo | undefined> {
    try {
      const fields = fieldsOf(await this.locks.shards.ask(['SECKILL.INFO', this.voucher]));
      const number = (name: string) => Number(fields[name] ?? 0);
      return {
        state: String(fields['state']), stock: number('stock'), total: number('total'), sold: number('sold'), held: number('held'),
        confirmed: number('confirmed'), buyers: number('buyers'), fields,
      };
    } catch (error) {
      if (error instanceof ReplyError && error.message.startsWith('ERR no such seckill')) return undefined;
      throw error;
    }
  }

  /** Orders pieces for a user: 1 by default. The same order gets the same answer, however often it is asked. */
  async buy(user: string, order: string, pieces?: number): Promise<Outcome> {
    const quantity = pieces === undefined ? [] : ['QTY', values.whole(pieces, 'a number of pieces')];
    const n = await this.number(['SECKILL', this.voucher, ...idsOf(user, order), ...quantity]);
    return OUTCOMES[n] ?? (() => { throw new ReplyError(`ERR SECKILL: an outcome of ${n}`); })();
  }

  /**
   * Says that an order was paid, which keeps it. true: it is confirmed, by this call or an earlier one. Otherwise it was
   * cancelled, or taken back, or there is none.
   */
  confirm(user: string, order: string): Promise<boolean> { return this.decide('SECKILL.CONFIRM', user, order, 'paid'); }

  /**
   * Gives an order back. true: it is given back, by this call, an earlier one, or the end of its hold. Otherwise it is
   * confirmed, or there is none.
   *
   * With `pieces` so many of the order's pieces come back, and it stands with the others: true, or false as above. This is sent
   * once: after a NoAnswerError they may have come back. More pieces than the order has are a ReplyError.
   */
  cancel(user: string, order: string, pieces?: number): Promise<boolean> {
    return pieces === undefined ? this.decide('SECKILL.CANCEL', user, order, 'gone') : this.cancelPart(user, order, pieces);
  }

  private async cancelPart(user: string, order: string, pieces: number): Promise<boolean> {
    const words = ['SECKILL.CANCEL', this.voucher, ...idsOf(user, order), 'QTY', values.whole(pieces, 'a number of pieces')];
    return await this.locks.shards.once(words).catch((error: unknown) => { throw translated(error); }) === 1;
  }

  /**
   * Has the hold of an order end `ms` milliseconds from now, while a payment runs; never earlier than before. false: the order is
   * not held: it is confirmed or given back, or there is none. It is sent again while the server does not answer: the hold counts
   * from the last time. A hold that would be longer than the sale's `holdMax` is a ReplyError, and changes nothing.
   */
  async extend(user: string, order: string, ms: number): Promise<boolean> {
    return await this.number(['SECKILL.EXTEND', this.voucher, ...idsOf(user, order), values.time(ms, 'a hold')]) === 1;
  }

  /**
   * Sends a command with the reply 1 or, if there is nothing left to do, 0. It may have been done by the same command,
   * sent before, with an answer that was lost. So the order's record is looked at.
   */
  private async decide(command: string, user: string, order: string, state: string): Promise<boolean> {
    if (await this.number([command, this.voucher, ...idsOf(user, order)]) !== 0) return true;
    const record = await this.locks.shards.ask(['HGET', `seckill:orders:${this.voucher}`, order]);
    return typeof record === 'string' && record.startsWith(`${state} `); // "paid 2 ann": state, pieces, user
  }
}
