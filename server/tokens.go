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
)

// tokens makes fencing tokens: max(last + 1, microseconds since 1970), so that they rise across all locks and
// restarts and need no state while the clock is right. Because a clock can be set back, no token is given out above
// a limit that a file holds, synced, ahead of use; a start continues above what it finds there.
type tokens struct {
	last  int64
	limit int64  // every token so far is at most this; what the file says
	path  string // empty: tokens live as long as the process
	err   error  // the file could not be written: tokens rely on the clock
}

const (
	// tokenFile is the name of the file inside dir. Its format, do not change: one decimal number and a newline.
	tokenFile = "lockserver.token"
	// tokenBlockUS is how far ahead of the clock tokens are reserved: one write of the file an hour at most.
	tokenBlockUS = 3_600_000_000
	// tokenReserve is the least number of tokens that a reservation adds.
	tokenReserve = 1_000_000
)

// load reads the limit that the last run left behind. A missing file is a first start; a damaged one is an error,
// because going on could give out a token twice.
func (t *tokens) load(dir string, nowUS int64) error {
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
	return t.reserve(nowUS)
}

// next returns a token above every one before and above floor.
func (t *tokens) next(nowUS, floor int64) int64 {
	t.last = max(t.last+1, floor+1, nowUS)
	if t.last > t.limit && t.path != "" && t.err == nil {
		_ = t.reserve(nowUS) // after a failure the next try is due's
	}
	return t.last
}

// due says whether less than half of a reservation is left, so that the next is made before it is needed: of the time,
// or of the tokens, which are what counts while the last token is ahead of the clock.
func (t *tokens) due(nowUS int64) bool {
	return t.path != "" && (t.limit-nowUS < tokenBlockUS/2 || t.limit-t.last < tokenReserve/2)
}

// reserve raises the limit in the file: written beside, synced, renamed, directory synced. The error stays in err
// until a reservation succeeds.
func (t *tokens) reserve(nowUS int64) error {
	limit := max(t.last+tokenReserve, nowUS+tokenBlockUS)
	err := persistence.ReplaceFile(t.path, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, limit)
		return err
	})
	if err != nil {
		t.err = fmt.Errorf("reserve fencing tokens: %w", err)
		return t.err
	}
	t.limit, t.err = limit, nil
	return nil
}

// NextToken implements commands.Host.
func (srv *Server) NextToken(floor int64) int64 {
	return srv.tokens.next(srv.store.NowUS(), floor)
}
