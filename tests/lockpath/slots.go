package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/coverage"
	"strconv"
	"strings"
	"time"

	"lockserver/internal/keyslot"
	"lockserver/server"
)

// slotLook is a command on a shard.
type slotLook struct {
	command, key string // %d is a number
	// more bounds the statements that a shard runs for each command besides those of a server without shards.
	more float64
}

// slotLooks are the commands of most clients, with a short key and with a hash tag. docs/CLUSTER.md has their
// cost in instructions.
func slotLooks() []slotLook {
	return []slotLook{
		{"SET %s v", "key:%d", 13},
		{"SET %s v", "{order:%d}:state", 33},
		{"LOCK %s alice", "lock:%d", 14},
		{"LOCK %s alice", "{order:%d}:lock", 38},
		{"EVAL " + strings.Repeat("redis.call('SET',KEYS[1],1)", 10) + "return(1) 1 %s", "key:%d", 380},
		{"MSET %[1]s v %[1]s:b v", "{order:%d}", 160},
	}
}

// slotCommands is the number of commands of a measurement.
const slotCommands = 320

// compareSlots counts the statements of commands on one of two shards and on a server without shards, and
// returns the commands that exceed their bound.
func (s *subject) compareSlots() (failed []string, err error) {
	clock := server.NewManualClock(time.UnixMilli(1_700_000_000_000))
	shards, err := server.NewCluster(server.Options{EventLoops: true, Clock: clock, Directives: map[string]string{"port": "0", "bind": "127.0.0.1"}}, 2)
	if err != nil {
		return nil, err
	}
	if err := shards.Start(); err != nil {
		return nil, err
	}
	defer func() { _ = shards.Close() }()
	conn, err := net.Dial("tcp", shards.Addr().String())
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	shard := &subject{module: s.module, conn: conn, replies: bufio.NewReader(conn), dir: s.dir}
	for _, l := range slotLooks() {
		for _, batch := range []int{1, 16} {
			alone, err := s.statements(l, batch)
			if err != nil {
				return nil, err
			}
			there, err := shard.statements(l, batch)
			if err != nil {
				return nil, err
			}
			each, more := float64(alone)/slotCommands, float64(there-alone)/slotCommands
			fmt.Printf("%s of %s, %d in a pipeline: %.1f statements, and %.1f more on a shard (at most %.0f)\n", l.command, l.key, batch, each, more, l.more)
			if more > l.more {
				failed = append(failed, fmt.Sprintf("%s of %s takes %.1f more statements on a shard than on a server without shards", l.command, l.key, more))
			}
		}
	}
	return failed, nil
}

// statements returns the number of statements that run for slotCommands commands. The keys are the same in
// each measurement, so that no table grows in the later ones. It is the least of some measurements, because
// an event loop may do other work in between.
func (s *subject) statements(l slotLook, batch int) (least int, err error) {
	var requests [][]byte
	for key := 0; len(requests)*batch < slotCommands; {
		var b bytes.Buffer
		for range batch {
			key++
			for keyslot.Of(fmt.Appendf(nil, l.key, key)) >= keyslot.Count/2 { // a slot of the first shard
				key++
			}
			words := strings.Fields(fmt.Sprintf(l.command, fmt.Sprintf(l.key, key)))
			fmt.Fprintf(&b, "*%d\r\n", len(words))
			for _, w := range words {
				fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
			}
		}
		requests = append(requests, b.Bytes())
	}
	for range rounds {
		if err := coverage.ClearCounters(); err != nil {
			return 0, err
		}
		for _, b := range requests {
			if _, err := s.conn.Write(b); err != nil {
				return 0, err
			}
			for lines := batch; lines > 0; lines-- {
				line, err := s.replies.ReadString('\n')
				if err == nil && line[0] == '-' {
					err = fmt.Errorf("%s: %s", l.command, line)
				}
				if err != nil {
					return 0, err
				}
				if line[0] == '*' { // an array of numbers
					n, _ := strconv.Atoi(strings.TrimSpace(line[1:]))
					lines += n
				}
			}
		}
		n, err := s.ran()
		if err != nil {
			return 0, err
		}
		if least == 0 || n < least {
			least = n
		}
	}
	return least, nil
}

// ran returns the number of statements of this module that the counters have.
func (s *subject) ran() (n int, err error) {
	dir, err := os.MkdirTemp(s.dir, "ran")
	if err != nil {
		return 0, err
	}
	if err := coverage.WriteMetaDir(dir); err != nil {
		return 0, err
	}
	if err := coverage.WriteCountersDir(dir); err != nil {
		return 0, err
	}
	text := filepath.Join(dir, "text")
	if out, err := exec.Command("go", "tool", "covdata", "textfmt", "-i", dir, "-o", text).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w: %s", err, out)
	}
	blocks, err := os.ReadFile(text)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(blocks)) {
		file, ours := strings.CutPrefix(line, s.module+"/")
		fields := strings.Fields(file)
		if !ours || len(fields) != 3 || strings.HasPrefix(file, "tests/") {
			continue
		}
		each, _ := strconv.Atoi(fields[1])
		times, _ := strconv.Atoi(fields[2])
		n += each * times
	}
	return n, nil
}
