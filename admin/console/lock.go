package console

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// lockDetail is the page of one lock.
type lockDetail struct {
	Key      string
	DB       int
	Lock     *lockView // nil: the lock is free
	Timeline *timeline // nil: the server stores no events, or the user may not see them
	MayForce bool
	Problem  string
	Done     bool // this page has just released the lock
}

func lockLink(db int, key string) string { return "/lock?" + lockQuery(db, key) }

func lockQuery(db int, key string) string {
	return url.Values{"db": {strconv.Itoa(db)}, "key": {key}}.Encode()
}

// ReleaseLink returns the address of the form. The lock is named in the address, which can contain any bytes;
// a field of a form cannot.
func (d *lockDetail) ReleaseLink() string { return "/lock/release?" + lockQuery(d.DB, d.Key) }

// loadLock is the page of a lock.
func (c *Console) loadLock(s *session, r *http.Request) (any, error) {
	q := r.URL.Query()
	d := &lockDetail{Key: q.Get("key"), DB: database(r), Done: q.Get("released") == "1", Problem: releaseProblems(q.Get("problem"))}
	locks, err := c.readLocks(s.conn, d.DB, []string{d.Key}, waitersOfLock)
	if err != nil {
		return nil, err
	}
	if len(locks) > 0 {
		d.Lock = &locks[0]
	}
	if c.backend.Permits(s.user, "LOCK.HISTORY") {
		if d.Timeline, err = c.readTimeline(s.conn, d.DB, d.Key); err != nil {
			return nil, err
		}
	}
	d.MayForce = c.backend.Permits(s.user, "LOCK.FORCE", d.Key) && c.backend.Permits(s.user, "GUARD", d.Key, "1", "LOCK.FORCE", d.Key)
	return d, nil
}

// releaseProblems returns why a lock was not released, by the word in the address.
func releaseProblems(word string) string {
	switch word {
	case "name":
		return "What you typed is not the name of this lock. Nothing was released."
	case "changed":
		return "Another owner holds the lock by now. Nothing was released: look again."
	case "refused":
		return "The server refused to release the lock."
	}
	return ""
}

// takeRelease releases a lock by force. The typed name must be the name of the lock, and its holder must
// still be the holder that the page shows.
func (c *Console) takeRelease(w http.ResponseWriter, r *http.Request, s *session) {
	key, db := r.URL.Query().Get("key"), database(r)
	outcome := release(s, db, key, r.PostFormValue("lock"), r.PostFormValue("name"))
	args := []any{"key", key, "db", db, "user", s.user, "addr", r.RemoteAddr}
	c.audit("console-release", s.user, r.RemoteAddr, "key", key, "db", db, "refused", outcome)
	if outcome == "" {
		c.log.Warn("console: a lock was released by force", args...)
		http.Redirect(w, r, lockLink(db, key)+"&released=1", http.StatusSeeOther)
		return
	}
	c.log.Warn("console: a lock was not released by force", append(args, "why", outcome)...)
	http.Redirect(w, r, lockLink(db, key)+"&problem="+outcome, http.StatusSeeOther)
}

// release releases a lock by force, and returns why it could not.
func release(s *session, db int, key, token, typed string) (problem string) {
	if typed != shown(key) {
		return "name"
	}
	commands := [][]string{{"SELECT", strconv.Itoa(db)}, {"LOCK.FORCE", key}}
	if number(token) > 0 { // a lock of a script of Redisson has no token
		commands[1] = []string{"GUARD", key, token, "LOCK.FORCE", key}
	}
	replies, err := s.conn.All(commands...)
	switch {
	case err != nil || replies[0].IsError():
		return "refused"
	case replies[1].IsError() && strings.HasPrefix(replies[1].Str, "STALETOKEN"), replies[1].Int == 0 && !replies[1].IsError():
		return "changed"
	case replies[1].IsError():
		return "refused"
	}
	return ""
}
