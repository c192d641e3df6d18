package server

import "lockserver/internal/resp"

// invalidationChannel is where connections in version 2 of the protocol hear of keys that others track.
const invalidationChannel = "__redis__:invalidate"

// invalidation says that copies of keys are no longer good, encoded when it is first needed.
type invalidation struct {
	keys    []string  // nil: of all keys
	encoded [2][]byte // in version 2 and 3 of the protocol
}

// in returns the bytes for a version of the protocol, which many share: nobody may write to them.
func (m *invalidation) in(proto int) []byte {
	i := 0
	if proto >= 3 {
		i = 1
	}
	if m.encoded[i] != nil {
		return m.encoded[i]
	}
	size := 64
	for _, key := range m.keys {
		size += len(key) + 16
	}
	w := resp.Writer{Proto: proto, Buf: make([]byte, 0, size)}
	if proto >= 3 {
		w.Push(2)
		w.BulkString("invalidate")
	} else {
		w.Push(3)
		w.BulkString("message")
		w.BulkString(invalidationChannel)
	}
	if m.keys == nil {
		w.Null()
	} else {
		w.Array(len(m.keys))
		for _, key := range m.keys {
			w.BulkString(key)
		}
	}
	m.encoded[i] = w.Buf
	return w.Buf
}

// tell sends a tracker a message, or whom it has named instead. Version 2 of the protocol has no messages but
// those to subscribers, so nothing else reaches a client there.
func (ex *executor) tell(tr *tracker, m *invalidation) {
	to := tr.session
	if tr.redirect != 0 {
		if to = ex.clients[tr.redirect]; to == nil {
			ex.tellBroken(tr)
			return
		}
	}
	if to.out.Proto >= 3 || tr.redirect != 0 && to.subs != nil {
		ex.deliver(to, m.in(to.out.Proto))
	}
}

// tellBroken tells a tracker that nobody hears its messages any more.
func (ex *executor) tellBroken(tr *tracker) {
	tr.broken = true
	if tr.session.out.Proto < 3 {
		return
	}
	w := resp.Writer{Proto: 3}
	w.Push(2)
	w.BulkString("tracking-redir-broken")
	w.Int(tr.redirect)
	ex.deliver(tr.session, w.Buf)
}
