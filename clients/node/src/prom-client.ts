// Metrics for prom-client: an observer with the counters, histograms and gauges of a client's locks.

import type { Locks } from './locks.js';
import { reasonOf, type Observer } from './observer.js';

/** The parts of prom-client that are used. */
export interface PromClient {
  Counter: new (config: any) => { inc(labels: Record<string, string>, by?: number): void }; // eslint-disable-line @typescript-eslint/no-explicit-any
  Histogram: new (config: any) => { observe(labels: Record<string, string>, value: number): void }; // eslint-disable-line @typescript-eslint/no-explicit-any
  Gauge: new (config: any) => { set(labels: Record<string, string>, value: number): void }; // eslint-disable-line @typescript-eslint/no-explicit-any
}

export interface PromOptions {
  /** The registry: prom-client's default one without it. */
  register?: unknown;
  /** The label `client`, which tells several clients of a process apart: "locks" by default. */
  client?: string;
  /** Of the histograms, in seconds. */
  buckets?: number[];
}

const SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300];

/**
 * Returns an observer, for the option `observers`. Pass the client to `watch` once it exists, for the gauges:
 *
 *     const metrics = promObserver(require('prom-client'));
 *     const locks = new Locks(redis, { observers: [metrics] });
 *     metrics.watch(locks);
 */
export function promObserver(prom: PromClient, options: PromOptions = {}): Observer & { watch(locks: Locks): void } {
  const registers = options.register === undefined ? {} : { registers: [options.register] };
  const of = { client: options.client ?? 'locks' };
  const name = (it: string) => `lockserver_client_${it}`;
  const counter = (it: string, help: string, ...labels: string[]) => new prom.Counter({ name: name(it), help, labelNames: ['client', ...labels], ...registers });
  const histogram = (it: string, help: string) =>
    new prom.Histogram({ name: name(it), help, labelNames: ['client'], buckets: options.buckets ?? SECONDS, ...registers });
  const acquired = counter('locks_acquired_total', 'Locks that were acquired');
  const refused = counter('locks_refused_total', 'Locks that were not acquired, by reason', 'reason');
  const lost = counter('locks_lost_total', 'Locks that were lost, by reason', 'reason');
  const waited = histogram('lock_wait_seconds', 'Time that calls waited for a lock');
  const held = histogram('lock_hold_seconds', 'Time that released locks were held');
  return {
    acquired(_key, ms) {
      acquired.inc(of);
      waited.observe(of, ms / 1000);
    },
    refused(_key, ms, error) {
      refused.inc({ ...of, reason: reasonOf(error) });
      waited.observe(of, ms / 1000);
    },
    released(_key, ms) { held.observe(of, ms / 1000); },
    lost(error) { lost.inc({ ...of, reason: error.reason }); },
    watch(locks) {
      const gauge = (it: string, help: string, value: () => number) => new prom.Gauge({
        name: name(it), help, labelNames: ['client'], ...registers, collect(this: { set(labels: object, n: number): void }) { this.set(of, value()); },
      });
      gauge('locks_held', 'Locks that are held', () => locks.stats().held);
      gauge('locks_waiting', 'Calls that wait for a lock', () => locks.stats().waiting);
      gauge('oldest_hold_seconds', 'Age of the oldest lock that is held', () => locks.stats().oldest / 1000);
      gauge('attached', 'Whether the attached connection is there', () => Number(locks.stats().attached));
    },
  };
}
