package costbench

import (
	"context"
	"fmt"
	"slices"

	"lockserver/tests/bench/benchkit"
)

// rightsTarget is the largest cost of a user with ten patterns of keys, as a multiple of that of the user
// default.
const rightsTarget = 1.15

// rightsOf returns the users that are measured besides the user default, which needs no checks.
func rightsOf() []measuredUser {
	ten := []string{"ten", "on", "nopass"}
	for i := range 9 {
		ten = append(ten, fmt.Sprintf("~other%d:*", i))
	}
	ten = append(ten, "~key:*", "+@all", "-@admin", "-@dangerous", "-sort", "+flushall")
	return []measuredUser{
		{"all keys and commands", []string{"all", "on", "nopass", "~*", "+@all"}, 0},
		{"ten patterns of keys", ten, rightsTarget},
	}
}

type measuredUser struct {
	what   string
	line   []string // a line of the directive user
	target float64  // 0 means no target
}

// rights measures the cost of checking a user's rights: lockserver compared with itself.
func (b *bench) rights(ctx context.Context) {
	b.Report.Text(fmt.Sprintf("## What rights cost\n\nCPU per request of lockserver for a user, as a multiple of that for the user default, who may do everything; P=16, "+
		"%d clients, medians of %d round(s).", clients, b.Rounds))
	var rows [][]string
	for _, u := range rightsOf() {
		own := *b
		own.pair[0] = b.pair[1]
		own.pair[1].Args = slices.Concat(b.pair[1].Args, []string{"--user"}, u.line)
		own.pair[1].user = u.line[0]
		for _, c := range cases() {
			if c.name == "SET" || c.name == "GET" || c.name == "LOCK" {
				rows = append(rows, b.rightsRow(u, own.compare(ctx, c, b.sizes.pipelined, 16)))
			}
		}
	}
	b.Report.Table([]string{"user", "command", "default, CPU µs", "user, CPU µs", "ratio", "target"}, rows)
}

func (b *bench) rightsRow(u measuredUser, c comparison) []string {
	what := fmt.Sprintf("%s by a user with %s", c.name, u.what)
	if c.err != nil {
		b.Report.Failures = append(b.Report.Failures, benchkit.OneLine(what+": "+c.err.Error()))
		return []string{u.what, c.name, "", "", "", "could not run"}
	}
	before, after := c.cpuUS.Medians()
	low, high := c.cpuUS.Spread()
	mark := ""
	if u.target != 0 {
		mark = b.Report.AtMost("CPU of "+what, c.cpuUS.Ratio(), u.target, benchkit.Times)
	}
	return []string{u.what, c.name, benchkit.Fixed(before, 2), benchkit.Fixed(after, 2),
		fmt.Sprintf("%s (%s-%s)", benchkit.Times(c.cpuUS.Ratio()), benchkit.Fixed(low, 2), benchkit.Fixed(high, 2)), mark}
}
