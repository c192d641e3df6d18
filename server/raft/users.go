package raft

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"lockserver/commands"
)

// usersSum returns groupUsers.usersSum for the users of the newest applied entry. The digits differ if this
// member uses other users, so that a check finds it as a member with other data.
func (m *Member) usersSum() (version, sum string) {
	version, sum = m.users.usersSum()
	if sum == "" || m.options.OwnUsers || m.users.changes != m.shownUsers.changes {
		return version, sum
	}
	if others := m.host.OtherUsers(m.users.lines); len(others) > 0 {
		m.host.Log().Error("raft: this member does not go by the users of the group", "others", strings.Join(others, " "))
		of := sha256.Sum256([]byte(sum + " " + strings.Join(others, " ")))
		sum = hex.EncodeToString(of[:8])
	}
	return version, sum
}

// isUsers reports whether the entry has users.
func (e *entry) isUsers() bool { return e.after.id == usersID }

// usersEntry returns the entry after a number of changes.
func usersEntry(changes int64, lines []string, clockMS, token int64) *entry {
	return &entry{after: place{usersID, changes}, clockMS: clockMS, token: token, bytes: []byte(strings.Join(slices.Concat(lines, []string{""}), "\n"))}
}

// meetUsers handles an entry with users. A member of an older version may have missed a change, and has a
// lower count. It takes the next entry. Under the host's lock.
func (m *Member) meetUsers(index uint64, e *entry) error {
	if e.after.offset < m.users.changes {
		return errVoid
	}
	m.users, m.usersIndex = groupUsers{e.after.offset + 1, linesOf(string(e.bytes))}, index
	m.showUsers()
	return nil
}

// restoreUsers sets the users of a snapshot.
func (m *Member) restoreUsers(u groupUsers) {
	m.users, m.usersIndex = u, 0
	m.showUsers()
}

// showUsers passes the users of the group to the host, unless the host has newer ones. So no deleted user
// comes back while the log is read again.
func (m *Member) showUsers() {
	if m.users.changes <= m.shownUsers.changes {
		return
	}
	first := m.shownUsers.changes == 0 && m.users.changes > 1 // others have changed users before this member heard of it
	m.shownUsers = m.users
	m.show()
	if !m.options.OwnUsers {
		m.host.SetUsers(slices.Clone(m.users.lines), first)
	}
}

// keepUsers keeps the newest users on the disk. They count from the next start until the log is read.
// Without the lock.
func (m *Member) keepUsers() {
	var text string
	m.host.Locked(func() {
		if m.shownUsers.changes > m.keptUsers {
			text, m.keptUsers = m.shownUsers.usersText(), m.shownUsers.changes
		}
	})
	if text == "" {
		return
	}
	if err := m.engine.KeepUsers(text); err != nil {
		m.host.Log().Warn("raft: the users of the group could not be kept for the next start", "cause", err)
	}
}

// ShowKeptUsers passes the users that the group had at the end of this member to the host, before a client
// can connect.
func (m *Member) ShowKeptUsers() {
	u, err := parseUsers(m.engine.KeptUsers())
	if err != nil {
		m.host.Log().Error("raft: the users that this member has kept cannot be read. Until it has read the log, those of its configuration count", "cause", err)
		return
	}
	m.host.Locked(func() {
		m.shownUsers, m.keptUsers = u, u.changes
		if u.changes > 0 && !m.options.OwnUsers {
			m.host.SetUsers(u.lines, true)
		}
	})
}

// SharesUsers reports whether the users are those of the group.
func (m *Member) SharesUsers() bool { return !m.options.OwnUsers }

// ChangeUsers has the group agree on other users. next returns all of them, as lines; it is called under the
// lock, and once more if another change came before. ChangeUsers returns when a majority has them on disk,
// and this member goes by them. Without the lock.
func (m *Member) ChangeUsers(next func() ([]string, error)) error {
	for {
		m.await(func() bool { return m.state != leading || !m.quiet && !m.unseen })
		var made []byte
		var err error
		m.host.Slice(func() {
			var lines []string
			if err = knowUsers(m); err == nil {
				lines, err = next()
			}
			if err == nil {
				made = usersEntry(m.users.changes, lines, m.head.ClockMS, m.head.Token).appendTo(nil)
				m.counts.entries++
			}
		})
		if err != nil {
			return err
		}
		if err = m.engine.Propose(made)(); err == nil {
			return nil
		}
		if !errors.Is(err, errVoid) {
			return commands.Error("ERR the group has not confirmed the change of users, which may take effect nevertheless: " + oneLineOf(err.Error()))
		}
	}
}

// knowUsers returns why users cannot be changed now; nil: they can. A member without an answer is no
// reason. Under the host's lock.
func knowUsers(m *Member) error {
	if m.state != leading {
		return m.errNotHere()
	}
	s := m.engine.Status()
	if older, ok := s.older(historyUsers); ok {
		return commands.Error(fmt.Sprintf("ERR users cannot be changed while member '%s' runs an older version (%s), which does not know users of the group", older.ID, older.Version))
	}
	return nil
}

// tellUsers sends the users to members of an older version that have missed a change. It is called about
// once a second.
func (m *Member) tellUsers() {
	if m.state != leading || m.quiet || m.unseen || m.users.changes == 0 || m.tellingUsers {
		return
	}
	s := m.engine.Status()
	if m.usersIndex == 0 {
		m.usersIndex = s.AppliedIndex
	}
	for _, p := range s.Peers {
		o := s.observation(p)
		if p.ID == s.ID || !o.Reachable || o.History < historyUsers || o.Users >= m.users.changes || o.Applied < m.usersIndex {
			continue
		}
		m.tellingUsers = true
		made := usersEntry(m.users.changes, m.users.lines, m.head.ClockMS, m.head.Token).appendTo(nil)
		m.host.Background(func() {
			_ = m.engine.Propose(made)()
			m.host.Locked(func() { m.tellingUsers = false })
		})
		return
	}
}
