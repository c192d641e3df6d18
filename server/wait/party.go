package wait

import (
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"lockserver/commands"
	"lockserver/internal/resp"
	"lockserver/server/acl"
	"lockserver/server/attach"
	"lockserver/server/gate"
	"lockserver/store"
	"lockserver/store/renewals"
)

// Party is a client as commands and waits deal with it: who it is, what it may do, where its replies go, and
// what it holds and waits for. It outlives its connection if the server keeps places for it. Only code that
// holds the executor's lock touches it, except the field lost.
type Party struct {
	Client Connection // the connection
	Waits  *Waits
	Number int64
	User   *acl.User // has the rights
	DB     *store.DB // the chosen database
	Out    resp.Writer
	Info   ClientInfo

	// Terminated: the server has ended the connection, or does so when the unit is over. The party gets
	// nothing more. dead: the connection is closed, and the party is in no list. departed: its leases end.
	Terminated, Dead, departed bool
	Vanished                   atomic.Bool // its peer was taken for dead, and unacknowledged output is still to be looked at

	Flow
	Waiter *Parked // the command that waits; nil: none waits
	// Granted is the waiter with the reply in out, if its grant can be taken back.
	Granted *Parked
	// unsure is the last grant after a wait (liveness.go); nil: the client is taken to have heard of it.
	unsure   *watchedGrant
	Liveness *liveness // nil: no other client has depended on this one so far
	// keeper identifies the party in the store's renewals of the locks that it holds. shares is the first
	// of a list of such locks with shared holders. Both may be nil.
	keeper      *renewals.Keeper
	shares      *renewal
	Attachments attach.Attachments[*Party] // LOCK.ATTACH
	Queued      *queuedWaits               // NOTIFY; nil: the party has never kept the place of a wait
}

// Flow is how far the commands and the output of a client have come.
type Flow struct {
	Closing bool // no further command runs. The owner closes the connection when the output is out
	Touched bool // the client has output or may go on, and its connection is woken at the end of the slice
	Held    bool // the next command waits for the end of CLIENT PAUSE
	Tells   bool // the replies since the slice began may tell of data
	Mark    gate.Mark
	Written int64 // the position of the history of replication after the client's last write
}

// Connection has the methods of a connection that waits need.
type Connection interface {
	// Resume lets the client go on with its next command: that of row waits no more.
	Resume(row *commands.Row)
	// Answered is called with the answer to a command that has waited, which begins at mark in the output.
	Answered(w *Parked, mark int)
	// Deliver sends a message behind the replies. Its bytes are copied.
	Deliver(message []byte)
	// TakeInbox appends the messages that have arrived to the output.
	TakeInbox()
	// Muted reports whether the client wants no reply to the running command (CLIENT REPLY).
	Muted() bool
	// Permit reports why the user may not run a command. PermitIn is Permit for a wait that blocks no client:
	// for the user of a party that has this connection, or had it. Refusals are recorded (ACL LOG).
	Permit(row *commands.Row, argv [][]byte) error
	PermitIn(user *acl.User, db *store.DB, row *commands.Row, argv [][]byte) error
	// Act says that the client's own command runs, until shard.ActNoMore is called: it hears of no change of
	// its own (CLIENT TRACKING). HasRead says which keys the command has read.
	Act()
	HasRead(row *commands.Row, argv [][]byte)
	// GuardPeer makes the system probe a peer that has been silent. Heard asks it when it last heard of it.
	GuardPeer(silenceMS int64)
	Heard() Silence
}

// Silence is how long nothing was heard of a peer.
type Silence struct {
	Known      bool // false: the system does not tell
	Lasts      time.Duration
	Unanswered bool // the peer has not acknowledged output that was sent
}

// ID implements commands.Session.
func (p *Party) ID() int64 { return p.Number }

// partyOf is the party that runs the command.
func partyOf(c *commands.Ctx) *Party { return c.Session.(*Party) }

// Ended reports whether the connection has ended, or is about to.
func (p *Party) Ended() bool { return p.Dead || p.Terminated }

// ClientInfo holds the fixed part of a client's line in CLIENT LIST.
type ClientInfo struct {
	Name, LibName, LibVersion string
	Addr, LocalAddr           string
	FD                        int
	CreatedUS                 int64
	UnauthSinceUS             int64 // since when it is not logged in
	LastUS                    int64 // when its last batch ran
	Apart                     bool  // see transport.Peer.Audited
}

// IsLocal reports whether the client is on this machine, in the sense of the directives that say "local".
func (p *Party) IsLocal() bool { return IsLocalAddr(p.Info.Addr) }

// IsLocalAddr reports whether an address of CLIENT LIST is loopback, a unix socket, or in-process.
func IsLocalAddr(addr string) bool {
	if strings.HasSuffix(addr, ":0") || addr == "in-process" {
		return true
	}
	ap, err := netip.ParseAddrPort(addr)
	return err == nil && ap.Addr().Unmap().IsLoopback()
}
