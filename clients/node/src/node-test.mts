// node:test: a server in test mode for each test that asks for it.

import { after } from 'node:test';
import { closeLockserver, lockserver } from './testing.js';

after(closeLockserver);

export { lockserver };
export { TestServer } from './testing.js';
