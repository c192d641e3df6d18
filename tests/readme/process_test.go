package readme

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// binary is the server program. TestMain builds it once with the README's own command and another output
// path.
var binary string

const buildCommand = "go build -o bin/lockserver ./cmd/lockserver"

func TestMain(m *testing.M) {
	if code, is := asProgram(); is {
		os.Exit(code)
	}
	testkit.ManyAtOnce()
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "readme")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "lockserver")
		if err := testkit.BuildLockserver(binary); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", buildCommand, err)
			return 1
		}
		return m.Run()
	}())
}

// program is a running server.
type program struct{ *testkit.Process }

// patience is the longest time that a test waits for an event, on a busy machine.
const patience = time.Minute

// startProgram runs the server in dir on a port (0 means a free port), with more arguments, until it is
// stopped or the test ends.
func startProgram(t *testing.T, dir string, port int, args ...string) *program {
	t.Helper()
	return &program{testkit.Start(t, testkit.Command{Program: binary, Args: append([]string{"--port", fmt.Sprint(port)}, args...), Dir: dir})}
}

// interrupt sends Ctrl-C: the server must save and exit with code 0.
func (p *program) interrupt(t *testing.T) {
	t.Helper()
	require.NoError(t, p.Signal(os.Interrupt))
	code, err := p.Wait()
	require.NoError(t, err)
	require.Zero(t, code)
}

func (p *program) port(t *testing.T) int {
	t.Helper()
	addr, err := net.ResolveTCPAddr("tcp", p.Address())
	require.NoError(t, err)
	return addr.Port
}
