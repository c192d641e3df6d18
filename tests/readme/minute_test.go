package readme

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// terminal runs commands and returns their output.
type terminal interface {
	// do types a command and returns its output.
	do(t *testing.T, command string) string
	// begin types a command that waits.
	begin(t *testing.T, command string)
	// finish returns the output of the command that was begun, when it is complete.
	finish(t *testing.T) string
	close()
}

// story plays a page's transcripts with a server that it starts, stops and starts again.
type story struct {
	t         *testing.T
	page      page
	dir       string
	server    *program
	chances   chances
	terminals map[string]terminal
	waiting   map[string]bool
	open      func(*testing.T, *program) terminal
	sell      func(t *testing.T, p *program, line string) string
}

// play runs all blocks of the page from top to bottom.
func (s *story) play() {
	s.chances.actual = make(map[string]string)
	s.terminals, s.waiting = make(map[string]terminal), make(map[string]bool)
	s.dir = s.t.TempDir()
	_, blocks := s.page.read(s.t)
	sold := ""
	for _, b := range blocks {
		switch b.use() {
		case "sh server":
			require.Equal(s.t, "go run ./cmd/lockserver\n", b.text)
			s.server = startProgram(s.t, s.dir, 0)
		case "sh restart":
			require.Equal(s.t, "go run ./cmd/lockserver\n", b.text)
			s.restart()
		case "sh sale":
			sold = s.sell(s.t, s.server, strings.TrimSpace(b.text))
		case "text sale":
			require.Equal(s.t, b.text, sold, b.where())
		case "console alice", "console bob":
			s.converse(b)
		}
	}
	s.closeTerminals()
	for name := range s.waiting {
		s.t.Errorf("%s is left waiting for a reply", name)
	}
}

func (s *story) restart() {
	s.closeTerminals()
	port := s.server.port(s.t)
	s.server.interrupt(s.t)
	s.server = startProgram(s.t, s.dir, port)
}

func (s *story) closeTerminals() {
	for _, term := range s.terminals {
		term.close()
	}
	clear(s.terminals)
}

// converse plays one block.
func (s *story) converse(b block) {
	s.t.Helper()
	require.NotNil(s.t, s.server, "%s: the server was not started", b.where())
	term := s.terminals[b.role]
	if term == nil {
		term = s.open(s.t, s.server)
		s.terminals[b.role] = term
	}
	for _, st := range steps(b) {
		var got string
		switch {
		case st.command == "":
			require.True(s.t, s.waiting[b.role], "%s:%d: a reply without its command", b.page, st.line)
			delete(s.waiting, b.role)
			got = term.finish(s.t)
		case st.reply == "":
			before := s.blocked()
			term.begin(s.t, s.chances.command(st.command))
			require.Eventually(s.t, func() bool { return s.blocked() == before+1 }, patience, time.Millisecond,
				"%s:%d: %s should wait", b.page, st.line, st.command)
			s.waiting[b.role] = true
			continue
		default:
			got = term.do(s.t, s.chances.command(st.command))
		}
		why := s.chances.compare(st.reply, got)
		require.Empty(s.t, why, "%s:%d: %s\nshown:\n%sgot:\n%s", b.page, st.line, st.command, st.reply, got)
	}
}

// blocked returns how many clients of the server wait in commands.
func (s *story) blocked() int {
	s.t.Helper()
	c := s.server.Client(s.t)
	defer c.Close()
	_, rest, found := strings.Cut(c.Do("INFO", "clients").Str, "blocked_clients:")
	require.True(s.t, found)
	number, _, _ := strings.Cut(rest, "\r\n")
	n, err := strconv.Atoi(number)
	require.NoError(s.t, err)
	return n
}

// wire is a terminal without redis-cli: it uses the protocol and prints the replies.
type wire struct{ client *testkit.Client }

func (w wire) do(_ *testing.T, command string) string { return printed(w.client.Do(words(command)...)) }

func (w wire) begin(t *testing.T, command string) {
	t.Helper()
	t.Helper()
	w.client.Send(words(command)...)
}

func (w wire) finish(*testing.T) string { return printed(w.client.Receive()) }

func (w wire) close() { w.client.Close() }

// TestTranscripts plays every page that starts a server.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	playAll(t, func(t *testing.T, p *program) terminal { return wire{p.Client(t)} }, sellOverWire)
}

// playAll plays the pages one after the other, because a restarted server needs its port.
func playAll(t *testing.T, open func(*testing.T, *program) terminal, sell func(*testing.T, *program, string) string) {
	for _, p := range pages {
		if len(p.blocksOf(t, "sh server")) == 0 {
			for _, use := range []string{"console alice", "console bob", "sh sale", "sh restart"} {
				require.Empty(t, p.blocksOf(t, use), "%s starts no server", p.path)
			}
			continue
		}
		t.Run(p.path, func(t *testing.T) {
			s := story{t: t, page: p, open: open, sell: sell}
			s.play()
		})
	}
}

// saleLine matches the shell's line: the number of users, the number at a time, the placeholder for the
// number, and the command.
var saleLine = regexp.MustCompile(`^seq (\d+) \| xargs -P (\d+) -I(\S+) redis-cli (.+) \| sort \| uniq -c$`)

// sellOverWire does the same as the shell's line. It uses a connection for each of its processes.
func sellOverWire(t *testing.T, p *program, line string) string {
	t.Helper()
	m := saleLine.FindStringSubmatch(line)
	require.NotNil(t, m, "a line of another form: %s", line)
	users, err := strconv.Atoi(m[1])
	require.NoError(t, err)
	atATime, err := strconv.Atoi(m[2])
	require.NoError(t, err)
	numbers := make(chan int)
	var buyers sync.WaitGroup
	var mu sync.Mutex
	counts := make(map[string]int)
	for range atATime {
		c := p.Client(t)
		buyers.Go(func() {
			for u := range numbers {
				v, err := c.Call(strings.Fields(strings.ReplaceAll(m[4], m[3], strconv.Itoa(u)))...)
				mu.Lock()
				if err != nil {
					counts[err.Error()]++
				} else {
					counts[v.String()]++
				}
				mu.Unlock()
			}
		})
	}
	for u := range users {
		numbers <- u + 1
	}
	close(numbers)
	buyers.Wait()
	var b strings.Builder
	for _, reply := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "%7d %s\n", counts[reply], reply)
	}
	return b.String()
}
