//go:build !linux || gnet

package server

// answersWhileBusy: gnet's loops cannot be entered again (D71).
const answersWhileBusy = false

// loopsPause: gnet reads whatever comes (D104).
const loopsPause = false
