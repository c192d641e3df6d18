package console

import (
	"fmt"
	"strconv"
	"time"

	"lockserver/internal/call"
)

// replyTimeout is the largest time for an answer of the server.
const replyTimeout = 10 * time.Second

func connect(b Backend) (*call.Conn, error) {
	nc, err := b.DialAudited()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", call.ErrLost, err)
	}
	return call.New(nc, replyTimeout), nil
}

// number reads an integer that is a text, as in INFO; 0 if the text is no integer.
func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}
