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

// ChaosKinds holds the kinds of faults that chaos draws, by their words.
var ChaosKinds = map[string]Kind{
	"dropbefore": DropBefore, "dropafter": DropAfter, "delay": Delay, "expire": Expire, "failover": Failover, "restart": Restart,
}

// defaultDelayMS is the default of MAXDELAY, the longest delay that chaos draws.
const defaultDelayMS = 1000

// Draws configures the faults that chaos draws from a seed.
type Draws struct {
	Seed       uint64
	Rate       float64 // the probability that a call gets a fault, from 0 to 1
	Kinds      []Kind  // at least one
	MaxDelayMS int64   // the longest delay, at least 1
}

// Strike is a fault of chaos for one call of a command.
type Strike struct {
	Command string // its full name
	Call    int64  // number of the call of that command, from 1
	Kind    Kind
	DelayMS int64  // for Delay
	Key     string // for Expire: the lock that expires; empty before the server has drawn a lock
	Pick    uint64 // for Expire: the number by which the server draws a lock
}

// String returns the form of TEST.CHAOS LIST and REPLAY, as "get#2:expire:door" and "lock#1:delay:250".
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

// ParseStrike parses the form that String writes.
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

// Chaos causes faults in commands, drawn from a seed. The fault of a call depends only on the seed, the
// command and the number of the call of that command. So the same program meets the same faults again, even
// if its connections take turns in another order. The zero value causes no faults. Its methods may be called
// at any time, on any goroutine.
type Chaos struct {
	on     atomic.Bool
	mu     sync.Mutex
	exempt int64 // the client that began it, which gets no faults
	draws  Draws
	plan   map[string]Strike // for Replay, by command and call; nil: faults are drawn
	calls  map[string]int64  // number of calls, by command
	struck []Strike
}

// On reports whether faults are caused.
func (c *Chaos) On() bool { return c != nil && c.on.Load() }

// Begin causes faults in commands of all clients but exempt from now on.
func (c *Chaos) Begin(exempt int64, draws Draws) {
	draws.Kinds = slices.Clone(draws.Kinds)
	slices.Sort(draws.Kinds) // the result does not depend on their order
	c.begin(func() { c.exempt, c.draws = exempt, draws })
}

// Replay causes exactly these faults from now on. Calls are counted from 1 again.
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

// End stops the faults. The list of faults so far stays.
func (c *Chaos) End() { c.on.Store(false) }

// Forget does what End does, and clears the list.
func (c *Chaos) Forget() {
	c.End()
	c.mu.Lock()
	c.struck = nil
	c.mu.Unlock()
}

// Exempt reports whether a client gets no faults.
func (c *Chaos) Exempt(client int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.exempt == client
}

// Draw counts the call of a command and returns its fault; ok is false if the call gets no fault.
func (c *Chaos) Draw(call *Call) (s Strike, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch call.Group {
	case commands.Connection, commands.Server, commands.Cluster, commands.Sentinel:
		return s, false // commands that client libraries send by themselves
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

// Record adds a fault to the list.
func (c *Chaos) Record(s Strike) {
	c.mu.Lock()
	c.struck = append(c.struck, s)
	c.mu.Unlock()
}

// Struck returns the faults since Begin or Replay, in order.
func (c *Chaos) Struck() []Strike {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.struck)
}
