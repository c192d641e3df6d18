package testmode

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"lockserver/commands"
)

// ChaosKinds are the kinds of faults that chaos draws, by their words.
var ChaosKinds = map[string]Kind{
	"dropbefore": DropBefore, "dropafter": DropAfter, "delay": Delay, "expire": Expire, "failover": Failover, "restart": Restart,
}

// defaultDelayMS bounds the delays that chaos draws, unless MAXDELAY does.
const defaultDelayMS = 1000

// Draws say what chaos draws from a seed.
type Draws struct {
	Seed       uint64
	Rate       float64 // the probability that a call is struck, from 0 to 1
	Kinds      []Kind  // at least one
	MaxDelayMS int64   // the longest delay, at least 1
}

// Strike is a fault that chaos has for one call of a command.
type Strike struct {
	Command string // its full name
	Call    int64  // which call of that command, from 1
	Kind    Kind
	DelayMS int64  // of Delay
	Key     string // of Expire: the lock that ends; empty before the server has drawn one
	Pick    uint64 // of Expire: the number by which the server draws a lock
}

// String is the form of TEST.CHAOS LIST and REPLAY, as "get#2:expire:door" and "lock#1:delay:250".
func (s Strike) String() string {
	text := fmt.Sprintf("%s#%d:%s", s.Command, s.Call, strings.ToLower(kinds[s.Kind]))
	switch s.Kind {
	case Delay:
		text += ":" + strconv.FormatInt(s.DelayMS, 10)
	case Expire:
		text += ":" + s.Key
	}
	return text
}

// ParseStrike reads the form that String writes.
func ParseStrike(text string) (s Strike, ok bool) {
	call, fault, _ := strings.Cut(text, ":")
	word, value, hasValue := strings.Cut(fault, ":")
	command, number, _ := strings.Cut(call, "#")
	n, err := strconv.ParseInt(number, 10, 64)
	if s.Kind, ok = ChaosKinds[word]; !ok || err != nil || n < 1 || command == "" {
		return s, false
	}
	s.Command, s.Call = strings.ToLower(command), n
	switch s.Kind {
	case Delay:
		s.DelayMS, err = strconv.ParseInt(value, 10, 64)
		return s, err == nil && s.DelayMS >= 0
	case Expire:
		s.Key = value
		return s, hasValue
	}
	return s, !hasValue
}

// Chaos strikes commands with faults that a seed decides. Whether a call is struck depends on the seed, the
// command and the number of the call of that command, and on nothing else. So the same program meets the same
// faults again, even if its connections take turns in another order. Its zero value strikes nothing. Its
// methods may be called at any time, on any goroutine.
type Chaos struct {
	on     atomic.Bool
	mu     sync.Mutex
	exempt int64 // the client that began it; it is never struck
	draws  Draws
	plan   map[string]Strike // of Replay, by command and call; nil: faults are drawn
	calls  map[string]int64  // by command
	struck []Strike
}

// On reports whether commands are struck.
func (c *Chaos) On() bool { return c != nil && c.on.Load() }

// Begin strikes commands of all clients but one from now on.
func (c *Chaos) Begin(exempt int64, draws Draws) {
	draws.Kinds = slices.Clone(draws.Kinds)
	slices.Sort(draws.Kinds) // their order decides nothing
	c.begin(func() { c.exempt, c.draws = exempt, draws })
}

// Replay strikes exactly these calls from now on. Calls are counted anew.
func (c *Chaos) Replay(exempt int64, strikes []Strike) {
	c.begin(func() {
		c.exempt, c.plan = exempt, make(map[string]Strike)
		for _, s := range strikes {
			c.plan[s.at()] = s
		}
	})
}

func (s *Strike) at() string { return s.Command + "#" + strconv.FormatInt(s.Call, 10) }

func (c *Chaos) begin(set func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plan, c.struck, c.calls = nil, nil, make(map[string]int64)
	set()
	c.on.Store(true)
}

// End strikes nothing any more. What has been struck stays listed.
func (c *Chaos) End() { c.on.Store(false) }

// Forget is End, and nothing is listed.
func (c *Chaos) Forget() {
	c.End()
	c.mu.Lock()
	c.struck = nil
	c.mu.Unlock()
}

// Exempt reports whether a client is never struck.
func (c *Chaos) Exempt(client int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.exempt == client
}

// Draw counts the call of a command and returns the fault that strikes it; ok: there is one.
func (c *Chaos) Draw(call *Call) (s Strike, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch call.Group {
	case commands.Connection, commands.Server, commands.Cluster, commands.Sentinel:
		return s, false // what a library sends on its own
	}
	if !c.on.Load() || call.Client == c.exempt {
		return s, false
	}
	c.calls[call.Command]++
	s = Strike{Command: call.Command, Call: c.calls[call.Command]}
	if c.plan != nil {
		s, ok = c.plan[s.at()]
		return s, ok
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s %d", c.draws.Seed, s.Command, s.Call)
	draw := h.Sum64()
	next := func() uint64 { // splitmix64
		draw += 0x9e3779b97f4a7c15
		z := draw
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return z ^ z>>31
	}
	if float64(next()>>11)/(1<<53) >= c.draws.Rate {
		return s, false
	}
	s.Kind = c.draws.Kinds[next()%uint64(len(c.draws.Kinds))]
	switch s.Kind {
	case Delay:
		s.DelayMS = int64(next()%uint64(c.draws.MaxDelayMS)) + 1
	case Expire:
		s.Pick = next()
	}
	return s, true
}

// Record keeps a fault that has struck.
func (c *Chaos) Record(s Strike) {
	c.mu.Lock()
	c.struck = append(c.struck, s)
	c.mu.Unlock()
}

// Struck returns the faults that have struck since Begin or Replay, in order.
func (c *Chaos) Struck() []Strike {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.struck)
}
