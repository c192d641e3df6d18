package server

import (
	"net"
	"testing"

	"lockserver/server/transport"
)

// waitPair are two sessions of one server: the second one waits for what the first one gives.
func waitPair(b *testing.B) (giver, waiter *session) {
	b.Helper()
	ex := &start(b, Options{}).executor
	addr := &net.UnixAddr{Net: "unix"}
	open := func() *session {
		s, refused := ex.open(nowhere{}, transport.Peer{Local: addr, Remote: addr})
		if s == nil {
			b.Fatal(refused)
		}
		return s
	}
	return open(), open()
}

// BenchmarkWait measures a command that waits and what ends its wait, and beside it a SET and a LOCK without
// waiters. Look at the allocations: each of them is one for a client that waits.
func BenchmarkWait(b *testing.B) {
	for _, c := range []struct {
		name        string
		begin, wait []string
		end         [][]string
	}{
		{"blpop", nil, []string{"BLPOP", "list", "0"}, [][]string{{"RPUSH", "list", "element"}}},
		{"lock", []string{"LOCK", "door", "alice", "PX", "3600000"}, []string{"LOCK", "door", "bob", "PX", "3600000", "WAIT", "0"},
			[][]string{{"UNLOCK", "door", "alice"}, {"UNLOCK", "door", "bob"}}},
		{"shared", []string{"LOCK", "door", "alice", "PX", "3600000"}, []string{"LOCK", "door", "bob", "SHARED", "PX", "3600000", "WAIT", "0"},
			[][]string{{"UNLOCK", "door", "alice"}, {"UNLOCK", "door", "bob"}}},
		{"notify", []string{"LOCK", "door", "alice", "PX", "3600000"}, []string{"LOCK", "door", "bob", "PX", "3600000", "WAIT", "0", "NOTIFY"},
			[][]string{{"UNLOCK", "door", "alice"}, {"UNLOCK", "door", "bob"}}},
		{"set", nil, nil, [][]string{{"SET", "key", "value"}}},
		{"free", nil, nil, [][]string{{"LOCK", "door", "alice", "PX", "3600000"}, {"UNLOCK", "door", "alice"}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			giver, waiter := waitPair(b)
			var scratch batch
			var begin, wait []byte
			if c.begin != nil {
				begin = appendCommand(nil, c.begin...)
			}
			if c.wait != nil {
				wait = appendCommand(nil, c.wait...)
			}
			end := make([][]byte, len(c.end))
			for i, words := range c.end {
				end[i] = appendCommand(nil, words...)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				if begin != nil {
					giver.Feed(begin, &scratch, nil)
				}
				if wait != nil {
					waiter.Feed(wait, &scratch, nil)
				}
				for _, request := range end {
					giver.Feed(request, &scratch, nil)
				}
				if wait != nil {
					waiter.Feed(nil, &scratch, nil)
				}
			}
		})
	}
}
