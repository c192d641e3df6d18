//go:build raft && unix

package raft

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// appends are clients that append to lists, each in a transaction that reads the list before and after the
// append. Jepsen works in this way: the final content of a list tells the order of all transactions, and so
// what each read must have returned.
type appends struct {
	*group
	moving  sync.RWMutex // held by who starts and ends members
	stopped chan struct{}
	clients sync.WaitGroup
	moments atomic.Int64
	done    atomic.Int64

	mu   sync.Mutex
	said []*appended
}

// outcome is the result of a transaction.
type outcome string

const (
	done    outcome = "done"
	refused outcome = "refused"
	unknown outcome = "unknown"
)

// appended is one transaction.
type appended struct {
	list, value string
	call, ret   int64 // moments: before it was sent, behind its answer
	outcome     outcome
	before      []string // what the list had
}

const lists = 3

// load starts the given number of clients.
func (g *group) load(clients int) *appends {
	l := &appends{group: g, stopped: make(chan struct{})}
	for id := range clients {
		l.clients.Go(func() { l.client(id) })
	}
	g.t.Cleanup(l.stop)
	l.progress()
	return l
}

// stop ends the clients.
func (l *appends) stop() {
	if !l.over() {
		close(l.stopped)
	}
	l.clients.Wait()
}

func (l *appends) over() bool {
	select {
	case <-l.stopped:
		return true
	default:
		return false
	}
}

// kill ends a member, and begin starts it again.
func (l *appends) kill(all ...*member) {
	l.moving.Lock()
	defer l.moving.Unlock()
	for _, m := range all {
		m.stop()
	}
}

func (l *appends) begin(all ...*member) {
	l.moving.Lock()
	defer l.moving.Unlock()
	for _, m := range all {
		if m.srv == nil {
			m.start()
		}
	}
}

// join starts one more server, and makes it a member.
func (l *appends) join() *member {
	l.moving.Lock()
	peers := l.peers
	l.peers = nil // it forms no group
	m := l.add(len(l.all))
	m.start()
	l.peers = peers
	l.moving.Unlock()
	l.change("ADD", m.peer.ID, m.peer.Raft, m.peer.Client)
	return m
}

// change changes the members through the leader, and repeats this until it succeeds. An answer may be lost,
// so the member may be removed already.
func (l *appends) change(words ...string) {
	l.t.Helper()
	eventually(l.t, fmt.Sprint("RAFT ", words), func() bool {
		leader := l.leader()
		v := leader.ask(append([]string{"RAFT"}, words...)...)
		if strings.Contains(v.Str, "this member leads") { // and is to be removed
			leader.ask("RAFT", "TRANSFER")
		}
		return v.Str == "OK" || strings.Contains(v.Str, "no member has this id")
	})
}

// progress waits until a transaction has ended that began after the call.
func (l *appends) progress() {
	l.t.Helper()
	before := l.done.Load()
	eventually(l.t, "clients get on", func() bool { return l.done.Load() > before+20 })
}

// dial connects to a member. It returns nil if the member does not run.
func (l *appends) dial(at int) *testkit.Client {
	l.moving.RLock()
	defer l.moving.RUnlock()
	m := l.all[at%len(l.all)]
	if m.srv == nil {
		return nil
	}
	conn, err := m.srv.Dial()
	if err != nil {
		return nil
	}
	return testkit.NewClient(l.t, conn)
}

// client runs transactions until it is stopped.
func (l *appends) client(id int) {
	var c *testkit.Client
	for n, at := 0, id; !l.over(); n++ {
		if c == nil {
			if c = l.dial(at); c == nil {
				at++
				time.Sleep(5 * time.Millisecond)
				continue
			}
		}
		x := &appended{list: fmt.Sprint("list", n%lists), value: fmt.Sprintf("%d.%d", id, n)}
		if err := l.do(c, x); err != nil {
			l.t.Error(err)
			return
		}
		l.mu.Lock()
		l.said = append(l.said, x)
		l.mu.Unlock()
		if x.outcome == done {
			l.done.Add(1)
			continue
		}
		c.Close()
		c = nil
		at++
		time.Sleep(5 * time.Millisecond)
	}
}

// do runs one transaction. The error says that its replies contradict each other.
func (l *appends) do(c *testkit.Client, x *appended) error {
	read := []string{"LRANGE", x.list, "0", "-1"}
	x.call = l.moments.Add(1)
	replies, err := c.CallPipeline([][]string{{"MULTI"}, read, {"RPUSH", x.list, x.value}, read, {"EXEC"}})
	x.ret = l.moments.Add(1)
	if err != nil {
		x.outcome = unknown
		return nil
	}
	v := replies[4]
	if v.IsError() {
		x.outcome = refused
		return nil
	}
	if len(v.Elems) != 3 {
		return fmt.Errorf("EXEC of three answers %s", v)
	}
	x.outcome, x.before = done, words(v.Elems[0])
	if after := words(v.Elems[2]); !slices.Equal(after, append(slices.Clone(x.before), x.value)) || v.Elems[1].Int != int64(len(after)) {
		return fmt.Errorf("in one transaction %s is %q, and then with %s %q, %s long", x.list, x.before, x.value, after, v.Elems[1])
	}
	return nil
}

func words(v resp.Value) (all []string) {
	for _, e := range v.Elems {
		all = append(all, e.Str)
	}
	return all
}

// check ends the clients, and compares all their replies with the data.
func (l *appends) check() {
	l.t.Helper()
	l.stop()
	l.same()
	for n := range lists {
		list := fmt.Sprint("list", n)
		final := words(l.group.do("LRANGE", list, "0", "-1"))
		times := map[string]int{}
		for _, value := range final {
			times[value]++
		}
		var of []*appended
		for _, x := range l.said {
			if x.list == list {
				of = append(of, x)
			}
		}
		require.NoError(l.t, judge(of, final, times), list)
	}
}

// judge returns what is wrong with the transactions on one list.
func judge(all []*appended, final []string, times map[string]int) error {
	slices.SortFunc(all, func(a, b *appended) int { return int(a.call - b.call) })
	byEnd := slices.Clone(all)
	slices.SortFunc(byEnd, func(a, b *appended) int { return int(a.ret - b.ret) })
	least := 0 // how long the list is at least, by what was answered
	for _, x := range all {
		for ; len(byEnd) > 0 && byEnd[0].ret < x.call; byEnd = byEnd[1:] {
			if byEnd[0].outcome == done {
				least = max(least, len(byEnd[0].before)+1)
			}
		}
		switch is := times[x.value]; {
		case is > 1:
			return fmt.Errorf("%s is there %d times", x.value, is)
		case x.outcome == refused && is > 0:
			return fmt.Errorf("%s was refused, and is there", x.value)
		case x.outcome != done:
			continue
		case is == 0:
			return fmt.Errorf("%s was acknowledged, and is lost", x.value)
		case len(x.before) < least:
			return fmt.Errorf("%s saw %d values, and %d had been acknowledged before", x.value, len(x.before), least)
		case len(x.before) >= len(final) || !slices.Equal(x.before, final[:len(x.before)]) || final[len(x.before)] != x.value:
			return fmt.Errorf("%s saw %q, which the list never was: %q", x.value, x.before, final)
		}
	}
	return nil
}

// TestAppendsAreJudged: judge finds each kind of wrong history.
func TestAppendsAreJudged(t *testing.T) {
	t.Parallel()
	for says, all := range map[string][]*appended{
		"":                     {{value: "a", ret: 1, outcome: done}, {value: "b", call: 2, ret: 3, outcome: unknown}, {value: "x", outcome: refused}},
		"a is there 2 times":   {{value: "a", outcome: unknown}, {value: "a", outcome: done}},
		"is lost":              {{value: "x", outcome: done}},
		"refused, and is":      {{value: "a", outcome: refused}},
		"acknowledged before":  {{value: "a", ret: 1, outcome: done}, {value: "b", call: 2, ret: 3, outcome: done}},
		"the list never was":   {{value: "b", before: []string{"x"}, outcome: done}},
		"which the list never": {{value: "b", outcome: done}},
	} {
		times := map[string]int{"a": 1, "b": 1}
		if says == "a is there 2 times" {
			times["a"] = 2
		}
		err := judge(all, []string{"a", "b"}, times)
		if says == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, says)
		}
	}
}
