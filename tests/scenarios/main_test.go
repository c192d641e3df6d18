//go:build scenarios

package scenarios

import (
	"os"
	"testing"

	"lockserver/tests/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m.Run)) }
