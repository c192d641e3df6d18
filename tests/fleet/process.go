//go:build unix

package fleet

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/internal/testkit"
)

// patience is how long something may take that happens by itself.
const patience = 30 * time.Second

// Process is a program of a test's that listens on a port of its own, and may be killed and started again.
type Process struct {
	Program string
	Port    string
	// Announced is the port by which others know it: Port, unless a test puts something before it.
	Announced string

	t      testing.TB
	args   []string
	dir    string
	cmd    *exec.Cmd
	exited chan struct{} // closed when cmd has ended
}

// NewProcess prepares a program that gets a configuration file: conf, behind a port and a directory.
func NewProcess(t testing.TB, program, conf string, args ...string) *Process {
	t.Helper()
	program, err := exec.LookPath(program)
	require.NoError(t, err, "run 'make deps'")
	program, err = filepath.Abs(program) // it runs in another directory
	require.NoError(t, err)
	port := freePort(t)
	p := &Process{Program: program, Port: port, Announced: port, t: t, dir: t.TempDir()}
	file := filepath.Join(p.dir, "conf")
	p.args = append([]string{file}, args...)
	conf = "port " + port + "\nbind 127.0.0.1\ndir " + p.dir + "\n" + conf
	require.NoError(t, os.WriteFile(file, []byte(conf), 0o600))
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			log, _ := os.ReadFile(p.logPath())
			t.Logf("%s at %s:\n%s", filepath.Base(program), port, log[max(0, len(log)-8000):])
		}
	})
	return p
}

// freePort finds a port below those that the system gives to connections: nobody takes it while its server is
// down.
func freePort(t testing.TB) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(12000 + rand.IntN(20000))
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			require.NoError(t, l.Close())
			return port
		}
	}
	require.Fail(t, "there is no free port")
	return ""
}

func (p *Process) logPath() string { return filepath.Join(p.dir, "log") }

// Addr is where it listens.
func (p *Process) Addr() string { return "127.0.0.1:" + p.Port }

// Dir is its directory; the file conf in it is its configuration.
func (p *Process) Dir() string { return p.dir }

// Start starts the program and waits until it answers.
func (p *Process) Start() {
	p.t.Helper()
	p.Launch()
	eventually(p.t, p.Program+" answers", func() bool { return p.Try("PING").String() == "+PONG" })
}

// Launch starts the program.
func (p *Process) Launch() {
	p.t.Helper()
	log, err := os.OpenFile(p.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(p.t, err)
	defer func() { _ = log.Close() }()
	cmd, exited := exec.Command(p.Program, p.args...), make(chan struct{})
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, log, log
	require.NoError(p.t, testkit.StartChild(cmd))
	p.cmd, p.exited = cmd, exited
	go func() {
		_ = cmd.Wait() // reports the kill
		close(exited)
	}()
}

// Kill is kill -9, of a process that is paused as well.
func (p *Process) Kill() {
	if p.cmd != nil {
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
}

// Pause is kill -STOP. What is sent to the process from then on is not read.
func (p *Process) Pause() {
	require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGSTOP))
	require.NoError(p.t, testkit.AwaitStopped(p.cmd.Process.Pid))
}

// GoOn is kill -CONT.
func (p *Process) GoOn() { require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGCONT)) }

// Try runs a command on a connection of its own: a Sentinel closes those that there are. What cannot be
// asked has no answer.
func (p *Process) Try(args ...string) resp.Value {
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		return resp.Value{}
	}
	defer func() { _ = conn.Close() }()
	c := testkit.NewClient(p.t, conn)
	c.Timeout = 2 * time.Second
	v, _ := c.Call(args...)
	return v
}

// Field is a field of INFO; empty: it is not known.
func (p *Process) Field(name string) string {
	for line := range strings.Lines(p.Try("INFO", "everything").Str) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			return value
		}
	}
	return ""
}

// follows reports whether the server is a replica of another, over a link that is up.
func (p *Process) follows(master *Process) bool {
	return p.Field("master_port") == master.Announced && p.Field("master_link_status") == "up"
}

// eventually waits until something is so.
func eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			require.Fail(t, fmt.Sprintf("it did not come to that in %v: %s", patience, what))
		}
	}
}
