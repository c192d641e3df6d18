//go:build raft && linux

package moves

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	lockclient "lockserver/client"
	"lockserver/internal/keyslot"
)

var (
	programsFlag = flag.Bool("programs", false, "run TestProgramsWhileSlotsMove, which needs what make moves-clients builds")
	roundsFlag   = flag.Int("rounds", 5, "how often TestProgramsWhileSlotsMove moves the slots there and back")
)

// program is a running program with one of the four packages.
type program struct {
	name   string
	in     io.WriteCloser
	pushed atomic.Int64 // tokens that it has written
	calm   atomic.Int64 // how often it had the other lock
	shaken atomic.Int64 // how often a call for the other lock has failed
	held   atomic.Int64 // how often it has said that it has all its locks
	ended  chan struct{}

	mu     sync.Mutex
	faults []string
	tokens []int64
	why    string // of the last failed call
}

// read takes the lines of the program.
func (p *program) read(out io.Reader) {
	defer close(p.ended)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		what, value, _ := strings.Cut(lines.Text(), " ")
		p.mu.Lock()
		switch what {
		case "pushed":
			token, _ := strconv.ParseInt(value, 10, 64)
			p.tokens = append(p.tokens, token)
			p.pushed.Add(1)
		case "calm":
			p.calm.Add(1)
		case "shaken":
			p.shaken.Add(1)
			p.why = value
		case "held":
			p.held.Add(1)
		case "end":
		default:
			p.faults = append(p.faults, p.name+": "+lines.Text())
		}
		p.mu.Unlock()
	}
}

// launch starts a visitor of tests/vanish.
func launch(t *testing.T, name string, words ...string) *program {
	t.Helper()
	p := &program{name: name, ended: make(chan struct{})}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stderr = os.Stderr
	var err error
	p.in, err = cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	go p.read(out)
	return p
}

// visitors returns the programs of tests/vanish, each with the package for its language.
func visitors(t *testing.T) map[string][]string {
	t.Helper()
	absolute := func(parts ...string) string {
		path, err := filepath.Abs(filepath.Join(append([]string{"..", ".."}, parts...)...))
		require.NoError(t, err)
		return path
	}
	at := func(file string) string { return absolute("tests", "vanish", "visitors", file) }
	paths, err := os.ReadFile(absolute("bin", "java-client.classpath"))
	require.NoError(t, err)
	classes := absolute("clients", "java", "lockserver-client", "target", "classes") + ":" + strings.TrimSpace(string(paths))
	return map[string][]string{
		"Python": {absolute("bin", "python-package-venv", "bin", "python"), at("visitor.py")},
		"Node":   {"node", at("visitor.mjs")},
		"Java":   {"java", "-cp", classes, at("Visitor.java")},
	}
}

// goVisitor is the visitor with the package for Go, in this process.
type goVisitor struct {
	locks                       *lockclient.Client
	section, turn, tokens, calm string
	mu                          sync.Mutex
	out                         io.Writer
}

func (v *goVisitor) say(what string, value any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, _ = fmt.Fprintln(v.out, what, strings.ReplaceAll(fmt.Sprint(value), "\n", " "))
}

// launchGo starts it.
func launchGo(t *testing.T, section, turn, tokens, calm, kept string, addrs []string) *program {
	in, write := io.Pipe()
	out, said := io.Pipe()
	p := &program{name: "Go", in: write, ended: make(chan struct{})}
	go p.read(out)
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs})
	t.Cleanup(func() { _ = rdb.Close() })
	locks, err := lockclient.NewCluster(rdb, lockclient.Timeout(time.Hour))
	require.NoError(t, err)
	t.Cleanup(locks.Close)
	v := &goVisitor{locks: locks, section: section, turn: turn, tokens: tokens, calm: calm, out: said}
	go func() {
		defer func() { _ = said.Close() }()
		if err := v.run(in, strings.Split(kept, ",")); err != nil {
			v.say("fault", err)
		}
	}()
	return p
}

// run holds locks, and takes two others in turn, until its input ends.
func (v *goVisitor) run(in io.Reader, kept []string) error {
	ctx := context.Background()
	var held []*lockclient.Lock
	for _, key := range kept {
		l, err := v.locks.Lock(ctx, key)
		if err != nil {
			return err
		}
		held = append(held, l)
	}
	over := make(chan struct{})
	var all sync.WaitGroup
	for _, step := range []func(context.Context){v.takeTurn, v.goCalmly} {
		all.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					step(ctx)
				}
			}
		})
	}
	for lines := bufio.NewScanner(in); lines.Scan(); v.say("held", "") {
		for _, l := range held {
			if l.Context().Err() != nil {
				return context.Cause(l.Context())
			}
		}
	}
	close(over)
	all.Wait()
	for _, l := range held {
		if err := l.Unlock(ctx); err != nil {
			return err
		}
	}
	v.say("end", "")
	return nil
}

func (v *goVisitor) takeTurn(ctx context.Context) {
	l, err := v.locks.Lock(ctx, v.turn, lockclient.Wait(time.Second))
	if err != nil {
		return
	}
	file, err := os.OpenFile(v.section, os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		v.say("fault", err)
		return
	}
	_ = file.Close()
	if _, err = l.Guard(ctx, "RPUSH", v.tokens, l.Token()); err == nil {
		v.say("pushed", l.Token())
	}
	_ = os.Remove(v.section)
	_ = l.Unlock(ctx)
}

func (v *goVisitor) goCalmly(ctx context.Context) {
	l, err := v.locks.Lock(ctx, v.calm)
	if err == nil {
		_, err = l.Guard(ctx, "INCR", v.calm+":n")
		err = errors.Join(err, l.Unlock(ctx))
	}
	if err != nil {
		v.say("shaken", err)
		return
	}
	v.say("calm", "")
}

// TestProgramsWhileSlotsMove: programs with the four packages hold locks that the server renews, and wait in
// two queues, while their slots move to another shard and back. Each program keeps its locks, and no package
// reports a loss. No two programs hold one lock, tokens rise, and no acknowledged write is lost.
func TestProgramsWhileSlotsMove(t *testing.T) {
	if !*programsFlag {
		return // make moves-clients builds the packages
	}
	q := &quiet{mover: newMover(start(t, shardsOf, false, "lock-watchdog-timeout 10000\n"), 1, nil)}
	section := filepath.Join(t.TempDir(), "section")
	turn, calm := place{firstMoving}.key("turn"), place{firstMoving + 1}.key("calm")
	tokens := place{firstMoving}.key("list")
	kept := func(i int) string {
		return strings.Join([]string{place{lastMoving - i}.key("kept"), place{besideMoving + i}.key("kept"), place{keyslot.Count - 1 - i}.key("kept")}, ",")
	}
	var urls []string
	for _, addr := range q.addresses() {
		urls = append(urls, "redis://"+addr)
	}
	all := []*program{launchGo(t, section, turn, tokens, calm, kept(0), q.addresses())}
	for name, words := range visitors(t) {
		words = append(words, section, turn, tokens, calm, kept(len(all)))
		all = append(all, launch(t, name, append(words, urls...)...))
	}
	served := func(when string) {
		t.Helper()
		for _, p := range all {
			pushed, calm := p.pushed.Load(), p.calm.Load()
			eventually(t, p.name+" is served "+when, func() bool { return p.pushed.Load() > pushed+2 && p.calm.Load() > calm+2 })
			before := p.held.Load()
			_, err := fmt.Fprintln(p.in, "held?")
			require.NoError(t, err)
			eventually(t, p.name+" has its locks "+when, func() bool {
				p.mu.Lock()
				defer p.mu.Unlock()
				require.Empty(t, p.faults)
				return p.held.Load() > before
			})
		}
	}
	served("at first")
	for round := range 2 * *roundsFlag {
		q.move(t, round%2)
		served(fmt.Sprint("after move ", round))
	}
	for _, p := range all {
		require.NoError(t, p.in.Close())
	}
	for _, p := range all {
		<-p.ended
		require.Empty(t, p.faults)
		t.Logf("%s: %d turns, %d calm, %d failed calls, the last one: %s", p.name, p.pushed.Load(), p.calm.Load(), p.shaken.Load(), p.why)
	}
	last, has := int64(0), map[int64]bool{}
	for _, e := range ask(q.at(q.leader(0)).Addr(), "LRANGE", tokens, "0", "-1").Elems {
		token, err := strconv.ParseInt(e.Str, 10, 64)
		require.NoError(t, err)
		require.Greater(t, token, last, "tokens rise")
		last, has[token] = token, true
	}
	for _, p := range all {
		for _, token := range p.tokens {
			require.True(t, has[token], "%s: %d was acknowledged", p.name, token)
		}
	}
}
