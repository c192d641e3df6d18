package check

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var dist = flag.String("dist", "../../dist", "what make release has made")

const (
	// patience is the longest time that a test waits for a system or its services.
	patience = 2 * time.Minute
	// lookEvery is how often a condition is checked.
	lookEvery = 50 * time.Millisecond
)

// TestMain refuses to run outside of the namespaces, so that the tests cannot change the machine.
func TestMain(m *testing.M) {
	flag.Parse()
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil || os.Getpid() > 2 {
		fmt.Fprintf(os.Stderr, "run this by make release-check, as root, in namespaces: process %d, %v %s\n", os.Getpid(), err, out)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// made returns the path of the only file in dist that matches.
func made(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(*dist, pattern))
	require.NoError(t, err)
	require.Len(t, found, 1, "%s: run make release", pattern)
	return found[0]
}

// system is a root directory in which programs run.
type system struct {
	t   *testing.T
	dir string
}

// newSystem returns the machine's file system under a layer in memory, which takes all changes and is dropped
// afterwards.
func newSystem(t *testing.T) *system {
	base := t.TempDir()
	s := &system{t, filepath.Join(base, "root")}
	memory := filepath.Join(base, "memory")
	s.mount(memory, "-t", "tmpfs", "tmpfs")
	for _, dir := range []string{"upper", "work"} {
		require.NoError(t, os.Mkdir(filepath.Join(memory, dir), 0o755))
	}
	s.mount(s.dir, "-t", "overlay", "overlay", "-o", "lowerdir=/,upperdir="+memory+"/upper,workdir="+memory+"/work")
	s.mount(s.path("proc"), "-t", "proc", "proc")
	s.mount(s.path("dev"), "--rbind", "/dev")
	s.mount(s.path("run"), "-t", "tmpfs", "tmpfs")
	return s
}

// newBareSystem returns an empty root.
func newBareSystem(t *testing.T) *system { return &system{t, t.TempDir()} }

func (s *system) mount(at string, args ...string) {
	s.t.Helper()
	require.NoError(s.t, os.MkdirAll(at, 0o755))
	command(s.t, "mount", append(args, at)...)
	s.t.Cleanup(func() { command(s.t, "umount", "-R", "-l", at) })
}

// path returns the path outside of the root for a path in it.
func (s *system) path(parts ...string) string {
	return filepath.Join(append([]string{s.dir}, parts...)...)
}

// run runs a program in the root, which must succeed, and returns its output.
func (s *system) run(name string, args ...string) string {
	s.t.Helper()
	return command(s.t, "chroot", append([]string{s.dir, name}, args...)...)
}

// put copies a file of the machine into the root.
func (s *system) put(from, to string) {
	s.t.Helper()
	data, err := os.ReadFile(from)
	require.NoError(s.t, err)
	require.NoError(s.t, os.WriteFile(s.path(to), data, 0o644))
}

// command runs a program on the machine, which must succeed, and returns its output.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8", "PATH=/usr/sbin:/usr/bin:/sbin:/bin")
	require.NoError(t, cmd.Run(), "%s %s: %s", name, strings.Join(args, " "), &out)
	return strings.TrimSpace(out.String())
}

// server is a server that runs in a root.
type server struct {
	t      *testing.T
	cmd    *exec.Cmd
	log    bytes.Buffer
	notify *bufio.Scanner // its messages to the supervisor
}

// start runs a server like its unit: as its user, with a supervisor that waits until it is ready.
func (s *system) start(user string, args ...string) *server {
	s.t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: fmt.Sprintf("@check-%d", time.Now().UnixNano()), Net: "unixgram"})
	require.NoError(s.t, err)
	require.NoError(s.t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
	p := &server{t: s.t, notify: bufio.NewScanner(conn)}
	p.cmd = exec.Command("chroot", append([]string{"--userspec=" + user, s.dir}, args...)...)
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	p.cmd.Env = []string{"NOTIFY_SOCKET=" + conn.LocalAddr().String()}
	require.NoError(s.t, p.cmd.Start())
	s.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = conn.Close()
	})
	p.received("READY=1")
	return p
}

// received waits until the supervisor has received a message.
func (p *server) received(want string) {
	p.t.Helper()
	for p.notify.Scan() {
		if p.notify.Text() == want {
			return
		}
	}
	require.Fail(p.t, "the supervisor has not received "+want, "%v, log:\n%s", p.notify.Err(), &p.log)
}

// cli runs redis-cli.
func cli(t *testing.T, args ...string) string {
	t.Helper()
	return command(t, "redis-cli", append([]string{"-e"}, args...)...)
}

// shutdown ends the server by a command of a client.
func (p *server) shutdown() {
	p.t.Helper()
	cli(p.t, "SHUTDOWN")
	p.received("STOPPING=1")
	require.NoError(p.t, p.cmd.Wait(), "%s", &p.log)
}
