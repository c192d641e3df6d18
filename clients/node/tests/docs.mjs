// Compiles all JavaScript and TypeScript that the documents show: node tests/docs.mjs

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

import { ROOT } from './harness.mjs';

/** What the programs have that show a piece of code. */
const GLOBALS = `
import type { Redis } from 'ioredis';
import type { Lock, Locks } from 'lockserver';
import type { Pool } from 'pg';
declare global {
  const redis: Redis, locks: Locks, lock: Lock, request: { signal: AbortSignal }, url: string, pool: Pool, db: Pool;
  function charge(): Promise<void>;
  function render(): Promise<void>;
}`;

/** The pieces of code of the documents. Those that are compared show what is there afterwards. */
function* pieces() {
  const files = execFileSync('git', ['ls-files', '*.md'], { cwd: ROOT, encoding: 'utf8' }).trim().split('\n');
  for (const file of files) {
    const text = readFileSync(path.join(ROOT, file), 'utf8');
    for (const [, language, code, at] of [...text.matchAll(/^```(\w+).*\n([^]*?)^```/gm)].map((it) => [...it, it.index])) {
      const place = `${file}:${text.slice(0, at).split('\n').length}`;
      if (/^([jt]sx?|mjs|cjs|javascript|typescript)$/.test(language)) yield [place, code];
      else if (language === 'diff' && /^[-+ ]import /m.test(code)) yield [place, code.replace(/^-.*\n/gm, '').replace(/^[+ ]/gm, '')];
    }
  }
}

/** Returns what the compiler says about pieces of code. */
function compile(code) {
  const options = {
    target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.Node16, moduleResolution: ts.ModuleResolutionKind.Node16, strict: true, noImplicitAny: false,
    noEmit: true, skipLibCheck: true, lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'], types: ['node'],
    typeRoots: [path.join(ROOT, 'clients', 'node', 'node_modules', '@types')],
  };
  const here = path.join(ROOT, 'clients', 'node', 'tests');
  const files = new Map([[path.join(here, 'docs-globals.d.mts'), GLOBALS]]);
  const places = new Map();
  for (const [place, text] of code) {
    const file = path.join(here, `docs-${files.size}.mts`);
    files.set(file, `${text}\nexport {};\n`);
    places.set(file, place);
  }
  const host = ts.createCompilerHost(options);
  const { fileExists, getSourceFile, readFile } = host;
  host.fileExists = (file) => files.has(file) || fileExists(file);
  host.readFile = (file) => files.get(file) ?? readFile(file);
  host.getSourceFile = (file, version) => (files.has(file) ? ts.createSourceFile(file, files.get(file), version) : getSourceFile(file, version));
  const program = ts.createProgram([...files.keys()], options, host);
  return ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => {
    const line = file && ts.getLineAndCharacterOfPosition(file, start).line + 1;
    return `${places.get(file?.fileName) ?? file?.fileName}, line ${line}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
  });
}

const found = [...pieces()];
assert.ok(found.length >= 10, `only ${found.length} pieces of code`);
assert.deepEqual(compile(found), []);
// It is the compiler that accepts them.
const wrong = ["await locks.acquire('k', { ttl: 5 });", "import { none } from 'lockserver';", 'locks.none();', "await locks.using('k');"];
assert.equal(new Set(compile(wrong.map((code, i) => [`wrong ${i}`, code])).map((it) => it.split(',')[0])).size, wrong.length);
console.log(`${found.length} pieces of code in the documents compile`);
