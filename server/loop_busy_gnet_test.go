//go:build !linux || gnet

package server

// answersWhileBusy: gnet's loops cannot be entered again (D71).
const answersWhileBusy = false
