package readme

import (
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDemo: the demo prints what the pages show, except the measurements.
func TestDemo(t *testing.T) {
	t.Parallel()
	for _, b := range blocksOf(t, "sh demo") {
		require.Equal(t, "go run ./cmd/lockserver demo\n", b.text)
	}
	out, err := exec.Command(binary, "demo").Output()
	require.NoError(t, err, string(out))
	for _, b := range blocksOf(t, "text demo") {
		require.Equal(t, withoutMeasurements(b.text), withoutMeasurements(string(out)), b.where())
	}
}

var (
	// The quarters that are shown depend on the duration, and the bars on the latencies.
	quarter  = regexp.MustCompile(`(?m)^(selling|draining) +\d\d? %.*\n`)
	killed   = regexp.MustCompile(`(?m)^killed .*\n`) // while pieces are sold, or after it
	bars     = regexp.MustCompile(`(?m)^  <= \d+ .*\n`)
	measured = regexp.MustCompile(`[\d,]+ requests in .*|latency, .*|worker-\d.*|shares .* with|, [\d,]+ in the ledger|[\d,]+ were delivered again.*`)
	answers  = regexp.MustCompile(`(?m)^(  \d  .*?) +[\d,]+$`)
)

// withoutMeasurements removes parts that differ between runs and machines.
func withoutMeasurements(text string) string {
	for _, varies := range []*regexp.Regexp{quarter, killed, bars} {
		text = varies.ReplaceAllString(text, "")
	}
	return measured.ReplaceAllString(answers.ReplaceAllString(text, "$1"), "-")
}
