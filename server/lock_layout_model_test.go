package server

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// layoutModel has the fields of the keys of locks, as simple as can be.
type layoutModel struct {
	nowMS, leaseMS int64
	last           int64 // the highest token so far
	keys           map[string]*layout
	renewals       map[[2]string]*layoutRenewal // by key and owner; of an ordinary lock by key alone
}

// layout is a hash. An ordinary lock has its token and the mark of the watchdog in fields of their own, and
// its lease is the key's.
type layout struct {
	shares  bool
	mode    string // of one that has had shared holders
	token   int64
	watched bool
	endMS   int64 // the key's
	owners  map[string]*layoutHold
}

type layoutHold struct {
	shared, exclusive, token int64
	watched                  bool
	endMS                    int64
}

// layoutRenewal is a renewal that the server is going to make.
type layoutRenewal struct {
	owner       string
	token, atMS int64
}

// text is a hash as the commands show it: the fields with their values and deadlines, and the key's deadline.
func (l *layout) text() string {
	if l == nil {
		return "none"
	}
	fields := map[string]string{}
	for name, h := range l.owners {
		if !l.shares {
			fields[name] = fmt.Sprint(h.exclusive, " -1")
			continue
		}
		value := fmt.Sprintf("$%d:%d:%d", h.token, h.shared, h.exclusive)
		if h.watched {
			value += ":w"
		}
		fields[name] = fmt.Sprint(value, " ", h.endMS-1)
	}
	if l.shares {
		fields["$mode"] = l.mode + " -1"
	} else {
		fields["$token"] = fmt.Sprint(l.token, " -1")
		if l.watched {
			fields["$watchdog"] = "1 -1"
		}
	}
	return layoutText(fields, l.endMS-1)
}

func layoutText(fields map[string]string, endMS int64) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		fmt.Fprintf(&b, "%s=%s; ", name, fields[name])
	}
	return b.String() + strconv.FormatInt(endMS, 10)
}

func (l *layout) clone() *layout {
	c := *l
	c.owners = make(map[string]*layoutHold)
	for name, h := range l.owners {
		copied := *h
		c.owners[name] = &copied
	}
	return &c
}

// lastMS is the latest of the leases.
func (l *layout) lastMS() (ms int64) {
	for _, h := range l.owners {
		ms = max(ms, h.endMS)
	}
	return ms
}

// move makes an owner's lease end at endMS, and the key with the last of them.
func (l *layout) move(h *layoutHold, endMS int64) {
	wasMS := h.endMS
	h.endMS = endMS
	switch alone := len(l.owners) == 1; {
	case !l.shares, alone, endMS > l.endMS:
		l.endMS = endMS
	case wasMS == l.endMS && endMS < l.endMS:
		l.endMS = l.lastMS()
	}
}

// mayLock says whether an owner may have a lock now.
func (m *layoutModel) mayLock(key, owner string, shared bool) bool {
	l := m.keys[key]
	if l == nil || len(l.owners) == 0 {
		return true
	}
	if h := l.owners[owner]; h != nil {
		return h.exclusive > 0 || shared || len(l.owners) == 1
	}
	return shared && l.shares && l.mode == "read"
}

// lock takes a lock with a token, which the server has replied, and says what is wrong with that. leaseMS 0:
// the server renews it.
func (m *layoutModel) lock(key, owner string, shared, once bool, leaseMS, token int64) string {
	l := m.keys[key]
	if l != nil && len(l.owners) == 0 && (l.shares || shared) { // what its last holder left behind
		l = nil
	}
	if l == nil {
		l = &layout{owners: map[string]*layoutHold{}}
	}
	h := l.owners[owner]
	if h == nil {
		h = &layoutHold{}
	}
	if fresh := h.exclusive == 0 && (!shared || h.shared == 0); fresh && token <= m.last || !fresh && token != h.token {
		return fmt.Sprintf("token %d, after %d and the owner's %d", token, m.last, h.token)
	}
	m.last = max(m.last, token)
	if shared && !l.shares {
		l.shares = true
		m.forget(key)
	}
	count := &h.exclusive
	if shared {
		count = &h.shared
	}
	if *count == 0 || !once {
		*count++
	}
	h.token, h.watched = token, leaseMS == 0
	l.owners[owner], m.keys[key] = h, l
	if l.mode = "read"; h.exclusive > 0 {
		l.mode = "write"
	}
	l.token, l.watched = token, h.watched
	if leaseMS != 0 {
		m.stop(key, owner)
	} else {
		leaseMS = m.leaseMS
		m.renewals[m.renewalOf(key, owner)] = &layoutRenewal{owner, token, m.nowMS + m.leaseMS/3}
	}
	l.move(h, m.nowMS+leaseMS)
	return ""
}

func (m *layoutModel) renewalOf(key, owner string) [2]string {
	if m.keys[key].shares {
		return [2]string{key, owner}
	}
	return [2]string{key}
}

// unlock gives back a hold, and returns UNLOCK's reply; -1: nil.
func (m *layoutModel) unlock(key, owner string, shared bool) int64 {
	l := m.keys[key]
	if l == nil || l.owners[owner] == nil {
		return -1
	}
	h := l.owners[owner]
	switch {
	case shared && h.shared == 0:
		return -1
	case shared || h.exclusive == 0:
		h.shared--
	default:
		if h.exclusive--; h.exclusive == 0 && h.shared > 0 {
			l.mode = "read"
		}
	}
	if h.shared+h.exclusive > 0 {
		return 0
	}
	if len(l.owners) == 1 {
		m.remove(key)
		return 1
	}
	m.stop(key, owner)
	if delete(l.owners, owner); h.endMS == l.endMS {
		l.endMS = l.lastMS()
	}
	return 1
}

// remove ends a lock for all its holders, as UNLOCK and LOCK.FORCE do.
func (m *layoutModel) remove(key string) {
	delete(m.keys, key)
	m.forget(key)
}

// forget ends the renewals of a key.
func (m *layoutModel) forget(key string) {
	maps.DeleteFunc(m.renewals, func(of [2]string, _ *layoutRenewal) bool { return of[0] == key })
}

// renew is RENEW; leaseMS 0: without a time.
func (m *layoutModel) renew(key, owner string, leaseMS int64) int64 {
	l := m.keys[key]
	if l == nil || l.owners[owner] == nil {
		return 0
	}
	if leaseMS == 0 {
		l.move(l.owners[owner], m.nowMS+m.leaseMS)
		return 1
	}
	l.move(l.owners[owner], m.nowMS+leaseMS)
	l.owners[owner].watched, l.watched = false, false
	m.stop(key, owner)
	return 1
}

// stop ends the renewal for an owner; an ordinary lock cannot have another owner.
func (m *layoutModel) stop(key, owner string) {
	if !m.keys[key].shares {
		m.forget(key)
	}
	delete(m.renewals, [2]string{key, owner})
}

// rename takes a lock to another key.
func (m *layoutModel) rename(key, to string) {
	moved := map[[2]string]*layoutRenewal{}
	for of, r := range m.renewals {
		if of[0] == key {
			moved[[2]string{to, of[1]}] = r
		}
	}
	m.forget(key)
	m.forget(to)
	maps.Copy(m.renewals, moved)
	m.keys[to] = m.keys[key]
	delete(m.keys, key)
}

// advance lets time pass: what ends in a millisecond is not renewed in it.
func (m *layoutModel) advance(ms int64) {
	for end := m.nowMS + ms; m.nowMS < end; {
		m.nowMS++
		maps.DeleteFunc(m.keys, func(_ string, l *layout) bool {
			maps.DeleteFunc(l.owners, func(_ string, h *layoutHold) bool { return l.shares && h.endMS <= m.nowMS })
			return l.endMS <= m.nowMS
		})
		for of, r := range m.renewals {
			if r.atMS != m.nowMS {
				continue
			}
			l := m.keys[of[0]]
			if l == nil || l.owners[r.owner] == nil || l.owners[r.owner].token != r.token {
				delete(m.renewals, of)
				continue
			}
			r.atMS += m.leaseMS / 3
			if h := l.owners[r.owner]; h.endMS < m.nowMS+m.leaseMS {
				l.move(h, m.nowMS+m.leaseMS)
			}
		}
	}
}

// sooner follows a server that has renewed an ordinary lock before its time, by up to a 96th of the lease:
// together with others that were due.
func (m *layoutModel) sooner(key string, endMS int64) {
	l := m.keys[key]
	if l == nil || l.shares {
		return
	}
	for of, r := range m.renewals {
		if of[0] != key {
			continue
		}
		atMS := endMS - m.leaseMS
		for _, dueMS := range []int64{r.atMS, r.atMS - m.leaseMS/3} { // it is ahead, or was just done
			if early := dueMS - atMS; early > 0 && early <= m.leaseMS/96 && atMS <= m.nowMS {
				l.move(l.owners[r.owner], endMS)
				r.atMS = atMS + m.leaseMS/3
				return
			}
		}
	}
}
