package replication

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/tests/testkit"
)

// lines is a log that is read while it is written.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

// Write implements io.Writer.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(b)
}

// have reports whether a text is in the log, and then clears the log.
func (l *lines) have(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !bytes.Contains(l.all.Bytes(), []byte(text)) {
		return false
	}
	l.all.Reset()
	return true
}

// transferOf returns the data that a master sends to a replica without data: the reply to PSYNC, up to the
// end of the snapshot.
func transferOf(t *testing.T, master *node) (head string, snapshot []byte) {
	t.Helper()
	conn, err := net.Dial("tcp", master.addr)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, err = conn.Write([]byte("PSYNC ? -1\r\n"))
	require.NoError(t, err)
	in := bufio.NewReader(conn)
	head, err = in.ReadString('\n')
	require.NoError(t, err)
	line := "\n"
	for line == "\n" {
		line, err = in.ReadString('\n')
		require.NoError(t, err)
	}
	size, err := strconv.Atoi(strings.TrimSpace(line[1:]))
	require.NoError(t, err, line)
	snapshot = make([]byte, size)
	_, err = io.ReadFull(in, snapshot)
	require.NoError(t, err)
	return head + line, snapshot
}

// TestDamagedSnapshots: wherever the snapshot is damaged on its way, the replica reports it, and its link is
// down. Its old data is gone, as in Redis, or complete if the snapshot was loaded aside. It has no data of
// the damaged snapshot, and restarts with the same data.
func TestDamagedSnapshots(t *testing.T) {
	t.Parallel()
	step := testkit.Steps(29, 7)
	master := start(t, server.Options{EventLoops: true})
	values(master)
	master.do("DEL long")
	head, whole := transferOf(t, master)
	for name, o := range map[string]server.Options{"by a file": {EventLoops: true}, "with a log": {Dir: t.TempDir(), AppendOnly: true},
		"at once":          {EventLoops: true, Directives: map[string]string{"repl-diskless-load": "on-empty-db"}},
		"aside":            {EventLoops: true, Directives: map[string]string{"repl-diskless-load": "swapdb"}},
		"aside with a log": {Dir: t.TempDir(), AppendOnly: true, Directives: map[string]string{"repl-diskless-load": "swapdb"}}} {
		t.Run(name, func(t *testing.T) {
			var log lines
			o.Log = slog.New(slog.NewTextHandler(&log, nil))
			replica := start(t, o)
			next := make(chan []byte, 1) // each snapshot is sent once: further attempts of the replica get nothing
			addr := liar(t, func(conn net.Conn) {
				select {
				case damaged := <-next:
					_, _ = conn.Write(append([]byte(head), damaged...))
				default:
				}
				_ = conn.(*net.TCPConn).CloseWrite()
			})
			stays := strings.HasPrefix(name, "aside")
			require.Equal(t, "+OK", replica.do("SET mine 1"))
			before := replica.do("DEBUG DIGEST")
			for at := 0; at < len(whole); at += step {
				if string(whole[:5]) == "REDIS" && at >= 5 && at < 9 {
					continue // before version 5 there was no checksum
				}
				damaged := bytes.Clone(whole)
				damaged[at] ^= 1 << (at % 8)
				next <- damaged
				replica.follow(addr)
				eventually(t, fmt.Sprintf("byte %d is found to be wrong", at), func() bool { return log.have("the master's snapshot: ") })
				require.Equal(t, "down", replica.info("master_link_status"))
				require.Equal(t, "+OK", replica.do("REPLICAOF NO ONE"))
				if stays {
					require.Equal(t, before, replica.do("DEBUG DIGEST"))
				} else {
					require.Equal(t, "0", replica.do("DBSIZE"))
				}
			}
			replica.follow(master.addr)
			inStep(t, master, replica)
		})
	}
}

// TestLinkInPieces: data that comes byte by byte, or a few bytes at a time, has the same effect.
func TestLinkInPieces(t *testing.T) {
	t.Parallel()
	for _, piece := range []int64{1, 7, 1000} {
		t.Run(fmt.Sprint(piece), func(t *testing.T) {
			master, replica := start(t, server.Options{EventLoops: true}), start(t, server.Options{EventLoops: piece == 1})
			values(master)
			master.do("DEL long")
			p := between(t, master.addr)
			p.piece.Store(piece)
			replica.follow(p.addr())
			inStep(t, master, replica)
			values(master)
			master.do("DEL long")
			master.do("MULTI")
			master.do("INCR a")
			master.do("RPUSH b 1 2 3")
			master.do("EXEC")
			require.Equal(t, "1", master.do("WAIT 1 50000"))
			inStep(t, master, replica)
			require.Equal(t, int64(1), master.number("sync_full"))
		})
	}
}
