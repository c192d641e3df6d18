package console

import (
	"slices"
	"strings"

	"lockserver/internal/call"
)

// raftView is the part of the server's page about its raft group.
type raftView struct {
	Name, Self, Role, Leader, LeaderAddress string
	Commit, Applied                         int64
	LagMS, LagEntries                       int64 // LagEntries below 0: not known
	Alarms                                  []string
	Members                                 []groupMember
	NoMembers                               string // why the members are not listed
}

// groupMember is a row of the list of members.
type groupMember struct {
	ID, Role, Raft, Client string
	Self                   bool
	Applied, Lag           int64
	LagMS                  int64
	HeardMS                int64 // the time since this member has last heard of it; below 0: never
	Version                string
	DiskFree               int64 // in bytes; below 0: not known
	Problem                string
}

// readGroup asks for the group, if the server is in one.
func (p *serverPage) readGroup(who *viewer) {
	if p.Info["raft_id"] == "" {
		return
	}
	g := &raftView{Name: p.Info["raft_group"], Self: p.Info["raft_id"], Role: p.Info["raft_role"], Leader: p.Info["raft_leader_id"], LeaderAddress: p.Info["raft_leader_address"],
		Commit: number(p.Info["raft_commit_index"]), Applied: number(p.Info["raft_applied_index"]), LagMS: number(p.Info["raft_lag_ms"]), LagEntries: number(p.Info["raft_lag_entries"])}
	if text := p.Info["raft_alarm"]; text != "" {
		g.Alarms = strings.Split(text, "; ")
	}
	p.Group = g
	if !who.may("RAFT", "MEMBERS") {
		g.NoMembers = "The ACL does not let " + who.name + " run RAFT MEMBERS."
		return
	}
	v, err := who.conn.Do("RAFT", "MEMBERS")
	if err != nil {
		g.NoMembers = err.Error()
		return
	}
	for _, e := range v.Elems {
		f := call.FieldsOf(e)
		m := groupMember{ID: f.Text("id"), Role: f.Text("role"), Raft: f.Text("raft-address"), Client: f.Text("client-address"), Version: f.Text("version"),
			Applied: f.Int("applied-index"), Lag: f.Int("lag"), LagMS: f.Int("lag-ms"), HeardMS: f.Int("last-contact-ms"), DiskFree: f.Int("disk-free")}
		problems := []string{f.Text("unreachable"), f.Text("refused"), f.Text("last-snapshot-error")}
		if data := f.Text("data"); data == "differs" || data == "undecided" {
			problems = append(problems, "its data "+data)
		}
		m.Problem = strings.Join(slices.DeleteFunc(slices.Compact(problems), func(s string) bool { return s == "" }), "; ")
		m.Self = m.ID == g.Self
		g.Members = append(g.Members, m)
	}
}
