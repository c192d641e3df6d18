// A lockserver for tests by node:test: one process for a file, a server of its own for each test.
//
// To be copied; LOCKSERVER names the program if it is not in PATH. Needs ioredis.

import assert from 'node:assert';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { after } from 'node:test';
import Redis from 'ioredis';

const directives = ['--test-mode', 'yes', '--port', '0', '--exit-with-parent', 'yes'];
// It ends when its standard input does, so also when the test is killed.
const program = spawn(process.env.LOCKSERVER || 'lockserver', directives, { stdio: ['pipe', 'pipe', 'ignore'] });
const ready = new Promise((resolve, reject) => {
  createInterface(program.stdout).once('line', (line) => resolve(line.slice('ready '.length)));
  program.once('error', reject);
  program.once('exit', () => reject(new Error('lockserver has ended')));
});
ready.catch(() => {}); // whoever awaits it is told

after(async () => {
  if (program.exitCode !== null || program.pid === undefined) return;
  const ended = new Promise((resolve) => program.once('exit', resolve));
  program.stdin.end();
  await ended;
});

const connect = (addr, options) => new Redis(Number(addr.split(':')[1]), addr.split(':')[0], options);

// lockserver starts a server for test t, whose time and whose faults are the test's, and which ends with it.
export async function lockserver(t) {
  const parent = connect(await ready);
  const addr = await parent.call('TEST.SERVER', 'NEW');
  const control = connect(addr);
  const clients = [control];
  t.after(async () => {
    for (const client of clients) client.disconnect();
    await parent.call('TEST.SERVER', 'END', addr);
    parent.disconnect();
  });
  return {
    addr,
    client(options) {
      clients.push(connect(addr, options));
      return clients.at(-1);
    },
    // The clock stands still, where it is or there.
    freeze: (...unixMS) => control.call('TEST.CLOCK', 'FREEZE', ...unixMS),
    // The clock goes forwards, and what falls due has happened when this resolves.
    advance: (ms) => control.call('TEST.CLOCK', 'ADVANCE', ms),
    // Something goes wrong while run does: fault('DROPAFTER MATCH INCR TIMES 1', run). A fault that has never struck has
    // shown nothing, and fails the test.
    async fault(words, run) {
      const id = await control.call('TEST.FAULT', 'ADD', ...words.split(' '));
      const result = await run();
      const list = await control.call('TEST.FAULT', 'LIST');
      await control.call('TEST.FAULT', 'DEL', id);
      const fault = list.find((fields) => fields[fields.indexOf('id') + 1] === id);
      assert(fault[fault.indexOf('struck') + 1] > 0, `the fault never struck: ${words}`);
      return result;
    },
    // Runs program(client) with the faults of one seed after the other, each on a server of its own. It rejects with the
    // seed and with what struck as soon as the program does. The variable LOCKSERVER_CHAOS_SEED repeats one seed.
    async chaos(program, { seeds = 100, rate = 0.05, kinds = 'dropbefore,dropafter,delay,expire,restart' } = {}) {
      const only = process.env.LOCKSERVER_CHAOS_SEED;
      for (let seed = Number(only || 1); seed <= Number(only || seeds); seed++) {
        const chaotic = await parent.call('TEST.SERVER', 'NEW');
        const [keeper, client] = [connect(chaotic), connect(chaotic)];
        await keeper.call('TEST.CHAOS', 'SEED', seed, 'RATE', rate, 'KINDS', kinds);
        try {
          await program(client);
        } catch (err) {
          const struck = await keeper.call('TEST.CHAOS', 'LIST');
          throw new Error(`${err.message}; again: LOCKSERVER_CHAOS_SEED=${seed}; struck: ${struck.join(' ')}`, { cause: err });
        } finally {
          keeper.disconnect();
          client.disconnect();
          await parent.call('TEST.SERVER', 'END', chaotic);
        }
      }
    },
  };
}
