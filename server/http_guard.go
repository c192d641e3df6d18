package server

// isHTTP reports whether a word that is no command begins a line of HTTP. A web page can make a browser send
// a POST to a port on the user's own machine; as the lines of its body would be taken for inline commands,
// Redis hangs up at the first of these two words, and so do we.
func isHTTP(name []byte) bool { return equalWord(name, "post") || equalWord(name, "host:") }

// refuseHTTP ends the connection without a word; what was answered in this batch is dropped.
func (s *session) refuseHTTP() {
	s.executor.log.Warn("possible attack: a browser was made to send HTTP to this port; the connection is closed",
		"client", s.id, "address", s.info.addr)
	s.executor.condemn(s)
}
