package main

import (
	"net"
	"strconv"
	"strings"

	"lockserver/admin"
	"lockserver/server"
)

// openAdmin opens the admin port, if there is to be one. It is open from before the data is loaded until the
// server has ended, so that who asks hears of both. It is one port for all shards.
func (p *process) openAdmin(shards []*server.Server) (closePort func(), err error) {
	c := p.config
	if c.AdminPort == 0 {
		return func() {}, nil
	}
	sources := make([]admin.Source, len(shards))
	for i, srv := range shards {
		sources[i] = srv
	}
	port, err := admin.Open(sources, admin.Options{Addr: net.JoinHostPort(c.AdminBind, strconv.Itoa(c.AdminPort)), Log: p.log, Audit: p.audit,
		AutoLogin: c.ConsoleAutoLogin, Hosts: strings.Fields(c.AdminHosts), Debug: p.debug})
	if err != nil {
		return nil, err
	}
	p.log.Info("Admin port", "addr", port.Addr().String())
	if port.AutoLogin() {
		p.log.Info("The console needs no login on this machine while the user default has no password. With a proxy on this machine, set console-auto-login no")
	}
	return port.Close, nil
}
