package attach

import (
	"strconv"

	"lockserver/internal/resp"
)

// channelPrefix is the beginning of the channels on which notices are published; the owner follows.
const channelPrefix = "__lock__:"

// Notice is a message to the connections that are attached to an owner, about one lock of the owner.
type Notice struct {
	Owner, Key string
	Token      int64
	Word, Text string // the first word of the message, and the text at its end
}

// LossOf returns the notice about a lock that its owner does not hold any more.
func LossOf(owner, key string, token int64, why Reason) Notice {
	return Notice{owner, key, token, "lock-lost", reasons[why]}
}

// AskedOf returns the notice about a lock that another client asks for (LOCK.ASK).
func AskedOf(owner, key string, token int64, reason string) Notice {
	return Notice{owner, key, token, "lock-asked", reason}
}

// AppendPush appends the notice as a push of version 3 of the protocol, for a connection that is attached to
// the owner. A connection that is attached to a prefix also gets the owner.
func (n *Notice) AppendPush(b []byte, withOwner bool) []byte {
	w := resp.Writer{Proto: 3, Buf: b}
	words := 4
	if withOwner {
		words = 5
	}
	w.Push(words)
	w.BulkString(n.Word)
	w.BulkString(n.Key)
	w.Int(n.Token)
	w.BulkString(n.Text)
	if withOwner {
		w.BulkString(n.Owner)
	}
	return w.Buf
}

// Message returns the notice in its published form, and the channel. The key may contain blanks, and so may
// the text of LOCK.ASK; the token between them does not.
func (n *Notice) Message() (channel, payload []byte) {
	payload = append(append(payload, n.Word...), ' ')
	payload = append(append(payload, n.Key...), ' ')
	payload = strconv.AppendInt(payload, n.Token, 10)
	payload = append(append(payload, ' '), n.Text...)
	return append([]byte(channelPrefix), n.Owner...), payload
}
