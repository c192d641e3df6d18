package benchkit

import (
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTable(t *testing.T) {
	var out strings.Builder
	r := &Report{W: &out}
	r.Table([]string{"command", "µs"}, [][]string{{"SET", "1.00"}, {"a|b", ""}})
	require.Equal(t, "| command | µs |\n|---|---:|\n| SET | 1.00 |\n| a\\|b |  |\n\n", out.String())
}

func TestTargets(t *testing.T) {
	var out strings.Builder
	r := &Report{W: &out}
	require.Equal(t, "≤ 1.00x pass", r.AtMost("SET", 1, 1, Times))
	require.Zero(t, r.ExitCode(true))
	require.Equal(t, "≤ 0.65x **MISS**", r.AtMost("GET", 0.66, 0.65, Times))
	require.Zero(t, r.ExitCode(false))
	require.Equal(t, 1, r.ExitCode(true))
	require.Equal(t, "≤ 0.65x **MISS**", r.AtMost("INCR", math.NaN(), 0.65, Times), "what was not measured is not met")
	require.Equal(t, "≥ 10.00x pass", r.AtLeast("hand-offs", 10, 10, Times))
	require.Equal(t, "≥ 10.00x **MISS**", r.AtLeast("hand-offs", 9, 10, Times))
	require.Equal(t, "≥ 10.00x **MISS**", r.AtLeast("nothing", math.NaN(), 10, Times))
	r.Summary()
	require.Equal(t, "## Targets\n\n2 of 6 met.\n\nMissed:\n- GET: 0.66x, the target is at most 0.65x\n"+
		"- INCR: ?, the target is at most 0.65x\n- hand-offs: 9.00x, the target is at least 10.00x\n"+
		"- nothing: ?, the target is at least 10.00x\n\n", out.String())
}

func TestFailuresAreReportedAndFail(t *testing.T) {
	var out strings.Builder
	r := &Report{W: &out}
	r.Failed("memory", errors.New("it\n broke"))
	r.Summary()
	require.Equal(t, "Could not run: memory: it broke\n\n## Targets\n\n0 of 0 met.\n\nCould not run:\n- memory: it broke\n\n", out.String())
	require.Equal(t, 1, r.ExitCode(false))
}

func TestFigures(t *testing.T) {
	for want, got := range map[string]string{
		"0": Grouped(0), "999": Grouped(999.4), "1,000": Grouped(999.5), "-12,345": Grouped(-12345), "1,234,567": Grouped(1234567),
		"1.5 MiB": Mebibytes(3 << 19), "0.5 KiB": Kibibytes(512), "12.35 ms": Milliseconds(12.345678), "0.33x": Times(1.0 / 3), "?": Times(math.Inf(1)),
	} {
		require.Equal(t, want, got)
	}
	require.Equal(t, "?", Grouped(math.NaN()))
}

// TestRecord: a record has the text without the parts about the run alone.
func TestRecord(t *testing.T) {
	r := &Report{W: io.Discard}
	r.Preface("Machine: this one")
	r.Text("## Memory\n\nOf keys.")
	r.Table([]string{"server", "MiB"}, [][]string{{"Redis", "180.0"}})
	r.AddPair("memory.bytes", 2, 1)
	r.AddFigure("nothing", math.NaN())
	r.AtMost("memory", 0.5, 1.3, Times)
	r.AtLeast("hand-offs", 9, 10, Times)
	r.Summary()
	require.Equal(t, Record{
		Text:    []string{"## Memory", "", "Of keys.", "", "| server | MiB |", "|---|---:|", "| Redis | 180.0 |"},
		Figures: map[string]float64{"memory.bytes.redis": 2, "memory.bytes.lockserver": 1},
		Checks: []Check{{What: "memory", Got: "0.50x", Target: "at most 1.30x", Met: true},
			{What: "hand-offs", Got: "9.00x", Target: "at least 10.00x"}},
	}, r.Record())
}
