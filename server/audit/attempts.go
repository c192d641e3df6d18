package audit

import (
	"context"
	"log/slog"
	"time"
)

// Attempts of clients: logins that succeed, and commands that ACL refuses. A client can make millions of
// either, so those that are alike within a second share two lines: the first at once, and one at the end of
// the second that counts the others.

// mostAlike is how many different attempts of a second have lines of their own. The others share one.
const mostAlike = 500

// alike is what attempts that share a line have in common. A client chooses none of it freely.
type alike struct{ event, user, command, reason string }

// counted is what a second has of attempts that are alike.
type counted struct {
	alike
	more   int     // since the first one, which has its line
	last   Client  // the client of the last one
	detail []any   // of the last one
	write  written // to the server's log
}

// written writes a line about attempts to the server's log.
type written func(c *Client, attrs []any)

// attempts are those of a second. The zero value is ready.
type attempts struct {
	second int64
	of     []counted
	at     map[alike]int // where in of
	rest   int           // beyond mostAlike
}

// Refusal is a command that ACL refused.
type Refusal struct {
	// Command is the command's full name, Reason what was missing: the right to a command, key, channel or
	// database. Context is where the command stood, as in ACL LOG.
	Command, Reason, Context string
	// Object is the key, channel or database; nil: the command itself.
	Object []byte
}

// Refused logs that ACL refused a command of the client.
func (l *Log) Refused(c Client, r Refusal) {
	detail := []any{"command", r.Command, "reason", r.Reason, "context", r.Context}
	if r.Object != nil {
		detail = append(detail, "object", cutText(r.Object))
	}
	l.attempt(alike{"refused", c.User, r.Command, r.Reason}, c, detail, l.serverRefused)
}

func (l *Log) serverRefused(c *Client, attrs []any) {
	if suppressed, ok := l.refusals.Allow(time.Now(), mostLoginLines); ok {
		l.Server.Info("a command was refused: its user lacks the right", append(attrs, c.attrs(suppressed)...)...)
	}
}

// Login logs that the client has become its user. by is how: "password" or "certificate".
func (l *Log) Login(c Client, by string) {
	l.attempt(alike{event: "login", user: c.User, reason: by}, c, []any{"by", by}, l.serverLogin)
}

// serverLogin writes a line for those who look for it: programs log in all the time.
func (l *Log) serverLogin(c *Client, attrs []any) {
	if !l.Server.Enabled(context.Background(), LevelVerbose) {
		return
	}
	if suppressed, ok := l.entries.Allow(time.Now(), mostLoginLines); ok {
		l.Server.Log(context.Background(), LevelVerbose, "a client has logged in", append(attrs, c.attrs(suppressed)...)...)
	}
}

// attempt writes a line, or counts the attempt for the line at the end of the second.
func (l *Log) attempt(kind alike, c Client, detail []any, write written) {
	a := &l.attempts
	if second := time.Now().Unix(); second != a.second {
		l.CountAttempts()
		a.second = second
	}
	if i, ok := a.at[kind]; ok {
		of := &a.of[i]
		of.more++
		of.last, of.detail = c, detail
		return
	}
	if len(a.of) >= mostAlike {
		a.rest++
		return
	}
	if a.at == nil {
		a.at = make(map[alike]int)
	}
	a.at[kind] = len(a.of)
	a.of = append(a.of, counted{alike: kind, write: write})
	l.toOperators(kind.event, &c, c.User, detail...)
	write(&c, detail)
}

// CountAttempts writes the lines that count attempts. The server calls it once a second, and when it ends.
func (l *Log) CountAttempts() {
	a := &l.attempts
	for i := range a.of {
		if of := &a.of[i]; of.more > 0 {
			detail := append(of.detail, "more", of.more)
			l.toOperators(of.event, &of.last, of.user, detail...)
			of.write(&of.last, detail)
		}
	}
	if a.rest > 0 && l.Operators != nil {
		l.Operators.Info("attempts", slog.Int("more", a.rest))
	}
	clear(a.of)
	clear(a.at)
	a.of, a.rest = a.of[:0], 0
}
