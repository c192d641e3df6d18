package testkit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
)

const (
	// readyWithin limits the start of a program on a busy machine. endWithin limits the time until its end
	// during which it writes nothing.
	readyWithin = 60 * time.Second
	endWithin   = 60 * time.Second
	// outputWithin is how long the output of a program may stay open after its end, because a child may hold
	// it.
	outputWithin = 5 * time.Second
	// lookEvery is how often a condition is checked.
	lookEvery = 2 * time.Millisecond
	// mostOfLog is the number of bytes at the end of a log that a failure shows.
	mostOfLog = 8000
)

// Command describes how to start a program, and how to see that it is ready.
type Command struct {
	Program string
	Args    []string
	Env     []string // in addition to the environment of this process
	Dir     string   // the working directory; Prepare makes one if it is empty
	// LogFile is the file that the program writes its log to, if it has a log file.
	LogFile string
	// Addr is the address where the program listens, if it is known before the start: host:port, or the path
	// of a unix socket. The program is then ready when it answers a PING there, but not while it loads its
	// data. A server with a password refuses the PING in both cases. Without Addr the program must print its
	// address: see readyLine.
	Addr string
	// Ready replaces both checks, for a program that does not speak the protocol.
	Ready func() bool
	// Copy receives the standard output of the running program, if it is not nil.
	Copy io.Writer
}

// readyLine matches the line in which a program reports its address. It is in a lockserver's log, or its only
// line in test mode, or a line that a test binary prints when it runs as a server.
var readyLine = regexp.MustCompile(`(?m)(?:Ready to accept connections (?:tcp|unix) addr=|^ready )(\S+).*\n`)

// Process is a program that a test starts, and may start again after its end. Its methods belong to one
// goroutine, except the methods that only read.
type Process struct {
	Command
	// Input is the program's standard input. It stays open while this process and the program live.
	Input io.WriteCloser
	// Stdout and Stderr hold the output of the program, over all its starts.
	Stdout, Stderr Output

	both    Output // Stdout and Stderr in the order of writing
	printed int    // length of both at the last start
	logged  int    // length of LogFile at the last start
	addr    string // from readyLine
	cmd     *exec.Cmd
	exited  chan struct{} // closed when cmd has ended
}

// Output holds the output of a program so far.
type Output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

// String is the text so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// Prepare returns a process that is not started yet. It is killed at the end of the test, and its log is
// shown if the test has failed.
func Prepare(t testing.TB, c Command) *Process {
	t.Helper()
	if c.Dir == "" {
		dir, err := os.MkdirTemp("", "ls") // the path of t.TempDir may be too long for the name of a socket
		require.NoError(t, err)
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		c.Dir = dir
	}
	p := &Process{Command: c}
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("%s in %s:\n%s", filepath.Base(p.Program), p.Dir, tail(p.Log()))
		}
	})
	return p
}

// Start starts a program, waits until it is ready, and kills it at the end of the test.
func Start(t testing.TB, c Command) *Process {
	t.Helper()
	p := Prepare(t, c)
	require.NoError(t, p.Start())
	return p
}

// StartLockserver starts the server program on a free port, in dir. If dir is empty, it makes a directory.
func StartLockserver(t testing.TB, dir string, args ...string) *Process {
	t.Helper()
	return Start(t, Command{Program: Lockserver(t), Args: append([]string{"--port", "0"}, args...), Dir: dir})
}

// Start starts the program and waits until it is ready. On Linux the program ends with this process.
func (p *Process) Start() error {
	if err := p.Launch(); err != nil {
		return err
	}
	return p.AwaitReady()
}

// Launch starts the program without waiting.
func (p *Process) Launch() error {
	if p.cmd != nil && !p.Ended() {
		return fmt.Errorf("%s already runs", p.Program)
	}
	cmd, exited := exec.Command(p.Program, p.Args...), make(chan struct{})
	cmd.Dir, cmd.Env = p.Dir, append(os.Environ(), p.Env...)
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&p.Stdout, &p.both), io.MultiWriter(&p.Stderr, &p.both)
	if p.Copy != nil {
		cmd.Stdout = io.MultiWriter(cmd.Stdout, p.Copy)
	}
	cmd.WaitDelay = outputWithin
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	p.printed, p.logged, p.addr = len(p.both.String()), len(p.file()), ""
	if err := StartChild(cmd); err != nil {
		return err
	}
	p.cmd, p.exited, p.Input = cmd, exited, input
	go func() {
		_ = cmd.Wait() // ExitCode has the result
		close(exited)
	}()
	return nil
}

// AwaitReady waits until the program is ready. It fails as soon as the program ends. A program that is late
// is stopped in such a way that its log has the stacks of all goroutines.
func (p *Process) AwaitReady() error {
	for end := time.Now().Add(readyWithin); ; time.Sleep(lookEvery) {
		ended := p.Ended()
		switch {
		case p.ready():
			return nil
		case ended:
			return fmt.Errorf("%s ended with exit code %d before it was ready:\n%s", p.Program, p.ExitCode(), tail(p.sinceStart()))
		case time.Now().After(end):
			p.Stacks()
			return fmt.Errorf("%s is not ready after %v:\n%s", p.Program, readyWithin, tail(p.sinceStart()))
		}
	}
}

func (p *Process) ready() bool {
	switch {
	case p.Ready != nil:
		return p.Ready()
	case p.Addr != "":
		return answers(p.Addr)
	}
	m := readyLine.FindStringSubmatch(p.sinceStart())
	if m != nil {
		p.addr = m[1]
	}
	return m != nil
}

// answers reports whether a server answers a PING. A refusal is an answer, unless the server is loading.
func answers(addr string) bool {
	conn, err := net.DialTimeout(network(addr), addr, time.Second)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if _, err = io.WriteString(conn, "PING\r\n"); err != nil {
		return false
	}
	v, err := resp.ReadValue(bufio.NewReader(conn))
	return err == nil && !strings.HasPrefix(v.Str, "LOADING")
}

func network(addr string) string {
	if strings.Contains(addr, "/") {
		return "unix"
	}
	return "tcp"
}

// Address returns the address where the program listens, once it is ready.
func (p *Process) Address() string {
	if p.Addr != "" {
		return p.Addr
	}
	return p.addr
}

// Dial returns a new connection to the program.
func (p *Process) Dial() (net.Conn, error) { return net.Dial(network(p.Address()), p.Address()) }

// Client returns a client on a new connection.
func (p *Process) Client(t testing.TB) *Client {
	t.Helper()
	return Dial(t, p.Dial)
}

// Log returns the output of the program and the text of LogFile, over all its starts.
func (p *Process) Log() string { return p.both.String() + p.file() }

func (p *Process) file() string {
	if p.LogFile == "" {
		return ""
	}
	text, _ := os.ReadFile(p.LogFile) // the file may not exist yet
	return string(text)
}

func (p *Process) sinceStart() string {
	file := p.file()
	return p.both.String()[p.printed:] + file[min(p.logged, len(file)):]
}

func tail(log string) string { return log[max(0, len(log)-mostOfLog):] }

// Pid returns the process ID.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Signal sends a signal.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Kill sends SIGKILL, which also ends a paused process, and waits for the end. It may be called at any time.
func (p *Process) Kill() {
	if p.cmd != nil {
		_ = p.cmd.Process.Kill() // the process may have ended
		<-p.exited
	}
}

// Terminate asks the program to end, by SIGTERM, and returns its exit code.
func (p *Process) Terminate() (int, error) {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return 0, err
	}
	return p.Wait()
}

// Wait waits for the end of the program and returns its exit code. It gives up if the program stops writing
// without ending.
func (p *Process) Wait() (int, error) {
	if !endsWhileWriting(p.exited, func() int { return len(p.sinceStart()) }, endWithin) {
		return 0, fmt.Errorf("%s neither ends nor writes in %v:\n%s", p.Program, endWithin, tail(p.sinceStart()))
	}
	return p.ExitCode(), nil
}

// endsWhileWriting waits until exited is closed. It gives up when the number of written bytes has not changed
// for some time: on a slow machine, work that makes progress may take any time.
func endsWhileWriting(exited <-chan struct{}, written func() int, within time.Duration) bool {
	for before := written(); ; {
		select {
		case <-exited:
			return true
		case <-time.After(within):
		}
		now := written()
		if now == before {
			return false
		}
		before = now
	}
}

// Exited is closed when the program has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Ended reports whether the program has ended since its last start.
func (p *Process) Ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// ExitCode returns the exit code of a program that has ended; -1 after a signal.
func (p *Process) ExitCode() int { return p.cmd.ProcessState.ExitCode() }

// Stacks ends a Go program in such a way that it prints the stacks of its goroutines.
func (p *Process) Stacks() {
	if err := p.Signal(syscall.SIGQUIT); !errors.Is(err, os.ErrProcessDone) {
		select {
		case <-p.exited:
		case <-time.After(5 * time.Second):
		}
	}
	p.Kill()
}
