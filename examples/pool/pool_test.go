package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPool runs the short form: workers on three servers, and a kill every five seconds.
func TestPool(t *testing.T) {
	program, file := buildServer(t), filepath.Join(t.TempDir(), "pool.svg")
	var out bytes.Buffer
	code := run(t.Context(), []string{"-for", "20s", "-kill-every", "5s", "-lockserver", program, "-picture", file}, &out)
	t.Log(out.String())
	require.Zero(t, code)
	require.Contains(t, out.String(), "no worker ever worked without the lock, and nothing acknowledged is missing")
	drawn := elements(t, file)
	require.GreaterOrEqual(t, drawn["rect hold"], 6, "each worker had a lock")
	require.GreaterOrEqual(t, drawn["line kill"], 2, "servers were killed")
	require.GreaterOrEqual(t, drawn["rect leads"], 2, "one server led after the other")
}

// TestPoolElsewhere: the workers use a group that already runs, and another process kills its leader.
func TestPoolElsewhere(t *testing.T) {
	g, err := startGroup(buildServer(t))
	require.NoError(t, err)
	defer g.end()
	e := watchers(g.addresses(), newHistory(options{}))
	defer e.close()
	require.NoError(t, e.awaitWhole(t.Context()))
	killed := make(chan int, 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var killing sync.WaitGroup
	killing.Go(func() {
		select {
		case <-time.After(4 * time.Second):
			killLeader(ctx, g, e, killed)
		case <-ctx.Done():
		}
	})

	file := filepath.Join(t.TempDir(), "pool.svg")
	var out bytes.Buffer
	code := run(t.Context(), []string{"-for", "12s", "-addresses", strings.Join(g.addresses(), ","), "-picture", file}, &out)
	t.Log(out.String())
	stop()
	killing.Wait()
	require.Zero(t, code)
	require.Len(t, killed, 1, "there was a leader to kill")
	require.Contains(t, out.String(), "no worker ever worked without the lock, and nothing acknowledged is missing")
	drawn := elements(t, file)
	require.GreaterOrEqual(t, drawn["rect hold"], 3)
	require.Zero(t, drawn["line kill"], "the program kills nobody's servers but its own")
	require.Positive(t, drawn["rect leads"])
}

// killLeader kills the leader of a group as soon as there is one, unless ctx ends first.
func killLeader(ctx context.Context, g *group, e *eyes, killed chan<- int) {
	for {
		for i := range g.members {
			if e.look(ctx, i) == "leader" {
				g.members[i].kill()
				killed <- i
				return
			}
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return
		}
	}
}

// buildServer builds lockserver.
func buildServer(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "lockserver")
	build := exec.Command("go", "build", "-o", program, "./cmd/lockserver")
	build.Dir = filepath.Join("..", "..") // the module of the server
	text, err := build.CombinedOutput()
	require.NoError(t, err, "%s", text)
	return program
}

// elements counts the elements of a picture by name and class.
func elements(t *testing.T, path string) map[string]int {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	count := make(map[string]int)
	for d := xml.NewDecoder(file); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return count
		}
		require.NoError(t, err)
		if start, ok := token.(xml.StartElement); ok {
			name := start.Name.Local
			for _, a := range start.Attr {
				if a.Name.Local == "class" {
					name += " " + a.Value
				}
			}
			count[name]++
		}
	}
}

// given is a faulty lock: every worker gets it, or its token does not rise.
type given struct {
	ctx   context.Context
	token int64
}

func (g given) Token() int64                               { return g.token }
func (g given) Context() context.Context                   { return g.ctx }
func (g given) Unlock(context.Context) error               { return nil }
func (g given) Guard(context.Context, ...any) (any, error) { return int64(1), nil }

// TestWhatIsWrongIsFound: locks that do not exclude, and late writes, are reported.
func TestWhatIsWrongIsFound(t *testing.T) {
	o := options{workers: 4, locks: 1}
	h := newHistory(o)
	var tokens atomic.Int64
	p := &pool{history: h, data: newLedger(h), locks: o.locks, take: func(ctx context.Context, _ string) (held, error) {
		return given{ctx, tokens.Add(1)}, nil
	}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	for i := range o.workers {
		all.Go(func() { p.work(ctx, i) })
	}
	for _, what := range []string{"begins while worker", "it is refused"} {
		require.Eventually(t, func() bool {
			return slices.ContainsFunc(h.record().wrong, func(w string) bool { return strings.Contains(w, what) })
		}, time.Minute, 10*time.Millisecond, what)
	}
	cancel()
	all.Wait()

	h = newHistory(o)
	l := newLedger(h)
	l.enter(0, 1, 7)
	require.NoError(t, l.write(0, 1, 7))
	l.leave(0, 1)
	require.Empty(t, h.record().wrong)
	l.enter(0, 2, 7)
	require.Len(t, h.record().wrong, 1, "the token has not risen")
	l.counted(0, nil)
	l.counted(0, errors.New("the connection broke"))
	l.compare(0, 1)
	l.compare(0, 2)
	require.Len(t, h.record().wrong, 1)
	l.compare(0, 0)
	l.compare(0, 3)
	require.Len(t, h.record().wrong, 3, "one is missing, or one too many")
	require.Contains(t, h.record().report(), "WRONG: orders: the group has counted 0, has acknowledged 1, and 1 more may have been")
}

// TestPicture draws a known record: each thing appears once, at its place.
func TestPicture(t *testing.T) {
	r := record{workers: 2, locks: 1, servers: 3, length: 10 * time.Second,
		holds:  []hold{{worker: 1, token: 5, from: time.Second, to: 2 * time.Second}, {token: 6, from: 6 * time.Second, to: 7 * time.Second, lost: true}},
		waits:  []wait{{from: time.Second, to: 6 * time.Second}},
		states: []state{{server: 0, is: leads, to: 5 * time.Second}, {server: 0, is: down, from: 5 * time.Second, to: 10 * time.Second}, {server: 1, is: leads, from: 5500 * time.Millisecond, to: 10 * time.Second}},
		kills:  []kill{{led: true, at: 5 * time.Second}},
	}
	require.Equal(t, []time.Duration{time.Second}, r.pauses())
	require.Equal(t, []wait{{from: 5 * time.Second, to: 5500 * time.Millisecond}}, r.leaderless())
	file := filepath.Join(t.TempDir(), "picture.svg")
	require.NoError(t, os.WriteFile(file, []byte(picture(r)), 0o600))
	drawn := elements(t, file)
	require.Equal(t, 2, drawn["rect hold"])
	require.Equal(t, 1, drawn["line kill"])
	require.Equal(t, 2+1, drawn["rect band"]+drawn["line down"], "a band in the legend and one in time")
	require.Contains(t, picture(r), "worker 1 has orders from 6.00 s to 7.00 s, token 6, and loses it")
}

// TestWrongFlags: invalid flags are refused.
func TestWrongFlags(t *testing.T) {
	for _, args := range [][]string{{"-workers", "0"}, {"-locks", "99"}, {"-for", "0s"}, {"more"}, {"-nothing"}} {
		require.Equal(t, 2, run(t.Context(), args, io.Discard), args)
	}
	var out bytes.Buffer
	require.Equal(t, 1, run(t.Context(), []string{"-lockserver", "/there/is/none"}, &out))
	require.Contains(t, out.String(), "-lockserver")
}
