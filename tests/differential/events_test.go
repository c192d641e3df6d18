//go:build oracle

package differential

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// TestEvents plays all cases written by hand once more, and compares the events of keys. Both servers must
// publish the same events in the same order for each line.
func TestEvents(t *testing.T) {
	p := startPair(t, "")
	for _, f := range append(allCases(), eventCases()) {
		t.Run(f.name, func(t *testing.T) {
			for _, c := range f.cases {
				t.Run(c.name, func(t *testing.T) {
					here := p.in(t)
					here.begin(2)
					here.playEvents(c.lines)
				})
			}
		})
	}
}

// listener receives every event of one server.
type listener struct {
	*testkit.Client
	expired []string // events of overdue keys, which Redis removes later
}

func listen(t *testing.T, on *side) *listener {
	t.Helper()
	l := &listener{Client: testkit.Dial(t, on.dial)}
	require.Equal(t, `["psubscribe" "__key*__:*" 1]`, l.Do("PSUBSCRIBE", "__key*__:*").String())
	return l
}

// heard returns the events since the last call, without those of expiry, which it stores. The listener itself
// asks for a last message, which CLIENT PAUSE WRITE does not delay.
func (l *listener) heard() []string {
	l.Send("PING", "that is all")
	var events []string
	for {
		v := l.Receive()
		if v.Elems[0].Str == "pong" {
			return events
		}
		channel, text := v.Elems[2].Str, v.Elems[3].Str
		if strings.HasSuffix(channel, "__:expired") || text == "expired" && strings.HasPrefix(channel, "__keyspace@") {
			l.expired = append(l.expired, channel+" "+text)
		} else {
			events = append(events, channel+" "+text)
		}
	}
}

// playEvents plays a case with all classes of events, including those of misses and new keys.
func (p *pair) playEvents(text lines) {
	p.t.Helper()
	require.Equal(p.t, "+OK", p.ours.watch.Do("CONFIG", "SET", "notify-keyspace-events", "KEAnm").String())
	require.Equal(p.t, "+OK", p.redis.watch.Do("CONFIG", "SET", "notify-keyspace-events", "KEAnm").String())
	ours, redis := listen(p.t, &p.ours), listen(p.t, &p.redis)
	for number, l := range strings.Split(string(text), "\n") {
		l = strings.TrimSpace(l)
		if l == "" || l[0] == '#' {
			continue
		}
		deviation := ""
		if rest, ok := strings.CutPrefix(l, "!"); ok {
			deviation, l, _ = strings.Cut(rest, " ")
		}
		args := words(p.t, expand(l))
		if args[0] == "hello" || p.isStep(args) {
			continue
		}
		if strings.HasPrefix(strings.ToLower(args[0]), "sort") {
			clearErrno(p)
		}
		if a, b := p.do(args...); deviation == "" && a.Kind == resp.Error != (b.Kind == resp.Error) {
			p.t.Fatalf("line %d: %s: %s, redis: %s", number, l, a, b)
		}
		a, b := ours.heard(), redis.heard()
		if deviation == "" && !slices.Equal(a, b) {
			p.t.Errorf("line %d: %s\n  lockserver: %q\n  redis:      %q", number, l, a, b)
		}
	}
	slices.Sort(ours.expired)
	slices.Sort(redis.expired)
	if !slices.Equal(ours.expired, redis.expired) {
		p.t.Errorf("expired\n  lockserver: %q\n  redis:      %q", ours.expired, redis.expired)
	}
}

// TestGeneratedEvents plays generated commands and compares their events. It leaves out those of expiry,
// which come at random times. It also leaves out misses, because some checks look keys up themselves:
// TestEvents has these.
func TestGeneratedEvents(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1_000_000_000
	}
	t.Logf("seed %d", seed)
	p := startPair(t, "")
	names := map[string]bool{}
	for _, name := range p.redis.Do("COMMAND", "LIST").Elems {
		names[strings.ToLower(name.Str)] = true
	}
	names["dump"] = false // its check restores keys in Redis, which causes events there
	g := newGenerator(func(name string) bool { return names[name] })
	g.payloads = payloads(p)
	for _, s := range p.sides() {
		require.Equal(t, "+OK", s.watch.Do("CONFIG", "SET", "notify-keyspace-events", "KEAn").String())
	}
	ours, redis := listen(t, &p.ours), listen(t, &p.redis)
	for i := range *commandsFlag / 40 / sequenceLength {
		if *sequenceFlag >= 0 && i != *sequenceFlag {
			continue
		}
		g.pool = pool{rand: rand.New(rand.NewPCG(seed, uint64(i))), nextMS: 1000}
		s := &sequence{pair: p, version: 2 + i%2, steps: g.configure()}
		for range sequenceLength {
			s.steps = append(s.steps, stepOf(g.next()))
		}
		s.after = func(step step) string {
			a, b := ours.heard(), redis.heard()
			if slices.Equal(a, b) || step.name == "spop" { // its check pops in another way
				return ""
			}
			return fmt.Sprintf("lockserver: %q\n  redis:      %q", a, b)
		}
		if f := s.play(s.steps); f != nil {
			t.Fatalf("sequence %d, seed %d\n%s", i, seed, s.report(f))
		}
	}
}

// eventCases returns cases that the other families do not have.
func eventCases() family {
	return family{"events", []namedCase{
		{"deadlines", `
			SET k v EX 100
			SET k v PX 100000 KEEPTTL
			SET k v KEEPTTL
			GETEX k EX 10
			GETEX k PERSIST
			GETEX k PERSIST
			GETEX k EXAT 1
			SET k v
			EXPIRE k 100
			EXPIRE k 200 NX
			PERSIST k
			PERSIST k
			EXPIRE k -1
			EXPIRE k 100
			SETEX k 100 v
			PSETEX k 100000 v
			PSETEX k 30 v
			sleep 60
			GET k
			SET j v PX 30
			sleep 60
			SET j w
			HSET h f v
			PEXPIRE h 20
			sleep 40
			EXISTS h
		`},
		{"the same member again", `
			SADD s a b
			SADD s a
			SREM s x
			SREM s a
			SREM s b
			SADD s a
			SADD t a
			SMOVE s t a
			SMOVE t u a
			SMOVE t u a
			SPOP u
			SADD u a b c
			SPOP u 2
			SPOP u 0
			SPOP u 10
			HSET h f v
			HSET h f v
			HSETNX h f w
			HDEL h x
			HDEL h f x
		`},
		{"results that are stored", `
			SADD a 1 2
			SADD b 2 3
			SINTERSTORE r a b
			SINTERSTORE r a b
			SUNIONSTORE r a b
			SDIFFSTORE r a a
			SDIFFSTORE r a a
			SET r v
			SDIFFSTORE r a b
			SET r v
			SDIFFSTORE r a a
		`},
		{"between databases", `
			SET k v
			COPY k j DB 3
			COPY k j DB 3
			COPY k j DB 3 REPLACE
			MOVE k 3
			SELECT 3
			RENAME k l
			RENAME l j
			RENAME j j
			RENAMENX j k
			SET l v
			RENAMENX k l
			SWAPDB 3 0
			FLUSHALL
		`},
		{"streams", `
			XADD s 1-1 f v
			XADD s MAXLEN 1 2-1 f v
			XADD s MAXLEN 5 3-1 f v
			XTRIM s MAXLEN 5
			XTRIM s MAXLEN 1
			XDEL s 9-9
			XDEL s 3-1
			XSETID s 10-1
			XADD s MAXLEN 0 11-1 f v
			XADD q NOMKSTREAM 1-1 f v
		`},
	}}
}
