import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const here = path.dirname(fileURLToPath(import.meta.url));
const file = (name) => path.join(here, name);

export default defineConfig({
  root: here,
  test: {
    include: ['*.spec.ts'],
    globalSetup: file('servers.mjs'),
    setupFiles: file('clock.mjs'),
    testTimeout: 60_000,
    hookTimeout: 60_000,
    dangerouslyIgnoreUnhandledErrors: true, // ava.mjs has them fail their test
    fileParallelism: false,
    watch: false,
  },
  resolve: {
    alias: [
      { find: /^ioredis-itself$/, replacement: path.join(here, '../../node_modules/ioredis/built/index.js') },
      { find: /^ioredis$/, replacement: file('ioredis.mjs') },
      { find: /^ava$/, replacement: file('ava.mjs') },
      { find: /^\.\/index(\.js)?$/, replacement: path.join(here, '../../dist/redlock.mjs') },
    ],
  },
});
