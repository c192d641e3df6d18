// Follows the lines of the README from an empty directory, as they are written: node tests/install.mjs

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, lstatSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { ROOT, Server } from './harness.mjs';

const readme = readFileSync(path.join(ROOT, 'clients', 'node', 'README.md'), 'utf8');
const section = readme.split('\n## Install\n')[1].split('\n## ')[0];
const [, lines] = /```sh\n([^]*?)```/.exec(section);
const [, program] = /```js\n([^]*?)```/.exec(section);

const dir = mkdtempSync(path.join(tmpdir(), 'lockserver-node-install-'));
const server = await Server.start();
try {
  // A checkout, which has only the files of the repository.
  const checkout = path.join(dir, 'checkout');
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', 'clients/node'], { cwd: ROOT, encoding: 'utf8' });
  for (const file of files.trim().split('\n')) cpSync(path.join(ROOT, file), path.join(checkout, file));
  const began = performance.now();
  execFileSync('bash', ['-e', '-c', lines], { cwd: checkout, stdio: ['ignore', 'pipe', 'inherit'], timeout: 300_000 });
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const project = path.join(checkout, 'shop');
  assert.ok(lstatSync(path.join(project, 'node_modules', 'lockserver')), 'it is installed');
  assert.ok(program.includes('127.0.0.1:6379'));
  writeFileSync(path.join(project, 'first.mjs'), program.replace('127.0.0.1:6379', `${server.host}:${server.port}`));
  const run = () => execFileSync(process.execPath, ['first.mjs'], { cwd: project, encoding: 'utf8', timeout: 60_000 });
  assert.match(run(), /^held, with the token \d+\n$/);
  console.log(`the lines of the README work; they took ${seconds} s`);
  execFileSync('npm', ['install', '../clients/node'], { cwd: project, stdio: ['ignore', 'pipe', 'inherit'], timeout: 300_000 });
  assert.match(run(), /^held, with the token \d+\n$/, 'also a second time');
} finally {
  await server.close();
  rmSync(dir, { recursive: true, force: true });
}
