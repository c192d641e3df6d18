package engine

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"lockserver/persistence"
	"lockserver/server/raft"
)

// Charter tells groups of one name apart; most groups have the default name. It is made of the members that
// formed the group. A member that is added later takes the charter of the first member that calls it, and
// keeps that. So a server that is a member of another group and is added by mistake refuses the other log.
type Charter struct {
	path string // the file that it is kept in

	mu sync.Mutex
	is string // "": not known yet
}

// unknown is how a member that has no charter yet says so.
const unknown = "-"

// errOtherCharter is returned for a member of a group that other members have formed.
var errOtherCharter = errors.New("it is of another group of the same name, which other raft-members have formed. Give groups names of their own " +
	"(raft-group); a server that is to change its group needs an empty directory raft")

// charterOf makes the charter of a group from the members that form it: their ids and addresses.
func charterOf(founders []raft.Peer) string {
	var all []string
	for _, p := range founders {
		all = append(all, p.ID+"="+p.Raft)
	}
	slices.Sort(all)
	sum := sha256.Sum256([]byte(strings.Join(all, " ")))
	return fmt.Sprintf("%x", sum[:12])
}

// openCharter reads a charter, or makes that of founders. There may be no founders.
func openCharter(path string, founders []raft.Peer) (*Charter, error) {
	c := &Charter{path: path}
	found, err := os.ReadFile(path)
	switch {
	case err == nil:
		c.is = strings.TrimSpace(string(found))
		return c, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case len(founders) > 0:
		return c, c.take(charterOf(founders))
	}
	return c, nil
}

// take makes a charter the member's own.
func (c *Charter) take(charter string) error {
	err := persistence.ReplaceFile(c.path, 0o600, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, charter)
		return err
	})
	if err == nil {
		c.is = charter
	}
	return err
}

// said returns what a member sends to others as its charter.
func (c *Charter) said() string {
	if c == nil {
		return unknown
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.is == "" {
		return unknown
	}
	return c.is
}

// meet says what is wrong with another member's charter. A member without a charter takes it over.
func (c *Charter) meet(other string) error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.is == other, c.is == "" && other == unknown:
		return nil
	case c.is == "":
		return c.take(other)
	}
	return errOtherCharter
}
