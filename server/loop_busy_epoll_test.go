//go:build linux && !gnet

package server

// answersWhileBusy: an event loop looks after its other connections while a script of one is busy.
const answersWhileBusy = true
