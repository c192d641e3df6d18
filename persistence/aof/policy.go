package aof

// Policy says when a change counts as durable (appendfsync).
type Policy int

const (
	// EverySec syncs once a second in the background; a change counts when the system has it.
	EverySec Policy = iota
	// Always syncs before a change counts.
	Always
	// No leaves syncing to the system.
	No
)

// String returns the policy's word in the directive appendfsync.
func (p Policy) String() string {
	switch p {
	case Always:
		return "always"
	case EverySec:
		return "everysec"
	}
	return "no"
}
