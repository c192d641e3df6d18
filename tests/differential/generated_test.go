//go:build oracle

package differential

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"lockserver/commands"
)

const (
	// sequenceLength is the number of commands on data that begins empty, before the data is compared.
	sequenceLength = 200
	// mostFailures is the number of failures after which a run ends. A command with a printed failure is not
	// counted again.
	mostFailures = 10
)

// sequencesPerPair is the number of sequences that a pair of servers plays. Each begins with SCRIPT FLUSH.
// Redis survives about 4,000 of these: it frees a cache and uses memory that is already freed.
const sequencesPerPair = 1000

// TestGenerated plays commands that are generated from the command table.
func TestGenerated(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1_000_000_000
	}
	t.Logf("seed %d, %d commands", seed, *commandsFlag)
	run := &generatedRun{seed: seed, only: regexp.MustCompile("(?i)" + *onlyFlag), counts: map[string]int{}, shown: map[string]bool{}}
	if *sequenceFlag >= 0 {
		run.part(t, *sequenceFlag, *sequenceFlag+1)
		return
	}
	for from := 0; run.goesOn(); from += sequencesPerPair {
		t.Run("", func(t *testing.T) { run.part(t, from, from+sequencesPerPair) })
	}
	t.Logf("%d commands of %d kinds", run.played, len(run.counts))
	if t.Failed() || *commandsFlag < 50_000 {
		return
	}
	for _, row := range run.rows {
		if run.counts[row.FullName()] == 0 {
			t.Errorf("%s was never played", row.FullName())
		}
	}
}

// generatedRun holds all sequences of a seed.
type generatedRun struct {
	seed     uint64
	only     *regexp.Regexp
	rows     []*commands.Row
	played   int
	failures int
	counts   map[string]int  // numbers of played commands by name
	shown    map[string]bool // names of commands with a printed failure
}

func (r *generatedRun) goesOn() bool { return r.played < *commandsFlag && r.failures < mostFailures }

// part plays the sequences in a range of numbers on new servers.
func (r *generatedRun) part(t *testing.T, from, to int) {
	p := startPair(t, "")
	p.nothingIsSlow()
	names := map[string]bool{}
	for _, name := range p.redis.Do("COMMAND", "LIST").Elems {
		names[strings.ToLower(name.Str)] = r.only.MatchString(name.Str)
	}
	g := newGenerator(func(name string) bool { return names[name] })
	g.payloads, r.rows = payloads(p), g.rows
	for i := from; i < to && r.goesOn(); i++ {
		g.pool = pool{rand: rand.New(rand.NewPCG(r.seed, uint64(i))), nextMS: 1000}
		s := &sequence{pair: p, version: 2 + i%2, steps: g.write(sequenceLength)}
		f := s.play(s.steps)
		if f != nil && f.name == inCount {
			f = s.countAgain(f)
		}
		r.played += len(s.steps)
		for _, step := range s.steps {
			r.counts[step.name]++
		}
		if f != nil && !r.shown[f.name] {
			r.shown[f.name] = true
			r.failures++
			t.Errorf("%s\n\nto replay: go test -tags oracle -count=1 ./tests/differential -run TestGenerated -seed %d -sequence %d",
				s.report(f), r.seed, i)
		}
	}
}
