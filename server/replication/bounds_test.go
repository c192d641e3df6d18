package replication

import (
	"bytes"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// These tests bound the costs of replication that do not depend on the machine.

// fakePeer is a replica's connection. It takes what it is sent, unless it is full.
type fakePeer struct {
	of    *Replica
	taken int64
	full  bool
	ended int
}

var (
	_ Peer    = (*fakePeer)(nil)
	_ Carrier = (*fakePeer)(nil)
)

func (p *fakePeer) Follows()            {}
func (p *fakePeer) Wake()               {}
func (p *fakePeer) WakeAtEnd()          {}
func (p *fakePeer) RemoteIP() string    { return "127.0.0.1" }
func (p *fakePeer) Waits() bool         { return false }
func (p *fakePeer) AwaitDrain(int) bool { return true }

// End implements Peer. The connection goes when the unit is over: the test calls Node.Left.
func (p *fakePeer) End() { p.ended++ }

// EndForOutput implements Peer.
func (p *fakePeer) EndForOutput() { p.End() }

// Send implements Carrier.
func (p *fakePeer) Send(b []byte, _ bool) (held bool, err error) {
	p.taken += int64(len(b))
	return false, nil
}

// Unsent implements Carrier.
func (p *fakePeer) Unsent() int {
	if p.full {
		return 1
	}
	return 0
}

// masterOf returns a node with a number of replicas that are online.
func masterOf(t *testing.T, replicas int) (*Node, []*fakePeer) {
	t.Helper()
	n := &Node{}
	n.Init(&fakeHost{}, func() {})
	n.record()
	var peers []*fakePeer
	for range replicas {
		p := &fakePeer{}
		p.of = &Replica{node: n, peer: p, onDisk: -1}
		require.True(t, n.resume(p.of, n.id, 1))
		peers = append(peers, p)
	}
	return n, peers
}

// anEffect returns the effect of a SET.
func anEffect(bytesOfValue int) Effects {
	return Effects{{Args: [][]byte{[]byte("SET"), []byte("key"), bytes.Repeat([]byte("v"), bytesOfValue)}}}
}

// allocated is how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestEffectsAllocateNothing: an effect that goes to three replicas is written once, into memory that is
// already allocated.
func TestEffectsAllocateNothing(t *testing.T) {
	n, peers := masterOf(t, 3)
	unit := anEffect(200)
	effect := func() {
		n.Append(unit)
		n.EndSlice()
		for _, p := range peers {
			require.False(t, p.of.Send(p))
		}
	}
	for range 10_000 { // until the backlog is full
		effect()
	}
	require.Zero(t, testing.AllocsPerRun(10_000, effect))
	for _, p := range peers {
		require.Equal(t, n.Offset(), p.taken)
		require.Zero(t, p.ended)
	}
}

// TestOneStreamForAll: the bytes that slow replicas have not read are in memory once, and are freed with
// the last such replica. A replica that exceeds client-output-buffer-limit is closed.
func TestOneStreamForAll(t *testing.T) {
	const kept, limit = 8 << 20, 12 << 20
	for _, replicas := range []int{1, 5} {
		n, peers := masterOf(t, replicas)
		n.host.Config().ClientOutputBufferLimit.Replica.HardBytes = limit
		for _, p := range peers {
			p.full = true
		}
		unit := anEffect(1000)
		write := func(bytes int64) {
			for end := n.Offset() + bytes; n.Offset() < end; {
				n.Append(unit)
				n.EndSlice()
				for _, p := range peers {
					p.of.Send(p)
					if p.ended > 0 {
						n.Left(p.of)
					}
				}
			}
		}
		write(kept)
		require.InDelta(t, kept, n.Memory(), 3*blockBytes, "%d replicas", replicas)
		require.Len(t, n.replicas, replicas)
		write(limit - kept + judgeBytes + 2000)
		require.Empty(t, n.replicas)
		require.LessOrEqual(t, n.Memory(), int(n.config().BacklogBytes)+3*blockBytes)
		for _, p := range peers {
			require.Equal(t, 1, p.ended)
		}
	}
}

// TestSoftLimit: a replica that is far behind has a number of whole seconds to read, and they begin again
// when it has read.
func TestSoftLimit(t *testing.T) {
	const bytes = 1 << 20
	for _, seconds := range []int64{0, 3} {
		host := &fakeHost{}
		n := &Node{}
		n.Init(host, func() {})
		n.record()
		p := &fakePeer{full: true}
		p.of = &Replica{node: n, peer: p, onDisk: -1}
		require.True(t, n.resume(p.of, n.id, 1))
		limit := &host.Config().ClientOutputBufferLimit.Replica
		limit.HardBytes, limit.SoftBytes, limit.SoftMS = 0, bytes, seconds*1000
		behind := func() {
			n.Append(anEffect(2 * bytes))
			n.EndSlice() // which judges
			n.EndSlice()
			n.judge()
			require.Zero(t, p.ended, "it has just come to that")
		}
		for range 3 {
			behind()
			host.passed += time.Duration(seconds) * time.Second
			n.judge()
			require.Zero(t, p.ended)
			for p.full = false; p.of.behind() > 0; {
				p.of.Send(p)
			}
			n.judge()
			host.passed += time.Minute
			p.full = true
		}
		behind()
		host.passed += time.Duration(seconds) * time.Second
		n.judge()
		require.Zero(t, p.ended)
		host.passed += time.Second
		n.judge()
		require.Equal(t, 1, p.ended)
	}
}

// TestTurnsAreShort: who has much to catch up with lets others have their turn, however fast it reads.
func TestTurnsAreShort(t *testing.T) {
	n, peers := masterOf(t, 1)
	p := peers[0]
	p.full = true
	n.host.Config().ClientOutputBufferLimit.Replica.HardBytes = 0
	for range 10 {
		n.Append(anEffect(1 << 20))
	}
	p.full = false
	turns := 0
	for p.taken < n.Offset() {
		before := p.taken
		p.of.Send(p)
		require.LessOrEqual(t, p.taken-before, int64(mostAtOnce+blockBytes))
		require.Equal(t, p.taken < n.Offset(), p.of.Awake(), "it comes again if there is more")
		turns++
	}
	require.InDelta(t, 11, turns, 1)
}

// TestSnapshotsLeaveNoGarbage: a transfer of any size goes through the same few blocks.
func TestSnapshotsLeaveNoGarbage(t *testing.T) {
	for _, file := range []bool{false, true} {
		n, peers := masterOf(t, 2)
		transfer := n.newTransfer([]*Replica{peers[0].of, peers[1].of}, file, n.Place())
		_, head := transfer.bytes.bounds()
		piece := make([]byte, 256<<10)
		const pieces = 400
		bytes := allocated(func() {
			for range pieces {
				_, err := transfer.Write(piece)
				require.NoError(t, err)
				for _, p := range peers {
					p.of.Send(p)
				}
			}
		})
		require.Less(t, bytes, uint64(2<<20))
		require.EqualValues(t, head+pieces*int64(len(piece)), peers[0].taken)
		require.LessOrEqual(t, transfer.bytes.held(), int(transfer.ahead)+(spareBlocks+1)*blockBytes)
	}
}

// TestOneThatReadsNothing: several replicas share a snapshot as it is made, and one does not read. The
// others wait for it, and the memory of the server is bounded meanwhile. When that replica goes, the others
// get the rest.
func TestOneThatReadsNothing(t *testing.T) {
	n, peers := masterOf(t, 3)
	stuck := peers[0]
	stuck.full = true
	transfer := n.newTransfer([]*Replica{peers[0].of, peers[1].of, peers[2].of}, false, n.Place())
	_, whole := transfer.bytes.bounds()
	const pieces = 100
	piece := make([]byte, 256<<10)
	written := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < pieces && err == nil; i++ {
			_, err = transfer.Write(piece)
		}
		written <- err
	}()
	read := func() bool {
		for _, p := range peers {
			p.of.Send(p)
		}
		behind, _ := transfer.bytes.slowest()
		_, end := transfer.bytes.bounds()
		return behind > mostAhead && peers[1].taken == end && peers[2].taken == end
	}
	require.Eventually(t, read, 30*time.Second, time.Millisecond)
	_, end := transfer.bytes.bounds()
	require.LessOrEqual(t, end, whole+mostAhead+int64(len(piece)))
	require.LessOrEqual(t, transfer.bytes.held(), mostAhead+len(piece)+(spareBlocks+1)*blockBytes)
	require.Empty(t, written)

	n.Left(stuck.of)
	whole += pieces * int64(len(piece))
	require.Eventually(t, func() bool { read(); return peers[1].taken == whole && peers[2].taken == whole }, 30*time.Second, time.Millisecond)
	require.NoError(t, <-written)
}
