package engine

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	hraft "github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

// fullStores are stores that take nothing while they are full.
type fullStores struct {
	*hraft.InmemStore
	full atomic.Bool
}

var errNoSpace = errors.New("no space left on device")

func (s *fullStores) SetUint64(key []byte, val uint64) error {
	if s.full.Load() {
		return errNoSpace
	}
	return s.InmemStore.SetUint64(key, val)
}

func (s *fullStores) Set(key, val []byte) error {
	if s.full.Load() {
		return errNoSpace
	}
	return s.InmemStore.Set(key, val)
}

func (s *fullStores) StoreLogs(all []*hraft.Log) error {
	if s.full.Load() {
		return errNoSpace
	}
	return s.InmemStore.StoreLogs(all)
}

// TestFullDisk: a member with a full disk waits until there is space, and logs it; the process lives.
func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, closed := &locked{}, make(chan struct{})
		store := &fullStores{InmemStore: hraft.NewInmemStore()}
		p := &retrying{store, slog.New(slog.NewTextHandler(log, nil)), closed, nil}
		require.NoError(t, p.SetUint64([]byte("term"), 4))
		store.full.Store(true)
		require.NoError(t, p.SetUint64([]byte("term"), 4), "it is so already")
		time.AfterFunc(5*time.Second, func() { store.full.Store(false) })
		begun := time.Now()
		require.NoError(t, p.SetUint64([]byte("term"), 5))
		require.GreaterOrEqual(t, time.Since(begun), 5*time.Second)
		is, err := store.GetUint64([]byte("term"))
		require.NoError(t, err)
		require.EqualValues(t, 5, is)
		require.Contains(t, log.String(), "Free space on the disk")
		require.Contains(t, log.String(), "can write to its directory again")

		store.full.Store(true)
		went := false
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = p.Set([]byte("vote"), []byte("a"))
			went = true
		}()
		time.Sleep(time.Minute)
		close(closed)
		<-ended
		require.False(t, went, "what it could not remember it does not go on from")

		l := &reportingLog{LogStore: store, log: p.log}
		require.ErrorIs(t, l.StoreLog(&hraft.Log{Index: 1}), errNoSpace)
		require.Contains(t, log.String(), "acknowledges nothing")
		store.full.Store(false)
		require.NoError(t, l.StoreLog(&hraft.Log{Index: 1}))
		require.Contains(t, log.String(), "can write to its log again")
	})
}
