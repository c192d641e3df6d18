package commands

import "lockserver/internal/resp"

// This file writes rows in the formats of COMMAND DOCS and COMMAND INFO, which clients parse. Names, types
// and the order of the fields are those of Redis.

// writeDocs writes one row as two elements of a map: its full name and the map of its documentation.
func writeDocs(out *resp.Writer, r *Row) {
	out.BulkString(r.fullName)
	var flags []string
	if r.Deprecated != "" {
		flags = append(flags, "deprecated")
	}
	if r.SysCmd {
		flags = append(flags, "syscmd")
	}
	fields := 4
	for _, present := range []bool{len(flags) > 0, r.Deprecated != "", r.ReplacedBy != "", len(r.Args) > 0, len(r.subs) > 0} {
		if present {
			fields++
		}
	}
	out.Map(fields)
	textField(out, "summary", r.Summary)
	textField(out, "since", r.Since)
	textField(out, "group", r.Group.String())
	textField(out, "complexity", r.Complexity)
	if len(flags) > 0 {
		out.BulkString("doc_flags")
		writeWords(out, "", flags)
	}
	if r.Deprecated != "" {
		textField(out, "deprecated_since", r.Deprecated)
	}
	if r.ReplacedBy != "" {
		textField(out, "replaced_by", r.ReplacedBy)
	}
	if len(r.Args) > 0 {
		writeArgs(out, r.Args)
	}
	if len(r.subs) > 0 {
		out.BulkString("subcommands")
		out.Map(len(r.subs))
		for _, sub := range r.subs {
			writeDocs(out, sub)
		}
	}
}

// writeArgs writes the field "arguments": an array of maps, which nest.
func writeArgs(out *resp.Writer, args []Arg) {
	out.BulkString("arguments")
	out.Array(len(args))
	for i := range args {
		writeArg(out, &args[i])
	}
}

func writeArg(out *resp.Writer, a *Arg) {
	flags := a.flagNames()
	hasToken := a.Token != "" || a.noToken
	fields := 2
	for _, present := range []bool{a.Kind.isLeaf(), a.keySpec > 0, hasToken, a.Since != "", a.Deprecated != "", len(flags) > 0, len(a.Args) > 0} {
		if present {
			fields++
		}
	}
	out.Map(fields)
	textField(out, "name", a.Name)
	textField(out, "type", a.Kind.String())
	if a.Kind.isLeaf() {
		textField(out, "display_text", a.usageName())
	}
	if a.keySpec > 0 {
		out.BulkString("key_spec_index")
		out.Int(int64(a.keySpec - 1))
	}
	if hasToken {
		textField(out, "token", a.Token)
	}
	if a.Since != "" {
		textField(out, "since", a.Since)
	}
	if a.Deprecated != "" {
		textField(out, "deprecated_since", a.Deprecated)
	}
	if len(flags) > 0 {
		out.BulkString("flags")
		writeWords(out, "", flags)
	}
	if len(a.Args) > 0 {
		writeArgs(out, a.Args)
	}
}

// flagNames are the argument's flags as COMMAND DOCS names them.
func (a *Arg) flagNames() []string {
	var names []string
	if a.Optional {
		names = append(names, "optional")
	}
	if a.Multiple {
		names = append(names, "multiple")
	}
	if a.MultipleToken {
		names = append(names, "multiple_token")
	}
	return names
}

// writeInfo writes the ten elements by which COMMAND INFO describes a row.
func writeInfo(out *resp.Writer, r *Row) {
	out.Array(10)
	out.BulkString(r.fullName)
	out.Int(int64(r.arity))
	writeWords(out, "", r.Flags.Names())
	out.Int(int64(r.legacy.first))
	out.Int(int64(r.legacy.last))
	out.Int(int64(r.legacy.step))
	writeWords(out, "@", r.cats.Names())
	out.Set(len(r.Tips))
	for _, tip := range r.Tips {
		out.BulkString(tip)
	}
	out.Set(len(r.keys))
	for i := range r.keys {
		writeKeySpec(out, &r.keys[i])
	}
	if len(r.subs) == 0 {
		out.Set(0) // Redis: an empty set, but an array if there are any
		return
	}
	out.Array(len(r.subs))
	for _, sub := range r.subs {
		writeInfo(out, sub)
	}
}

func writeKeySpec(out *resp.Writer, s *KeySpec) {
	out.Map(3)
	out.BulkString("flags")
	writeWords(out, "", s.Flags.Names())

	out.BulkString("begin_search")
	switch {
	case s.Unknown:
		specHeader(out, "unknown", 0)
	case s.Keyword != "":
		specHeader(out, "keyword", 2)
		textField(out, "keyword", s.Keyword)
		intField(out, "startfrom", s.StartFrom)
	default:
		specHeader(out, "index", 1)
		intField(out, "index", s.Index)
	}

	out.BulkString("find_keys")
	switch {
	case s.Unknown:
		specHeader(out, "unknown", 0)
	case s.KeyNum:
		specHeader(out, "keynum", 3)
		intField(out, "keynumidx", 0)
		intField(out, "firstkey", s.FirstKey)
		intField(out, "keystep", s.Step)
	default:
		specHeader(out, "range", 3)
		intField(out, "lastkey", s.LastKey)
		intField(out, "keystep", s.Step)
		intField(out, "limit", s.Limit)
	}
}

func specHeader(out *resp.Writer, kind string, fields int) {
	out.Map(2)
	textField(out, "type", kind)
	out.BulkString("spec")
	out.Map(fields)
}

func textField(out *resp.Writer, name, value string) {
	out.BulkString(name)
	out.BulkString(value)
}

func intField(out *resp.Writer, name string, value int) {
	out.BulkString(name)
	out.Int(int64(value))
}

// writeWords writes a set of simple strings.
func writeWords(out *resp.Writer, prefix string, words []string) {
	out.Set(len(words))
	for _, w := range words {
		out.Simple(prefix + w)
	}
}
