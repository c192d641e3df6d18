package interop

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// key is the lock of every sequence. It has no brace, so Redisson's companions have the name name:{key}.
const key = "door"

// The companions of the lock.
const (
	channel     = "redisson_lock__channel:{" + key + "}"
	tokenKey    = "redisson_lock_token:{" + key + "}"
	queueKey    = "redisson_lock_queue:{" + key + "}"
	patienceKey = "redisson_lock_timeout:{" + key + "}"
	latchPrefix = "redisson_unlock_latch:{" + key + "}:"
)

// watchdogMS is the lease of a renewed lock, on both sides.
const watchdogMS = 30_000

// kind is a kind of lock of Redisson.
type kind string

const (
	rlock  kind = "RLock"
	spin   kind = "RSpinLock"
	fenced kind = "RFencedLock"
	fair   kind = "RFairLock"
)

// step is an event in the life of the lock:
//
//	acquire OWNER MS   try to take it, with a lease of its own
//	watch OWNER        try to take it, with a lease that is renewed
//	wait OWNER MS      take it, or stand in line (RFairLock)
//	leave OWNER        give up waiting (RFairLock)
//	release OWNER      give back one hold
//	renew OWNER MS     start the lease anew
//	force              free it, with any holder
//	delete             another client deletes the key
//	elapse MS          time passes
type step struct {
	verb, owner string
	ms          int64
}

func (st step) String() string {
	text := st.verb
	if st.owner != "" {
		text += " " + st.owner
	}
	if st.ms != 0 {
		text += " " + strconv.FormatInt(st.ms, 10)
	}
	return text
}

// sequence is the story of a lock.
type sequence struct {
	name  string
	kind  kind
	steps []step
}

func parseSteps(t *testing.T, text string) []step {
	t.Helper()
	var steps []step
	for _, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		st := step{verb: words[0]}
		for _, w := range words[1:] {
			if n, err := strconv.ParseInt(w, 10, 64); err == nil {
				st.ms = n
			} else {
				st.owner = w
			}
		}
		require.Equal(t, line, st.String())
		steps = append(steps, st)
	}
	return steps
}

// randomSequence returns a random sequence. Every time in it is a multiple of 5 seconds, so that two leases
// are either equal or far apart. Either all leases are renewed or no lease is. If a client asks for a lease
// after a watchdog has begun, the client's library decides what happens, and no script.
func randomSequence(seed uint64, k kind) sequence {
	rnd := rand.New(rand.NewPCG(seed, 0))
	s := sequence{name: fmt.Sprintf("random %d", seed), kind: k}
	owners := []string{"a", "b", "u-1:7"}
	acquire := []string{"acquire", "acquire", "acquire", "renew"}
	if rnd.IntN(3) == 0 {
		acquire = []string{"watch", "watch"}
	}
	verbs := append(acquire, "release", "release", "release", "elapse", "elapse", "force", "delete")
	doubt := map[string]bool{}
	for len(s.steps) < 30 {
		st := step{verb: verbs[rnd.IntN(len(verbs))]}
		switch st.verb {
		case "acquire", "renew":
			st.owner, st.ms = owners[rnd.IntN(len(owners))], 5_000*(1+rnd.Int64N(12))
		case "watch", "release":
			st.owner = owners[rnd.IntN(len(owners))]
		case "elapse":
			st.ms = 5_000 * (1 + rnd.Int64N(7))
		}
		if st.verb == "elapse" && acquire[0] == "acquire" { // the rest of the lease must be known: see compare
			for _, owner := range slices.Sorted(maps.Keys(doubt)) {
				s.steps = append(s.steps, step{verb: "renew", owner: owner, ms: 20_000})
			}
			clear(doubt)
		}
		if st.verb == "release" {
			doubt[st.owner] = true
		}
		s.steps = append(s.steps, st)
	}
	return s
}

// dedent removes the tabs by which a text in Go source is indented.
func dedent(text string) string { return strings.ReplaceAll(text, "\t", "") }
