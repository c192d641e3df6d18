package stats

import (
	"fmt"
	"strings"

	"lockserver/commands"
	"lockserver/server/info"
)

// The sections of INFO about calls of commands, errors, and times.

// eachCommand calls fn for each command that was called, or refused.
func (b *Book) eachCommand(table *commands.Table, fn func(row *commands.Row, of *Command)) {
	for _, row := range table.Rows() {
		for _, one := range append([]*commands.Row{row}, row.Subcommands()...) {
			if of := b.Of(one); of.Calls+of.Rejected > 0 {
				fn(one, of)
			}
		}
	}
}

// InfoCommands writes the section about calls.
func (b *Book) InfoCommands(t *info.Text, table *commands.Table) {
	b.eachCommand(table, func(row *commands.Row, of *Command) {
		us := of.US()
		t.Line("cmdstat_"+row.FullName(), fmt.Sprintf("calls=%d,usec=%d,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d",
			of.Calls, us, float64(us)/float64(max(of.Calls, 1)), of.Rejected, of.Failed))
	})
}

// InfoErrors writes the section about errors.
func (b *Book) InfoErrors(t *info.Text) {
	for _, code := range b.Errors.Codes() {
		t.Line("errorstat_"+code, fmt.Sprintf("count=%d", b.Errors.Of(code)))
	}
}

// Percentile is a percentile that INFO shows.
type Percentile struct {
	Of   float64
	Text string // in the form of INFO
}

// InfoLatencies writes the section about times.
func (b *Book) InfoLatencies(t *info.Text, table *commands.Table) {
	b.eachCommand(table, func(row *commands.Row, of *Command) {
		if times := of.Times(); times != nil && b.Tracking {
			var shown []string
			for _, p := range b.Percentiles {
				shown = append(shown, fmt.Sprintf("p%s=%.3f", p.Text, times.Percentile(p.Of)))
			}
			t.Line("latency_percentiles_usec_"+row.FullName(), strings.Join(shown, ","))
		}
	})
}
