import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const here = path.dirname(fileURLToPath(import.meta.url));
process.env.LOCKSERVER ||= path.join(here, '../../../bin/lockserver');

export default defineConfig({ root: here, test: { include: ['shop.spec.mjs'], testTimeout: 60_000, watch: false } });
