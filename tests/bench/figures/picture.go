package figures

import (
	"fmt"
	"strings"

	"lockserver/tests/bench/benchkit"
)

// shown lists the commands of the picture with their labels.
var shown = []struct{ name, label string }{
	{"GET", "GET"}, {"SET", "SET"}, {"XADD", "XADD"}, {"LOCK+UNLOCK", "LOCK, UNLOCK"}, {"SECKILL", "SECKILL"},
}

// The picture's measures, in pixels.
const (
	pictureWidth = 760
	labelWidth   = 126 // for the names of the commands, on the left
	panelGap     = 24
	topHeight    = 76 // for the title, the legend and the heads of the panels
	rowHeight    = 42 // for two bars and a gap
	barHeight    = 15
	valueWidth   = 48 // after the longest bar
)

// panel is one half of the picture: one pipeline depth.
type panel struct {
	title    string
	pipeline int
}

// picture returns docs/benchmarks.svg: bars with the processor time of a request on both servers. It depends
// on the data alone.
func picture(d Data) (string, error) {
	l := lookup{runs: d.Runs}
	if d.Runs == nil {
		return "", nil // there are no figures yet
	}
	height := topHeight + len(shown)*rowHeight + 48
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`+"\n",
		pictureWidth, height, pictureWidth, height)
	b.WriteString(`<title>Processor time a request, in microseconds: lockserver beside Redis</title>
<style>
text { font: 13px system-ui, sans-serif; fill: #24292f }
.head { font-weight: 600 }
.small { font-size: 11px; fill: #57606a }
.redis { fill: #a8b1bb } .lockserver { fill: #2f6fdb } .paper { fill: #ffffff } .floor { fill: #d1242f }
</style>
`)
	fmt.Fprintf(&b, `<rect class="paper" width="%d" height="%d"/>`+"\n", pictureWidth, height)
	write(&b, 16, 24, "head", "Processor time a request, in microseconds: less is better")
	for i, class := range []string{"lockserver", "redis"} {
		x := pictureWidth - 220 + 100*i
		fmt.Fprintf(&b, `<rect class="%s" x="%d" y="13" width="13" height="13"/>`+"\n", class, x)
		write(&b, float64(x+19), 24, "", []string{"lockserver", "Redis " + d.redisVersion()}[i])
	}
	for i, s := range shown {
		write(&b, 16, float64(topHeight+i*rowHeight+barHeight+5), "", s.label)
	}
	width := (pictureWidth - labelWidth - panelGap - 16) / 2
	for i, p := range []panel{{"one request at a time", 1}, {"pipelines of 16", 16}} {
		p.draw(&b, &l, float64(labelWidth+i*(width+panelGap)), float64(width))
	}
	caption := "50 clients. On Redis, LOCK, UNLOCK and SECKILL are Lua scripts."
	if l.has("cpu.SET.p1.floor.us") {
		caption += " The red lines are the floor: a server that only answers +OK."
	}
	if d.Quick {
		caption = "QUICK RUN: the figures mean little. " + caption
	}
	write(&b, 16, float64(height-30), "small", caption)
	write(&b, 16, float64(height-14), "small", d.Machine+"; the load is made on the same machine")
	b.WriteString("</svg>\n")
	return b.String(), l.err()
}

// draw adds the bars of one panel; the longest is as wide as the panel.
func (p panel) draw(b *strings.Builder, l *lookup, x, width float64) {
	write(b, x, topHeight-14, "small", p.title)
	figures := make([][2]float64, len(shown))
	longest := 0.0
	for i, s := range shown {
		name := fmt.Sprintf("cpu.%s.p%d.us.", s.name, p.pipeline)
		figures[i] = [2]float64{l.figure(name + "lockserver"), l.figure(name + "redis")}
		longest = max(longest, figures[i][0], figures[i][1])
	}
	for i, pair := range figures {
		for k, class := range []string{"lockserver", "redis"} {
			y := float64(topHeight + i*rowHeight + k*(barHeight+1))
			wide := 0.0
			if longest > 0 {
				wide = pair[k] / longest * (width - valueWidth)
			}
			fmt.Fprintf(b, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%d"/>`+"\n", class, x, y, wide, barHeight)
			write(b, x+wide+6, y+barHeight-3, "small", benchkit.Fixed(pair[k], 2))
		}
		if name := fmt.Sprintf("cpu.%s.p%d.floor.us", shown[i].name, p.pipeline); l.has(name) && longest > 0 {
			fmt.Fprintf(b, `<rect class="floor" x="%.1f" y="%d" width="2" height="%d"/>`+"\n",
				x+l.figure(name)/longest*(width-valueWidth)-1, topHeight+i*rowHeight-2, 2*barHeight+5)
		}
	}
}

// write adds a line of text.
func write(b *strings.Builder, x, y float64, class, text string) {
	if class != "" {
		class = fmt.Sprintf(` class="%s"`, class)
	}
	text = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
	fmt.Fprintf(b, `<text%s x="%.1f" y="%.1f">%s</text>`+"\n", class, x, y, text)
}
