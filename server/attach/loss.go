package attach

import (
	"strconv"

	"lockserver/internal/resp"
)

// channelPrefix begins the names of the channels on which losses are published; the owner stands behind it.
const channelPrefix = "__lock__:"

// Loss is what is pushed about a lock that its owner holds no more.
type Loss struct {
	Owner, Key string
	Token      int64
	Why        Reason
}

// reason is the last word of it.
func (l *Loss) reason() string { return reasons[l.Why] }

// AppendPush appends the loss as version 3 of the protocol sends it to a connection that is attached to the
// owner. One that is attached to a prefix also gets the owner.
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

// Message is the loss as it is published, and the channel. The key may hold blanks; the token and the reason,
// which stand behind it, do not.
func (l *Loss) Message() (channel, payload []byte) {
	payload = append(append(payload, "lock-lost "...), l.Key...)
	payload = strconv.AppendInt(append(payload, ' '), l.Token, 10)
	payload = append(append(payload, ' '), l.reason()...)
	return append([]byte(channelPrefix), l.Owner...), payload
}
