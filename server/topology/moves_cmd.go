package topology

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lockserver/commands"
	"lockserver/internal/decimal"
	"lockserver/internal/keyslot"
	"lockserver/server/cluster"
)

// The commands of Valkey 9 that move slots. Their arguments, replies and the beginnings of their errors are
// Valkey's. Slots move between shards, so the target can be named by any of its members, by its shard's ID or
// name. One command names one target, and one move at a time leaves a shard.

// Later runs work without the lock of the server. When work has returned, the client gets OK or the error.
type Later func(c *commands.Ctx, work func() error) error

// Errors about moves of slots. The first three are replies of servers that cannot move slots.
const (
	errMoveInProcess commands.Error = "ERR the shards of one process move no slots while they run: stop them, and run 'lockserver reshard' (docs/CLUSTER.md)"
	errMoveNoShards  commands.Error = "ERR slots move between raft groups that are shards of a cluster (cluster-name), which this server is not: see docs/CLUSTER.md"
	errMoveUnable    commands.Error = "ERR this server cannot move slots to other shards"
	errNoEndSlot     commands.Error = "ERR No end slot for final slot range"
	errNoSlotRanges  commands.Error = "ERR No slot ranges specified"
	errManyShards    commands.Error = "ERR Requested slots span multiple shards"
	errRangesTwice   commands.Error = "ERR Slot ranges in migrations overlap"
	errTargetIsSelf  commands.Error = "ERR Target node can not be this node."
	errManyTargets   commands.Error = "ERR one command moves slots to one shard: send a command for each shard, one after the other"
	errNoMoves       commands.Error = "ERR No migrations ongoing"
)

// moveHandlers returns the handlers of moveRows.
func moveHandlers(later Later) map[string]handler {
	return map[string]handler{
		"migrateslots": func(g *Group, p *Connection, c *commands.Ctx) error { return migrateSlots(g, p, c, later) },
		"cancelslotmigrations": func(g *Group, p *Connection, c *commands.Ctx) error {
			return cancelMoves(g, p, c, later)
		},
		"getslotmigrations": listMoves,
	}
}

// moveRows returns the subcommands that move slots to other shards.
func moveRows() []commands.Row {
	move := func(name, summary, complexity string, args ...commands.Arg) commands.Row {
		r := clusterRow(name, "9.0.0", commands.Admin|commands.NoAsyncLoading, summary, args...)
		r.Complexity = complexity
		return r
	}
	waits := func(r commands.Row) commands.Row {
		r.Flags |= commands.Blocking | commands.NoScript | commands.NoMulti
		return r
	}
	slotRange := commands.Block("range", commands.Int("start-slot"), commands.Int("end-slot")).Many()
	migrate := waits(move("migrateslots", "Begins to move slots of this shard to another one; answers when the log of this shard has the move.", "O(N) for N ranges and slots",
		commands.Block("migration-group", commands.Flag("SLOTSRANGE").Named("slotsrange-token"), slotRange,
			commands.Flag("NODE").Named("node-token"), commands.Str("node-id")).Many()))
	migrate.MinArgs = 4 // Valkey's arity, so that readMove says which word is missing
	return []commands.Row{
		migrate,
		move("getslotmigrations", "Lists the moves of slots from and to this shard: those that are not over, and the last ones that are.", "O(N) for N moves"),
		waits(move("cancelslotmigrations", "Cancels the move of slots from this shard to another one.", "O(1)")),
	}
}

// mayMove returns why a connection cannot move slots of this server's shard; nil: it can.
func (g *Group) mayMove(p *Connection) error {
	now := g.seen.Load()
	switch {
	case g.mover == nil && now.Shard != "":
		return errMoveUnable
	case g.mover == nil && now.sharded && !g.alone:
		return errMoveInProcess
	case g.mover == nil:
		return errMoveNoShards
	case g.Leads(p):
		return nil
	}
	const follows = "ERR Slot migration can only be used on primary nodes: "
	if now.leader == nil {
		return commands.Error(follows + "this shard has no leader")
	}
	return commands.Error(follows + "this shard's is " + p.host(now.leader) + ":" + strconv.Itoa(p.port(now.leader)))
}

func migrateSlots(g *Group, p *Connection, c *commands.Ctx, later Later) error {
	if err := g.mayMove(p); err != nil {
		return err
	}
	slots, shard, err := g.seen.Load().readMove(p, c.Argv[2:])
	if err == nil {
		err = g.besideMoves(slots)
	}
	if err != nil {
		return err
	}
	return later(c, func() error {
		_, err := g.mover.Begin(slots, shard)
		return moveError(err)
	})
}

// moveError turns an error of a Mover into an error reply.
func moveError(err error) error {
	if err == nil || errors.As(err, new(commands.Error)) || errors.As(err, new(Redirection)) {
		return err
	}
	return commands.Error("ERR " + err.Error())
}

// readMove reads the words of CLUSTER MIGRATESLOTS. It returns the slots in order, and the name of the target
// shard.
func (s *sight) readMove(p *Connection, words [][]byte) (slots []cluster.Range, shard string, err error) {
	for len(words) > 0 {
		if !strings.EqualFold(string(words[0]), "SLOTSRANGE") {
			return nil, "", commands.ErrSyntax
		}
		ranges, rest, err := readRanges(words[1:])
		if err == nil {
			err = s.servesAll(p, ranges)
		}
		if err != nil {
			return nil, "", err
		}
		slots = append(slots, ranges...)
		if slots, err = cluster.Ordered(slots); err != nil {
			return nil, "", errRangesTwice
		}
		if len(rest) < 2 || !strings.EqualFold(string(rest[0]), "NODE") {
			return nil, "", commands.ErrSyntax
		}
		to, err := s.readTarget(string(rest[1]))
		switch {
		case err != nil:
			return nil, "", err
		case shard != "" && to != shard:
			return nil, "", errManyTargets
		}
		shard, words = to, rest[2:]
	}
	return slots, shard, nil
}

// readRanges reads pairs of slots up to a word that is no number. rest begins with that word.
func readRanges(words [][]byte) (ranges []cluster.Range, rest [][]byte, err error) {
	for len(words) > 0 {
		first, isInt := decimal.ParseInt(words[0])
		if !isInt {
			break
		}
		if first < 0 || first >= keyslot.Count {
			return nil, nil, errSlotRange
		}
		if len(words) < 2 {
			return nil, nil, errNoEndSlot
		}
		last, isInt := decimal.ParseInt(words[1])
		if !isInt || last < 0 || last >= keyslot.Count {
			return nil, nil, errSlotRange
		}
		if first > last {
			return nil, nil, commands.Error(fmt.Sprintf("ERR Start slot number %d is greater than end slot number %d.", first, last))
		}
		r := cluster.Range{First: int(first), Last: int(last)}
		for _, before := range ranges {
			if r.First <= before.Last && before.First <= r.Last {
				return nil, nil, commands.Error(fmt.Sprintf("ERR Slot range %s overlaps with previous range %s.", pairText(r), pairText(before)))
			}
		}
		ranges, words = append(ranges, r), words[2:]
	}
	if len(ranges) == 0 {
		return nil, nil, errNoSlotRanges
	}
	return ranges, words, nil
}

// servesAll returns an error if the shard of this server does not serve all slots of some ranges.
func (s *sight) servesAll(p *Connection, ranges []cluster.Range) error {
	asked, err := cluster.Ordered(ranges)
	if err != nil { // readRanges has compared them
		return err
	}
	others := cluster.Without(asked, cluster.Without(s.Slots, s.Lost))
	if len(others) == 0 {
		return nil
	}
	first := others[0].First
	switch to := s.owner(first); {
	case to == nil:
		return commands.Error(fmt.Sprintf("ERR Slot %d has no node served.", first))
	case !slices.Equal(others, asked), len(cluster.Without(others, to.Slots)) > 0:
		return errManyShards
	default:
		return commands.Error(fmt.Sprintf("ERR Slots are not served by this node: they are of the shard %s, which %s:%d leads", to.Shard, p.host(to), p.port(to)))
	}
}

// readTarget returns the name of the shard that a word means: the ID of a member, or the ID or name of the
// shard.
func (s *sight) readTarget(word string) (shard string, err error) {
	at := slices.IndexFunc(s.Members, func(m Member) bool { return m.ID == word || m.Shard == word || shardNodeID(m.Shard) == word })
	switch {
	case at >= 0 && s.Members[at].Shard == s.Shard:
		return "", errTargetIsSelf
	case at >= 0:
		return s.Members[at].Shard, nil
	case len(word) != len(NodeID("")) && !cluster.IsName(word):
		return "", commands.Error("ERR Invalid node name: " + printable([]byte(word)))
	}
	return "", commands.Error("ERR Unknown node name: " + printable([]byte(word)))
}

// besideMoves returns an error if another move of slots away from this shard is not over.
func (g *Group) besideMoves(slots []cluster.Range) error {
	m, going := g.moveAway()
	if !going {
		return nil
	}
	if both := cluster.Without(slots, cluster.Without(slots, m.Slots)); len(both) > 0 {
		return commands.Error(fmt.Sprintf("ERR I am already migrating slot %d.", both[0].First))
	}
	return commands.Error(fmt.Sprintf("ERR one move at a time leaves a shard: %s to the shard %s is not over yet (CLUSTER GETSLOTMIGRATIONS)", m.Name, m.Target))
}

// moveAway returns the move from this shard that is not over.
func (g *Group) moveAway() (m Move, going bool) {
	for _, m := range g.mover.Moves() {
		if m.Away && !m.State.Over() {
			return m, true
		}
	}
	return m, false
}

func cancelMoves(g *Group, p *Connection, c *commands.Ctx, later Later) error {
	if err := g.mayMove(p); err != nil {
		return err
	}
	if _, going := g.moveAway(); !going {
		return errNoMoves
	}
	return later(c, func() error { return moveError(g.mover.Cancel()) })
}

// listMoves replies with a map for each move: the fields of Valkey in its order, then others. A server that
// cannot move slots has an empty list.
func listMoves(g *Group, _ *Connection, c *commands.Ctx) error {
	all, now := g.Moves(), g.seen.Load()
	c.Out.Array(len(all))
	for i := range all {
		writeMove(c, now, &all[i])
	}
	return nil
}

func writeMove(c *commands.Ctx, s *sight, m *Move) {
	number := func(name string, n int64) {
		c.Out.BulkString(name)
		c.Out.Int(n)
	}
	operation := "IMPORT"
	if m.Away {
		operation = "EXPORT"
	}
	c.Out.Map(16)
	field(c, "name", m.Name)
	field(c, "operation", operation)
	field(c, "slot_ranges", pairsText(m.Slots))
	field(c, "target_node", s.nodeOf(m.Target))
	field(c, "source_node", s.nodeOf(m.Source))
	number("create_time", m.BegunMS/1000)
	number("last_update_time", m.ChangedMS/1000)
	number("last_ack_time", m.AckedMS/1000)
	field(c, "state", m.State.String())
	field(c, "message", m.Message)
	number("cow_size", 0) // no process is forked
	field(c, "target_shard", m.Target)
	field(c, "source_shard", m.Source)
	number("bytes_sent", m.Sent)
	number("bytes_left", m.Left)
	number("frozen_ms", m.FrozenMS)
}

// nodeOf returns the ID of the leader of a shard; if no leader is known, that of the shard.
func (s *sight) nodeOf(shard string) string {
	at := slices.IndexFunc(s.Members, func(m Member) bool { return m.Shard == shard && m.Leads })
	if at < 0 {
		return shardNodeID(shard)
	}
	return s.Members[at].ID
}

// pairText is a range as Valkey shows it: with two numbers, even if the range is one slot.
func pairText(r cluster.Range) string { return fmt.Sprintf("%d-%d", r.First, r.Last) }

func pairsText(all []cluster.Range) string {
	words := make([]string, len(all))
	for i, r := range all {
		words[i] = pairText(r)
	}
	return strings.Join(words, " ")
}
