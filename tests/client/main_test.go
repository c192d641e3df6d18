package client_test

import (
	"log/slog"
	"os"
	"testing"

	"lockserver/tests/testkit"
)

func TestMain(m *testing.M) {
	testkit.ManyAtOnce()
	slog.SetDefault(slog.New(slog.DiscardHandler)) // tests of what is logged have a logger of their own
	os.Exit(m.Run())
}
