package attach

import (
	"strconv"
	"strings"

	"lockserver/internal/resp"
)

// Refusal is the reason why a wait without a blocked client (NOTIFY) ended without the lock.
type Refusal uint8

const (
	Timeout     Refusal = iota // the time to wait has ended
	Deadlock                   // it was the youngest wait of a deadlock
	WrongType                  // the value at the key is not a lock
	Cancelled                  // by LOCK.CANCEL, or because no connection kept the place in the queue
	Unconfirmed                // it was granted, but not confirmed in time
	Failover                   // the server is a replica now
	Denied                     // the user may not write to the key
	Failed                     // any other error
)

var refusals = [...]string{Timeout: "timeout", Deadlock: "deadlock", WrongType: "wrongtype", Cancelled: "cancelled", Unconfirmed: "unconfirmed",
	Failover: "failover", Denied: "denied", Failed: "error"}

// String returns the refusal's word in pushes and messages.
func (r Refusal) String() string { return refusals[r] }

// Outcome is the end of a wait without a blocked client.
type Outcome struct {
	Owner string
	Keys  []string
	Many  bool // the wait is an MLOCK: keys and tokens are arrays
	// Tokens holds the tokens of the granted locks; nil: the wait was refused.
	Tokens []int64
	Why    Refusal // valid if the wait was refused
	// Limiter says that it was a wait for units of a limiter. Reply is the reply of LIMIT.TAKE, an array of
	// integers; nil: the wait was refused.
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

// AppendPush appends the outcome as a push of version 3 of the protocol: a word, the key, the token or the
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

// Messages returns the outcome in its published form, a message for each key, and the owner's channel. The
// key and the owner may contain blanks; the word between them does not.
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

// numbers returns the integers of the reply, separated by commas without blanks.
func (o *Outcome) numbers() string {
	_, items, _ := strings.Cut(string(o.Reply), "\r\n:")
	return strings.TrimSuffix(strings.ReplaceAll(items, "\r\n:", ","), "\r\n")
}
