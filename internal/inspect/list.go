package inspect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
)

// column is a column of a list.
type column struct {
	title string
	width int  // width of the cells
	right bool // cells are aligned to the right, as numbers are
}

// shardColumn is the column that lists of a cluster have.
var shardColumn = column{"SHARD", 5, true}

// row is a line of cells, each cut or filled to the width of its column.
func row(columns []column, cells []string) string {
	out := make([]string, len(columns))
	for i, c := range columns {
		text := ansi.Truncate(cells[i], c.width, "…")
		padding := strings.Repeat(" ", max(0, c.width-lipgloss.Width(text)))
		if out[i] = text + padding; c.right {
			out[i] = padding + text
		}
	}
	return strings.Join(out, "  ")
}

func titles(columns []column) string {
	cells := make([]string, len(columns))
	for i, c := range columns {
		cells[i] = c.title
	}
	return labelStyle.Render(row(columns, cells))
}

// writeLocks writes the locks around the chosen lock, up to a number of lines; less than 1 means all locks.
func (s *screen) writeLocks(line func(string), width, lines int) {
	locks := s.locks()
	title := titleStyle.Render("Locks")
	if s.find.Value() != "" || s.finding {
		title += "  " + s.find.View()
	} else if rest := s.sample.Stats.Held - int64(len(locks)); rest > 0 {
		title += labelStyle.Render(fmt.Sprintf("  and %s more", count(rest)))
	}
	line(title)
	if len(locks) == 0 {
		line(labelStyle.Render("no lock is held"))
		return
	}
	sharded := s.sample.Shards > 0
	if sharded {
		width -= shardColumn.width + 2
	}
	left := max(24, width-7-10-10-3*2-2*2)
	columns := []column{{"KEY", left * 4 / 9, false}, {"OWNER", left * 3 / 9, false}, {"CLIENT", left - left*4/9 - left*3/9, false},
		{"HOLDS", 7, true}, {"WAITING", 7, true}, {"LEASE", 10, true}}
	if sharded {
		columns = append([]column{shardColumn}, columns...)
	}
	line(titles(columns))
	from, to := 0, len(locks)
	if lines > 0 {
		shown := max(1, lines-2)
		from = max(0, min(s.at-shown/2, len(locks)-shown))
		to = min(len(locks), from+shown)
	}
	for i, l := range locks[from:to] {
		cells := []string{printable(l.Key), l.heldBy(), printable(l.Client.String()), holdsOf(&l), waiting(&l), leaseLeft(&l)}
		if sharded {
			cells = append([]string{shardText(l.Shard)}, cells...)
		}
		text := row(columns, cells)
		switch {
		case from+i == s.at && s.height > 0:
			text = chosenStyle.Render(text)
		case l.Waiting > 0:
			text = alarmStyle.Render(text)
		}
		line(text)
	}
}

// holdsOf formats the hold count of a lock, the taken permits of a semaphore, or the count of a latch.
func holdsOf(l *Lock) string {
	if l.Permits == nil {
		return count(l.Holds)
	}
	return fmt.Sprintf("%d/%d", l.Permits.Limit-l.Permits.Available, l.Permits.Limit)
}

func waiting(l *Lock) string {
	if l.Waiting == 0 {
		return ""
	}
	return count(l.Waiting)
}

func leaseLeft(l *Lock) string {
	if l.TTLMS < 0 {
		return "no end"
	}
	return millis(l.TTLMS)
}

// writeSales writes some of the sales. Open sales come first.
func (s *screen) writeSales(line func(string), lines int) {
	if len(s.sample.Sales) == 0 {
		return
	}
	var r Rates
	if s.before != nil {
		r = s.sample.Since(s.before)
	}
	sales := slices.Clone(s.sample.Sales)
	slices.SortStableFunc(sales, func(a, b Sale) int { return strings.Compare(a.order(), b.order()) })
	title := titleStyle.Render("Sales")
	if rest := len(sales) - lines; rest > 0 {
		title += labelStyle.Render(fmt.Sprintf("  and %d more", rest))
	}
	line(title)
	columns := []column{{"VOUCHER", 20, false}, {"STATE", 8, false}, {"STOCK", 11, true}, {"SOLD", 11, true}, {"SOLD/S", 9, true},
		{"HELD", 9, true}, {"LAG", 9, true}, {"ENDS IN", 8, true}}
	if s.sample.Shards > 0 {
		columns = append(columns, shardColumn)
	}
	line(titles(columns))
	for _, sale := range sales[:lines] {
		lag, ends := "", ""
		if sale.Lag >= 0 {
			lag = count(sale.Lag)
		}
		if sale.EndMS > 0 {
			ends = millis(sale.EndMS - s.sample.Now.UnixMilli())
		}
		line(row(columns, []string{printable(sale.Voucher), sale.State, count(sale.Stock), count(sale.Sold), rate(r.Sold[sale.Voucher]),
			count(sale.Held), lag, ends, shardText(sale.Shard)}))
	}
	line("")
}

// order returns the sort key of a sale: open sales first, then by name.
func (s *Sale) order() string {
	if s.State == "open" {
		return "0" + s.Voucher
	}
	return "1" + s.Voucher
}

// writeReason writes the reason why the chosen lock is not free.
func (s *screen) writeReason(line func(string)) {
	line(titleStyle.Render("Why " + printable(s.asked)))
	switch {
	case s.reasonErr != nil:
		line(alarmStyle.Render(s.reasonErr.Error()))
	case s.reason == nil:
		line("looking ...")
	default:
		var b strings.Builder
		s.reason.Print(&b)
		for text := range strings.Lines(b.String()) {
			line(strings.TrimRight(text, "\n"))
		}
	}
}

// foot returns the help line for the keys.
func (s *screen) foot() string {
	switch {
	case s.finding:
		return labelStyle.Render("enter find  esc all")
	case s.asked != "":
		return labelStyle.Render("esc back  q quit")
	}
	return labelStyle.Render("↑↓ choose  enter why  / find  space pause  q quit")
}
