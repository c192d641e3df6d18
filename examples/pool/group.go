package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// group is three lockserver processes on this machine.
type group struct {
	dir     string
	members []*member
}

// member is a server of the group.
type member struct {
	client, raft string // its addresses for clients and for the other members
	args         []string
	log          string
	program      string
	cmd          *exec.Cmd
	alive        io.Closer     // its standard input: the server ends when this program ends, for whatever reason
	exited       chan struct{} // closed when the process has ended
}

// startGroup starts three servers that form a group.
func startGroup(program string) (*group, error) {
	program, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("%w: build it in the repository's root, go build -o bin/lockserver ./cmd/lockserver, and name it by -lockserver", err)
	}
	g := &group{}
	if g.dir, err = os.MkdirTemp("", "pool"); err != nil {
		return nil, err
	}
	var all []string
	for i := range 3 {
		m := &member{program: program}
		if m.client, err = freeAddress(); err == nil {
			m.raft, err = freeAddress()
		}
		if err != nil {
			g.end()
			return nil, err
		}
		all = append(all, fmt.Sprintf("%s=%s/%s", letter(i), m.raft, m.client))
		g.members = append(g.members, m)
	}
	for i, m := range g.members {
		dir := filepath.Join(g.dir, letter(i))
		if err = os.Mkdir(dir, 0o755); err == nil {
			_, port, _ := net.SplitHostPort(m.client)
			m.log = filepath.Join(dir, "log")
			m.args = []string{"--bind", "127.0.0.1", "--port", port, "--dir", dir, "--logfile", m.log, "--exit-with-parent", "yes",
				"--raft-id", letter(i), "--raft-listen", m.raft, "--raft-members", strings.Join(all, " ")}
			err = m.start()
		}
		if err != nil {
			g.end()
			return nil, err
		}
	}
	return g, nil
}

// letter returns the id of a member.
func letter(i int) string { return string(rune('a' + i)) }

// freeAddress finds a free port below those that the system gives to connections, so that no other program
// takes it while its server is down.
func freeAddress() (string, error) {
	for range 100 {
		address := fmt.Sprint("127.0.0.1:", 12000+rand.IntN(20000))
		if l, err := net.Listen("tcp", address); err == nil {
			return address, l.Close()
		}
	}
	return "", errors.New("there is no free port")
}

// start starts the process of a member.
func (m *member) start() error {
	cmd := exec.Command(m.program, m.args...)
	alive, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err = cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	m.cmd, m.alive, m.exited = cmd, alive, exited
	go func() {
		_ = cmd.Wait() // the error says that it was killed
		close(exited)
	}()
	return nil
}

// kill kills the process by kill -9.
func (m *member) kill() {
	if m.cmd != nil {
		_ = m.cmd.Process.Kill()
		<-m.exited
		_ = m.alive.Close()
	}
}

// end ends all servers, and removes their files.
func (g *group) end() {
	for _, m := range g.members {
		m.kill()
	}
	_ = os.RemoveAll(g.dir)
}

// addresses returns the addresses of the members for clients.
func (g *group) addresses() (all []string) {
	for _, m := range g.members {
		all = append(all, m.client)
	}
	return all
}

// logs returns the last lines of the servers' logs as an error.
func (g *group) logs() error {
	var all []error
	for i, m := range g.members {
		text, _ := os.ReadFile(m.log)
		all = append(all, fmt.Errorf("server %s:\n%s", letter(i), text[max(0, len(text)-2000):]))
	}
	return errors.Join(all...)
}

// killOften kills one server after the other and starts it again, until ctx ends: twice the leader, then a
// follower. A group of three works without one server, so it first waits until all three are up.
func (g *group) killOften(ctx context.Context, every time.Duration, eyes *eyes, h *history) {
	for n := 1; ; n++ {
		if !pause(ctx, every*7/10) || eyes.awaitWhole(ctx) != nil {
			return
		}
		victim := eyes.leader()
		led := n%3 != 0
		if !led {
			victim = (victim + 1) % len(g.members)
		}
		g.members[victim].kill()
		h.kills(victim, led)
		pause(ctx, every*3/10)
		if err := g.members[victim].start(); err != nil {
			h.isWrong("server %s cannot be started again: %v", letter(victim), err)
			return
		}
	}
}

// pause waits. It returns false if ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
