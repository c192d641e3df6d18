package console

import (
	"cmp"
	"net/http"
	"strconv"

	"lockserver/internal/call"
	"lockserver/internal/resp"
)

// The wait-for graph: owners and locks in turn. Owners that hold locks and do not wait are on the left,
// owners that wait and hold nothing on the right. It is nearly always a forest, because only MLOCK waits for
// two locks, and deadlock cycles are refused. So it is laid out as a forest, and other edges are drawn
// across.

// The limits and measures of the picture, which is in units of a pixel.
const (
	mostDrawn   = 60 // waits
	nodeWidth   = 148
	nodeHeight  = 40
	columnWidth = 208
	rowHeight   = 54
	margin      = 12
)

// graphPage is the page with the graph.
type graphPage struct {
	DB            int
	Databases     databaseNav
	Waits         int
	More          bool // there are more waits than are drawn
	Width, Height int
	Nodes         []*graphNode
	Edges         []graphEdge
	Deadlock      []cycleView
}

// graphNode is an owner or a lock.
type graphNode struct {
	Name   string
	IsLock bool
	Free   bool // a lock without a holder
	Link   string
	X, Y   int
	Waits  bool // an owner who waits
	behind []*graphNode
	placed bool
	before int // the number of nodes that lead to it
}

// graphEdge leads from a waiting owner to a lock, or from a lock to its owner.
type graphEdge struct {
	X1, Y1, X2, Y2, Middle int
	Held                   bool
}

// MiddleY is the position of the text within a node.
func (n *graphNode) MiddleY() int { return n.Y + nodeHeight/2 }

// loadGraph loads the page with the graph.
func loadGraph(who *viewer, r *http.Request) (any, error) {
	p := &graphPage{DB: database(r)}
	replies, err := who.conn.All([]string{"SELECT", strconv.Itoa(p.DB)}, []string{"LOCK.WAITERS", "COUNT", strconv.Itoa(mostDrawn + 1)})
	if err == nil {
		err = call.Failure(replies...)
	}
	if err != nil {
		return nil, err
	}
	waits := replies[1].Elems
	if p.Waits = len(waits); p.Waits > mostDrawn {
		p.More, waits = true, waits[:mostDrawn]
	}
	p.draw(waits)
	p.Databases = databases(who, "/graph", p.DB)
	if who.may("LOCK.DEADLOCKS") {
		p.Deadlock, err = readCycles(who.conn, 20)
	}
	return p, err
}

// draw makes the picture of waits.
func (p *graphPage) draw(waits []resp.Value) {
	owners, locks := make(map[string]*graphNode), make(map[string]*graphNode)
	find := func(of map[string]*graphNode, name string) (*graphNode, bool) {
		n, known := of[name]
		if !known {
			n = &graphNode{Name: name}
			of[name] = n
			p.Nodes = append(p.Nodes, n)
		}
		return n, !known
	}
	var pairs [][2]*graphNode // pairs of a node and the next node
	for _, w := range waits {
		f := call.FieldsOf(w)
		latch := f.Text("mode") == "latch"
		waiter, _ := find(owners, waiterName(f, latch))
		waiter.Waits = true
		for _, pair := range f["locks"].Elems {
			lock, isNew := find(locks, pair.Elems[0].Str)
			if isNew {
				lock.IsLock, lock.Link, lock.Free = true, lockLink(p.DB, lock.Name), pair.Elems[1].IsNull() && !latch
				if !pair.Elems[1].IsNull() {
					for _, owner := range pair.Elems[1:] {
						holder, _ := find(owners, owner.Str)
						holder.add(lock)
						pairs = append(pairs, [2]*graphNode{holder, lock})
					}
				}
			}
			lock.add(waiter)
			pairs = append(pairs, [2]*graphNode{lock, waiter})
		}
	}
	p.place()
	for _, pair := range pairs {
		front, back := pair[0], pair[1]
		e := graphEdge{X1: back.X, Y1: back.MiddleY(), X2: front.X + nodeWidth, Y2: front.MiddleY(), Held: back.IsLock}
		e.Middle = (e.X1 + e.X2) / 2
		p.Edges = append(p.Edges, e)
	}
}

// waiterName returns the text of a waiter's node. A client that waits for a latch has no owner.
func waiterName(f call.Fields, latch bool) string {
	if !latch {
		return f.Text("owner")
	}
	of := newClientView(f["client"])
	return cmp.Or(of.Name, of.Address)
}

func (n *graphNode) add(behind *graphNode) {
	n.behind = append(n.behind, behind)
	behind.before++
}

// place sets the position of every node. First it places a tree from each node that waits for nothing, then
// trees from the other nodes, which would be an undetected cycle.
func (p *graphPage) place() {
	row := 0
	for _, n := range p.Nodes {
		if n.before == 0 {
			row = n.placeTree(0, row, p)
		}
	}
	for _, n := range p.Nodes {
		if !n.placed {
			row = n.placeTree(0, row, p)
		}
	}
	p.Height = row*rowHeight - (rowHeight - nodeHeight) + 2*margin
}

// placeTree places a node and the nodes after it, from a row on, and returns the next free row.
func (n *graphNode) placeTree(column, row int, p *graphPage) (next int) {
	n.placed = true
	n.X = margin + column*columnWidth
	p.Width = max(p.Width, n.X+nodeWidth+margin)
	next = row
	first, last := -1, -1
	for _, b := range n.behind {
		if b.placed {
			continue
		}
		next = b.placeTree(column+1, next, p)
		if last = b.Y; first < 0 {
			first = b.Y
		}
	}
	if first < 0 {
		n.Y = margin + row*rowHeight
		return row + 1
	}
	n.Y = (first + last) / 2
	return next
}
