// Flash sales, made with SECKILL.CREATE. What is asked may be sent again: the server knows an order by its id.

import { ReplyError, translated } from './errors.js';
import type { Locks } from './locks.js';
import type { Word } from './resp.js';
import * as values from './values.js';

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

const idsOf = (user: string, order: string): Word[] => [values.name(user, 'a user'), values.name(order, 'an order')];

export class Sale {
  /** @internal */
  constructor(private readonly locks: Locks, readonly voucher: string) {}

  private async number(words: Word[]): Promise<number> {
    const reply = await this.locks.keeper.channel.again(words).catch((error: unknown) => { throw translated(error); });
    if (typeof reply !== 'number') throw new ReplyError(`ERR the reply of ${String(words[0])} is no number`);
    return reply;
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
   */
  cancel(user: string, order: string): Promise<boolean> { return this.decide('SECKILL.CANCEL', user, order, 'gone'); }

  /**
   * Sends a command with the reply 1 or, if there is nothing left to do, 0. It may have been done by the same command,
   * sent before, with an answer that was lost. So the order's record is looked at.
   */
  private async decide(command: string, user: string, order: string, state: string): Promise<boolean> {
    if (await this.number([command, this.voucher, ...idsOf(user, order)]) !== 0) return true;
    const record = await this.locks.keeper.channel.again(['HGET', `seckill:orders:${this.voucher}`, order])
      .catch((error: unknown) => { throw translated(error); });
    return typeof record === 'string' && record.startsWith(`${state} `); // "paid 2 ann": state, pieces, user
  }
}
