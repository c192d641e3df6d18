//go:build oracle

package differential

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAPlantedDifferenceIsShrunk plants a difference between the servers: LINSERT here loses the last
// element. The report has the few of hundreds of commands that show it.
func TestAPlantedDifferenceIsShrunk(t *testing.T) {
	p := startPair(t, "")
	names := map[string]bool{}
	for _, name := range p.redis.Do("COMMAND", "LIST").Elems {
		names[strings.ToLower(name.Str)] = true
	}
	g := newGenerator(func(name string) bool { return names[name] })
	g.payloads = payloads(p)
	loses := func(step step) string {
		if step.name == "linsert" && len(step.args) > 1 {
			p.ours.watch.Do("RPOP", step.args[1])
		}
		return ""
	}
	for i := range uint64(100) {
		g.pool = pool{rand: rand.New(rand.NewPCG(1, i)), nextMS: 1000}
		s := &sequence{pair: p, version: 2, steps: g.write(sequenceLength), after: loses}
		f := s.play(s.steps)
		if f == nil {
			continue
		}
		r, smallest := s.shrink(f)
		require.True(t, r.Reproduced)
		require.LessOrEqual(t, len(r.Steps), 10, "%v", r.Steps)
		text := s.describe(r, smallest)
		t.Log(text)
		require.Less(t, strings.Count(text, "\n"), 20)
		require.Contains(t, strings.ToUpper(text), "LINSERT")
		return
	}
	require.Fail(t, "LINSERT is never played")
}

// TestAPlantedMessageIsShrunk plants a message in conversations, after each SET, which only a subscriber
// receives.
func TestAPlantedMessageIsShrunk(t *testing.T) {
	c := startConversations(t)
	c.after = func(step talkStep) {
		if strings.HasPrefix(step.commands[0], "SET ") {
			c.ours.control.Do("PUBLISH", "c1", "planted")
		}
	}
	for i := range uint64(100) {
		if report := c.converse(newTalk(1, i, talkers).steps(talkLength)); report != "" {
			t.Log(report)
			require.Regexp(t, `^[2-4] of \d+ steps`, report)
			require.Contains(t, report, "SUBSCRIBE")
			require.Contains(t, report, "SET")
			require.Contains(t, report, `"planted"`)
			return
		}
	}
	require.Fail(t, "nobody subscribes")
}
