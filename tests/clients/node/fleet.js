// A fleet for a test: lockservers of which one leads, with three Sentinels or as a raft group, run by the program in tests/fleet/serve.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';

import { PROGRAM } from './server.js';

const FLEET = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', '..', '..', 'bin', 'fleet');

// Fleet is three servers of which one leads, and the Sentinels that see to it.
export class Fleet {
  // start takes lines for the servers' configuration.
  static start(...conf) { return Fleet.#run([], conf); }

  // group is a raft group, whose clients see a "cluster", or ask a "sentinel", which each member is.
  static group(form, ...conf) { return Fleet.#run(['-group', form], conf); }

  static async #run(form, conf) {
    if (!existsSync(FLEET)) throw new Error(`there is no ${FLEET}: run 'make fleet'`);
    const fleet = new Fleet();
    const args = [...form, ...conf.flatMap((line) => ['-conf', line]), PROGRAM, PROGRAM, PROGRAM];
    fleet.process = spawn(FLEET, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    fleet.lines = readline.createInterface({ input: fleet.process.stdout })[Symbol.asyncIterator]();
    const { name, sentinels = [], nodes = [] } = await fleet.#answer();
    const addresses = (of) => of.map((addr) => ({ host: addr.split(':')[0], port: Number(addr.split(':')[1]) }));
    fleet.name = name;
    [fleet.sentinels, fleet.nodes] = [addresses(sentinels), addresses(nodes)];
    return fleet;
  }

  async #answer() {
    const { value, done } = await this.lines.next();
    if (done) throw new Error('the fleet has ended');
    const answer = JSON.parse(value);
    if (answer.error) throw new Error(answer.error);
    return answer;
  }

  // do is "kill", "pause" or "plan", and then "mend"; in the end "same". It returns who leads then.
  async do(command) {
    this.process.stdin.write(`${command}\n`);
    return (await this.#answer()).leader;
  }

  async close() {
    const ended = once(this.process, 'exit');
    this.process.stdin.end();
    await ended;
  }
}
