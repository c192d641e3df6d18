// Installs the built package into empty projects, and uses it there: node tests/package.mjs file.tgz

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { PROGRAM, ROOT } from './harness.mjs';

const tarball = path.resolve(process.argv[2]);
const dir = mkdtempSync(path.join(tmpdir(), 'lockserver-node-package-'));
const env = { ...process.env, LOCKSERVER: PROGRAM };
const run = (cwd, program, ...args) => execFileSync(program, args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], timeout: 120_000 });

const use = `
  const server = await TestServer.start();
  const locks = await Locks.connect(server.url);
  const token = await locks.using('k', async (lock) => lock.token);
  const redlock = new Redlock([new Redis(server.port, server.host)]);
  const lock = await redlock.acquire(['k'], 5000);
  if (!(lock.token > token)) throw new Error('tokens rise');
  await lock.release();
  await redlock.quit();
  await locks.close();
  await server.close();
  promObserver(prom, { register: new prom.Registry() });
  otelObserver(metrics.getMeter('test'));
  console.log('installed', typeof LockLostError);
`;
const esm = `
import { metrics } from '@opentelemetry/api';
import { Redis } from 'ioredis';
import { Locks, LockLostError } from 'lockserver';
import { otelObserver } from 'lockserver/opentelemetry';
import { promObserver } from 'lockserver/prom-client';
import Redlock from 'lockserver/redlock';
import { TestServer } from 'lockserver/testing';
import prom from 'prom-client';
${use}
`;
const cjs = `
const { metrics } = require('@opentelemetry/api');
const { Redis } = require('ioredis');
const { Locks, LockLostError } = require('lockserver');
const { otelObserver } = require('lockserver/opentelemetry');
const { promObserver } = require('lockserver/prom-client');
const { default: Redlock } = require('lockserver/redlock');
const { TestServer } = require('lockserver/testing');
const prom = require('prom-client');
(async () => {${use}})();
`;

try {
  const { version } = JSON.parse(readFileSync(path.join(ROOT, 'clients', 'node', 'package.json')));
  const files = run(dir, 'tar', '-tzf', tarball).trim().split('\n');
  for (const file of ['LICENSE', 'README.md', 'package.json', 'dist/index.js', 'dist/index.mjs', 'dist/index.d.ts', 'dist/index.d.mts']) {
    assert.ok(files.includes(`package/${file}`), `${file} is missing`);
  }
  assert.deepEqual(files.filter((it) => !/^package\/(dist\/[\w-]+\.(d\.)?m?[jt]s|LICENSE|README\.md|package\.json)$/.test(it)), []);
  for (const [name, type, file, text] of [['esm', 'module', 'index.js', esm], ['cjs', 'commonjs', 'index.js', cjs]]) {
    const project = path.join(dir, name);
    mkdirSync(project);
    writeFileSync(path.join(project, 'package.json'), JSON.stringify({ name, private: true, type }));
    writeFileSync(path.join(project, file), text);
    run(project, 'npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline', tarball,
      'ioredis@6.0.0', 'prom-client@15.1.3', '@opentelemetry/api@1.9.0');
    const installed = JSON.parse(readFileSync(path.join(project, 'node_modules', 'lockserver', 'package.json')));
    assert.equal(installed.version, version);
    assert.equal(run(project, process.execPath, file).trim(), 'installed function');
    console.log(`${path.basename(tarball)}: ${name} works`);
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}
