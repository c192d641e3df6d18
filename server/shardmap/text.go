package shardmap

import (
	"encoding/json"
	"errors"
	"fmt"

	"lockserver/server/cluster"
)

// Member is a server of a shard.
type Member struct {
	ID   string `json:"id"` // 40 hexadecimal digits, unique in the cluster
	Host string `json:"host"`
	Port int    `json:"port"` // of clients
}

// Shard is a statement about a shard. Of two statements the one with the higher generation is newer, then
// that with the higher term, then that with the higher index.
type Shard struct {
	Name string
	// Group is the ID of the raft group, which is another one if the shard was formed anew; empty: it is not
	// known.
	Group string
	// Generation is that of the slots, from 1: it rises with each change of their owner.
	Generation int64
	// Term and Index are those of the member that said it: of its group's elections, and of its log.
	Term, Index uint64
	Slots       []cluster.Range
	Leader      string // the ID of the leader; empty: the leader is not known
	Members     []Member
}

// newer reports whether a statement is newer than another one.
func (s *Shard) newer(than *Shard) bool {
	switch {
	case s.Generation != than.Generation:
		// plant:slots-newer
		return s.Generation > than.Generation
	case s.Term != than.Term:
		return s.Term > than.Term
	}
	return s.Index > than.Index
}

// find returns the member with an ID, or nil.
func (s *Shard) find(id string) *Member {
	for i := range s.Members {
		if s.Members[i].ID == id {
			return &s.Members[i]
		}
	}
	return nil
}

// document is a map as files have it and members send it. It is JSON. Format, do not change: a reader ignores
// names that it does not know, and a version above 1 is refused.
type document struct {
	Version int         `json:"version"`
	Cluster string      `json:"cluster"`
	Shard   string      `json:"shard"` // of the member that says it
	Shards  []statement `json:"shards"`
}

// statement is a Shard in a document.
type statement struct {
	Name       string   `json:"name"`
	Group      string   `json:"group,omitempty"`
	Generation int64    `json:"generation"`
	Term       uint64   `json:"term"`
	Index      uint64   `json:"index"`
	Slots      string   `json:"slots"` // as cluster.ParseRanges reads it
	Leader     string   `json:"leader,omitempty"`
	Members    []Member `json:"members"`
}

// Limits of a document. More shards than slots cannot be.
const (
	longest     = 4 << 20 // bytes
	mostShards  = 1024
	mostMembers = 64
)

var errLong = errors.New("a map of shards is too long")

// encode returns the text of a document.
func encode(of, from string, shards []Shard) string {
	d := document{Version: 1, Cluster: of, Shard: from, Shards: make([]statement, 0, len(shards))}
	for _, s := range shards {
		d.Shards = append(d.Shards, statement{s.Name, s.Group, s.Generation, s.Term, s.Index, cluster.RangesText(s.Slots), s.Leader, s.Members})
	}
	text, err := json.Marshal(d)
	if err != nil {
		panic(err) // it has nothing that JSON cannot say
	}
	return string(text)
}

// Read reads a reply of CLUSTER MAP: the name of the cluster, the shard of the server that sent the reply,
// and the shards that it knows.
func Read(reply string) (name, own string, shards []Shard, err error) { return decode(reply) }

// decode reads a document, and checks all that is in it.
func decode(text string) (of, from string, shards []Shard, err error) {
	if len(text) > longest {
		return "", "", nil, errLong
	}
	var d document
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return "", "", nil, fmt.Errorf("a map of shards cannot be read: %w", err)
	}
	switch {
	case d.Version != 1:
		return "", "", nil, fmt.Errorf("a map of shards has version %d, and this lockserver knows 1", d.Version)
	case !cluster.IsName(d.Cluster) || !cluster.IsName(d.Shard):
		return "", "", nil, errors.New("a map of shards has no names")
	case len(d.Shards) > mostShards:
		return "", "", nil, errLong
	}
	for i := range d.Shards {
		s, err := d.Shards[i].shard()
		if err != nil {
			return "", "", nil, fmt.Errorf("a map of shards: %.100q: %w", d.Shards[i].Name, err)
		}
		shards = append(shards, s)
	}
	return d.Cluster, d.Shard, shards, nil
}

// shard checks a statement.
func (s *statement) shard() (is Shard, err error) {
	is = Shard{Name: s.Name, Group: s.Group, Generation: s.Generation, Term: s.Term, Index: s.Index, Leader: s.Leader, Members: s.Members}
	if is.Slots, err = cluster.ParseRanges(s.Slots); err != nil {
		return is, err
	}
	if !cluster.IsName(s.Name) || s.Generation < 1 || len(s.Members) == 0 || len(s.Members) > mostMembers {
		return is, errors.New("a name, a generation or members are missing, or there are too many")
	}
	for i, m := range s.Members {
		if !isID(m.ID) || !isHost(m.Host) || m.Port < 1 || m.Port > 65535 || is.find(m.ID) != &is.Members[i] {
			return is, fmt.Errorf("member %d is none", i)
		}
	}
	if s.Group != "" && !isHost(s.Group) {
		return is, errors.New("the group has no name")
	}
	if s.Leader != "" && is.find(s.Leader) == nil {
		return is, errors.New("the leader is no member")
	}
	return is, nil
}

func isID(s string) bool {
	for _, b := range []byte(s) {
		if (b < '0' || b > '9') && (b < 'a' || b > 'f') {
			return false
		}
	}
	return len(s) == 40
}

// isHost reports whether a text can be a name or an address of a machine, as an error for clients may have
// it.
func isHost(s string) bool {
	for _, b := range []byte(s) {
		if b <= ' ' || b > '~' || b == '"' || b == '\'' || b == '\\' || b == '/' {
			return false
		}
	}
	return len(s) > 0 && len(s) <= 255
}
