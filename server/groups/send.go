package groups

import (
	"context"
	"errors"
	"net"
	"strconv"
	"time"

	"lockserver/internal/call"
	"lockserver/server/slotmove"
)

// Name returns the names of the cluster, and of this group as a shard of it.
func (s *Shard) Name() (cluster, shard string) { return s.names.Cluster, s.names.Shard }

// Knows reports whether the map has a shard of this name, other than this one.
func (s *Shard) Knows(shard string) bool { return len(s.addresses(shard)) > 0 }

// addresses returns the addresses of the members of another shard. The first one leads it, or led it last.
func (s *Shard) addresses(shard string) (all []string) {
	for _, other := range s.shards.View().Others {
		if other.Name != shard {
			continue
		}
		for _, m := range other.Members {
			at := net.JoinHostPort(m.Host, strconv.Itoa(m.Port))
			if all = append(all, at); m.ID == other.Leads {
				all[0], all[len(all)-1] = all[len(all)-1], all[0]
			}
		}
	}
	return all
}

// errSilent is returned by Send for a shard without a known member.
var errSilent = errors.New("no member of the shard is known")

// Send sends a message about moves to the member that leads another shard, or to one member after the other
// until one has an answer. It takes no longer than limit.
func (s *Shard) Send(shard string, r *slotmove.Request, limit time.Duration) (a *slotmove.Answer, err error) {
	ctx, cancel := context.WithTimeout(s.running, limit)
	defer cancel()
	err = errSilent
	message := string(r.AppendTo(nil))
	for _, at := range s.addresses(shard) {
		if ctx.Err() != nil {
			return nil, errors.Join(err, ctx.Err())
		}
		if a, err = s.sendTo(ctx, at, message); err == nil {
			return a, nil
		}
	}
	return nil, err
}

// sendTo sends a message to a member.
func (s *Shard) sendTo(ctx context.Context, at, message string) (*slotmove.Answer, error) {
	link, err := s.link(ctx, at)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, link.Close)
	v, err := link.Do("RAFT", "MOVE", message)
	if !stop() || errors.Is(err, call.ErrLost) {
		s.mu.Lock()
		if s.links[at] == link {
			delete(s.links, at)
		}
		s.mu.Unlock()
		link.Close()
	}
	if err != nil {
		return nil, err
	}
	return slotmove.ParseAnswer([]byte(v.Str))
}

// link returns a connection to a member.
func (s *Shard) link(ctx context.Context, at string) (*call.Conn, error) {
	s.mu.Lock()
	link := s.links[at]
	s.mu.Unlock()
	if link != nil {
		return link, nil
	}
	link, err := s.dial(ctx, at)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.links == nil {
		s.links = map[string]*call.Conn{}
	}
	s.links[at] = link
	return link, nil
}
