package raft

import (
	"strings"

	"lockserver/internal/resp"
)

// Checksum is a digest of a member's data at an entry of the log. Sums of two versions of the digest cannot
// be compared.
type Checksum struct {
	Index uint64 // 0: there is none
	Sum   string // the version, a hyphen, and the digest in hexadecimal digits: see usersSum
}

// Comparable reports whether two checksums are of one entry and one version.
func (c Checksum) Comparable(with Checksum) bool {
	version, _, _ := strings.Cut(c.Sum, "-")
	other, _, _ := strings.Cut(with.Sum, "-")
	return c.Index == with.Index && c.Index > 0 && version == other
}

// Finding is what comparing checksums has found of a member's data.
type Finding string

// The findings, as they are kept on disk and sent: do not change.
const (
	Unchecked Finding = ""          // too few others have sent theirs
	Same      Finding = "same"      // a majority has the same data
	Differs   Finding = "differs"   // a majority has the same data, and this member has other data
	Undecided Finding = "undecided" // members have different data, and none of it is that of a majority
)

// Verdict is what was found of this member's data at an index.
type Verdict struct {
	Finding Finding
	Index   uint64
}

// Check is the newest checksum of a member's that is known.
type Check struct {
	ID, Incarnation string
	Checksum
	Finding Finding
}

// checkFields is how many fields writeTo writes.
const checkFields = 3

// writeTo writes the fields that RAFT MEMBERS and RAFT CHECK tell.
func (c Check) writeTo(to *resp.Writer) {
	to.BulkString("check-index")
	to.Int(int64(c.Index))
	for _, w := range []string{"check-sum", c.Sum, "data", string(c.Finding)} {
		to.BulkString(w)
	}
}
