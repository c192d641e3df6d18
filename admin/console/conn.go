package console

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"lockserver/admin/history"
	"lockserver/internal/call"
	"lockserver/server"
	"lockserver/server/cluster"
)

// Backend is the server that a console shows. *server.Server is one.
type Backend interface {
	// DialAudited returns a new connection for commands, like that of a client that has not logged in. The
	// caller audits its commands.
	DialAudited() (net.Conn, error)
	// Permits reports whether a user of the ACL may run a command.
	Permits(user string, command ...string) bool
	// Runs reports whether a user of the ACL may run a command if it names other keys.
	Runs(user string, command ...string) bool
	// DelayedStreams and DelayedTimes are about delayed entries that a user may read: see server.Server.
	DelayedStreams(user string) (list []server.DelayedStream, more bool)
	DelayedTimes(user string, db int, stream, id string, n int) []int64
	// RefusedLimits returns the limiters that refused the most calls and that a user may read.
	RefusedLimits(user string, most int) server.RefusedLimits
	// Directives are the directives that are set, by name: see server.Server.
	Directives() map[string]string
	// NowMS is the time of the server's data, in milliseconds since 1970: moments in its replies are by that.
	NowMS() int64
}

// viewer is a user that looks at a page, with the connection of the session. It decides which data a page
// shows.
type viewer struct {
	name    string
	conn    *call.Conn
	backend Backend
	shards  []Backend
	past    *history.Book
}

// home is the shard of a key.
func (who *viewer) home(key string) Backend { return who.shards[max(0, who.conn.ShardOf(key)-1)] }

// may reports whether the viewer may run a command.
func (who *viewer) may(command ...string) bool { return who.backend.Permits(who.name, command...) }

// seconds is the time of the server's data, in seconds since 1970.
func (who *viewer) seconds() float64 { return float64(who.backend.NowMS()) / 1000 }

// replyTimeout is the largest time for an answer of the server. A session ends when it has passed.
const replyTimeout = 20 * time.Second

// connect returns a connection that asks all shards: see call.Join. A page need not know that there are
// several.
func connect(shards []Backend) (*call.Conn, error) {
	of := make([]*call.Conn, 0, len(shards))
	for _, b := range shards {
		nc, err := b.DialAudited()
		if err != nil {
			for _, c := range of {
				c.Close()
			}
			return nil, fmt.Errorf("%w: %w", call.ErrLost, err)
		}
		of = append(of, call.New(nc, replyTimeout))
	}
	slots := cluster.Split(len(shards))
	return call.Join(of, func(slot int) int {
		return slices.IndexFunc(slots, func(r cluster.Range) bool { return r.Has(slot) })
	}), nil
}

// number reads an integer that is a text, as in INFO; 0 if the text is no integer.
func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}
