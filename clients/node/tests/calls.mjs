// The calls of the package, as its types have them, and which of them a test has tried.

import path from 'node:path';
import ts from 'typescript';

import { ROOT } from './harness.mjs';

/** The methods and functions that programs can call, by name ("Locks.acquire"), with whether they take values and return a promise. */
export function published() {
  const types = path.join(ROOT, 'clients', 'node', 'dist', 'index.d.ts');
  const { NodeNext: module } = ts.ModuleKind;
  const program = ts.createProgram([types], { module, moduleResolution: ts.ModuleResolutionKind.NodeNext, target: ts.ScriptTarget.ES2022, types: [] });
  const checker = program.getTypeChecker();
  const calls = new Map();
  const add = (name, type) => {
    const signatures = type.getCallSignatures();
    calls.set(name, {
      takes: signatures.some((it) => it.parameters.length > 0),
      asks: signatures.some((it) => checker.getReturnTypeOfSignature(it).symbol?.name === 'Promise'),
    });
  };
  for (const exported of checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(types)))) {
    const it = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
    if (it.flags & ts.SymbolFlags.Function) add(it.name, checker.getTypeOfSymbol(it));
    if (!(it.flags & ts.SymbolFlags.Class)) continue;
    for (const type of [checker.getDeclaredTypeOfSymbol(it), checker.getTypeOfSymbol(it)]) {
      for (const member of type.getProperties()) {
        const declared = member.declarations?.[0];
        const isOwn = declared && ts.isMethodDeclaration(declared) && ts.isIdentifier(declared.name) && declared.getSourceFile().fileName.includes('/dist/');
        if (isOwn && member.name !== 'toString') add(`${it.name}.${member.name}`, checker.getTypeOfSymbol(member));
      }
    }
  }
  if (calls.size < 40) throw new Error(`the types have ${calls.size} calls only`);
  return calls;
}

/** Names of the calls that match, in order. */
export const namesOf = (calls, matches) => [...calls].filter(([, call]) => matches(call)).map(([name]) => name).sort();

const originals = new WeakMap();
const original = (it) => originals.get(it) ?? (Array.isArray(it) ? it.map(original) : it);

/** A call that does the same. failed is called when it throws, or rejects. */
export function watchedCall(call, failed) {
  return (...args) => {
    let got;
    try {
      got = call(...args.map(original));
    } catch (error) {
      failed();
      throw error;
    }
    if (typeof got?.then === 'function') got.then(undefined, failed);
    return got;
  };
}

/** An object with the same calls, and so are those that they return at once. failed gets the name of each call that throws, or rejects. */
export function watched(it, failed) {
  const of = Object.getPrototypeOf(it).constructor.name;
  const proxy = new Proxy(it, {
    get(target, name) {
      const value = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      const call = watchedCall((...args) => value.apply(target, args), () => failed(`${of}.${String(name)}`));
      return (...args) => {
        const got = call(...args);
        return got !== null && typeof got === 'object' && typeof got.then !== 'function' ? watched(got, failed) : got;
      };
    },
  });
  originals.set(proxy, it);
  return proxy;
}
