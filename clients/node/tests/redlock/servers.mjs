// The servers of redlock's own tests, by the names that they have there.

import '../harness.mjs'; // it says which program
import { TestServer } from '../../dist/testing.mjs';

export default async function setUp() {
  const single = await TestServer.start();
  const clusters = await Promise.all(['1', '2', '3'].map(() => TestServer.start({ args: ['--test-topology', 'cluster'] })));
  const several = await Promise.all(['a', 'b', 'c'].map(() => single.another()));
  const at = ({ host, port }) => ({ host, port });
  const hosts = { 'redis-single-instance': at(single), 'redis-single-cluster-1': at(clusters[0]) };
  ['a', 'b', 'c'].forEach((name, i) => {
    hosts[`redis-multi-instance-${name}`] = at(several[i]);
    hosts[`redis-multi-cluster-${name}-1`] = at(clusters[i]);
  });
  process.env.REDLOCK_HOSTS = JSON.stringify(hosts);
  return async () => {
    for (const server of [...several, single, ...clusters]) await server.close();
  };
}
