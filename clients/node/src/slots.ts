// Slots of a cluster: the slot of a key, and which servers have which slots.

import { exactBytes, type Reply, type Word } from './resp.js';
import type { Endpoint } from './wire.js';

export const SLOTS = 16_384;

/** CRC-16/XMODEM of each byte. */
const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  return crc;
});

/** Returns the slot of a key: that of its hash tag, the first part in braces, if there is one. */
export function slotOf(key: string): number {
  const begin = key.indexOf('{');
  const end = begin < 0 ? -1 : key.indexOf('}', begin);
  let crc = 0;
  for (const byte of exactBytes(end > begin + 1 ? key.slice(begin + 1, end) : key)) crc = ((crc << 8) & 0xffff) ^ TABLE[(crc >> 8) ^ byte]!;
  return crc % SLOTS;
}

/** Where the first key of a command is, if it is not the first word behind the name. */
const KEY_AT: Readonly<Record<string, number>> = { MLOCK: 2, MUNLOCK: 2, 'LIMIT.MTAKE': 2, 'SECKILL.CART': 4, EVAL: 3, XGROUP: 2 };

/** Returns the first key of a command of this package. */
export function keyOf(words: readonly Word[]): string { return String(words[KEY_AT[String(words[0])] ?? 1]); }

/** Slots from the first one up to the last one. */
export type Range = readonly [number, number];

/** A shard as the reply of CLUSTER SLOTS has it: servers of which one leads, and the slots that they have. */
export interface Place {
  endpoints: Endpoint[];
  ids: Set<string>;
  ranges: Range[];
}

/**
 * Returns the shards of a reply of CLUSTER SLOTS. Ranges that share a server are of one shard. `own` is the host of the
 * server that has replied: it leaves out its own. `named` returns the endpoint of an address.
 */
export function placesOf(reply: Reply, own: string, named: (host: string, port: number) => Endpoint, addressOf: (it: Endpoint) => string): Place[] {
  const places: Place[] = [];
  const byAddress = new Map<string, Place>();
  for (const range of Array.isArray(reply) ? reply : []) {
    if (!Array.isArray(range)) continue;
    const [first, last, ...nodes] = range;
    const found = nodes.filter((node): node is Reply[] => Array.isArray(node) && Number(node[1]) > 0)
      .map((node) => ({ endpoint: named(String(node[0] || own), Number(node[1])), id: String(node[2] ?? '') }));
    if (found.length === 0) continue;
    let place = found.map(({ endpoint }) => byAddress.get(addressOf(endpoint))).find((it) => it !== undefined);
    if (!place) places.push(place = { endpoints: [], ids: new Set(), ranges: [] });
    place.ranges.push([Number(first), Number(last)]);
    for (const { endpoint, id } of found) {
      if (!byAddress.has(addressOf(endpoint))) place.endpoints.push(endpoint);
      byAddress.set(addressOf(endpoint), place);
      place.ids.add(id);
    }
  }
  return places;
}
