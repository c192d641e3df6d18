package server

import (
	"fmt"
	"net"
	"testing"
	"time"

	"lockserver/internal/resp"
	"lockserver/server/transport"
)

// nowhere is a connection that drops what it is sent.
type nowhere struct{}

func (nowhere) Wake(*transport.Loop)            {}
func (nowhere) WakeAtEnd(*transport.Loop)       {}
func (nowhere) Send([]byte, bool) (bool, error) { return false, nil }
func (nowhere) Buffered() int                   { return 0 }
func (nowhere) Unsent() int                     { return 0 }
func (nowhere) Unacked() int                    { return 0 }
func (nowhere) GuardPeer(int64)                 {}
func (nowhere) Heard() transport.Silence        { return transport.Silence{} }
func (nowhere) HangUp()                         {}
func (nowhere) Attach(transport.Session)        {}
func (nowhere) WhileBusy()                      {}
func (nowhere) PeerGone() bool                  { return false }
func (nowhere) AwaitDrain(int) bool             { return false }
func (nowhere) SetUnauthenticated(int)          {}

// toNowhere is a session that has its replies dropped.
func toNowhere(b testing.TB) *session {
	b.Helper()
	return toNowhereOn(b, nil)
}

// toNowhereOn is the same on a server that has that clock; nil: the machine's.
func toNowhereOn(b testing.TB, clock Clock) *session {
	b.Helper()
	addr := &net.UnixAddr{Net: "unix"}
	s, refused := start(b, Options{Clock: clock}).executor.open(nowhere{}, transport.Peer{Local: addr, Remote: addr})
	if s == nil {
		b.Fatal(refused)
	}
	return s
}

// feedAgain measures b.N commands. It sends the requests one after the other, and again from the first.
// Each has a number of commands.
func feedAgain(b *testing.B, s *session, scratch *batch, requests [][]byte, commands int) {
	b.Helper()
	b.ResetTimer()
	for i := 0; i < b.N; i += commands {
		s.Feed(requests[i/commands%len(requests)], scratch, nil)
	}
}

// BenchmarkLock measures LOCK and UNLOCK from the bytes of the request on, pipelined by 16, beside a number
// of locks that are held all the time.
func BenchmarkLock(b *testing.B) {
	for _, lease := range []string{"PX 3600000", ""} {
		for _, held := range []int{1_000, 1_000_000} {
			name := "watched"
			if lease != "" {
				name = "leased"
			}
			b.Run(fmt.Sprintf("%s/held=%d", name, held), func(b *testing.B) { benchmarkLock(b, lease, held) })
		}
	}
}

// BenchmarkShare measures the same with one owner that holds each lock alone and shared, with a lease and
// without, in turn. The figures are of one run, the least of many rounds. Their ratio shows the cost of
// SHARED.
func BenchmarkShare(b *testing.B) {
	const round = 512 // pairs
	for _, pipeline := range []int{1, 16} {
		b.Run(fmt.Sprintf("pipeline=%d", pipeline), func(b *testing.B) {
			s := toNowhere(b)
			var scratch batch
			requests := [...][][]byte{pairsOf(pipeline, "PX", "3600000"), pairsOf(pipeline, "PX", "3600000", "SHARED"),
				pairsOf(pipeline), pairsOf(pipeline, "SHARED")}
			var least [len(requests)]time.Duration
			b.ResetTimer()
			for i := 0; i < b.N; i += round {
				for kind := range requests {
					start := time.Now()
					for range round / pipeline {
						s.Feed(requests[kind][0], &scratch, nil)
						s.Feed(requests[kind][1], &scratch, nil)
					}
					if took := time.Since(start); least[kind] == 0 || took < least[kind] {
						least[kind] = took
					}
				}
			}
			b.ReportMetric(float64(least[0])/round, "ns/pair")
			b.ReportMetric(float64(least[1])/float64(least[0]), "shared/alone")
			b.ReportMetric(float64(least[2])/float64(least[0]), "watched/leased")
			b.ReportMetric(float64(least[3])/float64(least[2]), "shared/alone,watched")
		})
	}
}

// pairsOf are a batch of LOCKs and one of the UNLOCKs that belong to them.
func pairsOf(pipeline int, words ...string) [][]byte {
	var lock, unlock []byte
	for j := range pipeline {
		key := fmt.Sprint("free:", j)
		lock = appendCommand(lock, append([]string{"LOCK", key, "owner"}, words...)...)
		unlock = appendCommand(unlock, "UNLOCK", key, "owner")
	}
	return [][]byte{lock, unlock}
}

func benchmarkLock(b *testing.B, lease string, held int) {
	s := toNowhere(b)
	var scratch batch
	for i := range held {
		s.Feed(fmt.Appendf(nil, "LOCK held:%d owner %s\r\n", i, lease), &scratch, nil)
	}
	const pipeline = 16
	var batches [][]byte
	for i := 0; i < 4096; i += pipeline {
		var lock, unlock []byte
		for j := range pipeline {
			lock = appendCommand(lock, append([]string{"LOCK", fmt.Sprint("free:", i+j), "owner"}, fieldsOf(lease)...)...)
			unlock = appendCommand(unlock, "UNLOCK", fmt.Sprint("free:", i+j), "owner")
		}
		batches = append(batches, lock, unlock)
	}
	feedAgain(b, s, &scratch, batches, pipeline)
}

func fieldsOf(lease string) []string {
	if lease == "" {
		return nil
	}
	return []string{"PX", "3600000"}
}

func appendCommand(dst []byte, words ...string) []byte {
	dst = resp.AppendArray(dst, len(words))
	for _, w := range words {
		dst = resp.AppendBulk(dst, w)
	}
	return dst
}

// BenchmarkLockPairs measures a batch of LOCKs with a lease and the batch of UNLOCKs behind it. A step is one
// command.
func BenchmarkLockPairs(b *testing.B) {
	for _, pipeline := range []int{1, 16} {
		b.Run(fmt.Sprintf("P=%d", pipeline), func(b *testing.B) {
			var scratch batch
			feedAgain(b, toNowhere(b), &scratch, pairsOf(pipeline, "PX", "3600000"), pipeline)
		})
	}
}
