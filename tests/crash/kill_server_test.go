package crash

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/testkit"
)

// buildServer builds the server program and returns its path.
func buildServer(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lockserver")
	out, err := exec.Command("go", "build", "-o", path, "lockserver/cmd/lockserver").CombinedOutput()
	require.NoError(t, err, "build the program: %s", out)
	return path
}

// server is a running server program with an append-only log.
type server struct {
	process *exec.Cmd
	addr    string
}

var readyLine = regexp.MustCompile(`Ready to accept connections tcp addr=(\S+)`)

// startServer runs the program in a directory.
func startServer(t *testing.T, program, dir, fsync string) *server {
	t.Helper()
	cmd := exec.Command(program, "--port", "0", "--save", "", "--appendonly", "yes", "--appendfsync", fsync)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	s := &server{process: cmd}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := bufio.NewScanner(out)
	var said strings.Builder
	for s.addr == "" && lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if m := readyLine.FindStringSubmatch(lines.Text()); m != nil {
			s.addr = m[1]
		}
	}
	require.NotEmpty(t, s.addr, "it did not start: %s", said.String())
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return s
}

// kill is kill -9.
func (s *server) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, s.process.Process.Kill())
	_ = s.process.Wait()
}

func (s *server) dial() (net.Conn, error) { return net.Dial("tcp", s.addr) }

func (s *server) client(t *testing.T) *testkit.Client {
	t.Helper()
	return testkit.Dial(t, s.dial)
}
