//go:build oracle

package server

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/testkit"
)

var updateFlag = flag.Bool("update", false, "write the replies of Redis into testdata")

// TestAdmissionOfRedis plays the table of admission_test.go on a Redis.
func TestAdmissionOfRedis(t *testing.T) {
	redis := testkit.StartRedis(t, "--save", "3600 100000")
	at := &admissionSite{t: t, dial: redis.Dial, dir: redis.Dir}
	got := at.play()
	if *updateFlag {
		require.NoError(t, os.WriteFile("testdata/admission.golden", []byte(encodeAdmission(got)), 0o644))
		return
	}
	compareAdmission(t, got)
}
