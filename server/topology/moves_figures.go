package topology

import (
	"fmt"
	"time"
)

// Limits of a move of slots. Beyond them it is a fault, which an operator has to look at.
const (
	silentMove = time.Minute
	longFreeze = time.Second
)

// MoveFigures holds figures about the moves of slots of a shard. It has the fields of raft.MovesState.
type MoveFigures struct {
	Away, In                       int
	Sent, Left, FrozenMS, SilentMS int64
	Faults                         []string
}

// MoveFigures returns figures about the moves of the mover.
func (g *Group) MoveFigures(nowMS int64) MoveFigures { return moveFigures(g.Moves(), nowMS) }

// moveFigures returns the figures of moves, which are newest first.
func moveFigures(all []Move, nowMS int64) (is MoveFigures) {
	newest := true
	for i := range all {
		m := &all[i]
		switch over := m.State.Over(); {
		case !m.Away && !over:
			is.In++
		case m.Away:
			if newest {
				is.Sent, is.Left, is.FrozenMS, newest = m.Sent, m.Left, m.FrozenMS, false
			}
			if !over {
				is.Away++
				is.SilentMS = max(0, nowMS-max(m.BegunMS, m.ChangedMS, m.AckedMS))
				is.Faults = append(is.Faults, faultsOf(m, nowMS)...)
			}
		}
	}
	return is
}

// faultsOf returns what is wrong with an open move away from this shard.
func faultsOf(m *Move, nowMS int64) (faults []string) {
	since := func(ms int64) time.Duration {
		return (time.Duration(nowMS-ms) * time.Millisecond).Truncate(time.Second)
	}
	if silent := since(max(m.BegunMS, m.ChangedMS, m.AckedMS)); silent >= silentMove {
		faults = append(faults, fmt.Sprintf("the move %s to the shard %s has not gone on for %v (%v)", m.Name, m.Target, silent, m.State))
	}
	if frozen := since(m.ChangedMS); m.State == Frozen && frozen >= longFreeze {
		faults = append(faults, fmt.Sprintf("commands wait since %v for the move %s to the shard %s", frozen, m.Name, m.Target))
	}
	return faults
}
