package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

// PrintLocks lists the held locks: as a table, or as an object of JSON on each line. Both are written piece
// by piece, so that a million locks take no memory.
func (s *Server) PrintLocks(ctx context.Context, w io.Writer, by Filter, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(w)
		return s.EachLock(ctx, by, func(l Lock) error {
			return e.Encode(listed{l.Key, l.Shard, l.Owner, l.Holds, l.Token, l.TTLMS, l.Latch})
		})
	}
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	n, shards := int64(0), len(s.conn.Parts()) > 1
	err := s.EachLock(ctx, by, func(l Lock) error {
		if n == 0 {
			if shards {
				fmt.Fprint(table, "SHARD\t")
			}
			fmt.Fprintln(table, "KEY\tOWNER\tHOLDS\tTOKEN\tLEASE")
		}
		if shards {
			fmt.Fprintf(table, "%d\t", l.Shard)
		}
		left := "without end"
		if l.TTLMS >= 0 {
			left = millis(l.TTLMS)
		}
		if n++; n%piece == 0 {
			if err := table.Flush(); err != nil {
				return err
			}
		}
		_, err := fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%s\n", printable(l.Key), l.heldBy(), l.Holds, l.Token, left)
		return err
	})
	if err != nil {
		return err
	}
	if n == 0 {
		fmt.Fprintln(table, "no lock is held")
	}
	return table.Flush()
}

// heldBy returns the text for the owner of a lock in a list.
func (l *Lock) heldBy() string {
	if l.Latch {
		return "(latch)"
	}
	return printable(l.Owner)
}

// listed is a lock in the form of the list.
type listed struct {
	Key   string `json:"key"`
	Shard int    `json:"shard,omitempty"`
	Owner string `json:"owner"`
	Holds int64  `json:"holds"`
	Token int64  `json:"token"`
	TTLMS int64  `json:"ttl_ms"` // -1: no end
	Latch bool   `json:"latch,omitempty"`
}
