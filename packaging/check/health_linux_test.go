package check

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHealthTimer: the package's timer runs the health check repeatedly under systemd. The check fails while
// no server answers, and succeeds when a server answers. Its flags come from a file.
func TestHealthTimer(t *testing.T) {
	b := newBooted(t)
	b.put(made(t, fmt.Sprintf("lockserver_*_%s.deb", runtime.GOARCH)), "/root/lockserver.deb")
	b.does("dpkg", "--force-unsafe-io", "--no-triggers", "--install", "/root/lockserver.deb")
	b.eventually("active", "systemctl", "is-active", "lockserver")
	require.Equal(t, "inactive", b.says("systemctl", "is-active", "lockserver-health.timer"), "it is for those that enable it")
	b.write("/etc/systemd/system/lockserver-health.timer.d/often.conf", "[Timer]\nOnActiveSec=\nOnUnitInactiveSec=\nOnActiveSec=100ms\nOnUnitInactiveSec=500ms\nAccuracySec=10ms\n")
	b.write("/etc/systemd/system/lockserver-health.service.d/often.conf", "[Unit]\nStartLimitIntervalSec=0\n")
	b.does("systemctl", "daemon-reload")
	b.does("systemctl", "enable", "--now", "lockserver-health.timer")
	checked := func(code string) {
		t.Helper()
		for range 2 { // a second run begins after the first has ended
			last := b.check("ExecMainExitTimestampMonotonic")
			require.Eventually(t, func() bool { return b.check("ExecMainExitTimestampMonotonic") != last }, patience, lookEvery, "it is run again")
		}
		b.eventually(code, "systemctl", "show", "--property=ExecMainStatus", "--value", "lockserver-health.service")
	}
	checked("0")
	b.does("systemctl", "stop", "lockserver")
	checked("1")
	require.Contains(t, b.failed(), "lockserver-health.service")
	b.does("systemctl", "start", "lockserver")
	checked("0")
	require.NotContains(t, b.failed(), "lockserver-health.service")

	require.Equal(t, "OK", cli(t, "CONFIG", "SET", "requirepass", "a-long-secret"))
	b.write("/etc/lockserver/password", "another-secret\n")
	b.write("/etc/lockserver/health.env", "LOCKSERVER_HEALTH=--pass-file /etc/lockserver/password\n")
	checked("1")
	require.Contains(t, b.does("journalctl", "--no-pager", "--unit=lockserver-health.service"), "WRONGPASS")
	b.write("/etc/lockserver/password", "a-long-secret\n")
	checked("0")
}

// write writes a file that all users can read.
func (b *booted) write(path, text string) {
	b.t.Helper()
	require.NoError(b.t, os.MkdirAll(filepath.Dir(b.path(path)), 0o755))
	require.NoError(b.t, os.WriteFile(b.path(path), []byte(text), 0o644))
}

// says runs a program that may fail, and returns its output.
func (b *booted) says(name string, args ...string) string {
	b.t.Helper()
	out, _ := b.inside(name, args...).CombinedOutput()
	return strings.TrimSpace(string(out))
}

// failed returns the units that have failed.
func (b *booted) failed() string {
	b.t.Helper()
	return b.does("systemctl", "--failed", "--quiet", "--no-legend", "--plain")
}

// check returns a property of the health check's unit.
func (b *booted) check(property string) string {
	b.t.Helper()
	return b.does("systemctl", "show", "--property="+property, "--value", "lockserver-health.service")
}
