package demo

import (
	"os"
	"testing"

	"lockserver/tests/testkit"
)

func TestMain(m *testing.M) {
	testkit.ManyAtOnce()
	os.Exit(m.Run())
}
