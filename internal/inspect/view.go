package inspect

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
)

// The styles, for terminals with a light or a dark background. Without colours, as in a pipe, no codes are
// written.
var (
	accent = lipgloss.AdaptiveColor{Light: "#0f766e", Dark: "#2dd4bf"}
	alarm  = lipgloss.AdaptiveColor{Light: "#b91c1c", Dark: "#f87171"}
	quiet  = lipgloss.AdaptiveColor{Light: "#6b7280", Dark: "#9ca3af"}

	titleStyle  = lipgloss.NewStyle().Bold(true).Foreground(accent)
	labelStyle  = lipgloss.NewStyle().Foreground(quiet)
	valueStyle  = lipgloss.NewStyle().Bold(true)
	alarmStyle  = lipgloss.NewStyle().Bold(true).Foreground(alarm)
	chosenStyle = lipgloss.NewStyle().Reverse(true)
)

// View implements tea.Model.
func (s *screen) View() string {
	if s.width == 0 {
		return "" // the terminal has not reported its size yet
	}
	return s.page(s.width, s.height)
}

// page returns the screen of a width and a height. A height of 0 means as many lines as necessary.
func (s *screen) page(width, height int) string {
	var b strings.Builder
	line := func(text string) { b.WriteString(ansi.Truncate(text, width, "…") + "\n") }
	switch {
	case s.sample == nil && s.err != nil:
		return alarmStyle.Render(s.err.Error()) + "\n"
	case s.sample == nil:
		return "looking ...\n"
	}
	for _, text := range s.head() {
		line(text)
	}
	used := strings.Count(b.String(), "\n") + 1 // with the line at the foot
	if s.asked != "" {
		s.writeReason(line)
	} else {
		lines := len(s.sample.Sales) + len(s.locks()) + 4 // the height of both lists with their titles
		if height > 0 {
			lines = height - used
		}
		s.writeSales(line, min(len(s.sample.Sales), max(1, lines/3)))
		s.writeLocks(line, width, height-used)
	}
	if height == 0 {
		return strings.TrimRight(b.String(), "\n")
	}
	text := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	for len(text) < height-1 {
		text = append(text, "")
	}
	return strings.Join(append(text[:height-1], ansi.Truncate(s.foot(), width, "…")), "\n")
}

// figure formats a number with its label.
func figure(label, value string) string {
	return labelStyle.Render(label+" ") + valueStyle.Render(value)
}

// bad formats a number that should be 0.
func bad(label string, n int64) string {
	if n == 0 {
		return figure(label, "0")
	}
	return labelStyle.Render(label+" ") + alarmStyle.Render(count(n))
}

// head returns the lines about the whole server.
func (s *screen) head() []string {
	now := s.sample
	var r Rates
	if s.before != nil {
		r = now.Since(s.before)
	}
	state := ""
	switch {
	case s.err != nil:
		state = alarmStyle.Render("  " + s.err.Error())
	case s.paused:
		state = alarmStyle.Render("  paused")
	}
	addr := now.Addr
	if now.Shards > 0 {
		addr += fmt.Sprintf("  %d shards", now.Shards)
	}
	row := func(cells ...string) string { return strings.Join(cells, labelStyle.Render("  ·  ")) }
	return []string{
		titleStyle.Render("lockserver "+now.Version) + labelStyle.Render(fmt.Sprintf("  %s  up %s", addr, span(now.Uptime))) + state,
		row(figure("commands/s", rate(r.Commands)), figure("cpu", fmt.Sprintf("%.0f %%", r.CPU*100)), figure("memory", size(now.MemoryBytes)),
			figure("clients", count(now.Clients)), figure("waiting", count(now.Blocked))),
		row(figure("locks", count(now.Stats.Held)), figure("waiters", count(now.Stats.Waiting)), figure("hand-offs/s", rate(r.Handoffs)),
			figure("wait p50", ms(now.Stats.WaitP50MS)), figure("p99", ms(now.Stats.WaitP99MS)), figure("max", ms(now.Stats.WaitMaxMS))),
		row(bad("leases run out", now.Stats.Expired), bad("deadlocks", now.Stats.Deadlocks), bad("stale tokens", now.Stats.StaleTokens)),
		"",
	}
}

// ms formats a time in milliseconds; 0 means no value.
func ms(f float64) string {
	switch {
	case f == 0:
		return "-"
	case f < 1:
		return fmt.Sprintf("%.2fms", f)
	}
	return millis(int64(f + 0.5))
}
