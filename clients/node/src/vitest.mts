// vitest: the fixture `lockserver`, a server in test mode for each test that asks for it.

import { afterAll, test as base } from 'vitest';
import { closeLockserver, lockserver, type TestServer } from './testing.js';

afterAll(closeLockserver);

/** vitest's test with the fixture `lockserver`: test('...', async ({ lockserver }) => { ... }). */
export const test: ReturnType<typeof base.extend<{ lockserver: TestServer }>> = base.extend<{ lockserver: TestServer }>({
  lockserver: async ({ onTestFinished }, use) => { await use(await lockserver({ onTestFinished })); },
});

export { lockserver, lockserverCluster, TestCluster, TestServer } from './testing.js';
