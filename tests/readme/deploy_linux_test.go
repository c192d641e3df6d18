package readme

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert/yaml"
	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// TestGroupUnit: the page's addition to the package's unit has the form that systemd reads. If systemd is
// installed, it accepts both together.
func TestGroupUnit(t *testing.T) {
	blocks := ha.blocksOf(t, "ini unit")
	require.Len(t, blocks, 1)
	require.Regexp(t, `^(\[(Unit|Service)\]\n([A-Z]\w+=\S+\n)+\n?)+$`, blocks[0].text)
	packaged, err := os.ReadFile(filepath.Join(root, "packaging", "lockserver.service"))
	require.NoError(t, err)
	require.Contains(t, string(packaged), "\nStartLimitIntervalSec=0\n", "a member with a full disk is started again for as long as it takes")
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		return
	}
	dir := t.TempDir()
	unit, err := os.ReadFile(filepath.Join(root, "packaging", "lockserver.service"))
	require.NoError(t, err)
	service := strings.ReplaceAll(string(unit), "/usr/bin/lockserver", binary)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "lockserver.service"), []byte(service), 0o644))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "lockserver.service.d"), 0o755))
	verify := func(text string) string {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "lockserver.service.d", "group.conf"), []byte(text), 0o644))
		cmd := exec.Command(analyze, "verify", "--man=no", "--recursive-errors=no", filepath.Join(dir, "lockserver.service"))
		cmd.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+dir+":", "LC_ALL=C.UTF-8")
		out, _ := cmd.CombinedOutput()
		return strings.Join(regexp.MustCompile(`(?m)^.*group\.conf.*$`).FindAllString(string(out), -1), "\n")
	}
	require.Empty(t, verify(blocks[0].text))
	require.Contains(t, verify(blocks[0].text+"RestartNever=1\n"), "RestartNever", "it looks at the file")
}

// composed is a compose file, with the fields that the page uses.
type composed struct {
	Services map[string]struct {
		Image   string
		Restart string
		Grace   string `yaml:"stop_grace_period"`
		Command string
		Volumes []string
		Secrets []string
	}
	Volumes map[string]any
}

// TestGroupCompose starts the commands of the page's containers like the image does: they form a group.
func TestGroupCompose(t *testing.T) {
	t.Parallel()
	blocks := ha.blocksOf(t, "yaml compose")
	require.Len(t, blocks, 1)
	shipped, err := os.ReadFile(filepath.Join(root, "packaging", "compose.yaml"))
	require.NoError(t, err)
	require.Contains(t, string(shipped), blocks[0].text, "packaging/compose.yaml")
	password := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(password, []byte("a-long-secret\n"), 0o600))
	var file composed
	require.NoError(t, yaml.Unmarshal([]byte(blocks[0].text), &file))
	require.Len(t, file.Services, 3)
	s := newSite(t)
	places := []string{"/run/secrets/password", password}
	for i, name := range strings.Split("abc", "") {
		places = append(places, name+":6379", s.address(name), name+":7000", fmt.Sprintf("%s%d:%d", s.network, i+1, s.raftPort))
	}
	for name, service := range file.Services {
		require.Regexp(t, `^lockserver:\d`, service.Image)
		require.Equal(t, "unless-stopped", service.Restart)
		grace, err := time.ParseDuration(service.Grace)
		require.NoError(t, err)
		require.Greater(t, grace, 10*time.Second, "shutdown-timeout's default")
		require.Equal(t, []string{name + ":/data"}, service.Volumes, "as the image has it")
		require.Contains(t, file.Volumes, name)
		require.Equal(t, []string{"password"}, service.Secrets)
		// Compose splits the words like a shell.
		words, err := exec.Command("sh", "-c", "printf '%s\\n' "+service.Command).Output()
		require.NoError(t, err)
		args := strings.Split(strings.TrimSpace(strings.NewReplacer(places...).Replace(string(words))), "\n")
		host, _, _ := strings.Cut(s.address(name), ":")
		conf, err := filepath.Abs(filepath.Join(root, "packaging", "image.conf"))
		require.NoError(t, err)
		p := testkit.Prepare(t, testkit.Command{Program: binary,
			Args: append([]string{conf, "--bind", host, "--port", fmt.Sprint(s.port), "--dir", s.machines[name].root}, args...)})
		require.NoError(t, p.Launch())
	}
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{s.address("a")}, Password: "a-long-secret", ClusterStateReloadInterval: time.Second})
	t.Cleanup(func() { _ = rdb.Close() })
	require.Eventually(t, func() bool { return rdb.Do(t.Context(), "LOCK", "door", "alice", "PX", 60_000, "ONCE").Err() == nil },
		patience, 20*time.Millisecond, "a lock is acknowledged")
}
