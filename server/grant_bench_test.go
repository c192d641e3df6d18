package server

import (
	"fmt"
	"net"
	"testing"
	"time"

	"lockserver/server/transport"
)

// BenchmarkGrant measures a release that grants the lock to a waiter. One waiter is blocked, and another
// waits with NOTIFY and gets a push. The figures contain no other work. Their ratio shows the cost of a
// grant by a push.
func BenchmarkGrant(b *testing.B) {
	const locks = 256
	ex := &start(b, Options{}).executor
	addr := &net.UnixAddr{Net: "unix"}
	open := func() *session {
		s, refused := ex.open(nowhere{}, transport.Peer{Local: addr, Remote: addr})
		if s == nil {
			b.Fatal(refused)
		}
		return s
	}
	var scratch batch
	giver, asker := open(), open()
	asker.Feed(appendCommand(nil, "HELLO", "3"), &scratch, nil)
	waiters := make([]*session, locks)
	var hold, release, clean []byte
	for i := range locks {
		waiters[i] = open()
		waiters[i].Feed(appendCommand(nil, "HELLO", "3"), &scratch, nil)
		hold = appendCommand(hold, "LOCK", fmt.Sprint("k", i), "giver", "PX", "3600000")
		release = appendCommand(release, "UNLOCK", fmt.Sprint("k", i), "giver")
		clean = appendCommand(clean, "UNLOCK", fmt.Sprint("k", i), fmt.Sprint("owner", i))
	}
	wait := func(i int, notify ...string) []byte {
		return appendCommand(nil, append([]string{"LOCK", fmt.Sprint("k", i), fmt.Sprint("owner", i), "PX", "3600000", "WAIT", "0"}, notify...)...)
	}
	var least [2]time.Duration
	var sum [2]time.Duration
	b.ResetTimer()
	for n := 0; n < b.N; n += locks {
		for kind := range least {
			giver.Feed(hold, &scratch, nil)
			for i := range locks {
				if kind == 0 {
					waiters[i].Feed(wait(i), &scratch, nil)
				} else {
					asker.Feed(wait(i, "NOTIFY"), &scratch, nil)
				}
			}
			began := time.Now()
			giver.Feed(release, &scratch, nil)
			took := time.Since(began)
			if sum[kind] += took; least[kind] == 0 || took < least[kind] {
				least[kind] = took
			}
			for _, s := range waiters {
				s.Feed(nil, &scratch, nil)
			}
			asker.Feed(nil, &scratch, nil)
			giver.Feed(clean, &scratch, nil)
		}
	}
	b.ReportMetric(float64(least[0])/locks, "ns/parked")
	b.ReportMetric(float64(least[1])/float64(least[0]), "push/parked")
	b.ReportMetric(float64(sum[1])/float64(sum[0]), "push/parked,all")
}
