//go:build netns

package vanish

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"lockserver/internal/resp"
)

// redirections listens to the packets between clients and servers, and counts how often each command of a
// host is redirected.
type redirections struct {
	reached func(address string) bool // whether a server may answer at present

	mu       sync.Mutex
	streams  map[string]*stream // by the addresses of a client and a server
	commands map[string]int     // how often a command was redirected so far, by its host and words
	most     int                // redirections of one command
	way      string             // that command
	moved    map[string]int     // all redirections, by the slot
	replies  int
}

func newRedirections(reached func(address string) bool) *redirections {
	return &redirections{reached: reached, streams: map[string]*stream{}, commands: map[string]int{}, moved: map[string]int{}}
}

// stream is a connection of a client to a server.
type stream struct {
	host            string
	asked, answered uint32 // the next sequence numbers
	requests        resp.Decoder
	replies         segments
	outstanding     []string // commands without a reply
	hasAnswered     bool     // whether the sequence number of answers is known
}

// segments are the unread bytes of a connection. They are a reader for one goroutine.
type segments struct {
	waiting chan []byte
	rest    []byte
}

func (s *segments) Read(b []byte) (n int, err error) {
	if len(s.rest) == 0 {
		s.rest = <-s.waiting
	}
	n = copy(b, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// synchronize is the flag SYN of TCP.
const synchronize = 2

// packet takes a packet from one host to another. The client is the higher one.
func (r *redirections) packet(from, to int, b []byte) {
	if (from >= outside) == (to >= outside) {
		return // between servers
	}
	const protocol, sourceAt, destinationAt = 9, 12, 16 // offsets in an IPv4 header
	if b[protocol] != 6 {
		return
	}
	tcp := b[int(b[0]&0xf)*4 : binary.BigEndian.Uint16(b[2:])]
	address := func(at int, port []byte) string {
		ip, _ := netip.AddrFromSlice(b[at : at+4])
		return netip.AddrPortFrom(ip, binary.BigEndian.Uint16(port)).String()
	}
	source, destination := address(sourceAt, tcp), address(destinationAt, tcp[2:])
	number, flags, data := binary.BigEndian.Uint32(tcp[4:]), tcp[13], tcp[int(tcp[12]>>4)*4:]
	r.mu.Lock()
	defer r.mu.Unlock()
	if from >= outside {
		r.request(source+" "+destination, source, number, flags, data)
	} else if s := r.streams[destination+" "+source]; s != nil && flags&synchronize != 0 {
		s.answered, s.hasAnswered = number+1, true
	} else if s != nil && s.hasAnswered && number == s.answered && len(data) > 0 {
		s.answered += uint32(len(data))
		s.replies.waiting <- slices.Clone(data)
	}
}

// request takes a packet of a client.
func (r *redirections) request(name, source string, number uint32, flags byte, data []byte) {
	s := r.streams[name]
	if flags&synchronize != 0 && s == nil {
		s = &stream{host: source[:strings.LastIndexByte(source, ':')], asked: number + 1}
		s.replies.waiting = make(chan []byte, mostSegments)
		r.streams[name] = s
		go r.listen(s)
		return
	}
	if s == nil || number != s.asked || len(data) == 0 { // a packet that comes again
		return
	}
	s.asked += uint32(len(data))
	s.requests.Feed(data)
	for {
		words, ok, err := s.requests.Next(nil)
		if err != nil || !ok {
			return
		}
		s.outstanding = append(s.outstanding, command(words))
	}
}

// command names a command by its own name and its first two arguments: the key, and the owner or token.
func command(words [][]byte) string {
	var b strings.Builder
	for _, w := range words[:min(len(words), 3)] {
		fmt.Fprintf(&b, " %s", w)
	}
	return strings.ToUpper(b.String())
}

// mostSegments is more than the packets that come while listen waits for the lock of redirections.
const mostSegments = 1 << 16

// searches begin the commands by which a client finds the leader of a shard. It sends the same words to
// several members: LOCK.ATTACH, and in the package for Node EXISTS of a key with the name of the client.
var searches = []string{" LOCK.ATTACH ", " EXISTS LOCKS:"}

// listen reads the replies on a connection.
func (r *redirections) listen(s *stream) {
	in := bufio.NewReader(&s.replies)
	for {
		v, err := resp.ReadValue(in)
		if err != nil {
			return
		}
		if v.Kind != resp.Push {
			r.reply(s, v)
		}
	}
}

// reply counts a reply. A redirection to a server that cannot be reached ends in no reply: the client asks
// anew.
func (r *redirections) reply(s *stream, v resp.Value) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(s.outstanding) == 0 {
		return
	}
	asked := s.host + s.outstanding[0]
	s.outstanding = s.outstanding[1:]
	r.replies++
	words := strings.Fields(v.Str)
	if !v.IsError() || len(words) != 3 || words[0] != "MOVED" || !r.reached(words[2]) {
		delete(r.commands, asked)
	}
	if !v.IsError() || len(words) != 3 || words[0] != "MOVED" {
		return
	}
	if slices.ContainsFunc(searches, func(s string) bool { return strings.Contains(asked, s) }) {
		return
	}
	r.moved[words[1]]++
	if !r.reached(words[2]) {
		return
	}
	r.commands[asked]++
	if n := r.commands[asked]; n > r.most {
		r.most, r.way = n, asked+": "+v.Str
	}
}
