// Builds dist when the package is installed from a checkout: npm install ./clients/node. The compiler is that of
// node_modules, or else it is put into .build, without the libraries of the tests.

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const { devDependencies } = JSON.parse(readFileSync(path.join(here, 'package.json'), 'utf8'));
const needed = ['typescript', '@types/node'];
const changed = (file) => statSync(path.join(here, file)).mtimeMs;
const sources = readdirSync(path.join(here, 'src')).map((file) => path.join('src', file));
const built = path.join('dist', 'index.js');

if (!existsSync(path.join(here, built)) || [...sources, 'package.json', 'tsconfig.json'].some((file) => changed(file) > changed(built))) {
  let at = here;
  let checks = [];
  if (!needed.every((name) => existsSync(path.join(at, 'node_modules', name)))) {
    at = path.join(here, '.build');
    checks = ['--noCheck']; // the types of vitest are not there; `make clients-node-build` checks all
    const npm = process.env.npm_execpath ? [process.execPath, process.env.npm_execpath] : ['npm'];
    const versions = needed.map((name) => `${name}@${devDependencies[name]}`);
    execFileSync(npm[0], [...npm.slice(1), 'install', '--prefix', at, '--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--ignore-scripts', ...versions],
      { cwd: here, stdio: 'inherit', env: { ...process.env, npm_config_global: 'false' } });
  }
  rmSync(path.join(here, 'dist'), { recursive: true, force: true });
  const modules = path.join(at, 'node_modules');
  execFileSync(process.execPath, [path.join(modules, 'typescript', 'bin', 'tsc'), '-p', here, '--typeRoots', path.join(modules, '@types'), ...checks], { stdio: 'inherit' });
}
