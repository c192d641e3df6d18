package pubsub

import "lockserver/internal/resp"

// Message is a published message. It is encoded when it is first needed.
type Message struct {
	Kind             Kind   // kind of the name that the receivers are subscribed to
	Pattern          []byte // that name, if it is a pattern
	Channel, Payload []byte
	encoded          [2][]byte // in version 2 and 3 of the protocol
}

// words holds the first word of messages, by kind.
var words = [Kinds]string{Channel: "message", Pattern: "pmessage", Shard: "smessage"}

// In returns the bytes for a version of the protocol. Many clients share them, so the caller must not write
// to them.
func (m *Message) In(proto int) []byte {
	i := 0
	if proto >= 3 {
		i = 1
	}
	if m.encoded[i] == nil {
		w := resp.Writer{Proto: proto, Buf: make([]byte, 0, 64+len(m.Pattern)+len(m.Channel)+len(m.Payload))}
		if m.Kind == Pattern {
			w.Push(4)
			w.BulkString(words[m.Kind])
			w.Bulk(m.Pattern)
		} else {
			w.Push(3)
			w.BulkString(words[m.Kind])
		}
		w.Bulk(m.Channel)
		w.Bulk(m.Payload)
		m.encoded[i] = w.Buf
	}
	return m.encoded[i]
}
