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
	out   io.Writer // the parent reads it
	input io.Reader // it ends when the parent ends
}

// ready sends the server's address to the parent: the only line on standard output.
func (p *parent) ready(addr net.Addr) {
	if addr != nil {
		_, _ = fmt.Fprintln(p.out, "ready", addr) // the parent may have stopped reading
	}
}

// watch ends the server, as SIGTERM does, when the parent has ended or closes standard input.
func (p *parent) watch(signals chan<- os.Signal) {
	_, _ = io.Copy(io.Discard, p.input)
	signals <- syscall.SIGTERM
}
