package client_test

import (
	"context"
	"log/slog"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"

	"lockserver/tests/testkit"
)

func TestMain(m *testing.M) {
	testkit.ManyAtOnce()
	redis.SetLogger(quiet{})
	slog.SetDefault(slog.New(slog.DiscardHandler)) // tests of what is logged have a logger of their own
	os.Exit(m.Run())
}

// quiet is a logger of go-redis that logs nothing: it logs each attempt to connect that fails.
type quiet struct{}

// Printf implements the interface of go-redis.
func (quiet) Printf(context.Context, string, ...any) {}
