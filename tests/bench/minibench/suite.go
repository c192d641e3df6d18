// Package minibench measures what a server for tests costs beside miniredis, in one process: to start and to
// end servers, and to run small commands. With lockserver it also measures how long the program takes to be
// ready, and what a thousand further servers take of its memory.
//
// It owns the figures of docs/TESTING.md. Both are used as their documentation tells a Go test to, with one
// go-redis client. To add a question, add a section.
package minibench

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"lockserver/server"
	"lockserver/tests/bench/benchkit"
)

// bench is one run.
type bench struct {
	benchkit.Run
}

// Suite returns this package as a row of the driver's table.
func Suite() benchkit.Suite {
	b := &bench{}
	return benchkit.Suite{
		Name: "minibench", Asks: "what does a server in test mode cost beside miniredis?",
		Prepare: func(_ context.Context, r benchkit.Run) ([]string, error) { b.Run = r; return nil, nil },
		Sections: []benchkit.Section{
			{Name: "servers", Measures: "starting and ending servers in one process", Run: func(ctx context.Context) error {
				return b.compare(ctx, fmt.Sprintf("Start and end %d servers", servers), startAndEnd)
			}},
			{Name: "commands", Measures: "small commands, each answered before the next", Run: func(ctx context.Context) error {
				return b.compare(ctx, fmt.Sprintf("%d small commands", commands), runCommands)
			}},
			{Name: "program", Measures: "how soon the program is ready, and what TEST.SERVER NEW takes", Run: b.program},
		},
	}
}

const (
	servers  = 1000
	commands = 10_000
)

// rival is one of the two: start starts a server and returns its address and a function to end it.
type rival struct {
	name  string
	start func() (addr string, end func(), err error)
}

func rivals() []rival {
	return []rival{
		{"lockserver", func() (string, func(), error) {
			srv, err := server.New(server.Options{Directives: map[string]string{"test-mode": "yes"}})
			if err == nil {
				err = srv.Start()
			}
			if err != nil {
				return "", nil, err
			}
			return srv.Addr().String(), func() { _ = srv.Close() }, nil
		}},
		{"miniredis", func() (string, func(), error) {
			srv, err := miniredis.Run()
			if err != nil {
				return "", nil, err
			}
			return srv.Addr(), srv.Close, nil
		}},
	}
}

// startAndEnd starts and ends servers, one after the other.
func startAndEnd(r rival) (time.Duration, error) {
	begun := time.Now()
	for range servers {
		_, end, err := r.start()
		if err != nil {
			return 0, err
		}
		end()
	}
	return time.Since(begun), nil
}

// runCommands does the work of a test: small commands, each answered before the next.
func runCommands(r rival) (time.Duration, error) {
	addr, end, err := r.start()
	if err != nil {
		return 0, err
	}
	defer end()
	client := redis.NewClient(&redis.Options{Addr: addr, Protocol: 2})
	defer client.Close()
	ctx := context.Background()
	if err := client.Ping(ctx).Err(); err != nil {
		return 0, err
	}
	begun := time.Now()
	for i := range commands / 5 {
		key := fmt.Sprint("key:", i%100)
		for _, err := range []error{client.Set(ctx, key, i, time.Minute).Err(), client.Get(ctx, key).Err(), client.Incr(ctx, "n").Err(),
			client.HSet(ctx, "h", key, i).Err(), client.LPush(ctx, "l", i).Err()} {
			if err != nil {
				return 0, err
			}
		}
	}
	return time.Since(begun), nil
}

// compare measures some rounds of each rival in turn, and reports their medians.
func (b *bench) compare(ctx context.Context, what string, measure func(rival) (time.Duration, error)) error {
	var ms benchkit.Rounds
	all := rivals()
	for range b.Rounds {
		for i, r := range all {
			if err := ctx.Err(); err != nil {
				return err
			}
			took, err := measure(r)
			if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			ms[i] = append(ms[i], benchkit.InMS(took))
		}
	}
	ours, theirs := ms.Medians()
	b.Report.Text("## " + what)
	b.Report.Table([]string{"", all[0].name, all[1].name, "times as fast"}, [][]string{{what, benchkit.Milliseconds(ours),
		benchkit.Milliseconds(theirs), benchkit.Times(theirs / ours)}})
	return nil
}

// program measures the program: the time until it is ready, and the memory of further servers.
func (b *bench) program(ctx context.Context) error {
	begun := time.Now()
	cmd := exec.CommandContext(ctx, b.Lockserver, "--test-mode", "yes", "--port", "0", "--exit-with-parent", "yes")
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return err
	}
	ready := time.Since(begun)
	client := redis.NewClient(&redis.Options{Addr: strings.TrimSpace(strings.TrimPrefix(line, "ready "))})
	defer client.Close()
	before, err := benchkit.ResidentBytes(cmd.Process.Pid)
	if err != nil {
		return err
	}
	begun = time.Now()
	for range servers {
		if err := client.Do(ctx, "TEST.SERVER", "NEW").Err(); err != nil {
			return err
		}
	}
	each := time.Since(begun) / servers
	after, err := benchkit.ResidentBytes(cmd.Process.Pid)
	if err != nil {
		return err
	}
	b.Report.Text(fmt.Sprintf("The program is ready after %v. TEST.SERVER NEW takes %v, and %d of them %s of resident memory.",
		ready.Round(time.Millisecond), each.Round(time.Microsecond), servers, benchkit.Mebibytes(float64(after-before))))
	if err := in.Close(); err != nil {
		return err
	}
	return cmd.Wait()
}
