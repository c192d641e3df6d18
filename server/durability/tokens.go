package durability

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"

	"lockserver/persistence"
	"lockserver/persistence/aof"
	"lockserver/store"
)

// tokens makes fencing tokens: max(last + 1, microseconds since 1970). So they rise across all locks and
// restarts, and need no state while the clock is right. A clock can be set back. So no token is given out
// above a limit that a file holds, synced, ahead of use; a start continues above that limit.
type tokens struct {
	// The parts of the storage that tokens use.
	store   *store.Store
	host    Executor
	program Program
	logger  *slog.Logger

	last  int64
	limit int64  // upper limit of all tokens so far, which the file states
	path  string // empty: tokens are only kept in memory
	err   error  // the file could not be written: tokens rely on the clock
	// underway is a reservation that is being written in the background, or nil.
	underway *reservation
}

// reservation is a write of the file.
type reservation struct {
	limit int64
	err   error         // valid after done is closed
	done  chan struct{} // closed after the file was written, or the write has failed
}

const (
	// tokenFile is the name of the file inside dir. Its format, do not change: one
	// decimal number and a newline.
	tokenFile = "lockserver.token"
	tokenMode = 0o600
	// tokenBlockUS is how far ahead of the clock tokens are reserved: the file is written at most once an
	// hour.
	tokenBlockUS = 3_600_000_000
	// tokenReserve is the smallest number of tokens that a reservation adds. It matters while tokens are
	// ahead of the clock: after a restart, or when the clock was set back.
	tokenReserve = 60_000_000
)

// readTokenLimit reads the limit that the last run left in a directory; 0 if there is no file, which means a
// first start. A damaged file is an error, because starting with it could give out a token twice.
func readTokenLimit(path string) (int64, error) {
	b, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, err
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64)
	if err != nil || n < 0 || n > store.MaxToken {
		return 0, fmt.Errorf("%s: not a token limit: %.40q; bring the file back from a backup, or write a number into it that is above "+
			"every token: if the clock has never run ahead, microseconds since 1970 an hour from now (date -d '1 hour' +%%s000000)", path, b)
	}
	return n, nil
}

// keepIn keeps the limit in a directory from now on, above the limit that the directory already has. undo
// restores the state, if no token has been given out since. After an error nothing has changed.
func (t *tokens) keepIn(dir string, nowUS int64) (undo func(), err error) {
	if t.underway != nil {
		t.finish(t.underway) // in the previous directory
	}
	path := filepath.Join(dir, tokenFile)
	found, err := readTokenLimit(path)
	if err != nil {
		return nil, err
	}
	before, next := *t, *t
	next.path, next.last, next.limit = path, max(t.last, found), max(t.limit, found)
	next.reserve(nowUS)
	if next.err != nil {
		return nil, next.err
	}
	*t = next
	return func() {
		*t = before
		if found > 0 {
			_ = writeTokenLimit(path, found) // a limit that is too high does no harm
		} else {
			_ = os.Remove(path)
		}
	}, nil
}

// next returns a token above every earlier token and above floor.
func (t *tokens) next(nowUS, floor int64) int64 {
	// plant:next-token
	t.last = max(t.last+1, floor+1, nowUS)
	if t.last > t.limit && t.path != "" && t.err == nil {
		t.reserve(nowUS) // after a failure, due asks for the next attempt
	}
	return t.last
}

// seen makes the next tokens higher than a token in the data. It ignores a token that LOCK would reject.
func (t *tokens) seen(nowUS, token int64) {
	if store.TokenCanRise(nowUS, token) {
		t.last = max(t.last, token)
	}
}

// due reports whether less than half of a reservation is left, so that the next reservation is made before it
// is needed. It compares the time, and the tokens, which matter while the last token is ahead of the clock.
func (t *tokens) due(nowUS int64) bool {
	return t.path != "" && t.underway == nil && (t.limit-nowUS < tokenBlockUS/2 || t.limit-t.last < tokenReserve/2)
}

// plan returns the next reservation.
func (t *tokens) plan(nowUS int64) *reservation {
	return &reservation{limit: max(t.last+tokenReserve, nowUS+tokenBlockUS), done: make(chan struct{})}
}

// write raises the limit in the file.
func (r *reservation) write(path string) {
	defer close(r.done)
	if err := writeTokenLimit(path, r.limit); err != nil {
		r.err = fmt.Errorf("reserve fencing tokens: %w", err)
	}
}

// writeTokenLimit replaces the file: it writes a file beside it, syncs and renames it, and syncs the
// directory.
func writeTokenLimit(path string, limit int64) error {
	return persistence.ReplaceFile(path, tokenMode, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, limit)
		return err
	})
}

// reserve raises the limit now. It first waits for a running reservation, which must not overwrite a later
// one.
func (t *tokens) reserve(nowUS int64) {
	if t.underway != nil {
		t.finish(t.underway)
		if t.last <= t.limit {
			return
		}
	}
	r := t.plan(nowUS)
	r.write(t.path)
	t.finish(r)
}

// finish waits for a reservation and applies it. The error stays in err until a reservation succeeds.
func (t *tokens) finish(r *reservation) {
	<-r.done
	if t.underway == r {
		t.underway = nil
	}
	if t.err = r.err; r.err == nil {
		t.limit = max(t.limit, r.limit)
	}
}

// NextToken returns a token above every earlier token, above all tokens in the data, and above floor.
func (t *tokens) NextToken(floor int64) int64 {
	t.last = max(t.last, t.store.HighestToken())
	return t.next(t.store.NowUS(), floor)
}

// TokensArrived reports whether the data contains a token above all tokens that are known here.
func (t *tokens) TokensArrived() bool { return t.store.HighestToken() > t.last }

// KeepArrived makes the next tokens higher than the tokens in the data, also after a restart. It writes the
// file at once if its limit is too low.
func (t *tokens) KeepArrived() {
	t.last = max(t.last, t.store.HighestToken())
	if t.last > t.limit && t.path != "" && t.err == nil {
		t.reserve(t.store.NowUS()) // after a failure, due asks for the next attempt
	}
}

// reserveTokens raises the limit in the background, so that no lock waits for the disk.
func (t *tokens) reserveTokens() {
	r := t.plan(t.store.NowUS())
	t.underway = r
	t.program.Background(func() {
		r.write(t.path)
		t.host.Do(func() {
			known := t.err != nil
			if t.underway != r {
				return // it has ended meanwhile
			}
			if t.finish(r); t.err != nil && !known {
				t.logger.Warn("fencing tokens now rely on the clock alone", "cause", t.err)
			}
		})
	})
}

// seeTokenLimit makes the next tokens higher than the limit that a snapshot or a log states, because the file
// may come from another server's directory. 0 means that no limit is stated.
func (t *tokens) seeTokenLimit(limit int64) {
	if limit > 0 {
		t.seen(t.store.NowUS(), limit)
	}
}

// SeeToken makes the next tokens higher than a token, if the token is valid.
func (t *tokens) SeeToken(token int64) { t.seeTokenLimit(token) }

// LastToken returns the highest token that was given out, or seen, or is in the data.
func (t *tokens) LastToken() int64 { return max(t.last, t.store.HighestToken()) }

// ForgetTokens makes tokens begin again, if no file keeps their limit.
func (t *tokens) ForgetTokens() {
	if t.path == "" {
		t.last = 0
		t.store.ForgetTokens()
	}
}

// RecordPlace writes the data's position in a replication history to the log.
func (c *currentLog) RecordPlace(at persistence.History) {
	if c.log != nil {
		c.log.log.RecordHistory(aof.HistoryPlace(at))
	}
}

// startTokens keeps the limit in the directory from now on, if the server may write there.
func (s *Storage) startTokens() error {
	s.KeepArrived()
	if s.own == nil {
		return nil
	}
	_, err := s.tokens.keepIn(s.own.dir, s.store.NowUS())
	return err
}
