package check

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	configFile = "/etc/lockserver/lockserver.conf"
	dataDir    = "/var/lib/lockserver"
)

// ownerOf returns the owner and the permissions of a file of the root.
func (s *system) ownerOf(path string) string {
	s.t.Helper()
	return s.run("stat", "-c", "%U:%G %a", path)
}

// serve starts the installed server twice: the second one has the data of the first.
func (s *system) serve() {
	s.t.Helper()
	args := strings.Fields(s.execStart())
	p := s.start("lockserver", args...)
	token := cli(s.t, "LOCK", "door", "alice", "PX", "3600000")
	require.Regexp(s.t, `^\d{10,}$`, token)
	require.Equal(s.t, "OK", cli(s.t, "CONFIG", "SET", "timeout", "77"))
	require.Equal(s.t, "OK", cli(s.t, "CONFIG", "REWRITE"))
	p.shutdown()
	require.Equal(s.t, "lockserver:lockserver", strings.Fields(s.ownerOf(dataDir + "/dump.rdb"))[0])
	require.Contains(s.t, s.run("cat", configFile), "\ntimeout 77\n")

	p = s.start("lockserver", args...)
	require.Equal(s.t, token, cli(s.t, "HGET", "door", "$token"))
	p.shutdown()
}

// execStart returns the command that the unit runs.
func (s *system) execStart() string {
	s.t.Helper()
	m := regexp.MustCompile(`(?m)^ExecStart=(.*)$`).FindStringSubmatch(s.run("cat", "/usr/lib/systemd/system/lockserver.service"))
	require.NotNil(s.t, m)
	return m[1]
}

// installed checks what both kinds of packages must install.
func (s *system) installed() {
	s.t.Helper()
	require.Regexp(s.t, `^lockserver:x:\d+:\d+:lockserver:/var/lib/lockserver:/usr/sbin/nologin$`, s.run("getent", "passwd", "lockserver"))
	require.Equal(s.t, "lockserver:lockserver 750", s.ownerOf("/etc/lockserver"))
	require.Equal(s.t, "lockserver:lockserver 640", s.ownerOf(configFile))
	require.Equal(s.t, "lockserver:lockserver 750", s.ownerOf(dataDir))
	require.Equal(s.t, "root:root 755", s.ownerOf("/usr/bin/lockserver"))
	for _, name := range []string{"RUNBOOK.md", "grafana/alerts.yml", "grafana/lockserver.json"} {
		require.Equal(s.t, "root:root 644", s.ownerOf("/usr/share/doc/lockserver/"+name))
	}
	require.Contains(s.t, s.run("man", "-P", "cat", "lockserver"), "LOCKSERVER(1)")
	require.Contains(s.t, s.run("man", "-P", "cat", "lockserver.conf"), "LOCKSERVER.CONF(5)")
}

func TestDeb(t *testing.T) {
	s := newSystem(t)
	s.put(made(t, fmt.Sprintf("lockserver_*_%s.deb", runtime.GOARCH)), "/root/lockserver.deb")
	s.run("dpkg", "--force-unsafe-io", "--no-triggers", "--install", "/root/lockserver.deb")
	s.installed()
	require.Empty(t, s.run("dpkg", "--verify", "lockserver"))
	unit(s)
	s.serve()

	s.run("sh", "-c", "echo 'databases 17' >>"+configFile)
	s.run("dpkg", "--force-unsafe-io", "--no-triggers", "--install", "/root/lockserver.deb")
	require.Contains(t, s.run("cat", configFile), "\ndatabases 17", "an upgrade keeps what was changed")
	require.Equal(t, "lockserver:lockserver 640", s.ownerOf(configFile))

	s.run("dpkg", "--remove", "lockserver")
	require.NoFileExists(t, s.path("/usr/bin/lockserver"))
	require.FileExists(t, s.path(configFile))
	require.FileExists(t, s.path(dataDir, "dump.rdb"), "only a purge removes data")
	s.run("dpkg", "--purge", "lockserver")
	require.NoDirExists(t, s.path("/etc/lockserver"))
	require.NoDirExists(t, s.path(dataDir))
}

// unit checks the service where it is installed, and what it can still access of the system.
func unit(s *system) {
	s.t.Helper()
	const path = "/usr/lib/systemd/system/lockserver.service"
	require.Empty(s.t, s.run("systemd-analyze", "verify", "--man=yes", path))
	require.Empty(s.t, s.run("systemd-analyze", "verify", "--man=yes", strings.Replace(path, ".service", "-health.timer", 1)))
	text := s.run("systemd-analyze", "security", "--no-pager", "--offline=yes", path)
	m := regexp.MustCompile(`Overall exposure level for \S+: ([0-9.]+)`).FindStringSubmatch(text)
	require.NotNil(s.t, m, text)
	exposure, err := strconv.ParseFloat(m[1], 64)
	require.NoError(s.t, err)
	require.Less(s.t, exposure, 2.0, text)
	s.t.Logf("systemd-analyze security: %v", exposure)
}

func TestRPM(t *testing.T) {
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	s := newSystem(t)
	s.put(made(t, "lockserver-*."+arch+".rpm"), "/root/lockserver.rpm")
	require.Equal(t, configFile, s.run("rpm", "--query", "--package", "--configfiles", "/root/lockserver.rpm"))
	require.Contains(t, s.run("rpm", "--query", "--package", "--requires", "/root/lockserver.rpm"), "systemd")
	install := []string{"--nodeps", "--install", "/root/lockserver.rpm"} // rpm does not know about Debian's packages
	s.run("rpm", install...)
	s.installed()
	unit(s)
	s.serve()

	s.run("rpm", "--erase", "--nodeps", "lockserver")
	require.NoFileExists(t, s.path("/usr/bin/lockserver"))
	require.FileExists(t, s.path(dataDir, "dump.rdb"), "data stays")
	require.FileExists(t, s.path(configFile+".rpmsave"), "and so does a configuration that was changed")
}

// TestUmask: installed files can be read by the users that need them, whatever umask the packages were built
// with.
func TestUmask(t *testing.T) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	dir := t.TempDir()
	command(t, "dpkg-deb", "--extract", made(t, fmt.Sprintf("lockserver_*_%s.deb", runtime.GOARCH)), dir)
	for path, mode := range map[string]os.FileMode{"/usr/bin/lockserver": 0o755, "/usr/lib/systemd/system/lockserver.service": 0o644,
		configFile: 0o640, "/usr/share/man/man1/lockserver.1.gz": 0o644} {
		info, err := os.Stat(dir + path)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm(), path)
	}
}
