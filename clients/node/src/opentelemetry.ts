// Metrics for OpenTelemetry: an observer that records into a meter.

import type { Locks } from './locks.js';
import { reasonOf, type Observer } from './observer.js';

/** The parts of a Meter of @opentelemetry/api that are used. */
export interface Meter {
  createCounter(name: string, options?: object): { add(value: number, attributes?: any): void }; // eslint-disable-line @typescript-eslint/no-explicit-any
  createHistogram(name: string, options?: object): { record(value: number, attributes?: any): void }; // eslint-disable-line @typescript-eslint/no-explicit-any
  createObservableGauge(name: string, options?: object): { addCallback(callback: (result: any) => void): void }; // eslint-disable-line @typescript-eslint/no-explicit-any
}

/** Returns an observer, for the option `observers`. Pass the client to `watch` once it exists, for the gauges. */
export function otelObserver(meter: Meter, attributes: Record<string, string> = {}): Observer & { watch(locks: Locks): void } {
  const name = (it: string) => `lockserver.client.${it}`;
  const acquired = meter.createCounter(name('lock.acquired'), { unit: '{lock}', description: 'Locks that were acquired' });
  const refused = meter.createCounter(name('lock.refused'), { unit: '{lock}', description: 'Locks that were not acquired, by error.type' });
  const lost = meter.createCounter(name('lock.lost'), { unit: '{lock}', description: 'Locks that were lost, by reason' });
  const waited = meter.createHistogram(name('lock.wait.duration'), { unit: 's', description: 'Time that calls waited for a lock' });
  const held = meter.createHistogram(name('lock.hold.duration'), { unit: 's', description: 'Time that released locks were held' });
  return {
    acquired(_key, ms) {
      acquired.add(1, attributes);
      waited.record(ms / 1000, attributes);
    },
    refused(_key, ms, error) {
      const of = { ...attributes, 'error.type': reasonOf(error) };
      refused.add(1, of);
      waited.record(ms / 1000, of);
    },
    released(_key, ms) { held.record(ms / 1000, attributes); },
    lost(error) { lost.add(1, { ...attributes, reason: error.reason }); },
    watch(locks) {
      const gauge = (it: string, options: object, value: () => number) =>
        meter.createObservableGauge(name(it), options).addCallback((result: { observe(n: number, of: object): void }) => result.observe(value(), attributes));
      gauge('lock.held', { unit: '{lock}', description: 'Locks that are held' }, () => locks.stats().held);
      gauge('lock.waiting', { unit: '{call}', description: 'Calls that wait for a lock' }, () => locks.stats().waiting);
      gauge('oldest_hold', { unit: 's', description: 'Age of the oldest lock that is held' }, () => locks.stats().oldest / 1000);
      gauge('attached', { description: 'Whether the attached connection is there' }, () => Number(locks.stats().attached));
    },
  };
}
