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

// probeNap is how long a probe sleeps between two requests.
const probeNap = 200 * time.Microsecond

// watched is what a probe saw until it was ended.
type watched struct {
	Requests  int           // how many were answered
	Longest   time.Duration // of these
	Overslept time.Duration // the longest that a sleep of the probe lasted too long: what the machine adds
}

// runProbe is the life of a probe: its one argument is the address of a server. It sends one PING after the
// other until its standard input ends. Then it writes what it saw.
func runProbe(_ context.Context, args []string, stderr io.Writer) int {
	if len(args) != 1 {
		fmt.Fprintln(stderr, "permitbench: a probe takes the address of a server")
		return 2
	}
	if err := probeRequests(args[0], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(stderr, "permitbench:", err)
		return 1
	}
	return 0
}

func probeRequests(addr string, in io.Reader, out io.Writer) error {
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
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, in)
		close(ended)
	}()
	var w watched
	for {
		select {
		case <-ended:
			return json.NewEncoder(out).Encode(w)
		default:
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

// watch starts a probe of a server and waits until it has its first reply. The function that it returns ends
// the probe, and says what it saw.
func (b *bench) watch(ctx context.Context, s *benchkit.Server) (end func() (watched, error), err error) {
	cmd := exec.CommandContext(ctx, b.self, probeRole, s.Addr)
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
