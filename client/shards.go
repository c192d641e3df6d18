package client

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// quickHops is how often a command is redirected at once. Then the slot is between two shards, and each
// further redirection waits: firstHopPause, then twice as long each time, up to longestHopPause.
const (
	quickHops       = 2
	firstHopPause   = 5 * time.Millisecond
	longestHopPause = 100 * time.Millisecond
)

// hopPause returns how long a command waits after its redirection with this number. Half of it is chance, so
// that clients do not come together.
func hopPause(hops int) time.Duration {
	if hops <= quickHops {
		return 0
	}
	d := min(firstHopPause<<min(hops-quickHops-1, 10), longestHopPause)
	return d/2 + rand.N(d/2)
}

// shards knows the shards that a client uses, and which of them serves a key. A plain server has no slots:
// only is its shard, and the other fields stay empty. The fields are guarded by mu of the keeper.
type shards struct {
	only   *shard
	byAddr map[string]*shard
	routes map[int]string // addresses by slot, as far as they were asked for

	telling  sync.Mutex // the hooks are called in the order of the events
	up       int        // shards with a connection
	down     int        // shards that have lost it
	reported bool       // the hooks know that the connections are there
}

// first makes the first connection: to the plain server, or to any shard of a cluster.
func (k *keeper) first(ctx context.Context) (s *shard, w *wire, err error) {
	if k.client.cluster == nil {
		s = k.newShard("")
		k.shards.only = s
		if w, err = s.connect(ctx); err != nil {
			s.patience.Stop()
		}
		return s, w, err
	}
	k.shards.byAddr, k.shards.routes = make(map[string]*shard), make(map[int]string)
	tried := make(map[string]bool)
	for n := range 32 { // the slots of these keys are spread over all shards, and some shards may be down
		addr, none := k.ownerOf(ctx, decimal(int64(n)))
		if none != nil {
			return nil, nil, none
		}
		if tried[addr] {
			continue
		}
		tried[addr] = true
		s = k.newShard(addr)
		if w, err = s.connect(ctx); err == nil {
			k.shards.byAddr[addr] = s
			return s, w, nil
		}
		s.patience.Stop()
	}
	return nil, nil, err
}

// newShard returns a shard without a connection.
func (k *keeper) newShard(addr string) *shard {
	s := &shard{keeper: k, addr: addr, answered: time.Now()}
	s.patience = time.AfterFunc(k.sureFor(), s.giveUp)
	return s
}

// begin has the first shard run with its connection.
func (k *keeper) begin(s *shard, w *wire) {
	k.mu.Lock()
	s.patience.Reset(k.sureFor()) // the lease may be another one than the default
	k.running.Add(1)
	k.mu.Unlock()
	k.shards.made(s)
	go s.run(w)
}

// at returns the shard at an address; the caller holds mu. A shard that was not used before connects.
func (k *keeper) at(addr string) *shard {
	s := k.shards.byAddr[addr]
	if s == nil {
		s = k.newShard(addr)
		k.shards.byAddr[addr] = s
		if k.ended.Err() == nil {
			k.running.Add(1)
			go s.run(nil)
		}
	}
	return s
}

// instead returns the shard that serves a key, for a shard that may be over; the caller holds mu.
func (k *keeper) instead(s *shard, key string) *shard {
	if !s.over {
		return s
	}
	if addr := k.shards.routes[slotOf(key)]; addr != "" {
		return k.at(addr)
	}
	return k.at(s.addr)
}

// shardOf returns the shard that serves a key, as far as is known. It returns at the end of ctx.
func (k *keeper) shardOf(ctx context.Context, key string) (*shard, error) {
	if k.shards.only != nil {
		return k.shards.only, nil
	}
	addr, err := k.addrOf(ctx, key)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.at(addr), nil
}

// addrOf returns the address of the shard that serves a key of a cluster, as far as is known.
func (k *keeper) addrOf(ctx context.Context, key string) (string, error) {
	slot := slotOf(key)
	k.mu.Lock()
	addr := k.shards.routes[slot]
	k.mu.Unlock()
	if addr != "" {
		return addr, nil
	}
	addr, err := k.ownerOf(ctx, key)
	if err == nil {
		k.mu.Lock()
		k.shards.routes[slot] = addr
		k.mu.Unlock()
	}
	return addr, err
}

// ownerOf asks the library for the owner of a key's slot. It returns at the end of ctx even if the library
// does not.
func (k *keeper) ownerOf(ctx context.Context, key string) (string, error) {
	came := make(chan answer, 1)
	go func() {
		addr, err := k.client.cluster.Owner(ctx, key)
		came <- answer{addr, err}
	}()
	select {
	case a := <-came:
		return a.value.(string), a.err
	case <-ctx.Done():
		return "", ended(ctx)
	}
}

// dialFor returns a function that opens a connection to the server of a key.
func (k *keeper) dialFor(key string) func(context.Context) (net.Conn, Login, error) {
	c := k.client
	if c.cluster == nil {
		return c.server.Dial
	}
	return func(ctx context.Context) (net.Conn, Login, error) {
		addr, err := k.addrOf(ctx, key)
		if err != nil {
			return nil, Login{}, err
		}
		nc, login, err := c.cluster.DialTo(ctx, addr)
		if err != nil {
			k.mu.Lock()
			k.forgetRoutes(addr)
			k.mu.Unlock()
		}
		return nc, login, err
	}
}

// knownAddr returns the address of the shard that serves a key, or an empty text if that was not asked for.
func (k *keeper) knownAddr(key string) string {
	if k.client.cluster == nil {
		return ""
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.shards.routes[slotOf(key)]
}

// follow records a redirection of a key by a shard at an address. It reports whether the error is one.
func (k *keeper) follow(err error, key, from string) bool {
	if k.client.cluster == nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.followLocked(err, key, from) != ""
}

// followLocked is follow that returns the new address, or an empty text; the caller holds mu.
func (k *keeper) followLocked(err error, key, from string) string {
	to := movedTo(err, from)
	if to == "" || to == from {
		return ""
	}
	k.shards.routes[slotOf(key)] = to
	k.client.cluster.Refresh()
	return to
}

// movedTo returns the address that an error reply redirects to (MOVED slot host:port); empty: it is no
// redirection. Without a host it is that of the server that has sent it.
func movedTo(err error, from string) string {
	var reply ReplyError
	if !errors.As(err, &reply) {
		return ""
	}
	words := strings.Fields(string(reply))
	if len(words) < 3 || words[0] != "MOVED" {
		return ""
	}
	if port, noHost := strings.CutPrefix(words[2], ":"); noHost {
		host, _, _ := net.SplitHostPort(from)
		return net.JoinHostPort(host, port)
	}
	return words[2]
}

// forgetRoutes has the library asked again which slots an address serves; the caller holds mu.
func (k *keeper) forgetRoutes(addr string) {
	for slot, to := range k.shards.routes {
		if to == addr {
			delete(k.shards.routes, slot)
		}
	}
	k.client.cluster.Refresh()
}

// isUnserved reports whether an error reply says that no shard serves the slot. The server still serves its
// other slots.
func isUnserved(err error) bool {
	var reply ReplyError
	return errors.As(err, &reply) && strings.HasPrefix(string(reply), "CLUSTERDOWN Hash slot")
}

// notServed reports whether an error reply says that the server does not serve the slot.
func notServed(err error) bool { return movedTo(err, "") != "" || isUnserved(err) }

// redirected handles the answer to a command for a key that the server has not done. If another shard serves
// the key, or none does, move is called with the shard to ask, and with mu held, and redirected returns true.
// Otherwise the connection is closed, and the command has to be sent by the next one. hops counts the
// redirections of the command.
func (s *shard) redirected(w *wire, err error, key string, hops *int, move func(to *shard)) bool {
	k := s.keeper
	if s.addr == "" || isBroken(err) {
		w.close(err)
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	addr := k.followLocked(err, key, s.addr)
	if addr == "" && isUnserved(err) {
		addr = s.addr
		k.client.cluster.Refresh()
	}
	if addr == "" {
		w.close(err)
		return false
	}
	to := k.at(addr)
	if *hops++; *hops <= quickHops {
		move(to)
	} else {
		time.AfterFunc(hopPause(*hops), func() {
			k.mu.Lock()
			defer k.mu.Unlock()
			move(k.instead(to, key))
		})
	}
	s.doubt(w)
	return true
}

// doubt asks a shard that has redirected a command whether it still has the rest: the owners that are
// attached, and the locks. The caller holds mu.
func (s *shard) doubt(w *wire) {
	k := s.keeper
	if s.doubted || s.wire != w {
		return
	}
	s.doubted = true
	w.then(func(a answer) {
		if a.err != nil {
			w.close(a.err) // it serves no client any more
		}
		k.mu.Lock()
		s.doubted = false
		k.mu.Unlock()
	}, "LOCK.ATTACH", "PREFIX", k.client.name+":")
	for _, h := range k.heldAt(s) {
		if !h.leaving {
			s.check(h, w, nil)
		}
	}
}

// moveWait has another shard asked for what a call waits for; the caller holds mu.
func (k *keeper) moveWait(wt *wait, to *shard) {
	if wt.state == over {
		return
	}
	wt.shard, wt.state, wt.by = to, asked, nil
	if to.wire != nil {
		to.ask(wt, to.wire)
	}
}

// moveHold has a shard asked whether it has a hold; the caller holds mu. Without an answer the hold is lost
// when its lease may have ended, counted from the last answer of the former shard.
func (k *keeper) moveHold(h *hold, to *shard) {
	if h.unsure == nil && h.lease == 0 {
		h.sureUntil = h.shard.answered.Add(k.sureFor())
		h.unsure = time.AfterFunc(time.Until(h.sureUntil), func() { h.lose(h.keys[0], h.tokens[0], unreachable) })
	}
	h.shard = to
	if to.wire != nil {
		to.check(h, to.wire, nil)
	}
}

// assured records that the shard of a hold has it; the caller holds mu of the keeper.
func (h *hold) assured() {
	if h.unsure != nil {
		h.unsure.Stop()
		h.unsure = nil
	}
}

// leave is called when an attempt to connect has failed. What other shards serve by now goes to them. It
// returns true if the shard has nothing left then: it is over.
func (s *shard) leave(why error) bool {
	if s.addr == "" || !s.handOver(why) {
		return false
	}
	s.keeper.shards.left(s)
	return true
}

// handOver is leave of a cluster's shard.
func (s *shard) handOver(why error) bool {
	k := s.keeper
	k.mu.Lock()
	k.forgetRoutes(s.addr)
	all := movedTo(why, s.addr) // it serves no slot, and says who does
	if all == s.addr {
		all = ""
	}
	keys := s.keys()
	others := len(k.shards.byAddr) > 1
	k.mu.Unlock()
	if !others && len(keys) == 0 {
		keys[-1] = "" // a client is attached to one shard at least
	}
	owners := make(map[int]string, len(keys))
	for slot, key := range keys {
		owners[slot] = all
		if all == "" {
			limited, cancel := context.WithTimeout(k.ended, k.client.limit)
			owners[slot], _ = k.ownerOf(limited, key)
			cancel()
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	stays := false
	for slot, addr := range owners {
		if addr == "" || addr == s.addr {
			stays = true
			continue
		}
		if slot >= 0 {
			k.shards.routes[slot] = addr
		}
		s.give(slot, k.at(addr))
	}
	if stays || len(s.keys()) > 0 {
		return false
	}
	s.over = true
	delete(k.shards.byAddr, s.addr)
	return true
}

// keys returns a key for each slot in which the shard has a lock, a wait or a debt; the caller holds mu.
func (s *shard) keys() map[int]string {
	k := s.keeper
	keys := make(map[int]string)
	for _, h := range k.heldAt(s) {
		keys[slotOf(h.keys[0])] = h.keys[0]
	}
	for _, wt := range k.waits {
		if wt.shard == s {
			keys[slotOf(wt.wish.keys[0])] = wt.wish.keys[0]
		}
	}
	for _, d := range s.unpaid {
		keys[slotOf(d.key)] = d.key
	}
	return keys
}

// give has another shard continue the locks, waits and debts of a slot; the caller holds mu.
func (s *shard) give(slot int, to *shard) {
	k := s.keeper
	for _, h := range k.heldAt(s) {
		if slotOf(h.keys[0]) == slot {
			k.moveHold(h, to)
		}
	}
	for _, wt := range s.waiting() {
		if slotOf(wt.wish.keys[0]) == slot {
			k.moveWait(wt, to)
		}
	}
	unpaid := s.unpaid
	s.unpaid = nil
	for _, d := range unpaid {
		if slotOf(d.key) == slot {
			to.send(d)
		} else {
			s.unpaid = append(s.unpaid, d)
		}
	}
}

// made records that a shard has a connection.
func (of *shards) made(s *shard) {
	first := !s.broke
	of.change(s, nil, func() {
		of.up++
		if s.broke {
			of.down--
		}
		s.broke = false
	})
	if !first {
		s.keeper.client.connected(s.addr, nil)
	}
}

// ended records that the connection of a shard has ended.
func (of *shards) ended(s *shard, why error) {
	of.change(s, why, func() {
		of.up--
		if !errors.Is(why, ErrClosed) {
			of.down++
			s.broke = true
		}
	})
	s.keeper.client.connected(s.addr, why)
}

// left records that a shard is over.
func (of *shards) left(s *shard) {
	of.change(s, nil, func() {
		if s.broke {
			of.down--
			s.broke = false
		}
	})
}

// change counts shards, and tells the hooks if the connections of all used shards are there now, or are not
// there any more, because of why.
func (of *shards) change(s *shard, why error, count func()) {
	of.telling.Lock()
	defer of.telling.Unlock()
	k := s.keeper
	k.mu.Lock()
	count()
	now := of.up > 0 && of.down == 0
	changed := now != of.reported
	of.reported = now
	k.mu.Unlock()
	if changed {
		k.client.tellConnected(why)
	}
}

// unpaid takes the debts that no shard has sent.
func (of *shards) unpaid(mu *sync.Mutex) (debts []debt) {
	mu.Lock()
	defer mu.Unlock()
	all := slices.Collect(maps.Values(of.byAddr))
	if of.only != nil {
		all = append(all, of.only)
	}
	for _, s := range all {
		debts = append(debts, s.unpaid...)
		s.unpaid = nil
	}
	return debts
}
