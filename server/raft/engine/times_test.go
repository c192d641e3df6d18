package engine

import (
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

// TestSeries: what is recent is that of the last minute or two.
func TestSeries(t *testing.T) {
	var s series
	at := time.Unix(1000, 0)
	s.add(10*time.Millisecond, at)
	s.add(20*time.Millisecond, at.Add(59*time.Second))
	is := s.read(at.Add(60 * time.Second))
	require.EqualValues(t, 2, is.All.Count)
	require.EqualValues(t, 2, is.Recent.Count)
	require.EqualValues(t, 20_000, is.Recent.MaxUS)
	s.add(time.Millisecond, at.Add(61*time.Second))
	require.EqualValues(t, 3, s.read(at.Add(119*time.Second)).Recent.Count)
	is = s.read(at.Add(121 * time.Second))
	require.EqualValues(t, 1, is.Recent.Count)
	require.EqualValues(t, 1000, is.Recent.MaxUS)
	require.EqualValues(t, 3, is.All.Count)
	require.Zero(t, s.read(at.Add(time.Hour)).Recent.Count)
}

// slowPeer is a transport to a member that answers late.
type slowPeer struct {
	hraft.Transport
	hraft.WithPreVote
	late time.Duration
}

func (p slowPeer) AppendEntries(_ hraft.ServerID, _ hraft.ServerAddress, q *hraft.AppendEntriesRequest, a *hraft.AppendEntriesResponse) error {
	time.Sleep(p.late)
	a.Term, a.Success = q.Term, true
	return nil
}

// TestRoundTrips: the round trip to a member is that of heartbeats, which wait for no disk.
func TestRoundTrips(t *testing.T) {
	const late = 20 * time.Millisecond
	w, err := newAckTransport(slowPeer{late: late}, newInterrupts())
	require.NoError(t, err)
	w.times = new(times)
	heartbeat := &hraft.AppendEntriesRequest{RPCHeader: hraft.RPCHeader{ProtocolVersion: hraft.ProtocolVersionMax}, Term: 1}
	require.True(t, isHeartbeat(heartbeat))
	entries := &hraft.AppendEntriesRequest{RPCHeader: heartbeat.RPCHeader, Term: 1, PrevLogEntry: 3, PrevLogTerm: 1, LeaderCommitIndex: 3}
	for _, q := range []*hraft.AppendEntriesRequest{heartbeat, entries, heartbeat} {
		require.NoError(t, w.AppendEntries("b", "b:1", q, &hraft.AppendEntriesResponse{}))
	}
	is := w.times.trips["b"].read(time.Now())
	require.EqualValues(t, 2, is.All.Count)
	require.GreaterOrEqual(t, is.All.SumUS, 2*late.Microseconds())
}
