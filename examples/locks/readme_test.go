package main

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"lockserver/server"
)

// terminal is one block of README.md: a command, and what it prints.
type terminal struct {
	args   []string
	before []string // what is printed before Ctrl-C, or until the process ends
	ctrlC  bool
	after  []string // what is printed then
	goesOn bool     // the last line before Ctrl-C comes again and again
}

var (
	block  = regexp.MustCompile("(?s)```console (\\w+)\n(.*?)```")
	varies = regexp.MustCompile(`\d+(\.\d+)?(ms|s)?\b`) // tokens and durations
)

// stories returns what the sections of README.md show: two terminals each.
func stories(t *testing.T) map[string][]terminal {
	t.Helper()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	all := make(map[string][]terminal)
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		title, body, _ := strings.Cut(section, "\n")
		for _, m := range block.FindAllStringSubmatch(body, -1) {
			lines := strings.Split(strings.TrimSpace(m[2]), "\n")
			args, ok := strings.CutPrefix(lines[0], "$ go run ./locks ")
			require.True(t, ok, lines[0])
			tm := terminal{args: strings.Fields(args), before: lines[1:]}
			if i := slices.Index(lines, "^C"); i > 0 {
				tm.ctrlC, tm.before, tm.after = true, lines[1:i], lines[i+1:]
			}
			if last := len(tm.before) - 1; tm.before[last] == "..." {
				tm.goesOn, tm.before = true, tm.before[:last]
			}
			all[title] = append(all[title], tm)
		}
	}
	return all
}

// screen is what a process has printed.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *screen) lines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return withoutNumbers(strings.Split(strings.TrimSpace(s.text.String()), "\n"))
}

// running is a process in a terminal.
type running struct {
	terminal
	screen screen
	end    context.CancelFunc
	ended  chan int
}

func (tm terminal) start(t *testing.T, addr string) *running {
	ctx, end := context.WithCancel(t.Context())
	r := &running{terminal: tm, end: end, ended: make(chan int, 1)}
	// The program's own times are for people.
	args := append([]string{"-redis", addr, "-lease", "400ms", "-sleep", "1200ms", "-every", "1ms"}, tm.args...)
	go func() { r.ended <- run(ctx, args, &r.screen) }()
	return r
}

// await waits until lines are the first that a process has printed.
func (r *running) await(t *testing.T, lines []string) {
	t.Helper()
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		shown := r.shown()
		require.Equal(t, withoutNumbers(lines), shown[:min(len(lines), len(shown))])
	}, soon, time.Millisecond)
}

func withoutNumbers(lines []string) []string {
	return strings.Split(varies.ReplaceAllString(strings.Join(lines, "\n"), "N"), "\n")
}

// shown is what the process has printed, a line that goes on only once.
func (r *running) shown() []string {
	lines := r.screen.lines()
	if r.goesOn {
		lines = slices.Compact(lines)
	}
	return lines
}

// TestWhatTheReadmeShows: each section's first process is there first, the second one comes while it runs,
// and what both print is what README.md says.
func TestWhatTheReadmeShows(t *testing.T) {
	all := stories(t)
	require.Len(t, all, 3)
	for title, terminals := range all {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			require.Len(t, terminals, 2)
			srv, err := server.New(server.Options{})
			require.NoError(t, err)
			t.Cleanup(func() { _ = srv.Close() })
			require.NoError(t, srv.Start())

			first := terminals[0].start(t, srv.Addr().String())
			if first.ctrlC {
				first.await(t, first.before)
			} else {
				first.await(t, first.before[:3]) // it is asleep
			}
			second := terminals[1].start(t, srv.Addr().String())
			second.await(t, second.before[:1])
			for _, r := range []*running{first, second} {
				r.await(t, r.before)
				if r.ctrlC {
					r.end()
				}
				select {
				case <-r.ended:
				case <-time.After(soon):
					require.Fail(t, "the process does not end")
				}
				require.Equal(t, withoutNumbers(append(slices.Clone(r.before), r.after...)), r.shown())
			}
		})
	}
}
