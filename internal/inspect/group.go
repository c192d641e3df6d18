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

// Group is what is known of a raft group: what its leader says of the members, and each of itself.
type Group struct {
	Name    string        `json:"group"`
	Leader  string        `json:"leader"`  // an ID; empty: there is none
	AskedAt string        `json:"address"` // of the member that has listed the others
	Members []GroupMember `json:"members"`
	// Token is the highest fencing token so far, as far as that member knows; 0: that is not known.
	Token int64 `json:"highest_token"`
}

// position is a place in the history of a group.
type position struct{ index, offset int64 }

// GroupMember is a member of a group. Numbers below 0 are not known.
type GroupMember struct {
	ID      string `json:"id"`
	Client  string `json:"client_address"`
	Raft    string `json:"raft_address"`
	Role    string `json:"role"` // leader, follower, learner, rebuilding, stopped or unreachable
	Learner bool   `json:"learner"`
	// Reachable says that the member that was asked for the list reaches it. Otherwise Unreachable says why.
	Reachable   bool   `json:"reachable"`
	Unreachable string `json:"unreachable,omitempty"`
	// Problem is why it was not reached from here; empty: it was.
	Problem string `json:"problem,omitempty"`
	Version string `json:"version"`
	Applied int64  `json:"applied_index"`
	// LagEntries and LagMS are how far its data is behind what is committed.
	LagEntries int64 `json:"lag_entries"`
	LagMS      int64 `json:"lag_ms"`
	ContactMS  int64 `json:"last_contact_ms"` // how long ago the one that was asked has heard of it
	SinceMS    int64 `json:"since_ms"`        // since when it is so, in milliseconds since 1970
	DiskFree   int64 `json:"disk_free"`       // in bytes
	// SyncUS is how long syncs of its log take, CommitUS how long a leader's entries take until they are
	// committed, RoundTripUS how long it takes to answer the leader. 99 of 100 took at most so many
	// microseconds in the last minute or two.
	SyncUS      int64 `json:"log_sync_p99_us"`
	CommitUS    int64 `json:"commit_p99_us"`
	RoundTripUS int64 `json:"round_trip_p99_us"`
	// SnapshotMS is when it last tried to make a snapshot, in milliseconds since 1970; SnapshotError says why
	// it could not.
	SnapshotMS    int64  `json:"last_snapshot_ms"`
	SnapshotError string `json:"last_snapshot_error,omitempty"`
	Alarms        string `json:"alarms,omitempty"` // as it says itself
	offset        int64
	clockMS       int64 // what its clock showed when it was asked; -1: not known
}

// groupPatience is how long a member has to answer.
const groupPatience = 3 * time.Second

// errAlone is returned for a server that is in no group.
var errAlone = errors.New("the server is in no raft group")

var errUnknown = errors.New("the server knows no member of its group yet")

// LookAtGroup asks all members of a group how they are. addrs are some of them, which are tried in order. One
// that knows no member is passed over.
func LookAtGroup(ctx context.Context, o Options, addrs []string) (g *Group, err error) {
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

// listGroup asks a member for the others, or the leader if that knows one that answers.
func listGroup(ctx context.Context, o Options, addr string) (*Group, error) {
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

// memberOf reads an entry of RAFT MEMBERS.
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

// dialMember connects to a server and logs in, and follows no redirection.
func dialMember(ctx context.Context, o Options) (*call.Conn, error) {
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

// askAll asks each member how it is.
func (g *Group) askAll(ctx context.Context, o Options) {
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

// ask asks a member how it is.
func (m *GroupMember) ask(ctx context.Context, o Options) error {
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

// leader is the member that leads; nil: none does.
func (g *Group) leader() *GroupMember {
	for i := range g.Members {
		if g.Members[i].Role == "leader" {
			return &g.Members[i]
		}
	}
	return nil
}

// Leaderless is the error of a group that no member leads, as far as can be seen from here; nil: one does.
func (g *Group) Leaderless() error {
	if g.leader() == nil {
		return fmt.Errorf("no member of the group %s leads", printable(g.Name))
	}
	return nil
}

// unready is why the next member must not be stopped yet: a member is away, or lacks what the leader had
// committed at a position. nil: all is well.
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

// stillReady lists the members again after each member has said how it is. The leader may have made a voter a
// learner meanwhile. The role of that member is still "follower".
func stillReady(ctx context.Context, o Options, askedAt string) error {
	now, err := listGroup(ctx, o, askedAt)
	if err != nil {
		return err
	}
	return now.unready(position{})
}

// AwaitGroup looks at a group until all members are there and have what the leader had committed at the
// first look at it, or until ctx ends. The error says what is missing then.
func AwaitGroup(ctx context.Context, o Options, addrs []string) (g *Group, err error) {
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

// lookEvery is how often AwaitGroup looks.
const lookEvery = 200 * time.Millisecond

// PrintJSON writes the group as one object.
func (g *Group) PrintJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(g)
}

// Print writes the group as a table, and below it what is wrong with each member.
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

// cells are the row of a member. The times of a member that is reachable are by its own clock.
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
