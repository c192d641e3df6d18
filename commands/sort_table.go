package commands

import "lockserver/internal/ascii"

// SortRows returns the rows of SORT and SORT_RO.
func SortRows() []Row {
	row := Row{Name: "sort", Group: Generic, Since: "1.0.0", Flags: Write | DenyOOM, Run: sortElements, FindKeys: sortKeys,
		Cats:       CatInstead | CatSet | CatSortedSet | CatList | CatDangerous,
		Summary:    "Sorts the elements of a list, a set or a sorted set, and returns or stores them, or what they name.",
		Complexity: "O(N+M*log(M)) for N elements and M sorted ones",
		Args: []Arg{Key("key", RO|Access),
			Opt(Pattern("by-pattern").Shown("pattern").After("BY").NamesKeys(RO | Access)),
			Opt(Block("limit", Int("offset"), Int("count")).After("LIMIT")),
			Opt(Pattern("get-pattern").Shown("pattern").After("GET").NamesKeys(RO | Access).ManyTokens()),
			Opt(OneOf("order", Flag("ASC"), Flag("DESC"))),
			Opt(Flag("ALPHA").Named("sorting"))}}
	readOnly := row
	readOnly.Name, readOnly.Since, readOnly.Flags, readOnly.FindKeys = "sort_ro", "7.0.0", ReadOnly, sortReadKeys
	readOnly.Summary = "Sorts the elements of a list, a set or a sorted set, and returns them, or what they name."
	row.Args = append(row.Args[:len(row.Args):len(row.Args)], Opt(Key("destination", OW|Update).After("STORE").Anywhere()))
	return []Row{row, readOnly}
}

// sortReadKeys finds the sorted key. The keys of BY and GET follow from the elements, so the call does not
// show them.
func sortReadKeys(_ [][]byte, dst []KeyRef) ([]KeyRef, bool) {
	return append(dst, KeyRef{1, RO | Access}), true
}

// sortKeys finds the sorted key and the last key that STORE names.
func sortKeys(args [][]byte, dst []KeyRef) ([]KeyRef, bool) {
	dst = append(dst, KeyRef{1, RO | Access})
	store := 0
	for i := 2; i < len(args); i++ {
		switch {
		case ascii.EqualFold(args[i], "LIMIT"):
			i += 2
		case ascii.EqualFold(args[i], "BY"), ascii.EqualFold(args[i], "GET"):
			i++
		case ascii.EqualFold(args[i], "STORE") && i+1 < len(args):
			store = i + 1
			i++
		}
	}
	if store > 0 {
		dst = append(dst, KeyRef{store, OW | Update})
	}
	return dst, true
}
