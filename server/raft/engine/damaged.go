package engine

import (
	"os"

	"lockserver/server/raft/engine/raftlog"
)

// Damage describes the damaged files of a member.
type Damage = raftlog.Damage

// damaged is the directory with a member's damaged files. nil means that no disk was damaged.
type damaged struct{ path, why string }

// is says what was wrong, until the directory is removed; empty: nothing is.
func (d *damaged) is() string {
	if d == nil {
		return ""
	}
	if _, err := os.Stat(d.path); err != nil {
		return ""
	}
	return d.why
}
