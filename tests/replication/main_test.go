package replication

import (
	"os"
	"testing"

	"lockserver/tests/testkit"
)

func TestMain(m *testing.M) {
	testkit.ManyAtOnce()
	os.Exit(testkit.Main(m.Run))
}
