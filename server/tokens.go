package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"lockserver/commands"
	"lockserver/persistence"
	"lockserver/store"
)

// tokens makes fencing tokens: max(last + 1, microseconds since 1970), so that they rise across all locks and
// restarts and need no state while the clock is right. Because a clock can be set back, no token is given out above
// a limit that a file holds, synced, ahead of use; a start continues above what it finds there.
type tokens struct {
	last  int64
	limit int64  // every token so far is at most this; what the file says
	path  string // empty: tokens live as long as the process
	err   error  // the file could not be written: tokens rely on the clock
	// underway is a reservation that is being written in the background, nil if none is.
	underway *reservation
}

// reservation is one write of the file.
type reservation struct {
	limit int64
	err   error         // valid once done is closed
	done  chan struct{} // closed when the file has been written, or could not be
}

const (
	// tokenFile is the name of the file inside dir. Its format, do not change: one decimal number and a newline.
	tokenFile = "lockserver.token"
	// tokenBlockUS is how far ahead of the clock tokens are reserved: one write of the file an hour at most.
	tokenBlockUS = 3_600_000_000
	// tokenReserve is the least number of tokens that a reservation adds, which is what counts while tokens are ahead
	// of the clock: after a restart, or when the clock was set back.
	tokenReserve = 60_000_000
)

// load reads the limit that the last run left behind. A missing file is a first start; a damaged one is an error,
// because going on could give out a token twice.
func (t *tokens) load(dir string, nowUS int64) error {
	if t.underway != nil {
		t.settle(t.underway) // in the directory until now
	}
	t.path = filepath.Join(dir, tokenFile)
	b, err := os.ReadFile(t.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		n, err := strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64)
		if err != nil || n < 0 || n > commands.MaxToken {
			return fmt.Errorf("%s: not a token limit: %.40q", t.path, b)
		}
		t.last, t.limit = max(t.last, n), max(t.limit, n)
	}
	t.reserve(nowUS)
	return t.err
}

// next returns a token above every one before and above floor.
func (t *tokens) next(nowUS, floor int64) int64 {
	t.last = max(t.last+1, floor+1, nowUS)
	if t.last > t.limit && t.path != "" && t.err == nil {
		t.reserve(nowUS) // after a failure the next try is due's
	}
	return t.last
}

// seen makes the next tokens higher than one that is in the data. A floor of which LOCK would not start is passed over.
func (t *tokens) seen(nowUS, token int64) {
	if commands.TokenCanRise(nowUS, token) {
		t.last = max(t.last, token)
	}
}

// due says whether less than half of a reservation is left, so that the next is made before it is needed: of the time,
// or of the tokens, which are what counts while the last token is ahead of the clock.
func (t *tokens) due(nowUS int64) bool {
	return t.path != "" && t.underway == nil && (t.limit-nowUS < tokenBlockUS/2 || t.limit-t.last < tokenReserve/2)
}

// plan is the next reservation.
func (t *tokens) plan(nowUS int64) *reservation {
	return &reservation{limit: max(t.last+tokenReserve, nowUS+tokenBlockUS), done: make(chan struct{})}
}

// write raises the limit in the file: written beside, synced, renamed, directory synced.
func (r *reservation) write(path string) {
	defer close(r.done)
	err := persistence.ReplaceFile(path, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, r.limit)
		return err
	})
	if err != nil {
		r.err = fmt.Errorf("reserve fencing tokens: %w", err)
	}
}

// reserve raises the limit now. A reservation under way is waited for first: it must not overwrite a later one.
func (t *tokens) reserve(nowUS int64) {
	if t.underway != nil {
		t.settle(t.underway)
		if t.last <= t.limit {
			return
		}
	}
	r := t.plan(nowUS)
	r.write(t.path)
	t.settle(r)
}

// settle waits for a reservation and makes it count. The error stays in err until one succeeds.
func (t *tokens) settle(r *reservation) {
	<-r.done
	if t.underway == r {
		t.underway = nil
	}
	if t.err = r.err; r.err == nil {
		t.limit = max(t.limit, r.limit)
	}
}

// reserveTokens raises the limit in the background, so that no lock waits for the disk; under the executor.
func (srv *Server) reserveTokens() {
	t := &srv.tokens
	r := t.plan(srv.store.NowUS())
	t.underway = r
	srv.group.Go(func() {
		r.write(t.path)
		srv.do(func() {
			known := t.err != nil
			if t.underway != r {
				return // settled meanwhile
			}
			if t.settle(r); t.err != nil && !known {
				srv.log.Warn("fencing tokens now rely on the clock alone", "cause", t.err)
			}
		})
	})
}

// seeTokens makes the next tokens higher than those of the locks that were loaded: the data may come from elsewhere, without
// the file.
func (srv *Server) seeTokens() {
	for db := range srv.store.Len() {
		srv.store.DB(db).EachToken(func(key string, r store.Ref) bool {
			if token, isInt, _ := r.Hash().GetInt([]byte(store.TokenField)); isInt {
				srv.tokens.seen(srv.store.NowUS(), token)
			}
			return true
		})
	}
}

// NextToken implements commands.Host.
func (srv *Server) NextToken(floor int64) int64 {
	return srv.tokens.next(srv.store.NowUS(), floor)
}
