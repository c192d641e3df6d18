package console

import (
	"fmt"
	"strconv"
	"time"

	"lockserver/internal/call"
)

// replyTimeout is how long the server may take for an answer.
const replyTimeout = 10 * time.Second

func connect(b Backend) (*call.Conn, error) {
	nc, err := b.DialAudited()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", call.ErrLost, err)
	}
	return call.New(nc, replyTimeout), nil
}

// number reads an integer that is a text, as INFO has them; 0: it is none.
func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}
