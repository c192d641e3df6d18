package raft

// undoing is the state that a leader needs to take back effects.
type undoing struct {
	// begun are the beginnings of the two periods. The first is valid only if two is set.
	begun [2]beginning
	two   bool
	// rounds is the number of rounds in the last period.
	rounds int
	kept   []keptBytes
	// full says that writes wait until another period can begin.
	full bool
}

// beginning is the beginning of a period.
type beginning struct {
	offset int64 // in the history
	db     int   // that the next commands of the history are for
}

// keptBytes are the bytes of the history from an offset on.
type keptBytes struct {
	offset int64
	bytes  []byte
}

// keep keeps the bytes of an entry.
func (u *undoing) keep(offset int64, bytes []byte) { u.kept = append(u.kept, keptBytes{offset, bytes}) }
