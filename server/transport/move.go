package transport

import (
	"net"
	"slices"
)

// MoveError says that an address cannot be bound, and which port it is for.
type MoveError struct {
	Secure bool // the port for encrypted connections
	Err    error
}

// Error is one line.
func (e *MoveError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *MoveError) Unwrap() error { return e.Err }

// place returns the front as INFO shows it. As in Redis it shows the first words, as many as there are
// listeners.
func (f *front) place(name string) ListenerInfo {
	p := ListenerInfo{Name: name, Bind: f.bind[:min(len(f.doors), len(f.bind))], Port: f.port}
	if len(f.doors) > 0 {
		p.Port = f.doors[0].addr.(*net.TCPAddr).Port // port 0 at the start became a free port
	}
	return p
}

// Places returns the listeners for TCP, for the unix socket, and for encrypted connections. A kind that never
// had a listener has no name.
func (e *Endpoint) Places() (places [3]ListenerInfo) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.plain.used {
		places[0] = e.plain.place("tcp")
	}
	places[1] = e.unix
	if e.secure.used {
		places[2] = e.secure.place("tls")
	}
	return places
}

// Move replaces the listening addresses; the connections stay. Port 0 means no port, and so does a nil
// secure. If an address cannot be bound, nothing changes, and the error is a *MoveError.
func (e *Endpoint) Move(bind []string, port int, secure *Secure) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.phase != phaseOpen {
		return net.ErrClosed
	}
	was := e.plain
	plainly := func(ln net.Listener) (func(), error) {
		if e.loops != nil {
			return e.loops.take(ln)
		}
		return e.accept(ln, e.serve), nil
	}
	if err := e.move(&e.plain, bind, port, plainly); err != nil {
		return &MoveError{false, err}
	}
	if secure == nil {
		secure = &Secure{Bind: bind}
	}
	encrypted := func(ln net.Listener) (func(), error) { return e.accept(ln, e.serveSecure(secure.Config)), nil }
	if err := e.move(&e.secure, secure.Bind, secure.Port, encrypted); err != nil {
		if back := e.move(&e.plain, was.bind, was.place("").Port, plainly); back != nil {
			e.log.Error("could not listen again where it was", "cause", back)
		}
		return &MoveError{true, err}
	}
	if !e.given {
		e.addr.Store(e.firstAddr())
	}
	e.secureAddr.Store(e.secure.first())
	return nil
}

// firstAddr returns the result of Addr after a move.
func (e *Endpoint) firstAddr() *net.Addr {
	if first := e.plain.first(); first != nil || e.unix.Name == "" {
		return first
	}
	var addr net.Addr = &net.UnixAddr{Name: e.unix.Bind[0], Net: "unix"}
	return &addr
}

// first returns the address of the first listener, or nil.
func (f *front) first() *net.Addr {
	if len(f.doors) == 0 {
		return nil
	}
	return &f.doors[0].addr
}

// move replaces the listeners of a front. A listener keeps running if its address stays. The others are
// closed before anything is bound, because they may be in the way: 0.0.0.0 conflicts with every other
// address. If an address cannot be bound, they are opened again.
func (e *Endpoint) move(f *front, bind []string, port int, serve func(net.Listener) (func(), error)) error {
	was := *f
	now := was.place("").Port
	if now == port && (port == 0 || slices.Equal(was.bind, bind)) {
		return nil
	}
	stays := func(d door) bool { return now == port && slices.Contains(bind, d.word) }
	for _, d := range was.doors {
		if !stays(d) {
			d.close()
		}
	}
	next := front{bind: bind, port: port, used: true}
	if port == 0 {
		bind = nil
	}
	for n, word := range bind {
		i := slices.IndexFunc(was.doors, func(d door) bool { return d.word == word && stays(d) })
		if i >= 0 && slices.Index(bind, word) == n {
			next.doors = append(next.doors, was.doors[i])
			continue
		}
		d, err := e.openDoor(word, port, serve)
		if err != nil {
			for _, d := range next.doors {
				if !stays(d) {
					d.close()
				}
			}
			f.doors = e.reopen(was.doors, stays, serve)
			return err
		}
		if d.close != nil {
			next.doors = append(next.doors, d)
		}
	}
	*f = next
	return nil
}

// openDoor binds an address and serves it. If the address was left out, the door has no close function.
func (e *Endpoint) openDoor(word string, port int, serve func(net.Listener) (func(), error)) (d door, err error) {
	ln, err := e.listenAt(word, port)
	if ln == nil || err != nil {
		return door{}, err
	}
	d = door{word: word, addr: ln.Addr()}
	if d.close, err = serve(ln); err != nil {
		_ = ln.Close()
	}
	return d, err
}

// reopen listens again at the addresses of closed listeners.
func (e *Endpoint) reopen(doors []door, stayed func(door) bool, serve func(net.Listener) (func(), error)) (open []door) {
	for _, d := range doors {
		if !stayed(d) {
			again, err := e.openDoor(d.word, d.addr.(*net.TCPAddr).Port, serve)
			if err != nil || again.close == nil {
				e.log.Error("could not listen again where it was", "address", d.addr, "cause", err)
				continue
			}
			d = again
		}
		open = append(open, d)
	}
	return open
}
