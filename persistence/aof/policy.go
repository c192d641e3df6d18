package aof

// Policy says when a change counts as durable (appendfsync).
type Policy int

const (
	// EverySec syncs once a second in the background; a change counts when it has been handed to the system.
	EverySec Policy = iota
	// Always syncs before a change counts.
	Always
	// No leaves syncing to the system.
	No
)

// String gives the word that the directive appendfsync has for it.
func (p Policy) String() string {
	switch p {
	case Always:
		return "always"
	case EverySec:
		return "everysec"
	}
	return "no"
}
