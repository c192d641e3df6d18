// node:test: a server in test mode for each test that asks for it.

import { after } from 'node:test';
import { closeLockserver, lockserver, lockserverCluster } from './testing.js';

after(closeLockserver);

export { lockserver, lockserverCluster };
export { TestCluster, TestServer } from './testing.js';
