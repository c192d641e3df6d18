package raft

// undoing is what a leader needs to take back what it has done.
type undoing struct {
	// begun are the beginnings of the two periods; those of the first are valid if two is true.
	begun [2]beginning
	two   bool
	// rounds began in the last period.
	rounds int
	kept   []keptBytes
	// full: writes wait until another period can begin.
	full bool
}

// beginning is the beginning of a period.
type beginning struct {
	offset int64 // in the history
	db     int   // that the next commands of the history are for
}

// keptBytes are bytes of the history from an offset on.
type keptBytes struct {
	offset int64
	bytes  []byte
}

// keep keeps the bytes of an entry.
func (u *undoing) keep(offset int64, bytes []byte) { u.kept = append(u.kept, keptBytes{offset, bytes}) }
