package engine

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server/raft"
)

// TestBehind: it is known for how long the first missing entry has been committed. That is so as far back as
// the samples go, also when there are more of them than are kept.
func TestBehind(t *testing.T) {
	var y surveying
	begun := time.UnixMilli(1_000_000)
	for i := range 4 * mostSamples {
		y.sampleCommit(begun.Add(time.Duration(i)*time.Second), uint64(10*i))
		y.sampleCommit(begun.Add(time.Duration(i)*time.Second+time.Millisecond), uint64(10*i)) // nothing new
	}
	require.LessOrEqual(t, len(y.samples), mostSamples)
	now := begun.Add(4 * mostSamples * time.Second)
	last := uint64(10 * (4*mostSamples - 1))
	require.Zero(t, y.behindMS(now, last))
	require.EqualValues(t, 1000, y.behindMS(now, last-1))
	require.EqualValues(t, 2000, y.behindMS(now, last-11))
	old := y.behindMS(now, 1)
	require.Greater(t, old, int64(4*mostSamples*1000/2), "the oldest stay")
}

// TestReportIsSent: a report arrives as it was.
func TestReportIsSent(t *testing.T) {
	is := raft.Report{Role: "follower", SinceMS: 1, StartedMS: 2, NowMS: 3, Last: 4, Commit: 5, Applied: 1 << 63, ContactMS: -1, DiskFree: -1, DiskSize: 9, Addresses: []string{"a=h:1", "b=[::1]:2"},
		Snapshot: raft.SnapshotAttempt{AtMS: 6, Bytes: 7, Index: 8, Error: "no space & more"}}
	v := url.Values{}
	encodeReport(v, &is)
	v, err := url.ParseQuery(v.Encode())
	require.NoError(t, err)
	got, ok := decodeReport(v)
	require.True(t, ok)
	require.Equal(t, is, got)
	_, ok = decodeReport(url.Values{})
	require.False(t, ok)
}

// TestOlderVersionIsAskedAgain: a version that knows no reports refuses the word, and is asked without it.
func TestOlderVersionIsAskedAgain(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			said, _ := bufio.NewReader(c).ReadString('\n')
			if len(strings.Fields(said)) > 6 {
				_, _ = fmt.Fprintf(c, "-a question is '%s', a group, the caller's id, and the called address\n", question)
			} else {
				_, _ = fmt.Fprintf(c, "+id=b&incarnation=x&version=0.0.9\n")
			}
			_ = c.Close()
		}
	}()
	h, err := (&Network{ID: "a", Group: "g"}).Hello(context.Background(), l.Addr().String())
	require.NoError(t, err)
	require.Equal(t, "b", h.ID)
	require.False(t, h.Reported)
}
