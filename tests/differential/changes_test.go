//go:build oracle

package differential

import (
	"fmt"
	"strconv"

	"github.com/stretchr/testify/require"
)

// changeCount is what rdb_changes_since_last_save was on both sides when it was last compared.
type changeCount struct{ ours, redis int }

// oneSided are the rows with checks that write on one side only.
var oneSided = map[string]bool{"dump": true, "spop": true}

// countChanges asks both sides for the figure.
func (p *pair) countChanges() changeCount {
	p.t.Helper()
	of := func(s *side) int {
		n, err := strconv.Atoi(infoFields(s.watch.Do("INFO", "persistence").Str)["rdb_changes_since_last_save"])
		require.NoError(p.t, err)
		return n
	}
	return changeCount{of(&p.ours), of(&p.redis)}
}

// forgetChanges makes that what has changed so far is not compared.
func (p *pair) forgetChanges() {
	p.t.Helper()
	p.counted = p.countChanges()
}

// compareChanges says what is wrong with the number of changes since the last time; "": nothing.
func (p *pair) compareChanges() string {
	p.t.Helper()
	was := p.counted
	p.counted = p.countChanges()
	if ours, redis := p.counted.ours-was.ours, p.counted.redis-was.redis; ours != redis {
		return fmt.Sprintf("rdb_changes_since_last_save rose by %d, that of Redis by %d", ours, redis)
	}
	return ""
}
