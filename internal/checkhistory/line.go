package checkhistory

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Line is one line of a history, an object of JSON.
type Line struct {
	ID     int64  `json:"id,omitempty"`
	TimeMS int64  `json:"time_ms"` // since 1970
	Shard  int    `json:"shard,omitempty"`
	Event  string `json:"event"` // an event of LOCK.HISTORY, or Began, or Write
	Reason string `json:"reason,omitempty"`
	// Key is empty if the event is about all locks of the database.
	Key     string `json:"key,omitempty"`
	Owner   string `json:"owner,omitempty"`
	Token   int64  `json:"token,omitempty"`
	Mode    string `json:"mode,omitempty"` // "exclusive", "shared" or "semaphore"
	Permits int64  `json:"permits,omitempty"`

	ClientID      int64  `json:"client_id,omitempty"`
	ClientAddress string `json:"client_address,omitempty"`
	// MissingFromMS belongs to Began: events after this time may be missing. 0 means that the time is not
	// known.
	MissingFromMS int64    `json:"missing_from_ms,omitempty"`
	Trace         string   `json:"trace,omitempty"` // the traceparent of the owner's call
	HeldMS        *float64 `json:"held_ms,omitempty"`
	WaitedMS      *float64 `json:"waited_ms,omitempty"`
}

// Events that do not come from the server.
const (
	// Began says that earlier events are not known: the server started, another server leads, or events were
	// dropped.
	Began = "began"
	// Write is a write of the application under a lock, with the lock's token.
	Write = "write"
)

// mostLine limits the length of a line, in bytes.
const mostLine = 1 << 20

// Read gives each line to f until the input ends. The error names the line that cannot be read.
func Read(r io.Reader, f func(l *Line)) error {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, mostLine)
	number := 0
	for scanner.Scan() {
		number++
		text := scanner.Bytes()
		if len(text) == 0 {
			continue
		}
		var l Line
		err := json.Unmarshal(text, &l)
		switch {
		case err != nil:
		case l.Event == "":
			err = errors.New("it has no event")
		case l.Event == Write && (l.Key == "" || l.Token <= 0):
			err = errors.New("a write has a key and a token")
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		f(&l)
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("line %d: %w", number+1, err)
	}
	return nil
}
