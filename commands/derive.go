package commands

import (
	"fmt"
	"slices"
)

// KeySpec describes where the keys of a call are and how they are used, as COMMAND INFO does. Positions count
// the words of the call; the command's name is word 0.
type KeySpec struct {
	Flags KeyFlags

	// The beginning of the search: at word Index, or after the word Keyword if that is not empty. The search
	// for Keyword begins at StartFrom (negative: backwards, from that position counted from the end).
	// Unknown: the beginning is not known.
	Index     int
	Keyword   string
	StartFrom int
	Unknown   bool

	// A range of keys: LastKey is counted from the first, or, if negative, from the end of the call. If Limit
	// is not 0, only the first 1/Limit of the words up to there are keys.
	LastKey, Step, Limit int

	// With KeyNum the number of keys is at the beginning, and FirstKey is the position of the first key,
	// counted from there.
	KeyNum   bool
	FirstKey int
}

// legacyRange is the position of the keys in the form that Redis used before key specs, and that clients
// still read: first, last (negative: from the end) and step. All are zero if there are no keys or this form
// cannot describe them.
type legacyRange struct{ first, last, step int }

// nameRow gives a row its index in the table and the names that follow from it.
func nameRow(r *Row, parent *Row) {
	r.parent = parent
	r.fullName = r.Name
	if parent != nil {
		r.fullName = parent.Name + "|" + r.Name
	}
}

// derive fills in the fields that follow from a row's literal fields. checkStated has found no contradiction
// in these. r and its arguments are the table's own copies.
func derive(r *Row) {
	r.arity = arityOf(r)
	k := keyFinder{row: r}
	k.sequence(r.Args, position{at: r.nameWords(), exact: true}, followers{})
	r.keys = k.specs
	r.legacy = legacyOf(r.keys)
	r.words = optionWords(nil, r.Args)
	switch {
	case len(r.keys) == 0 || r.keys[0].Flags&NotKey != 0: // such as the channels of SUNSUBSCRIBE
	case r.legacy.first > 0:
		r.first = r.legacy.first
	case r.keys[0].KeyNum && r.keys[0].Keyword == "":
		first := r.keys[0].Index + r.keys[0].FirstKey
		if first < max(r.arity, -r.arity) { // the shortest call of a script has no key
			r.first = first
		}
	}
	r.member = memberOf(r)
	r.removes = len(r.keys) > 0 && r.keys[0].Flags&Delete != 0
	if slices.ContainsFunc(r.keys, func(s KeySpec) bool { return !s.plainRange() }) {
		r.Flags |= MovableKeys
	}
	if r.Inner != 0 {
		r.Flags |= MovableKeys
	}
	r.cats = categoriesOf(r)
	r.ownDB = usesOwnDB(r)
	if r.Implied == nil {
		if pos, _, ok := r.SoleKey(); ok {
			r.sole = pos
		} else if len(r.keys) == 0 && r.FindKeys == nil && r.Inner == 0 && !r.Flags.Has(RunsQueue) {
			r.sole = -1
		}
	}
	checkPlaces(r)
}

// usesOwnDB reports whether a call uses keys of the connection's database, or lists or removes them.
func usesOwnDB(r *Row) bool {
	if r.Databases.NotOwn || r.Databases.All {
		return false
	}
	onData := r.Flags&(Write|ReadOnly) != 0 && r.Group != Server && r.Group != Scripting
	return onData || r.TakesKeys() || r.Implied != nil || r.cats&CatKeyspace != 0
}

// arityOf counts the words that a call needs.
func arityOf(r *Row) int {
	if len(r.Sub) > 0 {
		if r.Run != nil {
			return -1
		}
		return -2
	}
	least, exact := sequenceSpan(r.Args)
	least += r.nameWords()
	if r.MinArgs != 0 {
		if !exact && r.MinArgs == least {
			contradiction(r, "MinArgs says nothing new")
		}
		return -r.MinArgs
	}
	if exact {
		return least
	}
	return -least
}

// categoriesOf returns the ACL categories, by the rules of Redis: a container has no category of its own but
// @slow.
func categoriesOf(r *Row) Category {
	cats := r.Cats &^ CatInstead
	if len(r.Sub) == 0 && r.Cats&CatInstead == 0 {
		cats |= groupCategories[r.Group]
	}
	for _, rule := range []struct {
		flag Flags
		cats Category
	}{
		{Write, CatWrite}, {ReadOnly, CatRead}, {Admin, CatAdmin | CatDangerous}, {UsesPubSub, CatPubSub},
		{Fast, CatFast}, {Blocking, CatBlocking},
	} {
		if r.Flags&rule.flag != 0 {
			cats |= rule.cats
		}
	}
	if r.Group == Scripting {
		cats &^= CatRead // a read-only script is judged by its commands
	}
	if cats&CatFast == 0 {
		cats |= CatSlow
	}
	return cats
}

// legacyOf describes the specs that are plain ranges by one range, if they are adjacent. It has the same
// results as Redis' populateCommandLegacyRangeSpec.
func legacyOf(specs []KeySpec) legacyRange {
	if len(specs) == 1 && specs[0].plainRange() {
		s := specs[0]
		if s.LastKey >= 0 {
			return legacyRange{s.Index, s.Index + s.LastKey, s.Step}
		}
		return legacyRange{s.Index, s.LastKey, s.Step}
	}
	var l legacyRange
	for _, s := range specs {
		if !s.plainRange() {
			continue
		}
		if s.Step != 1 || (l.last != 0 && l.last != s.Index-1) {
			return legacyRange{}
		}
		if l.first == 0 {
			l.first = s.Index
		}
		l.last, l.step = s.LastKey, 1
		if s.LastKey >= 0 {
			l.last += s.Index
		}
	}
	return l
}

func (s *KeySpec) plainRange() bool { return s.Keyword == "" && !s.Unknown && !s.KeyNum }

// position is a position in the call: exact, or the earliest possible.
type position struct {
	at    int
	exact bool
}

// followers describes the words that follow the present sequence, on all levels above it.
type followers struct {
	words   int
	inexact bool
}

// keyFinder walks a grammar and collects the key specs.
type keyFinder struct {
	row   *Row
	specs []KeySpec
	last  *Arg // the previous key, if a key directly after it can extend its spec
}

// sequence walks consecutive arguments from pos on, and returns the position after them.
func (k *keyFinder) sequence(args []Arg, pos position, after followers) position {
	for i := range args {
		a := &args[i]
		rest, exact := sequenceSpan(args[i+1:])
		behind := followers{words: rest + after.words, inexact: !exact || after.inexact}
		var before *Arg
		if i > 0 {
			before = &args[i-1]
		}
		k.argument(a, before, pos, behind)
		least, exact := a.span()
		pos = position{pos.at + least, pos.exact && exact}
	}
	return pos
}

// argument finds the keys in one argument.
func (k *keyFinder) argument(a, before *Arg, pos position, behind followers) {
	start := pos
	if a.Token != "" && a.Kind != KindPureToken {
		start.at++
	}
	switch a.Kind {
	case KindKey:
		k.add(a, k.keySpec(a, before, pos, start, behind))
	case KindPattern:
		if a.Access != 0 {
			k.addUnknown(a)
		}
	case KindString:
		k.last = nil
		if a.Access == NotKey {
			k.specs = append(k.specs, k.keySpec(a, before, pos, start, behind)) // the documentation does not refer to it
		}
	case KindOneOf:
		k.last = nil
		for i := range a.Args {
			k.argument(&a.Args[i], nil, start, behind)
			k.last = nil
		}
	case KindBlock:
		k.block(a, before, pos, start, behind)
	default:
		k.last = nil
	}
}

// block finds the keys of a block. In a repeated block a key follows every few words. The number of
// repetitions is in a numkeys before it (MSETEX), or the block repeats until the end (MSET). Keys after a
// keyword without a fixed position are found by that keyword.
func (k *keyFinder) block(a, before *Arg, pos, start position, behind followers) {
	k.last = nil
	if !holdsKey(a) {
		return
	}
	from := len(k.specs)
	switch {
	case a.Multiple && countsKeys(before) && a.Args[0].Kind == KindKey && a.Token == "":
		size, exact := sequenceSpan(a.Args)
		if !exact || !pos.exact {
			contradiction(k.row, "the keys of block %q cannot be found", a.Name)
		}
		k.add(&a.Args[0], KeySpec{Flags: a.Args[0].Access, Index: pos.at - 1, KeyNum: true, FirstKey: 1, Step: size})
	case a.Multiple:
		size, exact := sequenceSpan(a.Args)
		if !exact || behind.inexact || !start.exact {
			contradiction(k.row, "the keys of block %q cannot be found", a.Name)
		}
		k.sequence(a.Args, start, followers{words: behind.words})
		for i := from; i < len(k.specs); i++ {
			k.specs[i].LastKey, k.specs[i].Step = -1-behind.words, size
		}
	case a.Token != "" && !pos.exact:
		// The range of STREAMS key... id...: as many keys as other words, up to the end of the call.
		if len(a.Args) == 0 || a.Args[0].Kind != KindKey || !a.Args[0].Multiple || behind.words > 0 || behind.inexact {
			contradiction(k.row, "the keys of block %q cannot be found", a.Name)
		}
		for i := range a.Args[1:] {
			if !a.Args[i+1].Multiple {
				contradiction(k.row, "block %q mixes repeated and single words", a.Name)
			}
		}
		k.add(&a.Args[0], KeySpec{Flags: a.Args[0].Access, Keyword: a.Token, StartFrom: pos.at,
			LastKey: -1, Step: 1, Limit: len(a.Args)})
	default:
		k.sequence(a.Args, start, behind)
	}
	k.last = nil
}

// countsKeys reports whether an argument is the number of the keys after it.
func countsKeys(a *Arg) bool { return a != nil && a.Kind == KindInteger && a.Name == "numkeys" }

// keySpec describes one key, or a repeated one.
func (k *keyFinder) keySpec(a, before *Arg, pos, start position, behind followers) KeySpec {
	s := KeySpec{Flags: a.Access, Step: 1}
	switch {
	case a.Access&unknownPlace != 0:
		s = KeySpec{Flags: a.Access &^ unknownPlace, Unknown: true}
	case a.Multiple && countsKeys(before):
		if !pos.exact && !a.Optional || before.Optional || before.Token != "" {
			contradiction(k.row, "numkeys stands nowhere in particular")
		}
		s.Index, s.KeyNum, s.FirstKey = pos.at-1, true, 1
	case !pos.exact:
		if a.Token == "" || a.Multiple && (behind.words > 0 || behind.inexact) {
			contradiction(k.row, "key %q stands nowhere in particular", a.Name)
		}
		s.Keyword, s.StartFrom = a.Token, pos.at
		if a.fromEnd {
			s.StartFrom = -2
			s.Flags |= Incomplete
		}
		if a.Multiple {
			s.LastKey = -1
		}
	case a.Multiple:
		if behind.inexact {
			contradiction(k.row, "the last key %q cannot be found", a.Name)
		}
		s.Index, s.LastKey = start.at, -1-behind.words
	default:
		s.Index = start.at
	}
	return s
}

// add appends a spec, or extends the previous spec by a key directly after it with the same use (LCS).
func (k *keyFinder) add(a *Arg, s KeySpec) {
	if n := len(k.specs); k.last != nil && !a.Multiple && !a.Optional && a.Token == "" && s.plainRange() {
		prev := &k.specs[n-1]
		if prev.plainRange() && prev.Flags == s.Flags && prev.LastKey >= 0 && s.Index == prev.Index+prev.LastKey+1 {
			prev.LastKey++
			a.keySpec = n
			return
		}
	}
	k.specs = append(k.specs, s)
	a.keySpec = len(k.specs)
	k.last = nil
	if !a.Multiple && !a.Optional {
		k.last = a
	}
}

// addUnknown adds one spec for all patterns of a row that name keys.
func (k *keyFinder) addUnknown(a *Arg) {
	s := KeySpec{Flags: a.Access &^ unknownPlace, Unknown: true}
	if i := slices.Index(k.specs, s); i >= 0 {
		a.keySpec = i + 1
		return
	}
	k.last = nil
	k.specs = append(k.specs, s)
	a.keySpec = len(k.specs)
}

func holdsKey(a *Arg) bool {
	if a.Access != 0 {
		return true
	}
	for i := range a.Args {
		if holdsKey(&a.Args[i]) {
			return true
		}
	}
	return false
}

// optionWords collects the words of a grammar, each once, in the order of their appearance.
func optionWords(words []string, args []Arg) []string {
	for i := range args {
		if t := args[i].Token; t != "" && !slices.Contains(words, t) {
			words = append(words, t)
		}
		words = optionWords(words, args[i].Args)
	}
	return words
}

// contradiction panics: the row is wrong, which no input can cause.
func contradiction(r *Row, format string, args ...any) {
	panic(fmt.Sprintf("commands: row %q: %s", r.fullName, fmt.Sprintf(format, args...)))
}

// memberOf returns the position of the first member or field after a call's only key, or 0.
func memberOf(r *Row) int {
	if len(r.Args) < 2 || r.Args[0].Kind != KindKey || r.Args[0].Multiple || r.Args[0].Optional {
		return 0
	}
	next := r.Args[1]
	if next.Kind == KindBlock && !next.Optional && next.Token == "" {
		next = next.Args[0]
	}
	if next.Kind != KindString || next.Optional || next.Token != "" || next.Name != "member" && next.Name != "field" {
		return 0
	}
	return r.nameWords() + 1
}

// NamesMember reports whether calls name a member or field after their only key.
func (r *Row) NamesMember() bool { return r.member > 0 }

// MemberIn returns the first member or field after a call's only key, and the key; ok is false for a call
// without one.
func (r *Row) MemberIn(args [][]byte) (key, member []byte, ok bool) {
	// plant:member-in
	if at := r.member; at > 0 && at < len(args) {
		return args[at-1], args[at], true
	}
	return nil, nil, false
}

// Removes reports whether the command may remove its first key.
func (r *Row) Removes() bool { return r.removes }

// NamesFirstKey reports whether the row alone determines the position of the first key of a call.
func (r *Row) NamesFirstKey() bool { return r.first > 0 }

// RoutedBy returns the index of the word that alone says how each call is routed: its only key. It returns -1
// if no word of any call says it, and 0 if the words of the call have to be looked at.
func (r *Row) RoutedBy() (at int) { return r.sole }

// FirstKeyIn returns the first key of a call; ok is false if the row alone does not determine its position.
func (r *Row) FirstKeyIn(args [][]byte) (key []byte, ok bool) {
	if at := r.first; at > 0 && at < len(args) {
		return args[at], true
	}
	return nil, false
}
