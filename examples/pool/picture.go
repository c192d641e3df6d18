package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// The picture's measures, in pixels.
const (
	pictureWidth = 960
	labelWidth   = 92 // for the names of the lanes, on the left
	rightMargin  = 20
	topHeight    = 122 // for the title, the results and the legend
	laneHeight   = 27
	barHeight    = 17
	serverHeight = 22
	serverBar    = 10
	lanesGap     = 24 // between the lanes of the workers and those of the servers
	axisHeight   = 34
)

// colours holds the colours of the locks. People with colour blindness can distinguish them.
var colours = [len(names)]string{"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#8c6d1f"}

// drawing is a picture under construction.
type drawing struct {
	strings.Builder
	record
	bottom float64 // bottom of the lanes
}

// picture draws a record as SVG. The result depends on the record alone.
func picture(r record) string {
	d := drawing{record: r}
	d.bottom = float64(topHeight + r.workers*laneHeight + lanesGap + r.servers*serverHeight)
	height := d.bottom + axisHeight
	fmt.Fprintf(&d, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%.0f" viewBox="0 0 %[1]d %.0[2]f" role="img">`+"\n", pictureWidth, height)
	d.WriteString(`<title>Workers that share locks on three servers; one server is killed again and again</title>
<style>
text { font: 13px system-ui, sans-serif; fill: #24292f }
.head { font-size: 16px; font-weight: 600 }
.small { font-size: 11px; fill: #57606a }
.cross { font-weight: 700; fill: #cf222e }
.paper { fill: #ffffff } .lane { fill: #f6f8fa } .grid { stroke: #d8dee4 }
.band { fill: #cf222e; opacity: 0.13 } .kill { stroke: #cf222e; stroke-dasharray: 2 3; opacity: 0.75 }
.up { fill: #c3cad3 } .leads { fill: #24292f } .down { stroke: #cf222e; stroke-dasharray: 2 3 }
</style>
`)
	fmt.Fprintf(&d, `<rect class="paper" width="%d" height="%.0f"/>`+"\n", pictureWidth, height)
	d.head()
	d.lanes()
	d.axis()
	d.deaths()
	d.work()
	d.condition()
	d.WriteString("</svg>\n")
	return d.String()
}

// x returns the position of a time.
func (d *drawing) x(at time.Duration) float64 {
	share := at.Seconds() / max(d.length.Seconds(), 0.001)
	return labelWidth + min(max(share, 0), 1)*(pictureWidth-labelWidth-rightMargin)
}

// lane returns the middle of a worker's lane; server returns the middle of a server's.
func (d *drawing) lane(worker int) float64 {
	return float64(topHeight+worker*laneHeight) + laneHeight/2.0
}
func (d *drawing) server(i int) float64 {
	return float64(topHeight+d.workers*laneHeight+lanesGap+i*serverHeight) + serverHeight/2.0
}

func (d *drawing) text(x, y float64, class, text string) {
	if class != "" {
		class = fmt.Sprintf(` class="%s"`, class)
	}
	text = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
	fmt.Fprintf(d, `<text%s x="%.1f" y="%.1f">%s</text>`+"\n", class, x, y, text)
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(d, `<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`+"\n", class, x1, y1, x2, y2)
}

// bar draws a box with its middle at y; words are shown when the mouse is over it.
func (d *drawing) bar(attributes string, from, to, y, height float64, words string) {
	fmt.Fprintf(d, `<rect %s x="%.1f" y="%.1f" width="%.1f" height="%.0f"><title>%s</title></rect>`+"\n",
		attributes, from, y-height/2, max(to-from, 1), height, words)
}

// head draws the part above the lanes.
func (d *drawing) head() {
	d.text(16, 28, "head", "Three servers, one killed again and again: who had which lock")
	kills, leaders := d.killed()
	says := fmt.Sprintf("%d times a worker had a lock, and no worker ever worked without it.", len(d.holds))
	if len(d.wrong) > 0 {
		says = "A WORKER WORKED WITHOUT THE LOCK: " + d.wrong[0]
	}
	d.text(16, 50, "small", says)
	says = fmt.Sprintf("In %.0f s %d servers were killed (kill -9), %d of them the leader.", d.length.Seconds(), kills, leaders)
	if p := d.pauses(); len(p) > 0 {
		says += fmt.Sprintf(" From a leader's death to the next lock: %.1f s at most.", slices.Max(p).Seconds())
	}
	d.text(16, 66, "small", says)
	at := float64(labelWidth)
	entry := func(width float64, words string, draw func(x, y float64)) {
		draw(at, 96)
		d.text(at+width+6, 100.5, "", words)
		at += width + 6 + float64(len(words))*6.7 + 20
	}
	for i := range d.locks {
		entry(13, names[i], func(x, y float64) {
			d.bar(fmt.Sprintf(`fill="%s" rx="2"`, colours[i]), x, x+13, y, 13, "a worker has this lock")
		})
	}
	entry(22, "waits", func(x, y float64) { d.bar(`fill="#57606a" opacity="0.45"`, x, x+22, y, 2, "a worker waits for a lock") })
	entry(22, "leads", func(x, y float64) { d.bar(`class="leads" rx="2"`, x, x+22, y, serverBar, "a server leads") })
	entry(22, "follows", func(x, y float64) { d.bar(`class="up" rx="2"`, x, x+22, y, serverBar, "a server lives") })
	entry(9, "killed", func(x, y float64) { d.text(x, y+4.5, "cross", "×") })
	entry(13, "no leader", func(x, y float64) { d.bar(`class="band"`, x, x+13, y, 15, "no leader") })
}

// lanes draws the empty lanes with their names.
func (d *drawing) lanes() {
	for i := range d.workers {
		if i%2 == 0 {
			fmt.Fprintf(d, `<rect class="lane" x="%d" y="%.1f" width="%d" height="%d"/>`+"\n", labelWidth, d.lane(i)-laneHeight/2.0, pictureWidth-labelWidth-rightMargin, laneHeight)
		}
		d.text(16, d.lane(i)+4.5, "", fmt.Sprint("worker ", i+1))
	}
	for i := range d.servers {
		d.text(16, d.server(i)+4.5, "", "server "+letter(i))
	}
}

// axis draws the time below the lanes: about twelve steps of a round number of seconds.
func (d *drawing) axis() {
	step := time.Second
	for _, s := range []time.Duration{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600} {
		if step = s * time.Second; d.length/step <= 12 {
			break
		}
	}
	for at := time.Duration(0); at <= d.length; at += step {
		x := d.x(at)
		d.line("grid", x, topHeight-4, x, d.bottom+4)
		words := fmt.Sprint(int(at.Seconds()))
		if at == 0 {
			words += " s"
		}
		d.text(x-float64(len(words))*3, d.bottom+20, "small", words)
	}
}

// deaths draws the kills, and the times without a leader after them.
func (d *drawing) deaths() {
	for _, gap := range d.leaderless() {
		from, to := d.x(gap.from), d.x(gap.to)
		fmt.Fprintf(d, `<rect class="band" x="%.1f" y="%d" width="%.1f" height="%.1f"><title>no leader for %.2f s</title></rect>`+"\n",
			from, topHeight-4, max(to-from, 1), d.bottom-topHeight+8, (gap.to - gap.from).Seconds())
	}
	for _, k := range d.kills {
		d.line("kill", d.x(k.at), topHeight-4, d.x(k.at), d.bottom+4)
	}
}

// work draws the waits and holds of the workers.
func (d *drawing) work() {
	for _, w := range d.waits {
		words := fmt.Sprintf("worker %d waits for %s, %.2f s", w.worker+1, names[w.lock], (w.to - w.from).Seconds())
		d.bar(fmt.Sprintf(`fill="%s" opacity="0.5"`, colours[w.lock]), d.x(w.from), d.x(w.to), d.lane(w.worker), 2, words)
	}
	for _, h := range d.holds {
		words := fmt.Sprintf("worker %d has %s from %.2f s to %.2f s, token %d", h.worker+1, names[h.lock], h.from.Seconds(), h.to.Seconds(), h.token)
		attributes := fmt.Sprintf(`class="hold" fill="%s" rx="2"`, colours[h.lock])
		if h.lost {
			attributes, words = attributes+` stroke="#cf222e" stroke-width="2"`, words+", and loses it"
		}
		d.bar(attributes, d.x(h.from), d.x(h.to)-0.8, d.lane(h.worker), barHeight, words)
	}
}

// condition draws the states of the servers.
func (d *drawing) condition() {
	for _, s := range d.states {
		y, from, to := d.server(s.server), d.x(s.from), d.x(s.to)
		words := fmt.Sprintf("server %s for %.2f s", letter(s.server), (s.to - s.from).Seconds())
		switch s.is {
		case down:
			d.line("down", from, y, to, y)
		case up:
			d.bar(`class="up" rx="2"`, from, to, y, serverBar, words+": follows")
		case leads:
			d.bar(`class="leads" rx="2"`, from, to, y, serverBar, words+": leads")
		}
	}
	for _, k := range d.kills {
		fmt.Fprintf(d, `<text class="cross" x="%.1f" y="%.1f" font-size="15">×<title>server %s is killed</title></text>`+"\n", d.x(k.at)-4, d.server(k.server)+5, letter(k.server))
	}
}
