package engine

import (
	"log/slog"
	"net"
	"os"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"lockserver/server/raft"
)

// connected are the transports of two members.
func connected(t *testing.T) (a, b *transport) {
	member := func(id string) *transport {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		at := l.Addr().String()
		require.NoError(t, l.Close())
		n := &Network{ID: id, Group: "g", Listen: at, Self: Address(raft.Peer{ID: id, Raft: at, Client: "h:1"}), Log: slog.New(slog.DiscardHandler)}
		n.Identity = newIdentity(t, id, n.Log)
		n.Identity.older = true
		require.NoError(t, n.Identity.logs.StoreLog(&hraft.Log{Index: 1, Term: 1}))
		made, err := n.Transport()
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, closeTransport(made)) })
		return made.(*transport)
	}
	return member("a"), member("b")
}

// ends waits for the error of something that is under way.
func ends(t *testing.T, under <-chan error) error {
	select {
	case err := <-under:
		return err
	case <-time.After(time.Minute):
		require.Fail(t, "it goes on")
		return nil
	}
}

// TestPipelineIsBrokenOff: a leader may hear that another one leads while it is sending entries. Then it
// waits for an answer that is never read, and all that wait for its end wait, too, until its pipelines are
// broken off.
func TestPipelineIsBrokenOff(t *testing.T) {
	a, b := connected(t)
	go func() {
		for q := range b.Consumer() {
			q.Respond(&hraft.AppendEntriesResponse{Term: 7}, nil)
		}
	}()
	w, err := newAckTransport(a, newInterrupts())
	require.NoError(t, err)
	p, err := w.AppendEntriesPipeline("b", b.stream.network.Self)
	require.NoError(t, err)
	sent, stuck := make(chan int, 100), make(chan error, 1)
	go func() {
		for n := 1; ; n++ { // the library does not read any more after the first answer
			if _, err := p.AppendEntries(&hraft.AppendEntriesRequest{Term: 1}, new(hraft.AppendEntriesResponse)); err != nil {
				stuck <- err
				return
			}
			sent <- n
		}
	}()
	require.Equal(t, 1, <-sent)
	require.NoError(t, func() error {
		select {
		case err := <-stuck:
			return err
		case <-time.After(50 * time.Millisecond):
			return nil
		}
	}())
	w.pipelines.breakOff(false)
	require.ErrorIs(t, ends(t, stuck), hraft.ErrPipelineShutdown)
	require.Empty(t, w.pipelines.open)
	require.NoError(t, p.Close())

	again, err := w.AppendEntriesPipeline("b", b.stream.network.Self)
	require.NoError(t, err)
	require.Len(t, w.pipelines.open, 1)
	require.NoError(t, again.Close())
	require.Empty(t, w.pipelines.open)
}

// TestPipelineEndsWithARefusal: a member that could not store what it was sent says no, while more is on its
// way. The library reads no more then, and who sends must not wait for that.
func TestPipelineEndsWithARefusal(t *testing.T) {
	for _, answer := range []hraft.AppendEntriesResponse{{Term: 1}, {Term: 7, Success: true}} {
		a, b := connected(t)
		go func() {
			for q := range b.Consumer() {
				q.Respond(&answer, nil)
			}
		}()
		w, err := newAckTransport(a, newInterrupts())
		require.NoError(t, err)
		p, err := w.AppendEntriesPipeline("b", b.stream.network.Self)
		require.NoError(t, err)
		sending := make(chan error, 1)
		go func() {
			for {
				if _, err := p.AppendEntries(&hraft.AppendEntriesRequest{Term: 1}, new(hraft.AppendEntriesResponse)); err != nil {
					sending <- err
					return
				}
			}
		}()
		first := <-p.Consumer()
		require.Equal(t, answer.Term, first.Response().Term)
		require.Error(t, ends(t, sending))
		require.Empty(t, w.pipelines.open)
		require.NoError(t, p.Close())
	}
}

// TestHangUp: a member that ends does not wait for another that does not answer, and makes no calls any more.
func TestHangUp(t *testing.T) {
	a, b := connected(t)
	asked, under := make(chan struct{}), make(chan error, 1)
	go func() {
		<-b.Consumer() // and no answer
		close(asked)
	}()
	go func() {
		under <- a.AppendEntries("b", b.stream.network.Self, &hraft.AppendEntriesRequest{Term: 1}, new(hraft.AppendEntriesResponse))
	}()
	<-asked
	w, err := newAckTransport(a, newInterrupts())
	require.NoError(t, err)
	w.hangUp()
	err = ends(t, under)
	require.Error(t, err)
	require.NotContains(t, err.Error(), os.ErrDeadlineExceeded.Error(), "it waits until sendTimeout is over")
	_, err = w.AppendEntriesPipeline("b", b.stream.network.Self)
	require.Error(t, err)
	require.Error(t, a.RequestVote("b", b.stream.network.Self, new(hraft.RequestVoteRequest), new(hraft.RequestVoteResponse)))
	require.Empty(t, a.stream.dialed)
}
