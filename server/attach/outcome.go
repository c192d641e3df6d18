package attach

import (
	"strconv"
	"strings"

	"lockserver/internal/resp"
)

// Refusal says why a wait without a blocked client (NOTIFY) ended without the lock.
type Refusal uint8

const (
	Timeout     Refusal = iota // the time to wait was over
	Deadlock                   // it was the youngest wait of a deadlock
	WrongType                  // what is at the key is no lock
	Cancelled                  // LOCK.CANCEL, or no connection has kept the place
	Unconfirmed                // it was granted, and not confirmed in time
	Failover                   // the server is a replica now
	Denied                     // the user may not write to the key (any more)
	Failed                     // any other error
)

var refusals = [...]string{Timeout: "timeout", Deadlock: "deadlock", WrongType: "wrongtype", Cancelled: "cancelled", Unconfirmed: "unconfirmed",
	Failover: "failover", Denied: "denied", Failed: "error"}

// String is the word for it in pushes and messages.
func (r Refusal) String() string { return refusals[r] }

// Outcome is how a wait without a blocked client ended.
type Outcome struct {
	Owner string
	Keys  []string
	Many  bool // of an MLOCK: keys and tokens are arrays
	// Tokens are those of the locks that were granted; nil: none was.
	Tokens []int64
	Why    Refusal // if none was
	// Limiter: it was a wait for units of a limiter. Reply is the reply of LIMIT.TAKE, an array of integers;
	// nil: none was given.
	Limiter bool
	Reply   []byte
}

func (o *Outcome) word() string {
	switch {
	case o.Reply != nil:
		return "limit-granted"
	case o.Limiter:
		return "limit-refused"
	case o.Tokens != nil:
		return "lock-granted"
	}
	return "lock-refused"
}

// AppendPush appends the outcome as version 3 of the protocol sends it: a word, the key, the token or the
// reason, the owner.
func (o *Outcome) AppendPush(b []byte) []byte {
	w := resp.Writer{Proto: 3, Buf: b}
	w.Push(4)
	w.BulkString(o.word())
	if o.Many {
		w.Array(len(o.Keys))
	}
	for _, key := range o.Keys {
		w.BulkString(key)
	}
	switch {
	case o.Reply != nil:
		w.Buf = append(w.Buf, o.Reply...)
	case o.Tokens == nil:
		w.BulkString(o.Why.String())
	case o.Many:
		w.Array(len(o.Tokens))
	}
	for _, token := range o.Tokens {
		w.Int(token)
	}
	w.BulkString(o.Owner)
	return w.Buf
}

// Messages are the outcome as it is published on the channel of the owner, a message for each key. The key
// and the owner may hold blanks; the word between them does not.
func (o *Outcome) Messages() (channel []byte, payloads [][]byte) {
	for i, key := range o.Keys {
		p := append(append([]byte(o.word()), ' '), key...)
		switch p = append(p, ' '); {
		case o.Reply != nil:
			p = append(p, o.numbers()...)
		case o.Tokens != nil:
			p = strconv.AppendInt(p, o.Tokens[i], 10)
		default:
			p = append(p, o.Why.String()...)
		}
		payloads = append(payloads, append(append(p, ' '), o.Owner...))
	}
	return append([]byte(channelPrefix), o.Owner...), payloads
}

// numbers are the integers of the reply with commas between them: it holds no blanks.
func (o *Outcome) numbers() string {
	_, items, _ := strings.Cut(string(o.Reply), "\r\n:")
	return strings.TrimSuffix(strings.ReplaceAll(items, "\r\n:", ","), "\r\n")
}
