//go:build oracle

package differential

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"
)

const (
	// sequenceLength is how many commands are played on data that began empty, and then compared.
	sequenceLength = 200
	// mostFailures ends a run; a command whose failure was shown counts no more.
	mostFailures = 10
)

// TestGenerated plays commands that are generated from the command table.
func TestGenerated(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1_000_000_000
	}
	t.Logf("seed %d, %d commands", seed, *commandsFlag)
	p := startPair(t, "")
	names := map[string]bool{}
	only := regexp.MustCompile("(?i)" + *onlyFlag)
	for _, name := range p.redis.Do("COMMAND", "LIST").Elems {
		names[strings.ToLower(name.Str)] = only.MatchString(name.Str)
	}
	g := newGenerator(func(name string) bool { return names[name] })
	g.payloads = payloads(p)
	start := time.Now()
	played, failures := 0, 0
	counts, shown := map[string]int{}, map[string]bool{}
	for i := 0; played < *commandsFlag && failures < mostFailures; i++ {
		if *sequenceFlag >= 0 {
			i = *sequenceFlag
		}
		g.pool = pool{rand: rand.New(rand.NewPCG(seed, uint64(i))), nextMS: 1000}
		s := &sequence{pair: p, version: 2 + i%2, steps: g.write(sequenceLength)}
		f := s.play(s.steps)
		played += len(s.steps)
		for _, step := range s.steps {
			counts[step.name]++
		}
		if f != nil && !shown[f.name] {
			shown[f.name] = true
			failures++
			t.Errorf("%s\n\nto replay: go test -tags oracle -count=1 ./tests/differential -run TestGenerated -seed %d -sequence %d",
				s.report(f), seed, i)
		}
		if *sequenceFlag >= 0 {
			break
		}
	}
	t.Logf("%d commands of %d kinds in %.1f s", played, len(counts), time.Since(start).Seconds())
	if *sequenceFlag < 0 && failures == 0 && *commandsFlag >= 50_000 {
		for _, row := range g.rows {
			if counts[row.FullName()] == 0 {
				t.Errorf("%s was never played", row.FullName())
			}
		}
	}
}
