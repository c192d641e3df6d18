package check

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// booted is a root in which systemd runs as the first process of its own namespaces.
type booted struct {
	*system
	init *os.Process
}

// newBooted starts systemd in a root, and waits until it has started all that a service needs. The root must
// also be the root of its mount namespace, because otherwise no user namespace can be created
// (PrivateUsers=).
func newBooted(t *testing.T) *booted {
	s := newSystem(t)
	// A machine that is built from containers may forbid its packages to start services.
	require.NoError(t, os.RemoveAll(s.path("usr/sbin/policy-rc.d")))
	const script = `set -e
echo 0 >"$1/cgroup.procs"
exec unshare --cgroup bash -c 'set -e
cd "$0"
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t tmpfs tmpfs sys/fs/cgroup
mount -t cgroup2 cgroup2 sys/fs/cgroup
mkdir -p mnt/old
pivot_root . mnt/old
umount -l /mnt/old
exec env -i container=oci PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system --unit=basic.target --show-status=no' "$0"`
	cmd := exec.Command("bash", "-c", script, s.dir, s.cgroup())
	log, err := os.Create(filepath.Join(t.TempDir(), "systemd.log"))
	require.NoError(t, err)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL,
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // and with it all processes of its namespace
		_ = cmd.Wait()
		_ = log.Close()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("systemd:\n%s", text)
		}
	})
	b := &booted{s, cmd.Process}
	b.eventually("running", "systemctl", "is-system-running")
	return b
}

// cgroup creates a group of processes in the unified hierarchy. It is removed with all groups below it after
// the test.
func (s *system) cgroup() string {
	s.t.Helper()
	text, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(s.t, err)
	m := regexp.MustCompile(`(?m)^\S+ \S+ \S+ \S+ (\S+) .* - cgroup2 `).FindStringSubmatch(string(text))
	require.NotNil(s.t, m, "systemd needs the unified hierarchy of cgroups, which is mounted nowhere")
	dir := filepath.Join(m[1], fmt.Sprintf("lockserver-check-%d", time.Now().UnixNano()))
	require.NoError(s.t, os.Mkdir(dir, 0o755))
	s.t.Cleanup(func() {
		require.Eventually(s.t, func() bool { return removeGroups(dir) == nil }, patience, 10*time.Millisecond)
	})
	return dir
}

// removeGroups removes a group and those below it. It fails while they have processes.
func removeGroups(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if e.IsDir() {
			err = errors.Join(err, removeGroups(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(err, syscall.Rmdir(dir))
}

// inside returns a command that runs beside systemd.
func (b *booted) inside(name string, args ...string) *exec.Cmd {
	return exec.Command("nsenter", append([]string{"--target", strconv.Itoa(b.init.Pid), "--mount", "--pid", "--cgroup", "--uts", "--ipc", name}, args...)...)
}

// does runs a program, which must succeed, and returns its output.
func (b *booted) does(name string, args ...string) string {
	b.t.Helper()
	out, err := b.inside(name, args...).CombinedOutput()
	require.NoError(b.t, err, "%s %v: %s", name, args, out)
	return strings.TrimSpace(string(out))
}

// eventually runs a program repeatedly until its output is want.
func (b *booted) eventually(want, name string, args ...string) {
	b.t.Helper()
	for begun := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		out, _ := b.inside(name, args...).CombinedOutput()
		if strings.TrimSpace(string(out)) == want {
			return
		}
		require.Less(b.t, time.Since(begun), patience, "%s %v says %s, not %s", name, args, out, want)
	}
}

// TestService: the package's service under a running systemd, with all features of systemd that its unit
// uses.
func TestService(t *testing.T) {
	b := newBooted(t)
	b.put(made(t, fmt.Sprintf("lockserver_*_%s.deb", runtime.GOARCH)), "/root/lockserver.deb")
	install := []string{"--force-unsafe-io", "--no-triggers", "--install", "/root/lockserver.deb"}
	b.does("dpkg", install...)
	b.eventually("active", "systemctl", "is-active", "lockserver") // the package has started it
	require.Equal(t, "enabled", b.does("systemctl", "is-enabled", "lockserver"))
	token := cli(t, "LOCK", "door", "alice", "PX", "3600000")
	require.Regexp(t, `^\d{10,}$`, token)
	b.confined()

	b.does("systemctl", "restart", "lockserver") // it returns when clients can connect
	require.Equal(t, token, cli(t, "HGET", "door", "$token"), "it has saved its data, and read it")
	require.Equal(t, "OK", cli(t, "CONFIG", "SET", "timeout", "77"))
	require.Equal(t, "OK", cli(t, "CONFIG", "REWRITE"))
	before := b.pid()
	b.does("systemctl", "kill", "--signal=KILL", "lockserver")
	require.Eventually(t, func() bool { return b.pid() != before && b.pid() != "0" }, patience, 50*time.Millisecond, "a crash is followed by a start")
	b.eventually("active", "systemctl", "is-active", "lockserver")
	require.Equal(t, "timeout\n77", cli(t, "CONFIG", "GET", "timeout"))

	before = b.pid()
	b.does("dpkg", install...)
	require.NotEqual(t, before, b.pid(), "an upgrade restarts it")
	cli(t, "SHUTDOWN")
	b.eventually("inactive", "systemctl", "is-active", "lockserver")
	require.Equal(t, "success", b.does("systemctl", "show", "--property=Result", "--value", "lockserver"))
	b.does("systemctl", "start", "lockserver")
	b.does("dpkg", "--remove", "lockserver")
	b.eventually("inactive", "systemctl", "is-active", "lockserver")
	require.Empty(t, b.does("systemctl", "--failed", "--quiet", "--no-legend"))
}

// pid returns the id of the server's process in systemd's namespace, or 0.
func (b *booted) pid() string {
	b.t.Helper()
	return b.does("systemctl", "show", "--property=MainPID", "--value", "lockserver")
}

// confined checks what the server's process may do and see.
func (b *booted) confined() {
	b.t.Helper()
	proc := "/proc/" + b.pid()
	status := b.does("cat", proc+"/status")
	for _, line := range []string{`CapEff:\s+0{16}`, `CapBnd:\s+0{16}`, `NoNewPrivs:\s+1`, `Seccomp:\s+2`} {
		require.Regexp(b.t, `(?m)^`+line+`$`, status)
	}
	require.NotEqual(b.t, b.does("readlink", "/proc/self/ns/user"), b.does("readlink", proc+"/ns/user"))
	mounts := b.does("cat", proc+"/mountinfo")
	rights := func(at string) string {
		m := regexp.MustCompile(`(?m)^\S+ \S+ \S+ \S+ `+at+` (r[wo])`).FindAllStringSubmatch(mounts, -1)
		require.NotEmpty(b.t, m, "%s: %s", at, mounts)
		return m[len(m)-1][1]
	}
	for at, want := range map[string]string{"/": "ro", dataDir: "rw", "/etc/lockserver": "rw", "/run/lockserver": "rw"} {
		require.Equal(b.t, want, rights(at), at)
	}
	require.Contains(b.t, b.does("stat", "-c", "%U:%G %a", dataDir, "/run/lockserver"), "lockserver:lockserver 750")
}
