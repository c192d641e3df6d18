package recur

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// withoutFiles names the variable by which TestZonesAreEmbedded knows that it may open no file.
const withoutFiles = "RECUR_WITHOUT_FILES"

// TestZonesAreEmbedded: a process that can open no file still knows the time zones. It cannot read those of
// the machine.
func TestZonesAreEmbedded(t *testing.T) {
	if os.Getenv(withoutFiles) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestZonesAreEmbedded$", "-test.v")
		cmd.Env = append(os.Environ(), withoutFiles+"=yes", "ZONEINFO=", "GOCOVERDIR="+t.TempDir())
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "--- PASS: TestZonesAreEmbedded")
		return
	}
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{}))
	_, err := os.Open(".")
	require.ErrorIs(t, err, syscall.EMFILE)
	for _, zone := range []string{"Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe", "Asia/Kathmandu"} {
		_, err := new(Zones).Cron("30 2 * * *", zone)
		require.NoError(t, err, zone)
	}
	_, err = new(Zones).Cron("30 2 * * *", "Europe/Nowhere")
	require.ErrorIs(t, err, ErrZone)
}
