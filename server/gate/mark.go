package gate

// Mark is the state that a client carries for the log: the position that its output depends on. The zero Mark
// belongs to a client that has written and seen nothing.
type Mark struct {
	// Written is the position of the log after the client's last write. Floor is a position that its output
	// waits for, because another client's write made the output.
	Written, Floor int64
	// Needs is the position that the system must have before output is sent. Only the sender of the output
	// touches it, without a lock.
	Needs int64
}
