package console

import (
	"strings"

	"lockserver/internal/call"
)

// groupView is what the page of the server shows of the raft group that the server is a member of.
type groupView struct {
	Name, Self, Role, Leader, LeaderAddress string
	Commit, Applied                         int64
	LagMS, LagEntries                       int64 // LagEntries below 0: not known
	Alarms                                  []string
	Members                                 []groupMember
	NoMembers                               string // why they are not listed
}

// groupMember is a row of the list of members.
type groupMember struct {
	ID, Role, Raft, Client string
	Self                   bool
	Problem                string // why a connection with it is refused, or that it has other data
}

// readGroup asks for the group, if the server is in one.
func (p *serverPage) readGroup(c *Console, s *session) {
	if p.Info["raft_id"] == "" {
		return
	}
	g := &groupView{Name: p.Info["raft_group"], Self: p.Info["raft_id"], Role: p.Info["raft_role"], Leader: p.Info["raft_leader_id"], LeaderAddress: p.Info["raft_leader_address"],
		Commit: number(p.Info["raft_commit_index"]), Applied: number(p.Info["raft_applied_index"]), LagMS: number(p.Info["raft_lag_ms"]), LagEntries: number(p.Info["raft_lag_entries"])}
	if text := p.Info["raft_alarm"]; text != "" {
		g.Alarms = strings.Split(text, "; ")
	}
	p.Group = g
	if !c.backend.Permits(s.user, "RAFT", "MEMBERS") {
		g.NoMembers = "The ACL does not let " + s.user + " run RAFT MEMBERS."
		return
	}
	v, err := s.conn.Do("RAFT", "MEMBERS")
	if err != nil {
		g.NoMembers = err.Error()
		return
	}
	for _, e := range v.Elems {
		f := call.FieldsOf(e)
		m := groupMember{ID: f.Text("id"), Role: f.Text("role"), Raft: f.Text("raft-address"), Client: f.Text("client-address"), Problem: f.Text("refused")}
		if data := f.Text("data"); data == "differs" || data == "undecided" {
			m.Problem = strings.TrimPrefix(m.Problem+"; its data "+data, "; ")
		}
		m.Self = m.ID == g.Self
		g.Members = append(g.Members, m)
	}
}
