//go:build oracle

package differential

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
)

// lines is a case: commands as redis-cli takes them, one on each line. It is played on empty servers in both
// versions of the protocol. Empty lines and lines that begin with # are ignored.
//
//	!D3 SCAN "1\x00"      the replies differ on purpose: see D3 in docs/DIFFERENCES.md
//	EXPIREAT k {s+100}    {s} is the time in seconds, {ms} in milliseconds, with an offset
//	SET k {xyz*100}       a text that is repeated
//	sleep 20              milliseconds
//	hello 3               switches to that version of the protocol
type lines string

// family is a table of cases.
type family struct {
	name  string
	cases []namedCase
}

type namedCase struct {
	name  string
	lines lines
}

// TestCases plays all cases that were written by hand.
func TestCases(t *testing.T) {
	p := startPair(t, "")
	for _, f := range allCases() {
		t.Run(f.name, func(t *testing.T) {
			for _, c := range f.cases {
				t.Run(c.name, func(t *testing.T) {
					for _, version := range []int{2, 3} {
						here := p.in(t)
						here.begin(version)
						here.play(version, c.lines)
					}
				})
			}
		})
	}
}

// allCases returns the tables of all families.
func allCases() []family {
	return []family{aloneCases(), stringCases(), keyCases(), hashCases(), bitCases(), hyperLogLogCases(), setCases(), zsetCases(), geoCases(), listCases(), streamCases(), groupCases(), dumpCases(), sortCases(), waitCases(), serverCases()}
}

// play plays a case and compares the data at the end.
func (p *pair) play(version int, text lines) {
	p.t.Helper()
	p.forgetChanges()
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
		if p.isStep(args) {
			continue
		}
		check := checks[rowName(args)]
		if check == nil || deviation != "" {
			check = checkSame
		}
		wrong := check(p, args)
		switch {
		case deviation == "" && wrong != "":
			p.t.Errorf("version %d, line %d: %s\n  %s", version, number, l, wrong)
		case deviation != "" && wrong == "":
			p.t.Errorf("version %d, line %d: %s: no difference, but it cites %s", version, number, l, deviation)
		}
		if counts := p.compareChanges(); counts != "" && deviation == "" && !oneSided[rowName(args)] {
			p.t.Errorf("version %d, line %d: %s\n  %s", version, number, l, counts)
		}
	}
	if diff := p.diff(); len(diff) > 0 {
		p.t.Errorf("version %d: the data differs (lockserver | redis):\n  %s", version, strings.Join(diff, "\n  "))
	}
}

// isStep handles a line that is no command, and reports whether it is one.
func (p *pair) isStep(args []string) bool {
	p.t.Helper()
	switch args[0] {
	case "sleep":
		ms, err := strconv.Atoi(args[1])
		require.NoError(p.t, err)
		time.Sleep(time.Duration(ms) * time.Millisecond)
	case "hello":
		version, err := strconv.Atoi(args[1])
		require.NoError(p.t, err)
		p.ours.Hello(version)
		p.redis.Hello(version)
	default:
		return false
	}
	return true
}

// rowName returns the name under which checks has the command.
func rowName(args []string) string {
	name := strings.ToLower(args[0])
	if len(args) > 1 {
		if sub := name + "|" + strings.ToLower(args[1]); checks[sub] != nil {
			return sub
		}
	}
	return name
}

func words(t *testing.T, l string) []string {
	t.Helper()
	split, ok := resp.SplitWords(nil, []byte(l))
	require.True(t, ok, l)
	var args []string
	for _, w := range split {
		args = append(args, string(w))
	}
	return args
}

var braces = regexp.MustCompile(`\{(s|ms)?([+-]\d+)?(?:([^{}*]+)\*(\d+))?\}`)

// expand replaces {s+100}, {ms-5} and {x*100}.
func expand(l string) string {
	return braces.ReplaceAllStringFunc(l, func(m string) string {
		parts := braces.FindStringSubmatch(m)
		if parts[3] != "" {
			n, _ := strconv.Atoi(parts[4])
			return strings.Repeat(parts[3], n)
		}
		offset, _ := strconv.ParseInt(parts[2], 10, 64)
		switch parts[1] {
		case "s":
			return fmt.Sprint(time.Now().Unix() + offset)
		case "ms":
			return fmt.Sprint(time.Now().UnixMilli() + offset)
		}
		return m
	})
}
