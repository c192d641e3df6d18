package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"lockserver/commands"
	"lockserver/internal/config"
	"lockserver/internal/lockhistory"
	"lockserver/server/cluster"
	"lockserver/server/groups"
	"lockserver/server/raft"
	"lockserver/server/topology"
)

// How the server's group (package topology) has its say: before a command is run by a member that does not
// lead, and when the leader has changed.

// groupOf is the group of the server that runs a command, and where its client is.
func groupOf(c *commands.Ctx) (*topology.Group, *topology.Connection) {
	s := sessionOf(c)
	return s.executor.group, &s.place
}

// groupHost is the executor as its group sees it.
type groupHost struct {
	executor *executor
	mu       sync.Mutex
	changes  []topology.Change // the changes that are still to be reported, in order
}

var _ topology.ChangeListener = (*groupHost)(nil)

// joinGroup makes the server a member of a group; nil: of none. It returns what tells clients of changes.
func (ex *executor) joinGroup(g *topology.Group) (tell func()) {
	if ex.group = g; g == nil {
		return nil
	}
	h := &groupHost{executor: ex}
	g.Attach(h)
	return h.tell
}

// Switched implements topology.ChangeListener.
func (h *groupHost) Switched(c topology.Change) {
	h.mu.Lock()
	h.changes = append(h.changes, c)
	h.mu.Unlock()
	go h.executor.Do(h.tell)
}

// tell tells clients of the changes: who waits at a member that leads no more is sent on, and who listens to
// a Sentinel hears where the master is.
func (h *groupHost) tell() {
	h.mu.Lock()
	changes := h.changes
	h.changes = nil
	h.mu.Unlock()
	ex := h.executor
	for _, c := range changes {
		if text, ok := ex.group.SwitchMessage(c); ok {
			ex.publish([]byte(topology.SwitchChannel), []byte(text))
		}
	}
	for _, s := range ex.clients {
		if w := s.Waiter; w != nil && !ex.group.Leads(&s.place) {
			if call := s.callOf(w.Row, w.Words.Argv(), w.Row.Flags); call.Keyed {
				ex.Waits.RefuseFor(lockhistory.Failover)
				ex.Waits.Answer(w, func(*commands.Ctx) error { return ex.group.RedirectWaiter(&s.place, call.Key) })
			}
		}
	}
}

// redirect says why the session's command is not for this member of the group. flags are the row's, or those
// of what it is to run.
func (s *session) redirect(row *commands.Row, argv [][]byte, flags commands.Flags) error {
	g := s.executor.group
	if !g.Leads(&s.place) {
		call := s.callOf(row, argv, flags)
		if g.IsSharded() && g.IsMember() { // the leader of another shard has the keys, or that of this one
			if err := g.Misplaced(&s.place, &call); err != nil {
				return err
			}
		}
		if err := g.Redirect(&s.place, &call); err != nil && !(s.mayRead(row, flags) && s.executor.Member.ServesReads()) {
			if g.View().Leader == "" {
				err = cmp.Or(groupView{s.executor}.waitsForGroup(), err)
			}
			return err
		}
	} else if g.Strict() && !surelyServed(g, row, argv) {
		if err := misplaced(s, row, argv); err != nil {
			return err
		}
	}
	if row.Databases.Named != nil && g.IsCluster() {
		return g.RefusesDatabase(row.Name, argv, row.Databases.Named(argv, nil))
	}
	return nil
}

// surelyServed reports whether a command has no key, or only a key in a slot that the leader of a cluster
// serves: nearly all commands. misplaced looks at the others.
func surelyServed(g *topology.Group, row *commands.Row, argv [][]byte) bool {
	at := row.RoutedBy()
	return at < 0 || at > 0 && g.Serves(argv[at])
}

// misplaced says why a command on keys that has come to the leader of a cluster is not run there.
func misplaced(s *session, row *commands.Row, argv [][]byte) error {
	call := s.callOf(row, argv, 0)
	return s.executor.group.Misplaced(&s.place, &call)
}

// mayRead reports whether a member of a raft group that does not lead may run the session's command, if its
// data is new enough. The client must have sent READONLY, and the command must only read data. Commands about
// locks are left to the leader, which alone knows the waiters and the connections that renew leases. flags
// are the row's, or those of what it is to run.
func (s *session) mayRead(row *commands.Row, flags commands.Flags) bool {
	const changes = commands.Write | commands.MayReplicate
	ex := s.executor
	return ex.Member != nil && s.place.ReadOnly && ex.group.IsCluster() && flags.Has(commands.ReadOnly) && (flags|row.Flags)&changes == 0 && row.Group != commands.Lock
}

// callOf is a command as the group looks at it.
func (s *session) callOf(row *commands.Row, argv [][]byte, flags commands.Flags) (call topology.Call) {
	call.Write, call.Reads = flags.Has(commands.Write), flags.Has(commands.ReadOnly)
	call.Stale = row.Flags.Has(commands.Stale) || row.Name == "ping"      // which Sentinels are asked, to see whether they live
	if s.executor.Member != nil && row.Flags.Has(commands.MayReplicate) { // a script without keys may touch any
		call.Reads, call.Write, call.Stale = true, false, false
	}
	if !row.Flags.Has(commands.RunsQueue) {
		if s.executor.Member != nil && row.Flags.Has(commands.UsesPubSub|commands.MayReplicate) && len(argv) > 1 {
			call.Key, call.Message = argv[1], true
		}
		s.findKeys(&call, row, argv)
		return call
	}
	if s.tx.multi != nil {
		for _, q := range s.tx.multi.queued {
			if s.findKeys(&call, q.row, q.argv); call.Keyed && !s.executor.group.Strict() {
				break
			}
		}
	}
	return call
}

// mostKeyRefs bounds the list of keys that findKeys keeps for the next command.
const mostKeyRefs = 64

// findKeys finds the first key of a command: of those that it names, or else of those that follow from what
// it names. A sharded channel, and a name from which keys follow, go the way of a key. In a strict group it
// adds the slots of all of them to the call.
func (s *session) findKeys(call *topology.Call, row *commands.Row, argv [][]byte) {
	strict := s.executor.group.Strict()
	add := func(key []byte, channel bool) {
		if !call.Keyed {
			call.Key, call.Keyed, call.Channel = key, true, channel
		}
		if strict {
			call.Add(key)
		}
	}
	var name []byte // the keys of row.Implied follow from it
	row.EachRouted(argv, func(pos int) {
		if add(argv[pos], row.Implied == nil); name == nil {
			name = argv[pos]
		}
	})
	refs, err := s.executor.Table.KeyRefs(row, argv, s.executor.keyRefs[:0])
	if cap(refs) <= mostKeyRefs {
		s.executor.keyRefs = refs
	}
	if err == nil {
		for _, ref := range refs {
			add(argv[ref.Pos], false)
		}
	}
	if strict && row.Implied != nil {
		if len(refs) > 0 {
			name = argv[1]
		}
		addImplied(s, call, row, argv, name, len(refs) > 0)
	}
	if row.Group == commands.Lock { // LOCK.ATTACH: clients of a cluster send it to any member, and only the leader renews locks
		call.Keyed = true
	}
}

// addImplied adds the keys that follow from a name among the words of a command. named says that the name is
// a key itself.
func addImplied(s *session, call *topology.Call, row *commands.Row, argv [][]byte, name []byte, named bool) {
	queued := s.tx.multi != nil // the commands before it may change what is there
	follows := *call            // calls of other commands stay on the stack
	row.Implied(s.DB, argv, func(key []byte, use commands.KeyFlags) bool {
		return use&commands.Unused != 0 && !queued || follows.Follows(name, key, named)
	})
	*call = follows
}

// errFollowsInCluster answers REPLICAOF in a cluster, in Redis' words.
const errFollowsInCluster commands.Error = "ERR REPLICAOF not allowed in cluster mode."

// fitCluster makes options and a configuration those of a cluster, if cluster-enabled says so: with one
// database, and, if nothing else is said, with this server as the only shard.
func fitCluster(o *Options, c *config.Config) error {
	if o.peers == nil {
		if c.Shards > 1 {
			return errors.New("server: shards: more than one are made by NewCluster")
		}
		if r, ok, _ := cluster.ReadRecord(c.Dir); ok && c.DBFilename != "" {
			return fmt.Errorf("server: %s has the data of %d shards: start with shards %d", c.Dir, r.Shards, r.Shards)
		}
	}
	if err := groups.Check(&c.Groups, o.Raft != nil && c.ClusterEnabled && o.Group.IsCluster()); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	switch {
	case !c.ClusterEnabled:
		return nil
	case c.Replication.MasterHost != "":
		return errors.New("server: replicaof directive not allowed in cluster mode")
	case o.Group.IsSentinel():
		return errors.New("server: cluster-enabled: not where Sentinels tell clients of the leader")
	}
	c.Databases = 1
	if o.Group == nil {
		o.Group = topology.NewAlone(topology.NodeID(fmt.Sprint(o.Seed)))
	}
	return nil
}

// roleInGroup makes ROLE tell of the group where there is one, and REPLICAOF refuse in a cluster.
func roleInGroup(rows []commands.Row) []commands.Row {
	for i := range rows {
		if rows[i].Name == "replicaof" || rows[i].Name == "slaveof" {
			follow := rows[i].Run
			rows[i].Run = func(c *commands.Ctx) error {
				if g, _ := groupOf(c); g.Strict() {
					return errFollowsInCluster
				}
				return follow(c)
			}
		}
		if rows[i].Name != "role" {
			continue
		}
		alone := rows[i].Run
		rows[i].Run = func(c *commands.Ctx) error {
			g, p := groupOf(c)
			if !g.IsMember() {
				return alone(c)
			}
			g.WriteRole(p, c.Out)
			return nil
		}
	}
	return rows
}

// waitsForGroup is the answer of a server that waits to be added to a group; nil: it does not.
func (m groupView) waitsForGroup() error {
	if m.Member == nil || !m.Member.AwaitsAdd() {
		return nil
	}
	return topology.Redirection(m.downWord() + " This server is in no raft group yet: " + raft.AwaitsAdd)
}

// groupsHost is the executor as its raft group sees it, if the group is one of several shards.
type groupsHost struct{ *executor }

var _ groups.ShardServer = groupsHost{}

// Dial implements groups.ShardServer.
func (h groupsHost) Dial(ctx context.Context, host string, port int) (net.Conn, error) {
	if dial := h.opts.DialShards; dial != nil {
		return dial(ctx, host, port)
	}
	return replicationHost(h).Dial(ctx, host, port)
}

// Login implements groups.ShardServer.
func (h groupsHost) Login() (user, password string) {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	return h.config.Replication.MasterUser, h.config.Replication.MasterAuth
}

// Background implements groups.ShardServer.
func (h groupsHost) Background(f func()) { h.host.background(f) }

// NowMS implements groups.ShardServer.
func (h groupsHost) NowMS() int64 { return h.Clock.NowUS() / 1000 }
