package pubsub

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

type listener struct{ subs Subscriptions[*listener] }

// TestRegistryModel compares who listens to what with a model, over random subscriptions.
func TestRegistryModel(t *testing.T) {
	seed := testkit.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	var p Registry[*listener]
	type wish struct {
		kind Kind
		name string
	}
	listeners := make([]*listener, 8)
	wishes := make([][]wish, len(listeners)) // in the order in which they were made
	for i := range listeners {
		listeners[i] = &listener{}
	}
	names := map[Kind][]string{Channel: {"a", "b", "ab", ""}, Pattern: {"*", "a*", "?", "b"}, Shard: {"a", "b"}}
	for step := range 5000 {
		i, kind := r.IntN(len(listeners)), Kind(r.IntN(int(Kinds)))
		w := wish{kind, names[kind][r.IntN(len(names[kind]))]}
		at := slices.Index(wishes[i], w)
		switch n := r.IntN(100); {
		case n < 50:
			p.Subscribe(listeners[i], &listeners[i].subs, w.kind, []byte(w.name))
			if at < 0 {
				wishes[i] = append(wishes[i], w)
			}
		case n < 95:
			p.Unsubscribe(&listeners[i].subs, w.kind, []byte(w.name))
			if at >= 0 {
				wishes[i] = slices.Delete(wishes[i], at, at+1)
			}
		default:
			p.UnsubscribeAll(&listeners[i].subs)
			wishes[i] = nil
		}
		subscribers := 0
		want := map[wish]int{}
		for i, s := range listeners {
			var got [Kinds][]string
			if !s.subs.Empty() {
				subscribers++
				for kind := range Kinds {
					for sub := s.subs[kind].first; sub != nil; sub = sub.next {
						got[kind] = append(got[kind], sub.to.Name)
						require.Same(t, sub, sub.to.Members[sub.place])
						require.Same(t, s, sub.Of)
						require.Same(t, sub, s.subs[kind].byName[sub.to.Name])
					}
					require.Equal(t, len(got[kind]), s.subs.Len(kind))
				}
			}
			var ordered [Kinds][]string
			for _, w := range wishes[i] {
				ordered[w.kind] = append(ordered[w.kind], w.name)
				want[w]++
			}
			require.Equal(t, ordered, got, "step %d, listener %d", step, i)
			require.Equal(t, len(wishes[i]) == 0, s.subs.Empty())
		}
		require.Equal(t, subscribers, p.Subscribers())
		have := map[wish]int{}
		for kind := range Kinds {
			for name := range p.Names(kind) {
				have[wish{kind, name}] = len(p.Audience(kind, []byte(name)).Members)
			}
		}
		require.Equal(t, want, have, "step %d", step)
		require.Len(t, p.Patterns(), p.Len(Pattern))
		for i, to := range p.Patterns() {
			require.Equal(t, i, to.place)
			require.Same(t, to, p.Audience(Pattern, []byte(to.Name)))
		}
	}
}

// A message is encoded once for each version of the protocol, however many listen.
func TestMessage(t *testing.T) {
	for _, c := range []struct {
		m    Message
		want string // behind the first byte
	}{
		{Message{Channel: []byte("c"), Payload: []byte("x")}, "3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n"},
		{Message{Kind: Pattern, Pattern: []byte("?"), Channel: []byte("c"), Payload: []byte("x")},
			"4\r\n$8\r\npmessage\r\n$1\r\n?\r\n$1\r\nc\r\n$1\r\nx\r\n"},
		{Message{Kind: Pattern, Pattern: []byte(""), Channel: []byte(""), Payload: []byte("x")},
			"4\r\n$8\r\npmessage\r\n$0\r\n\r\n$0\r\n\r\n$1\r\nx\r\n"},
		{Message{Kind: Shard, Channel: []byte("c"), Payload: nil}, "3\r\n$8\r\nsmessage\r\n$1\r\nc\r\n$0\r\n\r\n"},
	} {
		require.Equal(t, "*"+c.want, string(c.m.In(2)))
		require.Equal(t, ">"+c.want, string(c.m.In(3)))
		require.Same(t, &c.m.In(2)[0], &c.m.In(2)[0])
		require.Same(t, &c.m.In(3)[0], &c.m.In(3)[0])
	}
}

// A channel without subscribers costs a look-up.
func TestLookUpAllocations(t *testing.T) {
	var r Registry[*listener]
	l := &listener{}
	r.Subscribe(l, &l.subs, Channel, []byte("somebody's"))
	name := []byte("nobody's")
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if r.Audience(Channel, name) != nil || len(r.Patterns()) > 0 {
			t.Fatal("there is a subscriber")
		}
	}))
}

// TestBytes: what is counted is not far from what the heap grows by, and nothing without subscribers.
func TestBytes(t *testing.T) {
	before := testkit.Heap()
	var p Registry[*listener]
	listeners := make([]*listener, 10)
	for i := range listeners {
		listeners[i] = &listener{}
		for name := range 3000 {
			p.Subscribe(listeners[i], &listeners[i].subs, Channel, []byte("a channel with a name "+strconv.Itoa(name)))
		}
	}
	counted := p.Bytes()
	for _, l := range listeners {
		counted += l.subs.Bytes()
	}
	heap := testkit.Heap() - before
	require.InDelta(t, 1, float64(counted)/float64(heap), 0.35, "counted %d, heap %d", counted, heap)
	for _, l := range listeners {
		p.UnsubscribeAll(&l.subs)
		require.Zero(t, l.subs.Bytes())
	}
	require.Zero(t, p.Bytes())
	runtime.KeepAlive(listeners)
}
