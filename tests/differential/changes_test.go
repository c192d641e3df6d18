//go:build oracle

package differential

import (
	"fmt"
	"strconv"

	"github.com/stretchr/testify/require"
)

// changeCount holds rdb_changes_since_last_save of both sides at the last comparison.
type changeCount struct{ ours, redis int }

// oneSided holds the rows with checks that write on one side only.
var oneSided = map[string]bool{"dump": true, "spop": true}

// countChanges asks both sides for the number.
func (p *pair) countChanges() changeCount {
	p.t.Helper()
	of := func(s *side) int {
		n, err := strconv.Atoi(infoFields(s.watch.Do("INFO", "persistence").Str)["rdb_changes_since_last_save"])
		require.NoError(p.t, err)
		return n
	}
	return changeCount{of(&p.ours), of(&p.redis)}
}

// forgetChanges excludes the changes so far from the comparison.
func (p *pair) forgetChanges() {
	p.t.Helper()
	p.counted = p.countChanges()
}

// compareChanges returns the difference in the number of changes since the last comparison, or "".
func (p *pair) compareChanges() string {
	p.t.Helper()
	was := p.counted
	p.counted = p.countChanges()
	if ours, redis := p.counted.ours-was.ours, p.counted.redis-was.redis; ours != redis {
		return fmt.Sprintf("rdb_changes_since_last_save rose by %d, that of Redis by %d", ours, redis)
	}
	return ""
}
