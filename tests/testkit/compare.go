package testkit

import (
	"slices"
	"strings"

	"lockserver/internal/resp"
)

// order says which parts of a reply come in an unspecified order.
type order int

const (
	fixed order = iota
	// anyElements: the elements come in any order.
	anyElements
	// anyPairs: the elements are pairs that come in any order.
	anyPairs
	// the elements are lists, and each of these is anyElements
	alike
)

// orderOf returns the unspecified order of a command's reply.
func orderOf(args []string) order {
	if len(args) == 0 {
		return fixed
	}
	switch strings.ToUpper(args[0]) {
	case "KEYS", "SMEMBERS", "SINTER", "SUNION", "SDIFF", "HKEYS", "HVALS":
		return anyElements
	case "HGETALL":
		return anyPairs
	case "COMMAND":
		return commandOrder(args[1:])
	case "CONFIG":
		if len(args) > 1 && strings.EqualFold(args[1], "GET") {
			return anyPairs
		}
	}
	return fixed
}

func commandOrder(args []string) order {
	switch {
	case len(args) > 0 && strings.EqualFold(args[0], "LIST"):
		return anyElements
	case len(args) > 0 && strings.EqualFold(args[0], "DOCS"):
		return anyPairs
	case len(args) > 0 && strings.EqualFold(args[0], "GETKEYSANDFLAGS"):
		return alike
	}
	return fixed
}

// Normalise sorts the parts of a reply that have an unspecified order.
func Normalise(args []string, v resp.Value) resp.Value {
	switch orderOf(args) {
	case anyElements:
		v.Elems = sortGroups(v.Elems, 1)
	case anyPairs:
		v.Elems = sortGroups(v.Elems, 2)
	case alike:
		v.Elems = slices.Clone(v.Elems)
		for i := range v.Elems {
			if pair := v.Elems[i].Elems; len(pair) == 2 {
				flags := pair[1]
				flags.Elems = sortGroups(flags.Elems, 1)
				v.Elems[i].Elems = []resp.Value{pair[0], flags}
			}
		}
	}
	return v
}

// SameReply reports whether two servers gave the same answer to a command: the same types and bytes, and the
// same order if the command specifies an order.
func SameReply(args []string, a, b resp.Value) bool {
	return a.Equal(b) || Normalise(args, a).Equal(Normalise(args, b))
}

// sortGroups sorts groups of n elements by their first element, and then by the others.
func sortGroups(elems []resp.Value, n int) []resp.Value {
	if len(elems)%n != 0 || len(elems) == 0 {
		return elems
	}
	type group struct {
		text  string
		elems []resp.Value
	}
	var groups []group
	for g := range slices.Chunk(elems, n) {
		groups = append(groups, group{resp.Value{Kind: resp.Array, Elems: g}.String(), g})
	}
	slices.SortFunc(groups, func(a, b group) int { return strings.Compare(a.text, b.text) })
	sorted := make([]resp.Value, 0, len(elems))
	for _, g := range groups {
		sorted = append(sorted, g.elems...)
	}
	return sorted
}
