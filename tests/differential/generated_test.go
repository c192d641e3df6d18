//go:build oracle

package differential

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"lockserver/commands"
)

const (
	// sequenceLength is how many commands are played on data that began empty, and then compared.
	sequenceLength = 200
	// contextLines is how many of the commands before a failure are shown.
	contextLines = 15
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
		s := &sequence{pair: p, generator: g, counts: counts}
		name, failure := s.play(2 + i%2)
		played += len(s.commands)
		if failure != "" && !shown[name] {
			shown[name] = true
			failures++
			t.Errorf("%s\n\nto replay: go test -tags oracle -count=1 ./tests/differential -run TestGenerated -seed %d -sequence %d",
				failure, seed, i)
		}
		if *sequenceFlag >= 0 {
			break
		}
	}
	t.Logf("%d commands of %d kinds in %.1f s", played, len(counts), time.Since(start).Seconds())
	if *sequenceFlag < 0 && failures == 0 && *commandsFlag >= 20_000 {
		for _, row := range g.rows {
			if counts[row.FullName()] == 0 {
				t.Errorf("%s was never played", row.FullName())
			}
		}
	}
}

// sequence is some commands on data that began empty.
type sequence struct {
	*pair
	generator *generator
	commands  [][]string
	counts    map[string]int
}

// play plays the sequence and says what went wrong with which command; "": nothing.
func (s *sequence) play(version int) (name, failure string) {
	s.t.Helper()
	s.begin(version)
	s.configure()
	for len(s.commands) < sequenceLength {
		if s.generator.chance(2) {
			if name, wrong := s.transaction(); wrong != "" {
				return name, s.report(version, s.commands[len(s.commands)-1], wrong)
			}
		}
		row, args := s.generator.next()
		s.commands = append(s.commands, args)
		s.counts[row.FullName()]++
		if wrong := checkOf(row)(s.pair, args); wrong != "" {
			return row.FullName(), s.report(version, args, wrong)
		}
	}
	if diff := s.settledDiff(); len(diff) > 0 {
		return "data", s.report(version, nil, "the data differs (lockserver | redis):\n  "+strings.Join(diff, "\n  "))
	}
	return "", ""
}

// configure sets the sizes at which values are kept in another form, mostly to smaller ones than the default, so that a
// short sequence meets them.
func (s *sequence) configure() {
	s.t.Helper()
	g := s.generator
	args := []string{"CONFIG", "SET"}
	for _, d := range []struct {
		name   string
		values []string
	}{
		{"stream-node-max-entries", []string{"100", "100", "1", "3", "10"}},
		{"stream-node-max-bytes", []string{"4096", "4096", "0", "60"}},
		{"hash-max-listpack-entries", []string{"512", "2", "5"}},
		{"hash-max-listpack-value", []string{"64", "2"}},
		{"zset-max-listpack-entries", []string{"128", "2", "5"}},
		{"zset-max-listpack-value", []string{"64", "2"}},
		{"set-max-intset-entries", []string{"512", "3"}},
		{"list-max-listpack-size", []string{"-2", "1", "3", "-1"}},
	} {
		args = append(args, d.name, g.pick(d.values))
	}
	s.commands = append(s.commands, args)
	if wrong := checkSame(s.pair, args); wrong != "" {
		s.t.Fatalf("%s\n  %s", line(args), wrong)
	}
}

// settledDiff compares the data; Redis lists keys whose time has come for a moment.
func (s *sequence) settledDiff() []string {
	s.t.Helper()
	diff := s.diff()
	for range 3 {
		if len(diff) == 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
		diff = s.diff()
	}
	return diff
}

func checkOf(row *commands.Row) check {
	if c := checks[row.FullName()]; c != nil {
		return c
	}
	return checkSame
}

// report shows a failure with the last commands that had to do with the same keys.
func (s *sequence) report(version int, args []string, wrong string) string {
	var b strings.Builder
	var lines []string
	for i, c := range s.commands {
		if args == nil || i == len(s.commands)-1 || related(c, args) {
			lines = append(lines, fmt.Sprintf("  %3d  %s", i, shortLine(c)))
		}
	}
	if more := len(lines) - contextLines; more > 0 {
		lines = append([]string{fmt.Sprintf("  ... %d more", more)}, lines[more:]...)
	}
	fmt.Fprintf(&b, "version %d of the protocol; the last related commands:\n%s\n  %s", version, strings.Join(lines, "\n"), wrong)
	return b.String()
}

// related reports whether an earlier command may have changed what a later one saw.
func related(earlier, later []string) bool {
	switch strings.ToUpper(earlier[0]) {
	case "SELECT", "FLUSHALL", "FLUSHDB", "SWAPDB", "CONFIG":
		return true
	}
	return slices.ContainsFunc(earlier[1:], func(word string) bool {
		return slices.Contains(allKeys, word) && slices.Contains(later[1:], word)
	})
}

func shortLine(args []string) string {
	l := line(args)
	if len(l) > 400 {
		l = l[:400] + "..."
	}
	return l
}
