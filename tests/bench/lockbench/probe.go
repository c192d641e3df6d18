package lockbench

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
	"lockserver/tests/bench/floor"
)

// A separate process measures how long a server delays other clients. In the process that makes the load,
// pauses of Go's scheduler and collector would count as pauses of the server. The prober sends the same
// number of requests to the floor, a server that does nothing. The longest of those shows how much the
// machine adds.

// probeWord is the first argument of such a process. The address of the server, that of the floor, and the
// duration follow.
const probeWord = "probe"

// probeReady is the line that it writes when it is connected and begins.
const probeReady = "ready"

// probed is its result: the duration of each request, in the order in which they were sent.
type probed struct {
	Server, Floor []time.Duration
}

// prober is such a process, with its floor.
type prober struct {
	cmd   *exec.Cmd
	floor *benchkit.Server
	out   *bufio.Reader
}

// beginProbes returns when the probes of a server have begun. They last for the span.
func (b *bench) beginProbes(ctx context.Context, s *benchkit.Server, span time.Duration) (*prober, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &prober{}
	if p.floor, err = benchkit.StartFresh(ctx, benchkit.Product{Name: "floor", Path: self, Args: []string{floor.Role}, Pong: "OK"}, b.Dir); err != nil {
		return nil, err
	}
	p.cmd = exec.CommandContext(ctx, self, probeWord, s.Addr, p.floor.Addr, span.String())
	p.cmd.Env = append(os.Environ(), "GODEBUG=asyncpreemptoff=1") // a signal would interrupt its waits
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		p.floor.Stop()
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if line, err := p.out.ReadString('\n'); err != nil || line != probeReady+"\n" {
		p.stop()
		return nil, fmt.Errorf("the probes did not begin: %q: %w", line, err)
	}
	return p, nil
}

// stop ends the process before its time.
func (p *prober) stop() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	p.floor.Stop()
}

// end waits for the last probe, and returns the sorted durations.
func (p *prober) end() (latencies, machine []time.Duration, err error) {
	var got probed
	err = json.NewDecoder(p.out).Decode(&got)
	_, _ = io.Copy(io.Discard, p.out)
	err = errors.Join(err, p.cmd.Wait())
	p.floor.Stop()
	return benchkit.Sorted([][]time.Duration{got.Server}), benchkit.Sorted([][]time.Duration{got.Floor}), err
}

// runProbes runs such a process, and returns its exit code.
func runProbes(_ context.Context, args []string, stderr io.Writer) int {
	if err := probeBoth(args, os.Stdout); err != nil {
		fmt.Fprintln(stderr, "probe:", err)
		return 1
	}
	return 0
}
