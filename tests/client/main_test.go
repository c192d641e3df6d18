package client_test

import (
	"os"
	"testing"

	"lockserver/internal/testkit"
)

func TestMain(m *testing.M) {
	testkit.ManyAtOnce()
	os.Exit(m.Run())
}
