package raft

import (
	"strings"

	"lockserver/internal/resp"
)

// Checksum is a digest of a member's data at an entry of the log. Digests of different versions cannot be
// compared.
type Checksum struct {
	Index uint64 // 0: there is none
	Sum   string // the version, a hyphen, and the digest in hexadecimal digits: see usersSum
}

// Comparable reports whether two checksums belong to the same entry and version.
func (c Checksum) Comparable(with Checksum) bool {
	version, _, _ := strings.Cut(c.Sum, "-")
	other, _, _ := strings.Cut(with.Sum, "-")
	return c.Index == with.Index && c.Index > 0 && version == other
}

// Finding is the result of comparing the checksums of members, for one member.
type Finding string

// The findings are kept on disk and sent as these texts: do not change.
const (
	Unchecked Finding = ""          // too few others have sent theirs
	Same      Finding = "same"      // a majority has the same data
	Differs   Finding = "differs"   // a majority has the same data, and this member has other data
	Undecided Finding = "undecided" // members have different data, and none of it is that of a majority
)

// Verdict is the finding about this member's data at an index.
type Verdict struct {
	Finding Finding
	Index   uint64
}

// Check is the newest known checksum of a member, and the finding about it.
type Check struct {
	ID, Incarnation string
	Checksum
	Finding Finding
}

// checkFields is the number of fields that writeTo writes.
const checkFields = 3

// writeTo writes the fields for RAFT MEMBERS and RAFT CHECK.
func (c Check) writeTo(to *resp.Writer) {
	to.BulkString("check-index")
	to.Int(int64(c.Index))
	for _, w := range []string{"check-sum", c.Sum, "data", string(c.Finding)} {
		to.BulkString(w)
	}
}
