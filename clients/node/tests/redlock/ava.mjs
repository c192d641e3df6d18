// As much of ava as redlock's own tests use, by vitest. An assertion that fails is recorded, and does not throw.

import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test as run } from 'vitest';

export default function test(name, body) {
  run(name, async () => {
    const failures = [];
    const record = (check) => {
      try {
        check();
      } catch (error) {
        failures.push(error);
      }
    };
    const unhandled = (error) => failures.push(error); // their fail() is not awaited
    process.on('unhandledRejection', unhandled);
    try {
      await body({
        is: (actual, expected, message) => record(() => expect(actual, message).toBe(expected)),
        not: (actual, expected, message) => record(() => expect(actual, message).not.toBe(expected)),
        assert: (value, message) => record(() => expect(value, message).toBeTruthy()),
        fail: (message) => failures.push(new Error(message)),
      });
      await sleep(10);
    } finally {
      process.off('unhandledRejection', unhandled);
    }
    if (failures.length > 0) throw failures[0];
  });
}
test.before = (hook) => beforeAll(hook);
