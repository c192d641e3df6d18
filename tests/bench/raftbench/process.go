package raftbench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"lockserver/tests/bench/benchkit"
)

// process is a server that may be killed and started again.
type process struct {
	name, log string
	command   func() *exec.Cmd
	cmd       *exec.Cmd
}

// start starts it, without waiting until it serves.
func (p *process) start() error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	p.cmd = p.command()
	p.cmd.Stdout, p.cmd.Stderr = log, log
	return p.cmd.Start()
}

// end sends a signal that ends it, and waits for its end.
func (p *process) end(signal syscall.Signal) {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Signal(signal)
	_ = p.cmd.Wait() // its log shows how it ended
	p.cmd = nil
}

// logTail returns the end of its log, for an error.
func (p *process) logTail() string {
	text, _ := os.ReadFile(p.log)
	return string(text[max(0, len(text)-1500):])
}

// processes are servers that belong together.
type processes []*process

// cpu returns the processor time that all have used.
func (all processes) cpu() (sum time.Duration, err error) {
	for _, p := range all {
		used, err := benchkit.CPUTime(p.cmd.Process.Pid)
		if err != nil {
			return 0, fmt.Errorf("%s: %w\n%s", p.name, err, p.logTail())
		}
		sum += used
	}
	return sum, nil
}

func (all processes) start() error {
	for _, p := range all {
		if err := p.start(); err != nil {
			return fmt.Errorf("start %s: %w", p.name, err)
		}
	}
	return nil
}

func (all processes) kill() {
	for _, p := range all {
		p.end(syscall.SIGKILL)
	}
}

// group is three lockservers.
type group struct {
	processes
	clients []string // the addresses of the members for clients, in order
	more    []string // further words of their command line, from the next start on
}

const members = 3

// newGroup chooses addresses, and starts nothing.
func (b *bench) newGroup(ctx context.Context) (*group, error) {
	dir, err := os.MkdirTemp(b.Dir, "group")
	if err != nil {
		return nil, err
	}
	ports, err := freePorts(2 * members)
	if err != nil {
		return nil, err
	}
	g, names := &group{}, []string{}
	for i := range members {
		g.clients = append(g.clients, "127.0.0.1:"+ports[i])
		names = append(names, fmt.Sprintf("m%d=127.0.0.1:%s/%s", i, ports[members+i], g.clients[i]))
	}
	for i := range members {
		name := fmt.Sprintf("m%d", i)
		own := filepath.Join(dir, name)
		if err := os.Mkdir(own, 0o700); err != nil {
			return nil, err
		}
		g.processes = append(g.processes, &process{name: name, log: own + ".log", command: func() *exec.Cmd {
			return exec.CommandContext(ctx, b.Lockserver, append([]string{"--port", ports[i], "--bind", "127.0.0.1", "--dir", own, "--raft-id", name,
				"--raft-listen", "127.0.0.1:" + ports[members+i], "--raft-members", strings.Join(names, " ")}, g.more...)...)
		}})
	}
	return g, nil
}

// freePorts returns free TCP ports.
func freePorts(n int) (ports []string, err error) {
	taken := make(map[int]bool)
	for len(ports) < n {
		port, err := benchkit.FreePort()
		if err != nil {
			return nil, err
		}
		if !taken[port] {
			taken[port] = true
			ports = append(ports, fmt.Sprint(port))
		}
	}
	return ports, nil
}

// field returns a field of INFO raft of a member, or "" if it does not answer.
func (g *group) field(i int, name string) string {
	c, err := benchkit.Dial(g.clients[i])
	if err != nil {
		return ""
	}
	defer c.Close()
	text, _ := c.Do("INFO", "raft")
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// readyLimit is the longest time until a group has a leader.
const readyLimit = time.Minute

// leader waits until a running member leads.
func (g *group) leader(ctx context.Context) (int, error) {
	for end := time.Now().Add(readyLimit); time.Now().Before(end); {
		for i, p := range g.processes {
			if p.cmd != nil && g.field(i, "raft_role") == "leader" {
				return i, nil
			}
		}
		if err := benchkit.Rest(ctx, 5*time.Millisecond); err != nil {
			return 0, err
		}
	}
	return 0, fmt.Errorf("no member leads\n%s", g.processes[0].logTail())
}
