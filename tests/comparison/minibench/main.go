// Command minibench asks what a server for tests costs beside miniredis, in one process and one run: to
// start and end servers, and to run small commands. With lockserver it also measures how long the program
// takes to be ready, and what a thousand further servers take of its memory.
//
// It owns the figures of docs/TESTING.md. Both are used as their documentation tells a Go test to, with one
// go-redis client. To add a question, add a row.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"lockserver/server"
)

const (
	servers  = 1000
	commands = 10_000
	rounds   = 5 // of which the middle one counts; the two take turns
)

// rival is one of the two: start begins a server and returns where it is, and what ends it.
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

// run is what a test does: small commands, each answered before the next.
func run(r rival) (time.Duration, error) {
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

// compare prints the middle of some rounds of each rival, and how they compare.
func compare(what string, measure func(rival) (time.Duration, error)) error {
	all := rivals()
	times := make([][]time.Duration, len(all))
	for range rounds {
		for i, r := range all {
			took, err := measure(r)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", what, r.name, err)
			}
			times[i] = append(times[i], took)
		}
	}
	for i := range times {
		slices.Sort(times[i])
	}
	ours, theirs := times[0][rounds/2], times[1][rounds/2]
	fmt.Printf("| %s | %v | %v | %.2f |\n", what, ours.Round(time.Millisecond), theirs.Round(time.Millisecond), float64(theirs)/float64(ours))
	return nil
}

// program measures the program: until it is ready, and what further servers take.
func program(binary string) error {
	begun := time.Now()
	cmd := exec.Command(binary, "--test-mode", "yes", "--port", "0", "--exit-with-parent", "yes")
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
	ctx := context.Background()
	before, err := resident(cmd.Process.Pid)
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
	after, err := resident(cmd.Process.Pid)
	if err != nil {
		return err
	}
	fmt.Printf("\nThe program is ready after %v. TEST.SERVER NEW takes %v, and %d of them %d MB of resident memory.\n",
		ready.Round(time.Millisecond), each.Round(time.Microsecond), servers, (after-before)>>10)
	if err := in.Close(); err != nil {
		return err
	}
	return cmd.Wait()
}

// resident is a process' memory in KB.
func resident(pid int) (kb int, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			_, err = fmt.Sscan(rest, &kb)
			return kb, err
		}
	}
	return 0, io.ErrUnexpectedEOF
}

func main() {
	binary := flag.String("binary", "", "the program; empty: it is not measured")
	flag.Parse()
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Printf("Load of the machine at the beginning: %s\n", load)
	fmt.Println("| | lockserver | miniredis | times as fast |\n|---|---|---|---|")
	for _, err := range []error{
		compare(fmt.Sprintf("start and end %d servers", servers), startAndEnd),
		compare(fmt.Sprintf("%d small commands", commands), run),
	} {
		if err != nil {
			log.Fatal(err)
		}
	}
	if *binary != "" {
		if err := program(*binary); err != nil {
			log.Fatal(err)
		}
	}
}
