package commands

// The errors of delayed entries that clients see; errors.go has the others.
const (
	ErrDelayTime   Error = "ERR the time of a delayed entry is not an integer or out of range"
	ErrDelayID     Error = "ERR the id of a delayed entry must not be empty"
	ErrDelayPlaces Error = "ERR no more entries can be due at this time"
)
