//go:build unix

package fleet

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// patience is the longest time that a test waits for an event that comes by itself.
const patience = 90 * time.Second

// Process is a program with a port of its own that a test may kill and start again.
type Process struct {
	Program string
	Port    string
	// Announced is the port in its public address. It is Port, unless a test puts a proxy before it.
	Announced string

	t      testing.TB
	p      *testkit.Process
	secure *Secure // nil if it lets every client in
}

// NewProcess prepares a program with a configuration file, which has a port, a directory, and the lines of
// conf.
func NewProcess(t testing.TB, program, conf string, args ...string) *Process {
	t.Helper()
	program, err := exec.LookPath(program)
	require.NoError(t, err, "run 'make deps'")
	program, err = filepath.Abs(program) // it runs in another directory
	require.NoError(t, err)
	port := testkit.FreePort(t)
	p := &Process{Program: program, Port: port, Announced: port, t: t}
	p.p = testkit.Prepare(t, testkit.Command{Program: program, Dir: t.TempDir(), Ready: func() bool { return p.Try("PING").String() == "+PONG" }})
	file := filepath.Join(p.Dir(), "conf")
	p.p.Args = append([]string{file}, args...)
	conf = "port " + port + "\nbind 127.0.0.1\ndir " + p.Dir() + "\n" + conf
	require.NoError(t, os.WriteFile(file, []byte(conf), 0o600))
	return p
}

// Addr returns the address on which it listens.
func (p *Process) Addr() string { return "127.0.0.1:" + p.Port }

// Dir returns its directory; the file conf in it is its configuration.
func (p *Process) Dir() string { return p.p.Dir }

// Log returns its output.
func (p *Process) Log() string { return p.p.Log() }

// Start starts the program and waits until it answers.
func (p *Process) Start() {
	p.t.Helper()
	require.NoError(p.t, p.p.Start())
}

// Launch starts the program.
func (p *Process) Launch() {
	p.t.Helper()
	require.NoError(p.t, p.p.Launch())
}

// Pid returns the process ID.
func (p *Process) Pid() int { return p.p.Pid() }

// Install sets the program for the next start.
func (p *Process) Install(program string) { p.Program, p.p.Program = program, program }

// Kill is kill -9. It also ends a paused process.
func (p *Process) Kill() { p.p.Kill() }

// Terminate ends the process as planned, by SIGTERM, and returns its exit code.
func (p *Process) Terminate() (int, error) { return p.p.Terminate() }

// Pause is kill -STOP. Commands that are sent from then on are not read.
func (p *Process) Pause() { require.NoError(p.t, p.p.Pause()) }

// GoOn is kill -CONT.
func (p *Process) GoOn() { require.NoError(p.t, p.p.Continue()) }

// Try runs a command on a new connection, because a Sentinel closes existing ones. If there is no connection
// the reply is empty.
func (p *Process) Try(args ...string) resp.Value { return p.TryWithin(2*time.Second, args...) }

// TryWithin is Try with another time limit.
func (p *Process) TryWithin(limit time.Duration, args ...string) resp.Value {
	c := p.dial(limit)
	if c == nil {
		return resp.Value{}
	}
	defer c.Close()
	v, _ := c.Call(args...)
	return v
}

// Field returns a field of INFO, or "" if it is not known.
func (p *Process) Field(name string) string {
	for line := range strings.Lines(p.Try("INFO", "everything").Str) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			return value
		}
	}
	return ""
}

// follows reports whether the server is a replica of master with a working link.
func (p *Process) follows(master *Process) bool {
	return p.Field("master_port") == master.Announced && p.Field("master_link_status") == "up"
}

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			require.Fail(t, fmt.Sprintf("it did not come to that in %v: %s", patience, what))
		}
	}
}
