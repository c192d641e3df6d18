package main

import (
	"errors"
	"strings"
	"testing"

	"lockserver/internal/benchkit"

	"github.com/stretchr/testify/require"
)

func TestRowOfTheCPUTable(t *testing.T) {
	var out strings.Builder
	b := &bench{report: &benchkit.Report{W: &out}}
	c := comparison{kase: kase{name: "LOCK", native: true}, rps: benchkit.Rounds{{50000, 40000}, {90000, 90000}}, cpuUS: benchkit.Rounds{{10, 20}, {6, 8}}}
	require.Equal(t, []string{"LOCK", "45,000", "90,000", "2.00x", "15.00", "7.00", "0.47x (0.40-0.60)", "≤ 0.60x pass"}, b.row(c, 1))
	require.Equal(t, "≤ 0.30x **MISS**", b.row(c, 16)[7])
	c.native = false
	require.Equal(t, "≤ 1.00x pass", b.row(c, 1)[7])
	require.Equal(t, "≤ 0.65x pass", b.row(c, 16)[7])
	c.err = errors.New("no XADD")
	require.Equal(t, "could not run", b.row(c, 16)[7])
	require.Equal(t, []string{"LOCK at P=16: no XADD"}, b.report.Failures)
}
