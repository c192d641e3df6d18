package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"

	"lockserver/internal/inspect"
	"lockserver/server/cluster"
)

// clusterVerbs are the words behind `lockserver cluster`.
var clusterVerbs = map[string]func(ctx context.Context, args []string, stdout io.Writer) error{
	"balance": balance, "move": moveSlots, "drain": drain, "moves": listMoves, "cancel": cancelMoves,
}

// runCluster is `lockserver cluster` from its arguments, without that word, to its exit code. The code is 0
// if the work was done, 3 if only some of the slots were moved, and 1 after another error.
func runCluster(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := errors.New("balance, move, drain, moves or cancel: try lockserver cluster --help")
	at := slices.IndexFunc(args, func(word string) bool { return clusterVerbs[word] != nil })
	switch {
	case slices.Contains(args, "-h") || slices.Contains(args, "--help") || slices.Contains(args, "-help"):
		err = flag.ErrHelp
	case at >= 0:
		err = clusterVerbs[args[at]](ctx, slices.Delete(slices.Clone(args), at, at+1), stdout)
	}
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, clusterUsage)
		return 0
	}
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "lockserver cluster: %v\n", err)
	if errors.As(err, new(*errPartly)) {
		return 3
	}
	return 1
}

// clusterVerb holds the flags that the verbs share.
type clusterVerb struct {
	remote
	target  inspect.Target
	flagset *flag.FlagSet
	dry     bool
	portion int // --portion; 0: it was not given
}

// pollEvery is the time between two questions for the state of a move.
const pollEvery = 200 * time.Millisecond

// These bound a portion of a move by default. Commands to the source wait while its last changes are sent,
// and commands to the target while it takes the keys.
const (
	mostInPortion     = 512 // slots
	mostKeysInPortion = 50_000
)

// portionOf returns how many slots a portion has by default, if a shard has keys in slots.
func portionOf(keys int64, slots int) int {
	return int(min(mostInPortion, max(1, mostKeysInPortion*int64(slots)/max(1, keys))))
}

// set makes the flags.
func (v *clusterVerb) set(name string) *flag.FlagSet {
	v.flagset = flag.NewFlagSet("cluster "+name, flag.ContinueOnError)
	v.flagset.SetOutput(io.Discard)
	v.remote.flags(v.flagset)
	v.flagset.BoolVar(&v.dry, "dry-run", false, "")
	v.flagset.IntVar(&v.portion, "portion", 0, "")
	return v.flagset
}

func (v *clusterVerb) parse(args []string) error {
	words, err := parseMixed(v.flagset, args)
	given := false
	v.flagset.Visit(func(f *flag.Flag) { given = given || f.Name == "portion" })
	switch {
	case err != nil:
		return err
	case len(words) > 0:
		return fmt.Errorf("'%s': try lockserver cluster --help", words[0])
	case given && v.portion < 1:
		return errors.New("--portion: at least one slot")
	}
	v.target, err = v.remote.options()
	return err
}

// move finds the slots of all shards, and makes the moves of a plan.
func (v *clusterVerb) move(ctx context.Context, stdout io.Writer, plan func(all []shardSlots) ([]slotMove, error)) error {
	l, err := findShards(ctx, &v.remote, v.target)
	if err != nil {
		return err
	}
	defer l.close()
	all, err := l.layout(ctx)
	if err != nil {
		return fmt.Errorf("no slot was moved: %w", err)
	}
	moves, err := plan(all)
	if err != nil {
		return err
	}
	if len(moves) == 0 {
		fmt.Fprintln(stdout, "no slot has to move")
		return nil
	}
	if v.dry {
		for _, m := range moves {
			fmt.Fprintf(stdout, "%s to %s: %d slots, %s\n", m.from, m.to, countOf(m.slots), cluster.RangesText(m.slots))
		}
		return nil
	}
	m := &slotMover{leaders: l, out: stdout, live: isTerminal(stdout), every: pollEvery}
	most := v.portion
	if most == 0 {
		most = l.defaultPortion(ctx, all, moves)
	}
	return m.run(ctx, portions(moves, most))
}

// defaultPortion returns how many slots a portion of some moves has without --portion. A shard that does not
// say how many keys it has is taken for one with few keys.
func (l *shardLeaders) defaultPortion(ctx context.Context, all []shardSlots, moves []slotMove) int {
	most := mostInPortion
	for _, s := range all {
		if !slices.ContainsFunc(moves, func(m slotMove) bool { return m.from == s.name }) {
			continue
		}
		if _, size, err := l.ask(ctx, s.name, "DBSIZE"); err == nil {
			most = min(most, portionOf(size.Int, countOf(s.slots)))
		}
	}
	return most
}

// moveSlots is `lockserver cluster move`.
func moveSlots(ctx context.Context, args []string, stdout io.Writer) error {
	var v clusterVerb
	f := v.set("move")
	text, from, to := f.String("slots", "", ""), f.String("from", "", ""), f.String("to", "", "")
	count := f.Int("count", 0, "")
	if err := v.parse(args); err != nil {
		return err
	}
	switch {
	case *to == "":
		return errors.New("--to names the shard that gets the slots")
	case (*text == "") == (*count == 0):
		return errors.New("either --slots or --count")
	case *count != 0 && *from == "":
		return errors.New("--count needs --from, the shard that gives slots")
	case *count != 0:
		return v.move(ctx, stdout, func(all []shardSlots) ([]slotMove, error) { return planCount(all, *count, *from, *to) })
	}
	slots, err := parseSlots(*text)
	if err != nil {
		return fmt.Errorf("--slots: %w", err)
	}
	return v.move(ctx, stdout, func(all []shardSlots) ([]slotMove, error) { return planSlots(all, slots, *from, *to) })
}

// parseSlots reads ranges with spaces or commas between them.
func parseSlots(text string) ([]cluster.Range, error) {
	b := []byte(text)
	for i, c := range b {
		if c == ',' {
			b[i] = ' '
		}
	}
	return cluster.ParseRanges(string(b))
}

// drain is `lockserver cluster drain`.
func drain(ctx context.Context, args []string, stdout io.Writer) error {
	var v clusterVerb
	name := v.set("drain").String("shard", "", "")
	if err := v.parse(args); err != nil {
		return err
	}
	if *name == "" {
		return errors.New("--shard names the shard that gives all its slots")
	}
	return v.move(ctx, stdout, func(all []shardSlots) ([]slotMove, error) { return planDrain(all, *name) })
}

// listMoves is `lockserver cluster moves`.
func listMoves(ctx context.Context, args []string, stdout io.Writer) error {
	var v clusterVerb
	v.set("moves")
	if err := v.parse(args); err != nil {
		return err
	}
	l, err := findShards(ctx, &v.remote, v.target)
	if err != nil {
		return err
	}
	defer l.close()
	var all []slotMoveState
	for _, name := range l.names() {
		_, of, one := l.movesOf(ctx, name)
		if one != nil {
			err = errors.Join(err, fmt.Errorf("the shard %s: %w", name, one))
		}
		for _, m := range of {
			all = addMove(all, m)
		}
	}
	slices.SortStableFunc(all, func(a, b slotMoveState) int { return cmp.Compare(b.createdS, a.createdS) })
	return errors.Join(printMoves(stdout, all), err)
}

// addMove adds a move, unless it is listed. The words of the source count, which decides.
func addMove(all []slotMoveState, m slotMoveState) []slotMoveState {
	i := slices.IndexFunc(all, func(other slotMoveState) bool { return other.name == m.name })
	switch {
	case i < 0:
		return append(all, m)
	case m.away:
		all[i] = m
	}
	return all
}

func printMoves(w io.Writer, all []slotMoveState) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "no moves")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "MOVE\tFROM\tTO\tSLOTS\tSTATE\tSENT\tLEFT\tWAITED\tMESSAGE")
	for _, m := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d ms\t%s\n", m.name, m.from, m.to, cluster.RangesText(m.slots), m.state, bytesText(m.sent), bytesText(m.left), m.frozenInMS, m.message)
	}
	return t.Flush()
}

// cancelMoves is `lockserver cluster cancel`.
func cancelMoves(ctx context.Context, args []string, stdout io.Writer) error {
	var v clusterVerb
	from := v.set("cancel").String("from", "", "")
	if err := v.parse(args); err != nil {
		return err
	}
	l, err := findShards(ctx, &v.remote, v.target)
	if err != nil {
		return err
	}
	defer l.close()
	names, cancelled := l.names(), 0
	if *from != "" {
		names = []string{*from}
	}
	for _, name := range names {
		_, all, one := l.movesOf(ctx, name)
		at := slices.IndexFunc(all, func(m slotMoveState) bool { return m.away && !m.over() })
		if one == nil && at >= 0 {
			if _, _, one = l.ask(ctx, name, "CLUSTER", "CANCELSLOTMIGRATIONS"); one == nil {
				fmt.Fprintf(stdout, "%s from %s to %s: cancelled\n", all[at].name, all[at].from, all[at].to)
				cancelled++
			}
		}
		if one != nil {
			err = errors.Join(err, fmt.Errorf("the shard %s: %w", name, one))
		}
	}
	if err == nil && cancelled == 0 {
		return errors.New("no slots are moving")
	}
	return err
}

const clusterUsage = `Usage: lockserver cluster balance [--slots] [--dry-run] [--addr host:port ...]
       lockserver cluster move --slots RANGES --to SHARD [--from SHARD] [--dry-run] [--portion N] [--addr host:port ...]
       lockserver cluster move --count N --from SHARD --to SHARD [--dry-run] [--portion N] [--addr host:port ...]
       lockserver cluster drain --shard SHARD [--dry-run] [--portion N] [--addr host:port ...]
       lockserver cluster moves [--addr host:port ...]
       lockserver cluster cancel [--from SHARD] [--addr host:port ...]

Work on a cluster in which each shard is a raft group. Nothing is done while a shard has no leader, or a slot is not
served.

balance spreads the leaders over the machines, if a machine has members of several shards. It asks leaders to hand their
lead on (RAFT TRANSFER). A machine is the host in the address of its clients. With --slots it evens out the slots of the
shards.

move moves slots to another shard, and drain all slots of a shard to the others. Slots move in portions, one after the
other, while clients use them. Commands to the source wait for some milliseconds at the end of each portion. moves lists
the moves of all shards, and cancel ends those that are not over. After an interruption the portion that has begun goes
on. The same command moves the rest.

The exit code is 0 if the work was done, 3 if only some of the slots were moved, and 1 after another error.

  --dry-run        print the transfers or moves, and ask for none
  --slots RANGES   the slots, such as 0-100,200; behind balance it has no value
  --count N        so many slots, the highest of the source
  --from SHARD     the shard that gives slots
  --to SHARD       the shard that gets them
  --portion N      how many slots move at a time (512, or fewer that have about 50,000 keys)
` + remoteUsage
