package raft

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The users of a group are in its log. An entry has all users, as lines of an ACL file have them: passwords
// are there as hashes alone. It changes nothing of the history. Each member, the leader too, makes the users
// its own when the entry is committed. So nothing has to be undone when a leader is deposed.
//
// Changes are counted. An entry names the count that it goes on from, and is void if another change was
// committed before: the leader makes a new one then. It is an entry of version 1 that goes on from a history
// that cannot exist, so that it is void for a lockserver that knows no such entries. Its format, do not
// change: the name of that history is usersID, offset is the count, id is empty, the bytes are the lines.
const usersID = "users"

// linesOf returns the lines of a text, without their ends.
func linesOf(text string) (lines []string) {
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	return lines
}

// historyUsers is the form of the history with such entries.
const historyUsers = 2

// groupUsers are the users of a group. The zero value belongs to a group that has not changed any users.
// The users of each member are those of its configuration then.
type groupUsers struct {
	changes int64
	lines   []string // each as Lines of package acl has it
}

// usersText returns the form of the users in snapshots and in the stable store, do not change: the number
// of changes and the lines, each with a line end. For the zero value it is empty.
func (u *groupUsers) usersText() string {
	if u.changes == 0 {
		return ""
	}
	return strings.Join(append([]string{strconv.FormatInt(u.changes, 10)}, u.lines...), "\n") + "\n"
}

// parseUsers reads the result of usersText.
func parseUsers(text string) (u groupUsers, err error) {
	if text == "" {
		return u, nil
	}
	number, rest, _ := strings.Cut(text, "\n")
	u.changes, err = strconv.ParseInt(number, 10, 64)
	if err != nil || u.changes <= 0 || !strings.HasSuffix(text, "\n") {
		return groupUsers{}, errors.New("the users of the group are damaged")
	}
	u.lines = linesOf(rest)
	return u, nil
}

// usersSum returns what a checksum has of the users: a part of its version, and hexadecimal digits behind the
// digest of the data. Both are empty for the zero value. The version has the number of changes, because a
// member of an older version may have missed some, and hears of them later.
func (u *groupUsers) usersSum() (version, sum string) {
	if u.changes == 0 {
		return "", ""
	}
	of := sha256.Sum256([]byte(u.usersText()))
	return fmt.Sprint("u", u.changes), hex.EncodeToString(of[:8])
}
