package commands

import (
	"slices"
	"strings"
)

// checkStated panics if the literal fields of a row contradict each other.
func checkStated(r *Row) {
	switch {
	case r.Name == "" || r.Name != strings.ToLower(r.Name) || strings.ContainsAny(r.Name, " |\r\n"):
		contradiction(r, "a name is one word in lower case")
	case r.Group == NoGroup:
		contradiction(r, "no group")
	case r.Summary == "":
		contradiction(r, "no summary")
	case r.Since == "":
		contradiction(r, "no version in Since")
	case r.Run == nil && len(r.Sub) == 0:
		contradiction(r, "no Run")
	case len(r.Sub) > 0 && (r.parent != nil || len(r.Args) > 0 || r.MinArgs != 0 || r.FindKeys != nil):
		contradiction(r, "a container holds subcommands only, and is none")
	case r.Flags.Has(Write | ReadOnly):
		contradiction(r, "Write and ReadOnly")
	case r.Flags.Has(DenyOOM) && !r.Flags.Has(Write) && r.Group != Scripting:
		contradiction(r, "DenyOOM without Write")
	case r.Flags.Has(MovableKeys):
		contradiction(r, "MovableKeys is derived")
	case r.MinArgs < 0:
		contradiction(r, "MinArgs is negative")
	case r.Cats == CatInstead:
		contradiction(r, "CatInstead of nothing")
	}
	checkArgs(r, r.Args)
	checkWords(r, r.Args)
}

// checkArgs panics if an argument contradicts itself.
func checkArgs(r *Row, args []Arg) {
	for i := range args {
		a := &args[i]
		composed := a.Kind == KindOneOf || a.Kind == KindBlock
		switch {
		case a.Name == "":
			contradiction(r, "an argument has no name")
		case a.Token != strings.ToUpper(a.Token):
			contradiction(r, "the word %q is not in upper case", a.Token)
		case a.Kind == KindPureToken && a.Token == "" && !a.noToken:
			contradiction(r, "flag %q is no word", a.Name)
		case composed != (len(a.Args) > 0):
			contradiction(r, "argument %q holds others, or does not, against its kind", a.Name)
		case a.Kind == KindOneOf && len(a.Args) < 2:
			contradiction(r, "%q is one of one", a.Name)
		case a.MultipleToken && a.Token == "":
			contradiction(r, "argument %q repeats a word it does not have", a.Name)
		case a.Kind == KindKey:
			checkAccess(r, a)
		case a.Access != 0 && !(a.Kind == KindPattern && a.Access&unknownPlace != 0) && !(a.Kind == KindString && a.Access == NotKey):
			contradiction(r, "argument %q is no key, but says how it is used", a.Name)
		}
		switch a.Kind {
		case KindOneOf:
			checkDistinct(r, alternatives(a))
		case KindBlock:
			checkWords(r, a.Args)
		}
		checkArgs(r, a.Args)
	}
}

// checkPlaces panics if an argument with a fixed position is after the end of the shortest call.
func checkPlaces(r *Row) {
	least := max(r.arity, -r.arity)
	switch {
	case r.first >= least:
		contradiction(r, "a call of %d words has no key at %d", least, r.first)
	// plant:check-member
	case r.member >= least:
		contradiction(r, "a call of %d words has no member at %d", least, r.member)
	case r.Inner >= least:
		contradiction(r, "a call of %d words has no command at %d", least, r.Inner)
	}
}

// checkAccess panics if the flags of a key contradict each other or the row.
func checkAccess(r *Row, a *Arg) {
	f := a.Access
	kinds := 0
	for _, kind := range []KeyFlags{RO, RW, OW, RM} {
		if f&kind != 0 {
			kinds++
		}
	}
	switch {
	case f&NotKey != 0:
		contradiction(r, "%q is no key: see Channel", a.Name)
	case kinds != 1:
		contradiction(r, "key %q needs exactly one of RO RW OW RM", a.Name)
	case f&RO != 0 && f&(Update|Insert|Delete) != 0:
		contradiction(r, "key %q is read only, and changed", a.Name)
	case f&(RW|OW|RM) != 0 && r.Flags.Has(ReadOnly) && !r.Flags.Has(MayReplicate):
		contradiction(r, "a read-only command changes key %q", a.Name)
	case f&(RW|OW|RM) != 0 && !r.Flags.Has(Write) && !r.Flags.Has(ReadOnly) && r.Group != Scripting && r.Group != Transactions:
		contradiction(r, "key %q is changed without Write", a.Name)
	case f&VariableFlags != 0 && r.FindKeys == nil:
		contradiction(r, "the use of key %q varies, but there is no FindKeys", a.Name)
	case f&unknownPlace != 0 && r.FindKeys == nil:
		contradiction(r, "key %q stands anywhere, but there is no FindKeys", a.Name)
	}
}

// checkWords panics if two options of a sequence, which may be given in any order, begin with the same word.
func checkWords(r *Row, sequence []Arg) {
	var words []string
	for i := range sequence {
		if sequence[i].Optional {
			words = firstWords(words, &sequence[i])
		}
	}
	checkDistinct(r, words)
}

// firstWords adds the words with which an argument can begin.
func firstWords(words []string, a *Arg) []string {
	switch {
	case a.Token != "":
		words = append(words, a.Token)
	case a.Kind == KindOneOf:
		for i := range a.Args {
			words = firstWords(words, &a.Args[i])
		}
	case a.Kind == KindBlock:
		words = firstWords(words, &a.Args[0])
	}
	return words
}

// alternatives are the words with which the alternatives of a OneOf can begin.
func alternatives(a *Arg) []string {
	var words []string
	for i := range a.Args {
		words = firstWords(words, &a.Args[i])
	}
	return words
}

func checkDistinct(r *Row, words []string) {
	for i, w := range words {
		if slices.Contains(words[:i], w) {
			contradiction(r, "the word %s is declared twice", w)
		}
	}
}
