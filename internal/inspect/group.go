package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"lockserver/internal/call"
)

// Group is the known state of a raft group: the leader's list of the members, and the answer of each member.
type Group struct {
	Name    string        `json:"group"`
	Leader  string        `json:"leader"`  // an ID; empty: there is no leader
	AskedAt string        `json:"address"` // address of the member that listed the others
	Members []GroupMember `json:"members"`
	// Token is the highest fencing token that this member knows; 0 means not known.
	Token int64 `json:"highest_token"`
}

// position is a place in the history of a group.
type position struct{ index, offset int64 }

// GroupMember is a member of a group. Negative numbers mean not known.
type GroupMember struct {
	ID      string `json:"id"`
	Client  string `json:"client_address"`
	Raft    string `json:"raft_address"`
	Role    string `json:"role"` // leader, follower, learner, rebuilding, stopped or unreachable
	Learner bool   `json:"learner"`
	// Reachable says that the listing member reaches this member. Otherwise Unreachable is the reason.
	Reachable   bool   `json:"reachable"`
	Unreachable string `json:"unreachable,omitempty"`
	// Problem is the reason why this process did not reach the member; empty if it did.
	Problem string `json:"problem,omitempty"`
	Version string `json:"version"`
	Applied int64  `json:"applied_index"`
	// LagEntries and LagMS say how far the member's data is behind the commit index.
	LagEntries int64 `json:"lag_entries"`
	LagMS      int64 `json:"lag_ms"`
	ContactMS  int64 `json:"last_contact_ms"` // time since the listing member last heard from it
	SinceMS    int64 `json:"since_ms"`        // since when Role is true, in milliseconds since 1970
	DiskFree   int64 `json:"disk_free"`       // in bytes
	// SyncUS is the time of syncs of its log, CommitUS the time in which a leader's entries are committed,
	// and RoundTripUS the time in which the leader gets an answer. Each is the 99th percentile, in
	// microseconds, of the last minute or two.
	SyncUS      int64 `json:"log_sync_p99_us"`
	CommitUS    int64 `json:"commit_p99_us"`
	RoundTripUS int64 `json:"round_trip_p99_us"`
	// SnapshotMS is the time of its last attempt to make a snapshot, in milliseconds since 1970.
	// SnapshotError is the reason if the attempt failed.
	SnapshotMS    int64  `json:"last_snapshot_ms"`
	SnapshotError string `json:"last_snapshot_error,omitempty"`
	Alarms        string `json:"alarms,omitempty"` // the alarms that the member itself reports
	offset        int64
	clockMS       int64 // the member's clock when it was asked; -1: not known
}

// groupPatience limits the time for a member's answer.
const groupPatience = 3 * time.Second

// errAlone says that the server belongs to no group.
var errAlone = errors.New("the server is in no raft group")

var errUnknown = errors.New("the server knows no member of its group yet")

// LookAtGroup asks all members of a group for their state. addrs are addresses of some members, tried in
// order. A server that knows no members is skipped.
func LookAtGroup(ctx context.Context, o Target, addrs []string) (g *Group, err error) {
	for _, addr := range addrs {
		g, one := listGroup(ctx, o, addr)
		if one == nil {
			g.askAll(ctx, o)
			return g, nil
		}
		err = errors.Join(err, fmt.Errorf("%s: %w", addr, one))
	}
	return nil, err
}

// listGroup asks a member for the list of members. If the member knows a leader that answers, the leader is
// asked.
func listGroup(ctx context.Context, o Target, addr string) (*Group, error) {
	o.Addr = addr
	c, err := dialMember(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { c.Close() }()
	info, err := c.Do("RAFT", "INFO")
	if err != nil {
		if strings.Contains(err.Error(), "not a member") {
			err = errAlone
		}
		return nil, err
	}
	g := &Group{AskedAt: addr}
	g.Name, _ = Field(info.Str, "raft_group")
	g.Leader, _ = Field(info.Str, "raft_leader_id")
	if leader, _ := Field(info.Str, "raft_leader_address"); leader != "" && leader != addr {
		o.Addr = leader
		if other, err := dialMember(ctx, o); err == nil {
			c.Close()
			c, g.AskedAt = other, leader
			if info, err = c.Do("RAFT", "INFO"); err != nil {
				return nil, err
			}
		}
	}
	token, _ := Field(info.Str, "raft_highest_token")
	g.Token, _ = strconv.ParseInt(token, 10, 64)
	members, err := c.Do("RAFT", "MEMBERS")
	if err != nil {
		return nil, err
	}
	for _, v := range members.Elems {
		g.Members = append(g.Members, memberOf(call.FieldsOf(v)))
	}
	if len(g.Members) == 0 {
		return nil, errUnknown
	}
	return g, nil
}

// memberOf parses an entry of RAFT MEMBERS.
func memberOf(f call.Fields) GroupMember {
	whole := func(name string) int64 {
		if v, is := f[name]; is {
			return v.Int
		}
		return -1
	}
	return GroupMember{ID: f.Text("id"), Client: f.Text("client-address"), Raft: f.Text("raft-address"), Role: f.Text("role"), Learner: whole("voter") == 0,
		Reachable: f.Int("reachable") > 0, Unreachable: f.Text("unreachable"), Version: f.Text("version"), Applied: whole("applied-index"),
		LagEntries: whole("lag"), LagMS: whole("lag-ms"), ContactMS: whole("last-contact-ms"), SinceMS: whole("since-ms"), DiskFree: whole("disk-free"), SyncUS: -1, CommitUS: -1,
		RoundTripUS: whole("round-trip-p99-us"),
		SnapshotMS:  whole("last-snapshot-ms"), SnapshotError: f.Text("last-snapshot-error"), clockMS: whole("clock-ms")}
}

// dialMember connects to a server and logs in. It does not follow redirections.
func dialMember(ctx context.Context, o Target) (*call.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, groupPatience)
	defer cancel()
	nc, err := Dial(ctx, o)
	if err != nil {
		return nil, err
	}
	c := call.New(nc, groupPatience)
	hello := []string{"HELLO", "3"}
	if o.User != "" || o.Password != "" {
		hello = append(hello, "AUTH", cmp.Or(o.User, "default"), o.Password)
	}
	if _, err := c.Do(hello...); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// askAll asks each member for its state.
func (g *Group) askAll(ctx context.Context, o Target) {
	var all sync.WaitGroup
	for i := range g.Members {
		m := &g.Members[i]
		all.Go(func() {
			if err := m.ask(ctx, o); err != nil {
				m.Problem = err.Error()
			}
		})
	}
	all.Wait()
}

// ask asks a member for its state.
func (m *GroupMember) ask(ctx context.Context, o Target) error {
	o.Addr = m.Client
	c, err := dialMember(ctx, o)
	if err != nil {
		return err
	}
	defer c.Close()
	v, err := c.Do("INFO", "server", "raft")
	if err != nil {
		return err
	}
	info := make(map[string]string)
	for line := range strings.Lines(v.Str) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		info[name] = value
	}
	if info["raft_id"] != m.ID {
		return fmt.Errorf("at this address answers '%s'", info["raft_id"])
	}
	whole := func(name string) int64 {
		n, err := strconv.ParseInt(info[name], 10, 64)
		if err != nil {
			return -1
		}
		return n
	}
	m.SyncUS, m.CommitUS = whole("raft_log_sync_p99_usec"), whole("raft_commit_p99_usec")
	m.Alarms, m.Version = info["raft_alarm"], cmp.Or(m.Version, releaseOf(info))
	if m.Applied, m.offset = whole("raft_applied_index"), whole("raft_history_offset"); info["raft_role"] == "leader" {
		m.Applied = whole("raft_commit_index")
	}
	if !m.Learner {
		m.Role = info["raft_role"]
	}
	return nil
}

// leader returns the leading member, or nil.
func (g *Group) leader() *GroupMember {
	for i := range g.Members {
		if g.Members[i].Role == "leader" {
			return &g.Members[i]
		}
	}
	return nil
}

// Leaderless returns an error if this process sees no leader, or nil.
func (g *Group) Leaderless() error {
	if g.leader() == nil {
		return fmt.Errorf("no member of the group %s leads", printable(g.Name))
	}
	return nil
}

// unready returns the reason why the next member must not be stopped yet: a member is away, or lacks an entry
// that the leader had committed at the target position. It returns nil if the group is ready.
func (g *Group) unready(target position) error {
	if g.leader() == nil {
		return errors.New("no member leads")
	}
	for i := range g.Members {
		m := &g.Members[i]
		switch {
		case m.Problem != "" && !m.Reachable:
			return fmt.Errorf("'%s' is not reached: %s", m.ID, cmp.Or(m.Unreachable, m.Problem))
		case m.Learner:
			return fmt.Errorf("'%s' is a learner, and has no vote yet", m.ID)
		case m.Role != "leader" && m.Role != "follower":
			return fmt.Errorf("'%s' is %s", m.ID, m.Role)
		case m.Applied < target.index || m.Problem == "" && m.offset < target.offset:
			return fmt.Errorf("'%s' has applied the index %d, and the leader had committed %d", m.ID, m.Applied, target.index)
		}
	}
	return nil
}

// stillReady lists the members again after each member has reported its state. The leader may meanwhile have
// made a voter a learner, and that member's own role is still "follower".
func stillReady(ctx context.Context, o Target, askedAt string) error {
	now, err := listGroup(ctx, o, askedAt)
	if err != nil {
		return err
	}
	return now.unready(position{})
}

// AwaitGroup looks at a group until all members are there and have all entries that the leader had committed
// at the first look, or until ctx ends. In the second case the error says what is missing.
func AwaitGroup(ctx context.Context, o Target, addrs []string) (g *Group, err error) {
	var target position
	for {
		now, looked := LookAtGroup(ctx, o, addrs)
		if looked == nil {
			g = now
			if leads := g.leader(); leads != nil && target == (position{}) {
				target = position{leads.Applied, leads.offset}
			}
			if err = g.unready(target); err == nil {
				err = stillReady(ctx, o, g.AskedAt)
			}
			if err == nil {
				return g, nil
			}
		} else if ctx.Err() == nil || err == nil {
			err = looked
		}
		select {
		case <-ctx.Done():
			return g, err
		case <-time.After(lookEvery):
		}
	}
}

// lookEvery is the pause between two looks of AwaitGroup.
const lookEvery = 200 * time.Millisecond

// PrintJSON writes the group as one object.
func (g *Group) PrintJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(g)
}

// Print writes the group as a table, and below it the problems of each member.
func (g *Group) Print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tROLE\tCLIENTS\tREACHABLE\tAPPLIED\tLAG\tCONTACT\tSYNC P99\tCOMMIT P99\tROUND TRIP P99\tVERSION\tSINCE\tDISK FREE\tSNAPSHOT")
	for i := range g.Members {
		fmt.Fprintln(table, strings.Join(g.Members[i].cells(), "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if g.Token > 0 {
		fmt.Fprintf(w, "highest fencing token: %d\n", g.Token)
	}
	for i := range g.Members {
		m := &g.Members[i]
		for _, line := range [][2]string{{"unreachable", m.Unreachable}, {"not reached from here", m.Problem}, {"no snapshot", m.SnapshotError}, {"alarms", m.Alarms}} {
			if line[1] != "" {
				fmt.Fprintf(w, "%s: %s: %s\n", printable(m.ID), line[0], printable(line[1]))
			}
		}
	}
	return nil
}

// cells returns the table row of a member. The times of a reachable member are by its own clock.
func (m *GroupMember) cells() []string {
	now := time.Now()
	if m.Reachable && m.clockMS > 0 {
		now = time.UnixMilli(m.clockMS)
	}
	known := func(n int64, text string) string {
		if n < 0 {
			return ""
		}
		return text
	}
	ago := func(ms int64) string {
		if ms <= 0 {
			return ""
		}
		return span(now.Sub(time.UnixMilli(ms))) + " ago"
	}
	reachable := "yes"
	if !m.Reachable {
		reachable = "no"
	}
	lag := known(m.LagEntries, count(m.LagEntries))
	if m.LagMS > 0 {
		lag += ", " + millis(m.LagMS)
	}
	return []string{printable(m.ID), m.Role, printable(m.Client), reachable, known(m.Applied, count(m.Applied)), lag, known(m.ContactMS, millis(m.ContactMS)+" ago"),
		known(m.SyncUS, micros(m.SyncUS)), known(m.CommitUS, micros(m.CommitUS)), known(m.RoundTripUS, micros(m.RoundTripUS)),
		printable(m.Version), ago(m.SinceMS), known(m.DiskFree, size(m.DiskFree)), ago(m.SnapshotMS)}
}
