package main

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTable(t *testing.T) {
	var out strings.Builder
	r := &report{w: &out}
	r.table([]string{"command", "µs"}, [][]string{{"SET", "1.00"}, {"a|b", ""}})
	require.Equal(t, "| command | µs |\n|---|---:|\n| SET | 1.00 |\n| a\\|b |  |\n\n", out.String())
}

func TestTargets(t *testing.T) {
	var out strings.Builder
	r := &report{w: &out}
	require.Equal(t, "≤ 1.00x pass", r.hold("SET", 1, 1, times))
	require.Zero(t, r.exitCode(true))
	require.Equal(t, "≤ 0.65x **MISS**", r.hold("GET", 0.66, 0.65, times))
	require.Zero(t, r.exitCode(false))
	require.Equal(t, 1, r.exitCode(true))
	require.Equal(t, "≤ 0.65x **MISS**", r.hold("INCR", math.NaN(), 0.65, times), "what was not measured is not met")
	r.summary()
	require.Equal(t, "## Targets\n\n1 of 3 met.\n\nMissed:\n- GET: 0.66x, the target is at most 0.65x\n"+
		"- INCR: ?, the target is at most 0.65x\n\n", out.String())
}

func TestFailuresAreReportedAndFail(t *testing.T) {
	var out strings.Builder
	r := &report{w: &out}
	r.failed("memory", errors.New("it\n broke"))
	r.summary()
	require.Equal(t, "Could not run: memory: it broke\n\n## Targets\n\n0 of 0 met.\n\nCould not run:\n- memory: it broke\n\n", out.String())
	require.Equal(t, 1, r.exitCode(false))
}

func TestFigures(t *testing.T) {
	for want, got := range map[string]string{
		"0": grouped(0), "999": grouped(999.4), "1,000": grouped(999.5), "-12,345": grouped(-12345), "1,234,567": grouped(1234567),
		"1.5 MiB": mebibytes(3 << 19), "0.5 KiB": kibibytes(512), "12.35 ms": milliseconds(12.345678), "0.33x": times(1.0 / 3), "?": times(math.Inf(1)),
	} {
		require.Equal(t, want, got)
	}
	require.Equal(t, "?", grouped(math.NaN()))
}

func TestRowOfTheCPUTable(t *testing.T) {
	var out strings.Builder
	b := &bench{report: &report{w: &out}}
	c := comparison{kase: kase{name: "LOCK", native: true}, rps: rounds{{50000, 40000}, {90000, 90000}}, cpuUS: rounds{{10, 20}, {6, 8}}}
	require.Equal(t, []string{"LOCK", "45,000", "90,000", "2.00x", "15.00", "7.00", "0.47x (0.40-0.60)", "≤ 0.60x pass"}, b.row(c, 1))
	require.Equal(t, "≤ 0.30x **MISS**", b.row(c, 16)[7])
	c.native = false
	require.Equal(t, "≤ 1.00x pass", b.row(c, 1)[7])
	require.Equal(t, "≤ 0.65x pass", b.row(c, 16)[7])
	c.err = errors.New("no XADD")
	require.Equal(t, "could not run", b.row(c, 16)[7])
	require.Equal(t, []string{"LOCK at P=16: no XADD"}, b.report.failures)
}
