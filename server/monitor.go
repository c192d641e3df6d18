package server

import (
	"slices"
	"strings"

	"lockserver/commands"
	"lockserver/internal/resp"
)

func monitorRows() []commands.Row {
	return []commands.Row{{Name: "monitor", Group: commands.Server, Since: "1.0.0", Flags: whenever | commands.Admin, Run: monitorCmd,
		Summary: "Shows every command that the server runs.", Complexity: "O(1) here, and for each command that is run"}}
}

// monitorCmd begins to show commands; it is not answered again by one that does so already.
func monitorCmd(c *commands.Ctx) error {
	s := sessionOf(c)
	switch {
	case !c.MayBlock:
		return commands.ErrMonitorDenied
	case s.monitors:
		return nil
	}
	s.monitors = true
	s.executor.monitors = append(s.executor.monitors, s)
	c.Out.OK()
	return nil
}

// stopMonitoring ends MONITOR; it does nothing if s does not monitor.
func (s *session) stopMonitoring() {
	if s.monitors {
		s.monitors = false
		s.executor.monitors = slices.DeleteFunc(s.executor.monitors, func(other *session) bool { return other == s })
	}
}

// show tells the monitors of a command that has just run. A script's own commands come without a session.
func (ex *executor) show(s *session, row *commands.Row, db int, argv [][]byte) {
	if row.Flags&(commands.SkipMonitor|commands.Admin) == 0 {
		ex.tellMonitors(s, row, db, argv)
	}
}

// tellMonitors is show for any command.
func (ex *executor) tellMonitors(s *session, row *commands.Row, db int, argv [][]byte) {
	us := ex.store.NowUS()
	w := resp.Writer{Buf: append(make([]byte, 0, 128), '+')}
	w.Buf = appendPadded(w.Buf, us/1_000_000, 1)
	w.Buf = appendPadded(append(w.Buf, '.'), us%1_000_000, 6)
	w.Buf = appendPadded(append(w.Buf, " ["...), int64(db), 1)
	w.Buf = append(append(w.Buf, ' '), origin(s)...)
	w.Buf = append(w.Buf, ']')
	for _, arg := range row.Redact(argv) {
		w.Buf = resp.AppendQuoted(append(w.Buf, ' '), arg)
	}
	w.Buf = append(w.Buf, "\r\n"...)
	for _, m := range ex.monitors {
		if !m.replies.isMuted() {
			ex.deliver(m, w.Buf)
		}
	}
}

// origin is where a command came from, as MONITOR writes it.
func origin(s *session) string {
	if s == nil {
		return "lua"
	}
	if path, ok := strings.CutSuffix(s.info.addr, ":0"); ok {
		return "unix:" + path
	}
	return s.info.addr
}

// appendPadded appends n with at least so many digits.
func appendPadded(dst []byte, n int64, digits int) []byte {
	var space [20]byte
	i := len(space)
	for ; n > 0 || digits > 0; digits-- {
		i--
		space[i] = byte('0' + n%10)
		n /= 10
	}
	return append(dst, space[i:]...)
}
