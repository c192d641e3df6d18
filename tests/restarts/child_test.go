package restarts

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/server"
)

// childVariable holds a child in JSON in the environment of a process of this test that is to be a server.
const childVariable = "LOCKSERVER_RESTARTS_CHILD"

// program is the server program, built once.
var program string

func TestMain(m *testing.M) {
	if text := os.Getenv(childVariable); text != "" {
		os.Exit(beServer(text))
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "restarts")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "lockserver")
		if out, err := exec.Command("go", "build", "-o", program, "lockserver/cmd/lockserver").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build the program: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// child is a server with a clock of its own.
type child struct {
	Dir string
	// StartMS is what the clock shows at the start, in milliseconds since 1970; Speed is how fast it goes.
	StartMS int64
	Speed   int64
	// AppendOnly: it has a log, in which everything is that was answered.
	AppendOnly bool
}

// bentClock is the clock of a child.
type bentClock struct {
	child
	began time.Time
}

// NowUS implements server.Clock.
func (c *bentClock) NowUS() int64 {
	return c.StartMS*1000 + c.Speed*time.Since(c.began).Microseconds()
}

// beServer is the child's whole life; it ends by being killed, by SHUTDOWN, or when its parent goes.
func beServer(text string) int {
	var c child
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		fmt.Println(err)
		return 1
	}
	conf := config.Default()
	conf.Port, conf.Dir, conf.Save = 0, c.Dir, nil
	conf.AppendOnly, conf.AppendFsync = c.AppendOnly, "always"
	srv, err := server.New(server.Options{Directives: conf.Directives(), EventLoops: true, Clock: &bentClock{c, time.Now()}})
	if err == nil {
		err = srv.Start()
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Printf("Ready to accept connections tcp addr=%s\n", srv.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	<-srv.Done()
	return 0
}

// process is a running server.
type process struct {
	cmd  *exec.Cmd
	addr string
}

// startChild runs a server with a clock of its own.
func startChild(t *testing.T, c child) *process {
	t.Helper()
	text, err := json.Marshal(c)
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	return startProcess(t, cmd)
}

// startProgram runs the server program in a directory.
func startProgram(t *testing.T, dir string) *process {
	t.Helper()
	cmd := exec.Command(program, "--port", "0")
	cmd.Dir = dir
	return startProcess(t, cmd)
}

var readyLine = regexp.MustCompile(`Ready to accept connections tcp addr=(\S+)`)

func startProcess(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	_, err := cmd.StdinPipe() // closed when this process ends, however it does
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	p := &process{cmd: cmd}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines, said := bufio.NewScanner(out), ""
	for p.addr == "" && lines.Scan() {
		said += lines.Text() + "\n"
		if m := readyLine.FindStringSubmatch(lines.Text()); m != nil {
			p.addr = m[1]
		}
	}
	require.NotEmpty(t, p.addr, "it did not start: %s", said)
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return p
}

// kill is kill -9.
func (p *process) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Kill())
	_ = p.cmd.Wait()
}

// exitOf runs the server program in a directory where it cannot start, and returns what it says.
func exitOf(t *testing.T, dir string) string {
	t.Helper()
	cmd := exec.Command(program, "--port", "0")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s", out)
	require.Equal(t, 1, exit.ExitCode(), "%s", out)
	return string(out)
}
