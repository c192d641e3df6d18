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
func (k *knownUsers) usersSum() (version, sum string) {
	version, sum = k.users.usersSum()
	if sum == "" || k.m.options.OwnUsers || k.users.changes != k.shownUsers.changes {
		return version, sum
	}
	if others := k.m.host.OtherUsers(k.users.lines); len(others) > 0 {
		k.m.host.Log().Error("raft: this member does not go by the users of the group", "others", strings.Join(others, " "))
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
func (k *knownUsers) meetUsers(index uint64, e *entry) error {
	if e.after.offset < k.users.changes {
		return errVoid
	}
	k.users, k.usersIndex = groupUsers{e.after.offset + 1, linesOf(string(e.bytes))}, index
	k.showUsers()
	return nil
}

// restoreUsers sets the users of a snapshot.
func (k *knownUsers) restoreUsers(u groupUsers) {
	k.users, k.usersIndex = u, 0
	k.showUsers()
}

// showUsers passes the users of the group to the host, unless the host has newer ones. So no deleted user
// comes back while the log is read again.
func (k *knownUsers) showUsers() {
	if k.users.changes <= k.shownUsers.changes {
		return
	}
	first := k.shownUsers.changes == 0 && k.users.changes > 1 // others have changed users before this member heard of it
	k.shownUsers = k.users
	k.m.show()
	if !k.m.options.OwnUsers {
		k.m.host.SetUsers(slices.Clone(k.users.lines), first)
	}
}

// keepUsers keeps the newest users on the disk. They count from the next start until the log is read.
// Without the lock.
func (k *knownUsers) keepUsers() {
	var text string
	k.m.host.Locked(func() {
		if k.shownUsers.changes > k.keptUsers {
			text, k.keptUsers = k.shownUsers.usersText(), k.shownUsers.changes
		}
	})
	if text == "" {
		return
	}
	if err := k.m.engine.KeepUsers(text); err != nil {
		k.m.host.Log().Warn("raft: the users of the group could not be kept for the next start", "cause", err)
	}
}

// ShowKeptUsers passes the users that the group had at the end of this member to the host, before a client
// can connect.
func (k *knownUsers) ShowKeptUsers() {
	u, err := parseUsers(k.m.engine.KeptUsers())
	if err != nil {
		k.m.host.Log().Error("raft: the users that this member has kept cannot be read. Until it has read the log, those of its configuration count", "cause", err)
		return
	}
	k.m.host.Locked(func() {
		k.shownUsers, k.keptUsers = u, u.changes
		if u.changes > 0 && !k.m.options.OwnUsers {
			k.m.host.SetUsers(u.lines, true)
		}
	})
}

// SharesUsers reports whether the users are those of the group.
func (k *knownUsers) SharesUsers() bool { return !k.m.options.OwnUsers }

// ChangeUsers has the group agree on other users. next returns all of them, as lines; it is called under the
// lock, and once more if another change came before. ChangeUsers returns when a majority has them on disk,
// and this member goes by them. Without the lock.
func (k *knownUsers) ChangeUsers(next func() ([]string, error)) error {
	for {
		k.m.await(func() bool { return k.m.state != leading || !k.m.quiet && !k.m.unseen })
		var made []byte
		var err error
		k.m.host.Slice(func() {
			var lines []string
			if err = knowUsers(k.m); err == nil {
				lines, err = next()
			}
			if err == nil {
				made = usersEntry(k.users.changes, lines, k.m.head.ClockMS, k.m.head.Token).appendTo(nil)
				k.m.counts.entries++
			}
		})
		if err != nil {
			return err
		}
		if err = k.m.engine.Propose(made)(); err == nil {
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
func (k *knownUsers) tellUsers() {
	if k.m.state != leading || k.m.quiet || k.m.unseen || k.users.changes == 0 || k.tellingUsers {
		return
	}
	s := k.m.engine.Status()
	if k.usersIndex == 0 {
		k.usersIndex = s.AppliedIndex
	}
	for _, p := range s.Peers {
		o := s.observation(p)
		if p.ID == s.ID || !o.Reachable || o.History < historyUsers || o.Users >= k.users.changes || o.Applied < k.usersIndex {
			continue
		}
		k.tellingUsers = true
		made := usersEntry(k.users.changes, k.users.lines, k.m.head.ClockMS, k.m.head.Token).appendTo(nil)
		k.m.host.Background(func() {
			_ = k.m.engine.Propose(made)()
			k.m.host.Locked(func() { k.tellingUsers = false })
		})
		return
	}
}
