//go:build netns

package vanish

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/keyslot"
)

var programs = flag.Bool("programs", false, "run TestProgramsOfACutShard, which needs what make vanish-clients builds")

// visitors returns the programs in visitors, each with the package for its language.
func visitors(t *testing.T) map[string][]string {
	t.Helper()
	absolute := func(parts ...string) string {
		path, err := filepath.Abs(filepath.Join(parts...))
		require.NoError(t, err)
		return path
	}
	root := filepath.Join("..", "..")
	paths, err := os.ReadFile(filepath.Join(root, "bin", "java-client.classpath"))
	require.NoError(t, err)
	classes := absolute(root, "clients", "java", "lockserver-client", "target", "classes")
	return map[string][]string{
		"Python": {absolute(root, "bin", "python-package-venv", "bin", "python"), absolute("visitors", "visitor.py")},
		"Node":   {"node", absolute("visitors", "visitor.mjs")},
		"Java":   {"java", "-cp", classes + ":" + strings.TrimSpace(string(paths)), absolute("visitors", "Visitor.java")},
	}
}

// program is a running visitor on a host of its own.
type program struct {
	t           *testing.T
	name        string
	cmd         *exec.Cmd
	in          io.WriteCloser
	calm, held  atomic.Int64 // how often it has taken the lock of a calm shard, and said that it has all its locks
	shaken      atomic.Int64 // how often it could not take the lock of the calm shard, or write with it
	ended       atomic.Bool
	mu          sync.Mutex
	pushed      []int64
	faults      []string
	outputEnded chan struct{}
}

// startProgram starts a visitor.
func startProgram(t *testing.T, on *host, name string, command ...string) *program {
	t.Helper()
	p := &program{t: t, name: name, outputEnded: make(chan struct{})}
	p.cmd = exec.Command("ip", append([]string{"netns", "exec", on.namespace}, command...)...)
	p.cmd.Stderr = os.Stderr
	var err error
	p.in, err = p.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	go p.read(out)
	return p
}

// read takes what the program says.
func (p *program) read(out io.Reader) {
	defer close(p.outputEnded)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		what, value, _ := strings.Cut(lines.Text(), " ")
		switch what {
		case "pushed":
			token, _ := strconv.ParseInt(value, 10, 64)
			p.mu.Lock()
			p.pushed = append(p.pushed, token)
			p.mu.Unlock()
		case "calm":
			p.calm.Add(1)
		case "shaken":
			p.shaken.Add(1)
		case "held":
			p.held.Add(1)
		case "end":
			p.ended.Store(true)
		default:
			p.mu.Lock()
			p.faults = append(p.faults, p.name+": "+lines.Text())
			p.mu.Unlock()
		}
	}
}

// seen returns the tokens that the program has written, and fails if it has found a fault.
func (p *program) seen() []int64 {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Empty(p.t, p.faults)
	return slices.Clone(p.pushed)
}

// TestProgramsOfACutShard (D145): the machine that leads one shard of three is cut off from all, and is back
// later. Programs with the packages for Python, Node and Java take one lock of that shard in turn. No two of
// them hold it, and no acknowledged write is lost. They come back by themselves. A command is redirected
// twice at most, and the other shards redirect none. Each program keeps a lock of each shard.
func TestProgramsOfACutShard(t *testing.T) {
	if !*programs {
		return // make vanish has not built the packages
	}
	t.Parallel()
	commands := visitors(t)
	names := slices.Sorted(maps.Keys(commands))
	m := newMachines(t, len(names)-1)
	var isolated atomic.Int64 // the machine that is cut off
	isolated.Store(-1)
	r := newRedirections(func(at string) bool {
		machine := isolated.Load()
		return machine < 0 || !strings.HasPrefix(at, address(int(machine))+":")
	})
	m.listen(r.packet)
	m.spread()
	section := filepath.Join(t.TempDir(), "section")
	turn, tokens := keyOf(0, 0), keyOf(0, 0)+":list"
	var urls []string
	for machine := range m.members {
		urls = append(urls, "redis://"+m.members[machine][machine].client)
	}
	var all []*program
	for i, name := range names {
		kept := fmt.Sprintf("%s:%d,%s:%d,%s:%d", keyOf(0, i), i, keyOf(1, i), i, keyOf(2, i), i)
		all = append(all, startProgram(t, m.hosts[outside+i], name, slices.Concat(commands[name],
			[]string{section, turn, tokens, fmt.Sprint(keyOf(1, i), ":", i, ":calm"), kept}, urls)...))
	}
	served := func(what string) {
		t.Helper()
		for _, p := range all {
			before, calm := len(p.seen()), p.calm.Load()
			m.eventually(p.name+" is served "+what, func() bool { return len(p.seen()) > before+5 && p.calm.Load() > calm+5 })
		}
	}
	served("at first")
	for range 2 {
		m.spread()
		served("before")
		leader, _ := m.leader(0, 0, 1, 2)
		_, calm := m.leader(1, 0, 1, 2)
		before := r.of(1)
		var shaken []int64
		for _, p := range all {
			shaken = append(shaken, p.shaken.Load())
		}
		isolated.Store(int64(leader))
		m.isolate(leader, true)
		served("without the machine")
		if machine, term := m.leader(1, 0, 1, 2); machine != leader && term == calm { // no election, as on a busy machine
			require.Equal(t, before, r.of(1), "a shard redirects that has the same leader")
			for i, p := range all {
				require.Equal(t, shaken[i], p.shaken.Load(), "%s: calls of a shard failed that has the same leader", p.name)
			}
			t.Logf("the shard that was not cut off had the same leader: its clients saw nothing")
		}
		m.mend()
		isolated.Store(-1)
		served("with the machine again")
		for _, p := range all {
			before := p.held.Load()
			_, err := fmt.Fprintln(p.in, "held?")
			require.NoError(t, err)
			m.eventually(p.name+" has its locks", func() bool { return len(p.seen()) > 0 && p.held.Load() > before })
		}
	}
	for _, p := range all {
		require.NoError(t, p.in.Close())
	}
	for _, p := range all {
		<-p.outputEnded
		p.seen()
		require.True(t, p.ended.Load(), "%s has ended", p.name)
	}
	checkTokens(t, m, tokens, all)
	require.LessOrEqual(t, r.most, usualRedirections, r.way)
	t.Logf("%d replies, %d redirections of one command at most (%s)", r.replies, r.most, r.way)
}

// checkTokens compares the list with the tokens that were acknowledged.
func checkTokens(t *testing.T, m *machines, list string, all []*program) {
	t.Helper()
	leader, _ := m.leader(0, 0, 1, 2)
	require.GreaterOrEqual(t, leader, 0)
	last, has := int64(0), map[int64]bool{}
	for _, e := range m.members[leader][0].ask("LRANGE", list, "0", "-1").Elems {
		token, err := strconv.ParseInt(e.Str, 10, 64)
		require.NoError(t, err)
		require.Greater(t, token, last, "tokens rise")
		last, has[token] = token, true
	}
	for _, p := range all {
		for _, token := range p.seen() {
			require.True(t, has[token], "%s: %d was acknowledged", p.name, token)
		}
	}
}

// of returns how many redirections there were in the slots of a shard.
func (r *redirections) of(shard int) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for slot, moved := range r.moved {
		if i, _ := strconv.Atoi(slot); i*len(slotsOf)/keyslot.Count == shard {
			n += moved
		}
	}
	return n
}
