package attach

import (
	"strconv"

	"lockserver/internal/resp"
)

// channelPrefix is the beginning of the channels on which losses are published; the owner follows.
const channelPrefix = "__lock__:"

// Loss is the message about a lock that its owner does not hold any more.
type Loss struct {
	Owner, Key string
	Token      int64
	Why        Reason
}

// reason returns the last word of the message.
func (l *Loss) reason() string { return reasons[l.Why] }

// AppendPush appends the loss as a push of version 3 of the protocol, for a connection that is attached to
// the owner. A connection that is attached to a prefix also gets the owner.
func (l *Loss) AppendPush(b []byte, withOwner bool) []byte {
	w := resp.Writer{Proto: 3, Buf: b}
	words := 4
	if withOwner {
		words = 5
	}
	w.Push(words)
	w.BulkString("lock-lost")
	w.BulkString(l.Key)
	w.Int(l.Token)
	w.BulkString(l.reason())
	if withOwner {
		w.BulkString(l.Owner)
	}
	return w.Buf
}

// Message returns the loss in its published form, and the channel. The key may contain blanks; the token and
// the reason after it do not.
func (l *Loss) Message() (channel, payload []byte) {
	payload = append(append(payload, "lock-lost "...), l.Key...)
	payload = strconv.AppendInt(append(payload, ' '), l.Token, 10)
	payload = append(append(payload, ' '), l.reason()...)
	return append([]byte(channelPrefix), l.Owner...), payload
}
