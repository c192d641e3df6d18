package raft

import (
	"bytes"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/server/raft"
	"lockserver/server/raft/engine"
)

// older is an engine that changes entries so that its state machine meets them as an older version of
// lockserver would.
type older struct {
	raft.Engine
	change func(entry []byte) []byte
}

func (o older) Open(m raft.Machine) error { return o.Engine.Open(olderMachine{m, o.change}) }

type olderMachine struct {
	raft.Machine
	change func(entry []byte) []byte
}

func (o olderMachine) Apply(index uint64, entry []byte, again bool) error {
	return o.Machine.Apply(index, o.change(bytes.Clone(entry)), again)
}

// lines are those of a log.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// TestOlderThanTheOthers: a member that meets an entry, or a command in an entry, of a newer version stops
// and says what to do. The others go on. After its upgrade the member has their data.
func TestOlderThanTheOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(entry []byte) []byte
		says   string
	}{
		"version": {func(e []byte) []byte {
			if bytes.Contains(e, []byte("news")) {
				e[0] += 2 // the next version is known: entries with rules
			}
			return e
		}, "a newer one wrote it"},
		"command": {func(e []byte) []byte {
			return bytes.Replace(e, []byte("SET\r\n$4\r\nnews"), []byte("ZAP\r\n$4\r\nnews"), 1)
		}, "ZAP"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := &lines{}
			g := prepare(t, 3, func(eo *engine.Options, so *server.Options) {
				if eo.ID == "c" {
					eo.Log = slog.New(slog.NewTextHandler(said, nil))
					so.Log = eo.Log
				}
			})
			g.wrap = func(id string, e raft.Engine) raft.Engine {
				if id == "c" {
					return older{e, c.change}
				}
				return e
			}
			for _, m := range g.all {
				m.start()
			}
			old := g.all[2]
			require.Equal(t, "OK", g.do("SET", "kept", "1").Str)
			eventually(t, "it has stopped", func() bool {
				if leader := g.leader(); leader == old { // which knows what it has written
					leader.ask("RAFT", "TRANSFER")
				} else {
					leader.ask("SET", "news", "1")
				}
				return old.field("raft_role") == "stopped"
			})
			require.Contains(t, said.String(), c.says)
			require.Contains(t, said.String(), "Start it again with a lockserver of the others' version")
			require.Contains(t, old.ask("GET", "kept").Str, "has stopped")
			require.Equal(t, "OK", g.do("SET", "more", "1").Str)
			old.stop()
			g.wrap = nil
			old.start()
			g.same()
			require.Equal(t, "1", g.do("GET", "news").Str)
			require.Equal(t, "1", g.do("GET", "more").Str)
		})
	}
}
