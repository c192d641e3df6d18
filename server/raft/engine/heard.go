package engine

import (
	"time"

	"lockserver/server/raft"
)

// askFor bounds how long a server may take to answer with its identity.
const askFor = 2 * time.Second

// heardOf has the last answer of a member, and its time.
type heardOf struct {
	peer raft.Peer
	Hello
	err error
	// askedMS and heardMS are when it was asked and when it had answered, by this machine's clock.
	askedMS, heardMS int64
}
