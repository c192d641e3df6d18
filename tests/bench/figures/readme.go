package figures

import "fmt"

// paragraph returns the README's paragraph with figures, or an empty text for a quick run.
func paragraph(d Data) (string, error) {
	if d.Quick {
		return "(The picture is of a quick run. Its figures mean little; `make bench` makes real ones.)", nil
	}
	l := lookup{runs: d.Runs}
	text := fmt.Sprintf("Measured on %s beside Redis %s (%s), by a load that shared the machine. Acquiring or releasing a free lock "+
		"takes %s µs of the server's processor time, and %s µs by Redisson's scripts on Redis. An order of a sale takes %s µs, and %s µs by "+
		"the usual script. A `SET` takes %s µs, in Redis %s µs.\n", d.Made[:10], d.redisVersion(), d.Machine,
		l.fixed("cpu.LOCK+UNLOCK.p1.us.lockserver", 1), l.fixed("cpu.LOCK+UNLOCK.p1.us.redis", 1),
		l.fixed("cpu.SECKILL.p1.us.lockserver", 1), l.fixed("cpu.SECKILL.p1.us.redis", 1),
		l.fixed("cpu.SET.p1.us.lockserver", 1), l.fixed("cpu.SET.p1.us.redis", 1))
	if name := "cpu.SET.p1.floor.us"; l.has(name) {
		text += fmt.Sprintf("Of a `SET` %s µs are the floor: what a server takes that only reads, counts and answers `+OK`.\n", l.fixed(name, 1))
	}
	text += fmt.Sprintf("Sixteen clients that all want one lock hand it on %s times a second. With redsync they ask again "+
		"after a pause, and hand it on %s times.\n", l.grouped("handoff.n16.LOCK.lockserver.per_second"),
		l.grouped("handoff.n16.redsync.redis.per_second"))
	text += fmt.Sprintf("A small string takes %s bytes of memory, in Redis %s; a held lock %s, and in Redis %s as Redisson makes it. "+
		"While one snapshot follows the other, the longest of %s requests a second took %s ms, in Redis %s ms.\n",
		l.grouped(bytesOf("string", "lockserver")), l.grouped(bytesOf("string", "redis")), l.grouped(bytesOf("lock", "lockserver")),
		l.grouped(bytesOf("lock", "redis")), l.grouped("bgsave.rate"), l.fixed("bgsave.lockserver.saving.longest_ms", 1),
		l.fixed("bgsave.redis.saving.longest_ms", 1))
	return text, l.err()
}
