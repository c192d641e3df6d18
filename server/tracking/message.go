package tracking

import "lockserver/internal/resp"

// channel is the channel on which connections with version 2 of the protocol get invalidations of other
// clients.
const channel = "__redis__:invalidate"

// Invalidation says that copies of keys are outdated. It is encoded when it is first needed.
type Invalidation struct {
	Keys    []string  // nil: all keys
	encoded [2][]byte // in version 2 and 3 of the protocol
}

// In returns the bytes for a version of the protocol. Many clients share them, so they must not be changed.
func (m *Invalidation) In(proto int) []byte {
	i := 0
	if proto >= 3 {
		i = 1
	}
	if m.encoded[i] != nil {
		return m.encoded[i]
	}
	size := 64
	for _, key := range m.Keys {
		size += len(key) + 16
	}
	w := resp.Writer{Proto: proto, Buf: make([]byte, 0, size)}
	if proto >= 3 {
		w.Push(2)
		w.BulkString("invalidate")
	} else {
		w.Push(3)
		w.BulkString("message")
		w.BulkString(channel)
	}
	if m.Keys == nil {
		w.Null()
	} else {
		w.Array(len(m.Keys))
		for _, key := range m.Keys {
			w.BulkString(key)
		}
	}
	m.encoded[i] = w.Buf
	return w.Buf
}

// RedirectBroken returns the message, in version 3 of the protocol, that tells a client that the target of
// its redirection has disconnected.
func RedirectBroken(redirect int64) []byte {
	w := resp.Writer{Proto: 3}
	w.Push(2)
	w.BulkString("tracking-redir-broken")
	w.Int(redirect)
	return w.Buf
}
