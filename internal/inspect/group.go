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
	Name     string        `json:"group"`
	Leader   string        `json:"leader"`  // an ID; empty: there is none
	AskedAt  string        `json:"address"` // of the member that has listed the others
	Members  []GroupMember `json:"members"`
	position               // of the leader
}

// position is a place in the history of a group.
type position struct{ index, offset uint64 }

// GroupMember is a member of a group.
type GroupMember struct {
	ID      string `json:"id"`
	Client  string `json:"client_address"`
	Raft    string `json:"raft_address"`
	Role    string `json:"role"`    // as the leader has it: leader, follower or learner
	State   string `json:"state"`   // as it says itself: leader, follower, rebuilding or stopped; empty: it was not reached
	Problem string `json:"problem"` // why it was not reached from here; empty: it was
	// As it says itself.
	Version    string `json:"version"`
	Applied    uint64 `json:"applied_index"`
	LagEntries int64  `json:"lag_entries"` // -1: not known
	LagMS      int64  `json:"lag_ms"`
	ContactMS  int64  `json:"last_contact_ms"` // -1: it leads, or has never heard of the leader
	UpSeconds  int64  `json:"up_seconds"`
	Alarms     string `json:"alarms"`
	// More is what the leader says of it, by the names of RAFT MEMBERS.
	More   map[string]string `json:"more"`
	offset uint64
}

// groupPatience is how long a member has to answer.
const groupPatience = 3 * time.Second

// errAlone is returned for a server that is in no group.
var errAlone = errors.New("the server is in no raft group")

// LookAtGroup asks all members of a group how they are. addrs are some of them, which are tried in order.
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
		}
	}
	members, err := c.Do("RAFT", "MEMBERS")
	if err != nil {
		return nil, err
	}
	for _, v := range members.Elems {
		f := call.FieldsOf(v)
		m := GroupMember{ID: f.Text("id"), Client: f.Text("client-address"), Raft: f.Text("raft-address"), Role: f.Text("role"),
			LagEntries: -1, ContactMS: -1, More: make(map[string]string)}
		for name, v := range f {
			switch name {
			case "id", "client-address", "raft-address", "role":
			default:
				m.More[name] = cmp.Or(v.Str, v.String())
			}
		}
		g.Members = append(g.Members, m)
	}
	return g, nil
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
	for i := range g.Members {
		if m := &g.Members[i]; m.State == "leader" {
			g.Leader, g.position = m.ID, position{m.Applied, m.offset}
		}
	}
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
	whole := func(name string) int64 {
		n, err := strconv.ParseInt(info[name], 10, 64)
		if err != nil {
			return -1
		}
		return n
	}
	if info["raft_id"] != m.ID {
		return fmt.Errorf("at this address answers '%s'", info["raft_id"])
	}
	m.State, m.Version, m.Alarms = info["raft_role"], info["lockserver_version"], info["raft_alarm"]
	m.LagEntries, m.LagMS, m.ContactMS, m.UpSeconds = whole("raft_lag_entries"), whole("raft_lag_ms"), whole("raft_last_contact_ms"), whole("uptime_in_seconds")
	m.Applied, m.offset = uint64(max(0, whole("raft_applied_index"))), uint64(max(0, whole("raft_history_offset")))
	if m.State == "leader" {
		m.Applied = uint64(max(0, whole("raft_commit_index")))
	}
	return nil
}

// Unready is why the next member must not be stopped yet: not all members are there and have what the leader
// had committed. nil: they are, and have. The position is the leader's at an earlier look, or zero.
func (g *Group) unready(target position) error {
	leads := false
	for i := range g.Members {
		m := &g.Members[i]
		switch {
		case m.Problem != "":
			return fmt.Errorf("'%s' is not reached: %s", m.ID, m.Problem)
		case m.Role == "learner":
			return fmt.Errorf("'%s' is a learner, and has no vote yet", m.ID)
		case m.State != "leader" && m.State != "follower":
			return fmt.Errorf("'%s' is %s", m.ID, m.State)
		case m.Applied < target.index || m.offset < target.offset:
			return fmt.Errorf("'%s' has the index %d, and the leader has committed %d", m.ID, m.Applied, target.index)
		}
		leads = leads || m.State == "leader"
	}
	if !leads {
		return errors.New("no member leads")
	}
	return nil
}

// AwaitGroup looks at a group until all members are there and have what the leader had committed at the
// first look at it, or until ctx ends. The error says what is missing then.
func AwaitGroup(ctx context.Context, o Options, addrs []string) (g *Group, err error) {
	var target position
	for {
		now, looked := LookAtGroup(ctx, o, addrs)
		if looked == nil {
			if g = now; target == (position{}) {
				target = g.position
			}
			if err = g.unready(target); err == nil {
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

// Print writes the group as a table, and the alarms below it.
func (g *Group) Print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tROLE\tCLIENTS\tREACHED\tAPPLIED\tLAG\tCONTACT\tVERSION\tUP\tDISK FREE\tSNAPSHOT")
	for i := range g.Members {
		fmt.Fprintln(table, strings.Join(g.Members[i].cells(), "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if g.Leader == "" {
		fmt.Fprintf(w, "no member of the group %s leads\n", printable(g.Name))
	}
	for i := range g.Members {
		m := &g.Members[i]
		if m.Problem != "" {
			fmt.Fprintf(w, "%s: not reached: %s\n", printable(m.ID), printable(m.Problem))
		}
		if m.Alarms != "" {
			fmt.Fprintf(w, "%s: %s\n", printable(m.ID), printable(m.Alarms))
		}
	}
	return nil
}

// cells are the row of a member.
func (m *GroupMember) cells() []string {
	role := cmp.Or(m.State, m.Role)
	if m.Role == "learner" {
		role = m.Role
	}
	cells := []string{printable(m.ID), role, printable(m.Client)}
	if m.Problem != "" {
		return append(cells, "no", "", "", "", "", "", "", "")
	}
	lag, contact := "", ""
	if m.State != "leader" {
		lag, contact = millis(m.LagMS), "never"
		if m.LagEntries > 0 {
			lag += fmt.Sprintf(", %s entries", count(m.LagEntries))
		}
		if m.ContactMS >= 0 {
			contact = millis(m.ContactMS) + " ago"
		}
	}
	return append(cells, "yes", count(int64(m.Applied)), lag, contact, m.Version, span(time.Duration(m.UpSeconds)*time.Second), "", "")
}
