package zset

import (
	"fmt"
	"slices"
	"sort"

	"lockserver/store/cow"
	"lockserver/store/dict"
)

const (
	// 16 bytes each: a clone copies 1 KB. With 64 items a leaf would take an eighth more: see roundItems.
	maxItems = 63
	// Leaves grow in steps of this size while the tree has fewer items than stepsBelow.
	stepItems  = 16
	stepsBelow = 2048
	maxKids    = 32
	// A full leaf moves items to a neighbour that has space for at least this number; otherwise it splits. So
	// random inserts fill leaves to five sixths. Splits alone fill them to two thirds.
	leastShared = 8
	// Neighbours merge when together they fill three quarters of a node, which is
	// far from where it would split again.
	mergeItems = maxItems * 3 / 4
	mergeKids  = maxKids * 3 / 4
)

// item is a member with its score.
type item struct {
	score  float64
	member *dict.Key
}

// less is the order of a sorted set. -0 and 0 are the same score.
func (a *item) less(b *item) bool {
	return a.score < b.score || a.score == b.score && a.member.String() < b.member.String()
}

// before does what less does, for a member that need not exist.
func (a *item) before(score float64, member string) bool {
	return a.score < score || a.score == score && a.member.String() < member
}

// String returns the text of an item in errors.
func (a *item) String() string { return fmt.Sprintf("%q with %v", a.member, a.score) }

// node is a leaf with items or an inner node with children. All leaves are equally
// deep.
type node struct {
	items    []item
	children []child // nil in a leaf
	stamp    uint64
}

// child is a child of an inner node.
type child struct {
	// least is not above any item of the node and above all items of the children before it. It is
	// meaningless in the first child.
	least item
	n     int // number of items below
	node  *node
}

// tree holds items in order. The zero value is empty. A copy is valid for reading while nodes are owned by
// epoch: see package cow.
type tree struct {
	root *node // nil if there never was an item
	n    int
}

// own returns the node at p for writing: a clone if a snapshot reads it.
func own(ep *cow.Epoch, p **node) *node {
	n := *p
	if !ep.Shared(n.stamp) {
		return n
	}
	fresh := &node{stamp: ep.Now()}
	if n.children != nil {
		fresh.children = append(make([]child, 0, cap(n.children)), n.children...)
	} else {
		fresh.items = append(make([]item, 0, cap(n.items)), n.items...)
	}
	*p = fresh
	return fresh
}

// place returns the index of an item in the leaf, or the index where it would be inserted.
func (n *node) place(it *item) int {
	return sort.Search(len(n.items), func(i int) bool { return !n.items[i].less(it) })
}

// childFor returns the child that contains the item, if it exists.
func (n *node) childFor(it *item) int {
	return sort.Search(len(n.children)-1, func(i int) bool { return it.less(&n.children[i+1].least) })
}

// insert adds a new item.
func (t *tree) insert(ep *cow.Epoch, it item) {
	if t.root == nil {
		t.root = &node{stamp: ep.Now()}
	}
	root := own(ep, &t.root)
	split := root.insert(ep, it, t.n >= stepsBelow)
	t.n++
	if split.node != nil {
		t.root = &node{stamp: ep.Now(), children: append(make([]child, 0, 4), child{n: t.n - split.n, node: root}, split)}
	}
}

// insert adds an item below an owned node. If the node had to be split it returns its new right neighbour. In
// a large tree all leaves are made with the full capacity.
func (n *node) insert(ep *cow.Epoch, it item, large bool) (split child) {
	if n.children == nil {
		return n.insertItem(ep, it, large)
	}
	i := n.childFor(&it)
	if n.children[i].n == maxItems && n.share(ep, i, large) {
		i = n.childFor(&it)
	}
	below := own(ep, &n.children[i].node)
	n.children[i].n++
	over := below.insert(ep, it, large)
	if over.node == nil {
		return child{}
	}
	n.children[i].n -= over.n
	i++
	if len(n.children) < maxKids {
		n.children = slices.Insert(n.children, i, over)
		return child{}
	}
	cut := cutFor(i, len(n.children))
	right := &node{stamp: ep.Now(), children: append(make([]child, 0, maxKids), n.children[cut:]...)}
	clear(n.children[cut:])
	n.children = n.children[:cut]
	if i > cut || cut == maxKids {
		right.children = slices.Insert(right.children, i-cut, over)
	} else {
		n.children = slices.Insert(n.children, i, over)
	}
	return child{least: right.children[0].least, n: right.count(), node: right}
}

// share moves items from a full leaf to a neighbour, until both have the same number. It returns false if
// child i is not a leaf, or if both neighbours are nearly full.
func (n *node) share(ep *cow.Epoch, i int, large bool) bool {
	if n.children[i].node.children != nil {
		return false
	}
	to, least := 0, maxItems-leastShared+1
	for _, at := range [...]int{i - 1, i + 1} {
		if at >= 0 && at < len(n.children) && n.children[at].n < least {
			to, least = at, n.children[at].n
		}
	}
	if least > maxItems-leastShared {
		return false
	}
	full, other := own(ep, &n.children[i].node), own(ep, &n.children[to].node)
	moved := (maxItems - least) / 2
	other.grow(least+moved, large)
	if to < i {
		other.items = append(other.items, full.items[:moved]...)
		full.items = slices.Delete(full.items, 0, moved)
		n.children[i].least = full.items[0]
	} else {
		rest := maxItems - moved
		other.items = slices.Insert(other.items, 0, full.items[rest:]...)
		full.items = slices.Delete(full.items, rest, maxItems)
		n.children[to].least = other.items[0]
	}
	n.children[i].n -= moved
	n.children[to].n += moved
	return true
}

func (n *node) insertItem(ep *cow.Epoch, it item, large bool) (split child) {
	i := n.place(&it)
	if len(n.items) < maxItems {
		n.addItem(i, it, large)
		return child{}
	}
	cut := cutFor(i, maxItems)
	right := &node{stamp: ep.Now()}
	right.items = append(make([]item, 0, roundItems(maxItems-cut+1, large)), n.items[cut:]...)
	if size := roundItems(cut, large); size < cap(n.items) { // many leaves do not change after a split
		n.items = append(make([]item, 0, size), n.items[:cut]...)
	} else {
		clear(n.items[cut:])
		n.items = n.items[:cut]
	}
	if i > cut || cut == maxItems {
		right.addItem(i-cut, it, large)
	} else {
		n.addItem(i, it, large)
	}
	return child{least: right.items[0], n: len(right.items), node: right}
}

// cutFor returns how many of the n entries of a full node stay in it when another is inserted at i. It is all
// of them if i is the end, else half.
func cutFor(i, n int) int {
	if i == n {
		return n
	}
	return n / 2
}

func (n *node) addItem(i int, it item, large bool) {
	n.grow(len(n.items)+1, large)
	n.items = slices.Insert(n.items, i, it)
}

// grow gives a leaf the capacity for the given number of items.
func (n *node) grow(to int, large bool) {
	if to > cap(n.items) {
		n.items = append(make([]item, 0, roundItems(to, large)), n.items...)
	}
}

// roundItems returns the capacity of a leaf for n items. Go's allocator has the sizes 256, 512, 768 and 1024,
// and puts a word before allocations with pointers that are larger than 512 bytes. Leaves of one size reuse
// each other's memory: with the steps, a million items left holes of five bytes for each.
func roundItems(n int, large bool) int {
	switch {
	case large:
		return maxItems
	case n <= stepItems:
		return stepItems
	case n <= 2*stepItems:
		return 2 * stepItems
	case n < 3*stepItems:
		return 3*stepItems - 1
	}
	return maxItems
}

// count returns the number of items below an inner node.
func (n *node) count() (total int) {
	for i := range n.children {
		total += n.children[i].n
	}
	return total
}

// remove removes an existing item.
func (t *tree) remove(ep *cow.Epoch, it item) {
	own(ep, &t.root).remove(ep, &it)
	t.n--
	for len(t.root.children) == 1 {
		t.root = t.root.children[0].node
	}
	if t.n == 0 {
		t.root = nil
	}
}

// remove removes an item below an owned node.
func (n *node) remove(ep *cow.Epoch, it *item) {
	if n.children == nil {
		i := n.place(it)
		if i == len(n.items) || n.items[i].member != it.member {
			panic("zset: the removed member is not in the tree")
		}
		n.items = slices.Delete(n.items, i, i+1)
		if size := roundItems(len(n.items), false); cap(n.items) >= size+2*stepItems-1 {
			n.items = append(make([]item, 0, size), n.items...)
		}
		return
	}
	i := n.childFor(it)
	own(ep, &n.children[i].node).remove(ep, it)
	n.children[i].n--
	if n.children[i].n == 0 {
		n.children = slices.Delete(n.children, i, i+1)
		return
	}
	if i > 0 && n.merge(ep, i-1) {
		i--
	}
	if i+1 < len(n.children) {
		n.merge(ep, i)
	}
}

// merge joins child i with the next child if they are small enough together.
func (n *node) merge(ep *cow.Epoch, i int) bool {
	a, b := n.children[i].node, n.children[i+1].node
	if len(a.items)+len(b.items) > mergeItems || len(a.children)+len(b.children) > mergeKids {
		return false
	}
	a = own(ep, &n.children[i].node)
	if a.children == nil {
		a.grow(len(a.items)+len(b.items), false)
		a.items = append(a.items, b.items...)
	} else {
		from := len(a.children)
		a.children = append(a.children, b.children...)
		a.children[from].least = n.children[i+1].least
	}
	n.children[i].n += n.children[i+1].n
	n.children = slices.Delete(n.children, i+1, i+2)
	return true
}

// lead returns the number of items before the first item for which before returns false. before must return
// true for a first part of the items and false for the rest.
func (t *tree) lead(before func(it *item) bool) (n int) {
	if t.root == nil {
		return 0
	}
	at := t.root
	for at.children != nil {
		i := sort.Search(len(at.children)-1, func(i int) bool { return !before(&at.children[i+1].least) })
		for j := range at.children[:i] {
			n += at.children[j].n
		}
		at = at.children[i].node
	}
	return n + sort.Search(len(at.items), func(i int) bool { return !before(&at.items[i]) })
}

// lastUpTo returns the last item with a score of at most most, or nil.
func (t *tree) lastUpTo(most float64) *item {
	if t.root == nil {
		return nil
	}
	at := t.root
	for at.children != nil {
		kids := at.children
		at = kids[sort.Search(len(kids)-1, func(i int) bool { return kids[i+1].least.score > most })].node
	}
	items := at.items
	if i := sort.Search(len(items), func(i int) bool { return items[i].score > most }); i > 0 {
		return &items[i-1]
	}
	// The leaf's bound belongs to a removed item. The wanted item is in a leaf before it.
	if n := t.lead(func(it *item) bool { return it.score <= most }); n > 0 {
		return t.at(n - 1)
	}
	return nil
}

// at returns the item with a rank, 0..n-1.
func (t *tree) at(rank int) *item {
	at := t.root
	for at.children != nil {
		i := 0
		for rank >= at.children[i].n {
			rank -= at.children[i].n
			i++
		}
		at = at.children[i].node
	}
	return &at.items[rank]
}

// ascend calls fn for the items of ranks from..to-1 until fn returns false.
func (t *tree) ascend(from, to int, fn func(it *item) bool) {
	if from < to {
		t.root.ascend(from, to, fn)
	}
}

func (n *node) ascend(from, to int, fn func(it *item) bool) bool {
	if n.children == nil {
		for i := from; i < to; i++ {
			if !fn(&n.items[i]) {
				return false
			}
		}
		return true
	}
	for i := range n.children {
		k := &n.children[i]
		if from < k.n && !k.node.ascend(max(from, 0), min(to, k.n), fn) {
			return false
		}
		if from, to = from-k.n, to-k.n; to <= 0 {
			break
		}
	}
	return true
}

// descend does what ascend does, from to-1 down to from.
func (t *tree) descend(from, to int, fn func(it *item) bool) {
	if from < to {
		t.root.descend(t.n, from, to, fn)
	}
}

// descend walks a node that has total items below it.
func (n *node) descend(total, from, to int, fn func(it *item) bool) bool {
	if n.children == nil {
		for i := to - 1; i >= from; i-- {
			if !fn(&n.items[i]) {
				return false
			}
		}
		return true
	}
	for i := len(n.children) - 1; i >= 0 && total > from; i-- {
		k := &n.children[i]
		total -= k.n // number of items before this child
		if to > total && !k.node.descend(k.n, max(from-total, 0), min(to-total, k.n), fn) {
			return false
		}
	}
	return true
}
