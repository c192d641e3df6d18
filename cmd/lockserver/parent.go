package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
)

// parent is the process that has started this one, as a test does.
type parent struct {
	out   io.Writer // that it reads
	input io.Reader // that ends with it
}

// ready tells it where the server is: the only line on standard output.
func (p *parent) ready(addr net.Addr) {
	if addr != nil {
		_, _ = fmt.Fprintln(p.out, "ready", addr) // it may have stopped reading
	}
}

// watch ends the server, as SIGTERM does, when the parent has ended or closes standard input.
func (p *parent) watch(signals chan<- os.Signal) {
	_, _ = io.Copy(io.Discard, p.input)
	signals <- syscall.SIGTERM
}
