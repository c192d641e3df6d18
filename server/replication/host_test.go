package replication

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"lockserver/internal/config"
	"lockserver/persistence/disk"
)

// fakeHost is a server without data.
type fakeHost struct {
	mu      sync.Mutex
	config  *config.Config
	applied int
	has     Features
	passed  time.Duration // of its clock
}

var _ NodeServer = (*fakeHost)(nil)

func (h *fakeHost) Background(func())                {}
func (h *fakeHost) Ending() <-chan struct{}          { return nil }
func (h *fakeHost) NowMS() int64                     { return 1e12 + h.passed.Milliseconds() }
func (h *fakeHost) Log() *slog.Logger                { return slog.New(slog.DiscardHandler) }
func (h *fakeHost) NewID() string                    { return strings.Repeat("a", 40) }
func (h *fakeHost) HandOn()                          {}
func (h *fakeHost) Records(bool)                     {}
func (h *fakeHost) Port(bool) int                    { return 1 }
func (h *fakeHost) Slice(f func())                   { f() }
func (h *fakeHost) EndUnit()                         {}
func (h *fakeHost) Empty() bool                      { return true }
func (h *fakeHost) Has(of Features) Features         { return h.has & of }
func (h *fakeHost) HasLog() bool                     { return false }
func (h *fakeHost) RecursAt(int, []byte) bool        { return false }
func (h *fakeHost) LogEnd() int64                    { return 0 }
func (h *fakeHost) LogSynced(int64) bool             { return true }
func (h *fakeHost) Ends() bool                       { return false }
func (h *fakeHost) HoldWrites(bool)                  {}
func (h *fakeHost) Followed(bool)                    {}
func (h *fakeHost) Replace(Replacement) (int, error) { return 0, nil }

// Scratch implements NodeServer.
func (h *fakeHost) Scratch() (disk.FS, string, bool) {
	return disk.OS{}, filepath.Join(os.TempDir(), h.NewID()), false
}

// Do implements NodeServer.
func (h *fakeHost) Do(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
}

func (h *fakeHost) Config() *config.Config {
	if h.config == nil {
		h.config = config.Default()
	}
	return h.config
}

func (h *fakeHost) Snapshot(Position, bool, bool) Snapshot { return nil }

// Dial implements NodeServer: the other server never answers.
func (h *fakeHost) Dial(ctx context.Context, _ string, _ int) (net.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (h *fakeHost) Apply(int, [][]byte) error {
	h.applied++
	return nil
}
