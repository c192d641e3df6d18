package main

import (
	"strings"

	"lockserver/commands"
)

// usage returns the pattern of a call, in the notation of redis-cli's help.
func usage(r *commands.Row) string {
	words := []string{shown(r)}
	for i := range r.Args {
		words = append(words, argument(&r.Args[i]))
	}
	return strings.Join(words, " ")
}

// argument returns one element of the grammar with its token, its repetition and its brackets.
func argument(a *commands.Arg) string {
	text := once(a)
	switch {
	case a.Multiple && a.Kind == commands.KindOneOf:
		text += " ..." // the whole choice again would make the text longer, not clearer
	case a.Multiple && a.Token != "" && !a.MultipleToken:
		text += " [" + value(a) + " ...]"
	case a.Multiple:
		text += " [" + text + " ...]"
	}
	if a.Optional {
		return "[" + text + "]"
	}
	return text
}

// once returns one occurrence, with its token.
func once(a *commands.Arg) string {
	switch {
	case a.Kind == commands.KindPureToken && a.Token == "":
		return `""`
	case a.Kind == commands.KindPureToken:
		return a.Token
	case a.Token != "":
		return a.Token + " " + value(a)
	}
	return value(a)
}

// value returns the text that follows the token.
func value(a *commands.Arg) string {
	switch a.Kind {
	case commands.KindOneOf:
		choice := join(a.Args, "|")
		if a.Optional && a.Token == "" && !a.Multiple {
			return choice // the brackets of the option already group it
		}
		return "<" + choice + ">"
	case commands.KindBlock:
		return join(a.Args, " ")
	case commands.KindPureToken:
		return a.Token
	}
	if a.Display != "" {
		return a.Display
	}
	return a.Name
}

func join(args []commands.Arg, by string) string {
	var parts []string
	for i := range args {
		parts = append(parts, argument(&args[i]))
	}
	return strings.Join(parts, by)
}
