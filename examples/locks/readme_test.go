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

// terminal is a block of README.md: a command and its output.
type terminal struct {
	args   []string
	before []string // the output before Ctrl-C, or up to the end of the process
	ctrlC  bool
	after  []string // the output after Ctrl-C
	goesOn bool     // the last line before Ctrl-C is repeated
}

var (
	block  = regexp.MustCompile("(?s)```console (\\w+)\n(.*?)```")
	varies = regexp.MustCompile(`\d+(\.\d+)?(ms|s)?\b`) // tokens and durations
)

// stories returns the terminals in the sections of README.md: two in each.
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

// screen holds the output of a process.
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

// running is a process that runs in a terminal.
type running struct {
	terminal
	screen screen
	end    context.CancelFunc
	ended  chan int
}

func (tm terminal) start(t *testing.T, addr string) *running {
	ctx, end := context.WithCancel(t.Context())
	r := &running{terminal: tm, end: end, ended: make(chan int, 1)}
	// The program's default times are for people.
	args := append([]string{"-redis", addr, "-lease", "400ms", "-sleep", "1200ms", "-every", "1ms"}, tm.args...)
	go func() { r.ended <- run(ctx, args, &r.screen) }()
	return r
}

// await waits until the output of the process begins with lines.
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

// shown returns the output of the process, with repeated lines only once.
func (r *running) shown() []string {
	lines := r.screen.lines()
	if r.goesOn {
		lines = slices.Compact(lines)
	}
	return lines
}

// TestWhatTheReadmeShows: in each section the first process starts, and then the second while the first runs.
// Both print what README.md shows.
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
				first.await(t, first.before[:3]) // until the first process sleeps
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
