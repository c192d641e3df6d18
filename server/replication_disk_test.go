package server

import (
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/persistence/disk"
	"lockserver/tests/testkit"
)

// errFull is the error of a full disk.
var errFull = errors.New("no space left on device")

// fullDisk is a disk that, when it is full, has space for only some bytes of snapshots on their way between
// servers.
type fullDisk struct {
	disk.OS
	full  atomic.Bool
	space int64
	seen  atomic.Int64 // how many such files there were
}

// Create implements disk.FS.
func (d *fullDisk) Create(path string) (disk.File, error) {
	f, err := d.OS.Create(path)
	if err != nil || !strings.Contains(path, "temp-sync-") {
		return f, err
	}
	d.seen.Add(1)
	return &fullFile{File: f, disk: d, left: d.space}, nil
}

type fullFile struct {
	disk.File
	disk *fullDisk
	left int64
}

// Write implements disk.File.
func (f *fullFile) Write(b []byte) (int, error) {
	if !f.disk.full.Load() {
		return f.File.Write(b)
	}
	n, err := f.File.Write(b[:min(int64(len(b)), f.left)])
	if f.left -= int64(n); err == nil && n < len(b) {
		err = errFull
	}
	return n, err
}

// logLines is a log that is read while it is written.
type logLines struct {
	mu  sync.Mutex
	all strings.Builder
}

// Write implements io.Writer.
func (l *logLines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(b)
}

func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// TestFullDiskInASynchronization: of the master that sends its snapshot by way of a file, and of the replica
// that takes it so. The server with the full disk logs it; the link is down, what the replica had stays, and
// when there is space again the link comes up by itself. Nothing is left on either disk.
func TestFullDiskInASynchronization(t *testing.T) {
	t.Parallel()
	for _, of := range []string{"master", "replica"} {
		for _, space := range []int64{0, 1, 100, 5000} {
			t.Run(of, func(t *testing.T) {
				disks := map[string]*fullDisk{"master": {space: space}, "replica": {space: space}}
				logs, clients, dirs := map[string]*logLines{}, map[string]*testkit.Client{}, map[string]string{}
				addr := ""
				for _, name := range []string{"master", "replica"} {
					logs[name], dirs[name] = &logLines{}, t.TempDir()
					srv, err := newOn(disks[name], Options{Addr: "127.0.0.1:0", EventLoops: name == of, Dir: dirs[name], Log: slog.New(slog.NewTextHandler(logs[name], nil)),
						Directives: map[string]string{"repl-diskless-sync": "no", "repl-diskless-sync-delay": "0", "enable-debug-command": "yes"}})
					require.NoError(t, err)
					require.NoError(t, srv.Start())
					t.Cleanup(func() { _ = srv.Close() })
					clients[name] = client(t, srv)
					if name == "master" {
						addr = srv.Addr().String()
					}
				}
				master, replica := clients["master"], clients["replica"]
				master.Do("DEBUG", "POPULATE", "1000")
				replica.Do("SET", "mine", "1")
				disks[of].full.Store(true)
				host, port, _ := strings.Cut(addr, ":")
				replica.Do("REPLICAOF", host, port)
				require.Eventually(t, func() bool { return strings.Count(logs[of].String(), errFull.Error()) > 0 && disks[of].seen.Load() > 1 },
					time.Minute, time.Millisecond)
				require.Contains(t, replica.Do("INFO", "replication").Str, "master_link_status:down")
				require.Equal(t, `"1"`, replica.Do("GET", "mine").String())
				disks[of].full.Store(false)
				require.Eventually(t, func() bool {
					return strings.Contains(replica.Do("INFO", "replication").Str, "master_link_status:up") &&
						replica.Do("DEBUG", "DIGEST").String() == master.Do("DEBUG", "DIGEST").String()
				}, time.Minute, time.Millisecond)
				for _, dir := range dirs {
					files, err := os.ReadDir(dir)
					require.NoError(t, err)
					for _, f := range files {
						require.NotContains(t, f.Name(), "temp-sync-")
					}
				}
			})
		}
	}
}
