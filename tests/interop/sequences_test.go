package interop

import "testing"

// byHand are the stories written by hand.
var byHand = []struct {
	name  string
	kind  kind
	steps string
}{
	{"take and give back", rlock, `
		acquire a 30000
		release a
		release a
		acquire b 10000
		release a
		release b`},
	{"re-entry", rlock, `
		acquire a 30000
		acquire a 20000
		acquire a 40000
		release a
		release a
		release a
		release a`},
	{"another owner is refused", rlock, `
		acquire a 30000
		acquire b 20000
		release b
		renew b 50000
		elapse 10000
		acquire b 20000`},
	{"renewed in time", rlock, `
		acquire a 10000
		elapse 5000
		renew a 10000
		elapse 5000
		renew a 10000
		elapse 5000
		release a`},
	{"the lease ends", rlock, `
		acquire a 10000
		acquire a 10000
		elapse 10000
		release a
		renew a 10000
		acquire b 20000
		elapse 5000
		acquire a 20000
		elapse 15000
		acquire a 20000`},
	{"a watchdog", rlock, `
		watch a
		elapse 60000
		acquire b 10000
		watch a
		elapse 60000
		release a
		elapse 60000
		release a
		acquire b 10000`},
	{"force", rlock, `
		force
		acquire a 30000
		acquire a 30000
		force
		force
		release a
		renew a 30000
		watch b
		force
		elapse 30000
		acquire a 30000`},
	{"deleted under its holder", rlock, `
		watch a
		delete
		release a
		acquire b 30000
		elapse 20000
		renew a 30000
		release b`},
	{"an owner as Redisson writes it", rlock, `
		acquire 285475da-9152-4c83-822a-67ee2f116a79:52 30000
		acquire 285475da-9152-4c83-822a-67ee2f116a79:53 30000
		acquire 285475da-9152-4c83-822a-67ee2f116a79:52 30000
		release 285475da-9152-4c83-822a-67ee2f116a79:52
		release 285475da-9152-4c83-822a-67ee2f116a79:52
		acquire 285475da-9152-4c83-822a-67ee2f116a79:53 30000`},
	{"a spin lock", spin, `
		acquire a 30000
		acquire b 30000
		acquire a 15000
		release a
		release a
		acquire b 30000
		elapse 30000
		release b`},
	{"a spin lock with a watchdog", spin, `
		watch a
		elapse 45000
		release a
		acquire b 30000`},
	{"tokens", fenced, `
		acquire a 30000
		acquire b 30000
		acquire a 30000
		release a
		release a
		acquire b 10000
		elapse 10000
		acquire a 30000
		force
		acquire a 30000
		delete
		acquire b 30000`},
	{"tokens and a watchdog", fenced, `
		watch a
		elapse 60000
		watch b
		release a
		watch b`},
	{"first come first served", fair, `
		wait a 30000
		wait b 20000
		wait c 10000
		acquire d 30000
		release a
		release b
		acquire d 30000
		release c
		acquire d 30000`},
	{"re-entry does not queue", fair, `
		wait a 30000
		wait b 30000
		wait a 20000
		acquire a 15000
		release a
		release a
		release a`},
	{"one who gives up", fair, `
		wait a 30000
		wait b 30000
		wait c 30000
		leave b
		release a
		release c`},
	{"the lease ends and the next one has it", fair, `
		wait a 10000
		wait b 15000
		wait c 20000
		elapse 10000
		elapse 15000
		elapse 20000
		acquire a 5000`},
	{"an owner that does not hold it", fair, `
		wait a 30000
		wait b 30000
		release c
		release b
		renew c 30000
		renew a 45000
		release a`},
}

// randoms is the number of random stories in the golden file; their seeds count from 0.
const randoms = 24

// sequences returns all stories of the golden file.
func sequences(t *testing.T) []sequence {
	t.Helper()
	var list []sequence
	for _, h := range byHand {
		list = append(list, sequence{h.name, h.kind, parseSteps(t, dedent(h.steps))})
	}
	for seed := range uint64(randoms) {
		list = append(list, randomSequence(seed, []kind{rlock, spin, fenced}[seed%3]))
	}
	return list
}
