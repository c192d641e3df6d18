package readme

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// binary is the server program, built once by TestMain with the README's own command.
var binary string

const buildCommand = "go build -o bin/lockserver ./cmd/lockserver"

func TestMain(m *testing.M) {
	if code, is := asProgram(); is {
		os.Exit(code)
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "readme")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "lockserver")
		words := strings.Fields(strings.Replace(buildCommand, "bin/lockserver", binary, 1))
		build := exec.Command(words[0], words[1:]...)
		build.Dir = root
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n%s", buildCommand, err, out)
			return 1
		}
		return m.Run()
	}())
}

// program is a running server.
type program struct {
	*exec.Cmd
	addr   string
	exited chan struct{}
}

// output is what a program has printed so far.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

var readyLine = regexp.MustCompile(`Ready to accept connections tcp addr=(\S+)\n`)

// patience is how long anything may take on a busy machine.
const patience = 30 * time.Second

// startProgram runs the server in dir on a port (0: a free one), with more arguments, until
// it is stopped or the test ends.
func startProgram(t *testing.T, dir string, port int, args ...string) *program {
	t.Helper()
	p := &program{Cmd: exec.Command(binary, append([]string{"--port", fmt.Sprint(port)}, args...)...), exited: make(chan struct{})}
	var out output
	p.Dir, p.Stdout, p.Stderr = dir, &out, &out
	require.NoError(t, p.Start())
	go func() {
		_ = p.Wait()
		close(p.exited)
	}()
	t.Cleanup(func() {
		_ = p.Process.Kill()
		<-p.exited
	})
	require.Eventually(t, func() bool {
		m := readyLine.FindStringSubmatch(out.String())
		if m != nil {
			p.addr = m[1]
		}
		return m != nil
	}, patience, 5*time.Millisecond, "no readiness line")
	return p
}

// interrupt is Ctrl-C: the server must save and end well.
func (p *program) interrupt(t *testing.T) {
	t.Helper()
	require.NoError(t, p.Process.Signal(os.Interrupt))
	select {
	case <-p.exited:
	case <-time.After(patience):
		t.Fatal("the server did not end")
	}
	require.Zero(t, p.ProcessState.ExitCode())
}

func (p *program) dial() (net.Conn, error) { return net.Dial("tcp", p.addr) }

func (p *program) port(t *testing.T) int {
	t.Helper()
	addr, err := net.ResolveTCPAddr("tcp", p.addr)
	require.NoError(t, err)
	return addr.Port
}
