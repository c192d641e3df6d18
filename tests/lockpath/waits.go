package main

import (
	"bytes"
	"fmt"
	"runtime/coverage"
	"strconv"
	"strings"
)

// waitLook is a command that waits, without PRIORITY, in a queue without priorities.
type waitLook struct {
	acquire, release string // %s is the owner
	// queue is the number of statements of a call that enters the queue, and grant of a release that grants
	// what the next owner waits for. Both were counted in the last version without priorities.
	queue, grant float64
}

// mostOfWaits bounds the statements, as a multiple of those before there were priorities.
const mostOfWaits = 1.05

// waitLooks are the commands that have PRIORITY.
func waitLooks() []waitLook {
	return []waitLook{
		{"LOCK queue %s PX 3600000 WAIT 0 NOTIFY", "UNLOCK queue %s", 2747.5, 5120.2},
		{"LOCK shared %s SHARED PX 3600000 WAIT 0 NOTIFY", "UNLOCK shared %s", 3200.7, 1863.7},
		{"MLOCK 2 first second %s PX 3600000 WAIT 0 NOTIFY", "MUNLOCK 2 first second %s", 28625.7, 9809.9},
		{"SEM.ACQUIRE permits %s LIMIT 1 PX 3600000 WAIT 0 NOTIFY", "SEM.RELEASE permits %s", 3897.6, 6547.0},
	}
}

// waitsOfOne is the number of owners that wait at the same time. A longer queue has dearer waits, because a
// deadlock is looked for among more owners.
const waitsOfOne = 32

// compareWaits counts the statements of waits without priorities on a new server. It returns an error text
// for each wait above the bound.
func compareWaits(module string) (failed []string, err error) {
	s, err := start(module)
	if err != nil {
		return nil, err
	}
	defer s.close()
	for _, l := range waitLooks() {
		queue, grant, err := s.waits(l)
		if err != nil {
			return nil, err
		}
		name, _, _ := strings.Cut(strings.ReplaceAll(l.acquire, " %s", ""), " PX")
		queued, granted := queue/l.queue, grant/l.grant
		fmt.Printf("%s without PRIORITY: %.1f statements to queue, %.1f to release and grant; %.3f and %.3f times those before priorities (at most %.2f)\n",
			name, queue, grant, queued, granted, mostOfWaits)
		if queued > mostOfWaits || granted > mostOfWaits {
			failed = append(failed, fmt.Sprintf("%s without PRIORITY takes %.3f and %.3f times the statements from before priorities", name, queued, granted))
		}
	}
	return failed, nil
}

// waits returns the statements of a call that enters the queue, and of a release that grants, each the least
// of some measurements.
func (s *subject) waits(l waitLook) (queue, grant float64, err error) {
	owner := func(n int) string { return "owner-" + strconv.Itoa(n) }
	for range rounds {
		if err := s.call(l.acquire, owner(0)); err != nil {
			return 0, 0, err
		}
		queued, err := s.counted(l.acquire, 1, owner)
		if err != nil {
			return 0, 0, err
		}
		granted, err := s.counted(l.release, 0, owner)
		if err != nil {
			return 0, 0, err
		}
		if err := s.call(l.release, owner(waitsOfOne)); err != nil {
			return 0, 0, err
		}
		if queue == 0 || queued < queue {
			queue = queued
		}
		if grant == 0 || granted < grant {
			grant = granted
		}
	}
	return queue, grant, nil
}

// counted sends a command for each of waitsOfOne owners, from a number on. It returns the statements of one
// command.
func (s *subject) counted(command string, from int, owner func(int) string) (float64, error) {
	if err := coverage.ClearCounters(); err != nil {
		return 0, err
	}
	for n := range waitsOfOne {
		if err := s.call(command, owner(from+n)); err != nil {
			return 0, err
		}
	}
	n, err := s.ran()
	return float64(n) / waitsOfOne, err
}

// call sends a command for an owner, and reads its reply, in which each element is a line.
func (s *subject) call(command, owner string) error {
	words := strings.Fields(fmt.Sprintf(command, owner))
	var b bytes.Buffer
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	if _, err := s.conn.Write(b.Bytes()); err != nil {
		return err
	}
	for lines := 1; lines > 0; lines-- {
		line, err := s.replies.ReadString('\n')
		if err != nil {
			return err
		}
		switch line[0] {
		case '-':
			return fmt.Errorf("%s: %s", command, line)
		case '*':
			n, _ := strconv.Atoi(strings.TrimSpace(line[1:]))
			lines += n
		}
	}
	return nil
}
