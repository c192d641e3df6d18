package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"lockserver/internal/call"
	"lockserver/internal/resp"
	"lockserver/server/cluster"
	"lockserver/server/shardmap"
)

// sourceAsker asks the leader of a shard: see shardLeaders.
type sourceAsker interface {
	movesOf(ctx context.Context, shard string) (own shardmap.Shard, all []slotMoveState, err error)
	ask(ctx context.Context, shard string, words ...string) (own shardmap.Shard, reply resp.Value, err error)
}

// slotMover makes moves in portions, one after the other.
type slotMover struct {
	leaders sourceAsker
	out     io.Writer
	live    bool // out is a terminal: a line can be overwritten
	// every is the time between two questions for the state of a move. After mostSilent questions without
	// an answer the work ends.
	every       time.Duration
	count, done int // of portions
	slots       int // that were moved
}

const (
	mostSilent = 300
	mostBegun  = 3 // how often a portion is begun
)

// errPartly says that some slots were moved before an error.
type errPartly struct {
	error
	moved, all int
}

func (e *errPartly) Error() string {
	return fmt.Sprintf("%v; %d of %d slots were moved. The same command goes on", e.error, e.moved, e.all)
}

func (e *errPartly) Unwrap() error { return e.error }

// run makes all portions. If slots were moved before an error, the error is an errPartly.
func (m *slotMover) run(ctx context.Context, all []slotMove) error {
	m.count = len(all)
	for _, p := range all {
		last, err := m.portion(ctx, p)
		m.clear()
		if err != nil {
			err = fmt.Errorf("slots %s from %s to %s: %w", cluster.RangesText(p.slots), p.from, p.to, err)
			if m.done == 0 {
				return err
			}
			total := 0
			for _, p := range all {
				total += countOf(p.slots)
			}
			return &errPartly{err, m.slots, total}
		}
		m.done++
		m.slots += countOf(p.slots)
		fmt.Fprintf(m.out, "%d/%d  %s to %s, slots %s: moved%s\n", m.done, m.count, p.from, p.to, cluster.RangesText(p.slots), last.figures())
	}
	return nil
}

// figures tells how large a move was, and for how long commands waited.
func (m *slotMoveState) figures() string {
	if m.name == "" {
		return ""
	}
	return fmt.Sprintf(" (%s, %s, commands waited for %d ms)", m.name, bytesText(m.sent), m.frozenInMS)
}

// bytesText is a number of bytes for people; "?": not known.
func bytesText(n int64) string {
	switch {
	case n < 0:
		return "?"
	case n < 1<<20:
		return fmt.Sprintf("%.1f KB", float64(n)/1024)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
}

// portionRun is the work on one portion.
type portionRun struct {
	slotMove
	name   string // of the move; empty: it has not begun, or its name is not known yet
	before string // the newest move of these slots before this one
	leader string // ID of the leader of the source at the command
	// begun counts commands that may have begun the move, refused those with an error that may pass, and
	// silent the questions in a row without an answer.
	begun, refused, silent int
}

// portion moves slots, and returns the last state of the move. It asks for the state by name until the move
// is over. The move goes on if another member leads the source. It begins again if it has failed meanwhile.
func (m *slotMover) portion(ctx context.Context, p slotMove) (last slotMoveState, err error) {
	run := &portionRun{slotMove: p}
	for {
		own, all, err := m.leaders.movesOf(ctx, p.from)
		step := wait
		switch {
		case ctx.Err() != nil:
			return last, m.interrupted(run)
		case errors.As(err, new(call.Error)) && !isPassing(err):
			return last, err
		case err != nil:
			if run.silent++; run.silent >= mostSilent {
				return last, err
			}
		default:
			run.silent = 0
			if step, last, err = run.next(&own, all); err != nil || step == moved {
				return last, err
			}
		}
		if step == begin {
			if err := m.begin(ctx, run); err != nil {
				return last, err
			}
		}
		m.show(run, &last)
		select {
		case <-ctx.Done():
			return last, m.interrupted(run)
		case <-time.After(m.every):
		}
	}
}

// interrupted is the error of a user's interruption.
func (m *slotMover) interrupted(run *portionRun) error {
	if run.begun == 0 {
		return errors.New("interrupted")
	}
	return fmt.Errorf("interrupted: the move %s goes on. 'lockserver cluster moves' shows it, and 'lockserver cluster cancel' ends it", run.name)
}

// portionStep is the next step of a portion.
type portionStep uint8

const (
	wait  portionStep = iota
	begin             // send CLUSTER MIGRATESLOTS
	moved             // the target has the slots
)

// next decides from the state of the source, as its leader knows it.
func (p *portionRun) next(own *shardmap.Shard, all []slotMoveState) (step portionStep, last slotMoveState, err error) {
	if p.name == "" {
		p.adopt(all)
	}
	if i := slices.IndexFunc(all, func(m slotMoveState) bool { return m.away && m.name == p.name }); i >= 0 && p.name != "" {
		last = all[i]
		switch {
		case last.state == "success":
			return moved, last, nil
		case last.state == "cancelled":
			return wait, last, fmt.Errorf("the move %s was cancelled", p.name)
		case !last.over():
			return wait, last, nil
		}
		why := fmt.Errorf("the move %s has failed: %s", p.name, cmp.Or(last.message, "the source does not say why"))
		if own.Leader == p.leader || p.begun >= mostBegun {
			return wait, last, why
		}
	}
	has := len(cluster.Without(p.slots, cluster.Without(p.slots, own.Slots)))
	switch going := slices.IndexFunc(all, func(m slotMoveState) bool { return m.away && !m.over() }); {
	case has == 0:
		return moved, last, nil
	case len(cluster.Without(p.slots, own.Slots)) > 0:
		return wait, last, errors.New("the source does not have all of the slots any more")
	case going >= 0:
		return wait, all[going], nil
	case p.begun >= mostBegun:
		return wait, last, errors.New("the move has begun several times, and the source does not know it")
	}
	p.name, p.before, p.leader = "", "", own.Leader
	if i := slices.IndexFunc(all, p.isOf); i >= 0 {
		p.before = all[i].name
	}
	return begin, last, nil
}

// adopt finds the name of the move among those of the source. The move has the same slots, and is open or
// newer than the command.
func (p *portionRun) adopt(all []slotMoveState) {
	i := slices.IndexFunc(all, p.isOf)
	if i < 0 {
		return
	}
	if !all[i].over() || p.begun > 0 && all[i].name != p.before {
		p.name = all[i].name
	}
}

// isOf reports whether a move has the slots and the target of the portion.
func (p *portionRun) isOf(m slotMoveState) bool {
	return m.away && m.to == p.to && slices.Equal(m.slots, p.slots)
}

// begin sends CLUSTER MIGRATESLOTS. A reply that is lost is no error, since the state of the source tells
// whether the move has begun.
func (m *slotMover) begin(ctx context.Context, p *portionRun) error {
	words := []string{"CLUSTER", "MIGRATESLOTS", "SLOTSRANGE"}
	for _, r := range p.slots {
		words = append(words, fmt.Sprint(r.First), fmt.Sprint(r.Last))
	}
	_, _, err := m.leaders.ask(ctx, p.from, append(words, "NODE", p.to)...)
	if p.begun++; !errors.As(err, new(call.Error)) {
		return nil
	}
	if p.refused++; p.refused < mostSilent && isPassing(err) {
		p.begun--
		return nil
	}
	return err
}

// isPassing reports whether a command with an error reply is worth another try.
func isPassing(err error) bool {
	text := err.Error()
	for _, word := range []string{"CLUSTERDOWN", "LOADING", "MOVED", "does not lead", "can only be used on primary", "already migrating", "already moving", "cannot move now", "one move at a time"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// show overwrites the line of a terminal with the state of a portion.
func (m *slotMover) show(p *portionRun, last *slotMoveState) {
	if !m.live {
		return
	}
	const width = 30
	filled := width * m.done / max(1, m.count)
	if all := last.sent + last.left; last.left >= 0 && last.sent > 0 && last.name == p.name {
		filled += int(int64(width) * last.sent / all / int64(m.count))
	}
	state := "waits"
	if last.name != "" {
		state = fmt.Sprintf("%s: %s, %s sent, %s left", last.name, last.state, bytesText(last.sent), bytesText(last.left))
	}
	fmt.Fprintf(m.out, "\r\x1b[K[%s%s] %d/%d  %s to %s  %s", strings.Repeat("#", filled), strings.Repeat(".", width-filled), m.done, m.count, p.from, p.to, state)
}

// clear removes the line of show.
func (m *slotMover) clear() {
	if m.live {
		fmt.Fprint(m.out, "\r\x1b[K")
	}
}
