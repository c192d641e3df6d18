//go:build linux && !gnet

package server

// answersWhileBusy: an event loop looks after its other connections while a script of one is busy.
const answersWhileBusy = true

// loopsPause: an event loop can leave a connection unread while its session's input is full.
const loopsPause = true
