package console

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"lockserver/internal/call"
)

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

// mostReason bounds the text that holders are sent, in bytes.
const mostReason = 200

// takeAsk asks the holders of a lock to let go. The lock stays as it is.
func (c *Console) takeAsk(w http.ResponseWriter, r *http.Request, s *session) {
	key, db, reason := r.URL.Query().Get("key"), database(r), r.PostFormValue("reason")
	to := lockLink(db, key)
	if r.PostFormValue("sure") != "yes" {
		http.Redirect(w, r, to+"&problem=unsure", http.StatusSeeOther)
		return
	}
	ask := []string{"LOCK.ASK", key}
	if reason = reason[:min(len(reason), mostReason)]; reason != "" {
		ask = append(ask, "REASON", reason)
	}
	replies, err := s.conn.All([]string{"SELECT", strconv.Itoa(db)}, ask)
	outcome := ""
	if err != nil || replies[0].IsError() || replies[1].IsError() {
		outcome = "unasked"
	}
	c.audit("console-ask", s.user, r.RemoteAddr, "key", key, "db", db, "reason", reason, "refused", outcome)
	if outcome != "" {
		http.Redirect(w, r, to+"&problem="+outcome, http.StatusSeeOther)
		return
	}
	http.Redirect(w, r, to+"&asked="+strconv.FormatInt(replies[1].Int, 10), http.StatusSeeOther)
}

// takeCancel cancels a delayed entry.
func (c *Console) takeCancel(w http.ResponseWriter, r *http.Request, s *session) {
	q := r.URL.Query()
	stream, id, db := q.Get("stream"), q.Get("id"), database(r)
	outcome := "unsure"
	if r.PostFormValue("sure") == "yes" {
		outcome = cancel(s, db, stream, id)
		c.audit("console-cancel", s.user, r.RemoteAddr, "stream", stream, "id", id, "db", db, "refused", outcome)
	}
	if outcome == "" {
		c.log.Warn("console: a delayed entry was cancelled", "stream", stream, "id", id, "db", db, "user", s.user, "addr", r.RemoteAddr)
		http.Redirect(w, r, delayedLink(db, stream, "")+"&"+url.Values{"cancelled": {id}}.Encode(), http.StatusSeeOther)
		return
	}
	http.Redirect(w, r, delayedLink(db, stream, id)+"&problem="+outcome, http.StatusSeeOther)
}

// cancel cancels a delayed entry, and returns why it could not.
func cancel(s *session, db int, stream, id string) (problem string) {
	replies, err := s.conn.All([]string{"SELECT", strconv.Itoa(db)}, []string{"DELAY.CANCEL", stream, id})
	switch {
	case err != nil || call.Failure(replies...) != nil:
		return "refused"
	case replies[1].Int == 0:
		return "gone"
	}
	return ""
}
