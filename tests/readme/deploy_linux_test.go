package readme

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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
	for name := range file.Services {
		file.launch(t, s, name, s.address(name), s.machines[name].root, places)
	}
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{s.address("a")}, Password: "a-long-secret", ClusterStateReloadInterval: time.Second})
	t.Cleanup(func() { _ = rdb.Close() })
	require.Eventually(t, func() bool { return rdb.Do(t.Context(), "LOCK", "door", "alice", "PX", 60_000, "ONCE").Err() == nil },
		patience, 20*time.Millisecond, "a lock is acknowledged")
}

// launch starts the command of a service like the image does. places are texts of the file, each with what
// stands for it here. at is the address of the service for clients.
func (file *composed) launch(t *testing.T, s *site, name, at, dir string, places []string) {
	t.Helper()
	service := file.Services[name]
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
	host, _, _ := strings.Cut(at, ":")
	conf, err := filepath.Abs(filepath.Join(root, "packaging", "image.conf"))
	require.NoError(t, err)
	p := testkit.Prepare(t, testkit.Command{Program: binary,
		Args: append([]string{conf, "--bind", host, "--port", fmt.Sprint(s.port), "--dir", dir}, args...)})
	require.NoError(t, p.Launch())
}

// TestClusterCompose starts the commands of packaging/compose-cluster.yaml in the same way. Nine members form
// a cluster of three groups, which has each slot once. A client takes locks of all shards.
func TestClusterCompose(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "packaging", "compose-cluster.yaml"))
	require.NoError(t, err)
	var file composed
	require.NoError(t, yaml.Unmarshal(text, &file))
	require.Len(t, file.Services, 9)
	password := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(password, []byte("a-long-secret\n"), 0o600))
	s := newSite(t)
	places, at := []string{"/run/secrets/password", password}, make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(file.Services)) {
		host := fmt.Sprintf("%s%d", s.network, 11+len(at))
		at[name] = fmt.Sprintf("%s:%d", host, s.port)
		places = append(places, name+":6379", at[name], name+":7000", fmt.Sprintf("%s:%d", host, s.raftPort))
	}
	for name := range file.Services {
		file.launch(t, s, name, at[name], t.TempDir(), places)
	}
	status := func() (string, error) {
		out, err := exec.Command(binary, "status", "--cluster", "--addr", at["s2b"], "--pass-file", password).CombinedOutput()
		return string(out), err
	}
	require.Eventually(t, func() bool { _, err := status(); return err == nil }, patience, 100*time.Millisecond, "each slot is served once")
	out, err := status()
	require.NoError(t, err, out)
	require.Contains(t, out, "cluster shop, 3 shards")
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{at["s3c"]}, Password: "a-long-secret", ClusterStateReloadInterval: time.Second})
	t.Cleanup(func() { _ = rdb.Close() })
	for i := range 20 {
		require.Eventually(t, func() bool {
			return rdb.Do(t.Context(), "LOCK", fmt.Sprint("door", i), "alice", "PX", 60_000, "ONCE").Err() == nil
		},
			patience, 20*time.Millisecond, "a lock is acknowledged")
	}
}
