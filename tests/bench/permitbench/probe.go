package permitbench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"lockserver/tests/bench/benchkit"
)

// probeRole is the first argument of a process that is a probe. The program that makes the load is busy, so a
// request of its own would wait for that program.
const probeRole = "probe-requests"

// probeNap is the time between two requests of a probe.
const probeNap = 200 * time.Microsecond

// watched holds the results of a probe.
type watched struct {
	Requests  int           // number of replies
	Longest   time.Duration // the longest duration of a request
	Overslept time.Duration // the longest delay of a sleep: the part that the machine adds
	Synced    time.Duration // the longest sync of a file: the part that the disk adds
	Preferred bool          // the probe had a real-time priority
}

// runProbe runs a probe. Its arguments are the address of a server and the name of a new file, which is empty
// if no file is to be synced. It sends one PING after the other until its standard input ends. Then it writes
// its results.
func runProbe(_ context.Context, args []string, stderr io.Writer) int {
	if len(args) != 2 {
		fmt.Fprintln(stderr, "permitbench: a probe takes the address of a server and the name of a file")
		return 2
	}
	if err := probeRequests(args[0], args[1], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(stderr, "permitbench:", err)
		return 1
	}
	return 0
}

func probeRequests(addr, file string, in io.Reader, out io.Writer) error {
	_, refused := prefer(os.Getpid())
	w := watched{Preferred: refused == nil}
	c, err := benchkit.Dial(addr)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Do("PING"); err != nil {
		return err
	}
	if _, err := io.WriteString(out, "ready\n"); err != nil {
		return err
	}
	ctx, end := context.WithCancel(context.Background())
	defer end()
	go func() {
		_, _ = io.Copy(io.Discard, in)
		end()
	}()
	type synced struct {
		longest time.Duration
		err     error
	}
	disk := make(chan synced, 1)
	go func() {
		longest, err := longestSync(ctx, file)
		disk <- synced{longest, err}
	}()
	for {
		if ctx.Err() != nil {
			of := <-disk
			w.Synced = of.longest
			return errors.Join(of.err, json.NewEncoder(out).Encode(w))
		}
		begun := time.Now()
		time.Sleep(probeNap)
		sent := time.Now()
		if _, err := c.Do("PING"); err != nil {
			return err
		}
		w.Requests++
		w.Longest = max(w.Longest, time.Since(sent))
		w.Overslept = max(w.Overslept, sent.Sub(begun)-probeNap)
	}
}

// longestSync appends a block to a file and syncs it, again and again. It returns the time of the longest
// sync. Without a name it does nothing.
func longestSync(ctx context.Context, name string) (longest time.Duration, err error) {
	if name == "" {
		return 0, nil
	}
	f, err := os.Create(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	block := make([]byte, 4096)
	for ctx.Err() == nil {
		if _, err := f.Write(block); err != nil {
			return longest, err
		}
		begun := time.Now()
		if err := f.Sync(); err != nil {
			return longest, err
		}
		longest = max(longest, time.Since(begun))
		time.Sleep(probeNap)
	}
	return longest, nil
}

// watch starts a probe of a server and waits until it has its first reply. The probe syncs a new file of the
// given name, unless that is empty. The returned function ends the probe, and returns its results.
func (b *bench) watch(ctx context.Context, s *benchkit.Server, file string) (end func() (watched, error), err error) {
	cmd := exec.CommandContext(ctx, b.self, probeRole, s.Addr, file)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	out := bufio.NewReader(pipe)
	_, err = out.ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the probe: %w", err), in.Close(), cmd.Wait())
	}
	return func() (w watched, err error) {
		closed := in.Close()
		err = json.NewDecoder(out).Decode(&w)
		return w, errors.Join(closed, err, cmd.Wait())
	}, nil
}
