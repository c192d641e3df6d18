package server

import (
	"bytes"
	"strings"

	"lockserver/commands"
	"lockserver/internal/resp"
)

// scriptFlags are what a script or function says of itself.
type scriptFlags uint8

const (
	scriptNoWrites       scriptFlags = 1 << iota // it only reads, and may call only what does
	scriptAllowOOM                               // it may run, and write, when memory is full
	scriptAllowStale                             // for replicas, of which there are none
	scriptNoCluster                              // for clusters, as allow-cross-slot-keys
	scriptAllowCrossSlot                         //
	scriptPlain                                  // it says nothing: a script without a first line "#!"
)

// scriptFlagNames are the words for the flags, in the order in which FUNCTION LIST shows them.
var scriptFlagNames = [...]struct {
	flag scriptFlags
	name string
}{
	{scriptNoWrites, "no-writes"}, {scriptAllowOOM, "allow-oom"}, {scriptAllowStale, "allow-stale"},
	{scriptNoCluster, "no-cluster"}, {scriptAllowCrossSlot, "allow-cross-slot-keys"},
}

// scriptFlagOf is the flag for a word.
func scriptFlagOf(word string) (flag scriptFlags, ok bool) {
	for _, f := range scriptFlagNames {
		if f.name == word {
			return f.flag, true
		}
	}
	return 0, false
}

// names lists the flags as FUNCTION LIST shows them.
func (f scriptFlags) names() []string {
	var list []string
	for _, n := range scriptFlagNames {
		if f&n.flag != 0 {
			list = append(list, n.name)
		}
	}
	return list
}

// firstLine splits source at the end of its first line if that begins with "#!"; code begins with the
// line break, so that lines are counted as the author does. found is false if there is none, words is
// nil if it cannot be split into words.
func firstLine(source []byte) (words []string, code []byte, found, ended bool) {
	if !bytes.HasPrefix(source, []byte("#!")) {
		return nil, source, false, false
	}
	end := bytes.IndexByte(source, '\n')
	if zero := bytes.IndexByte(source, 0); end < 0 || zero >= 0 && zero < end {
		return nil, source, true, false
	}
	split, ok := resp.SplitWords(nil, source[:end])
	if !ok {
		return nil, source, true, true
	}
	for _, w := range split {
		words = append(words, untilZero(string(w)))
	}
	return words, source[end:], true, true
}

// readScriptFlags reads the first line of a script, if it is one for us, and returns the code behind it.
func readScriptFlags(source []byte) (flags scriptFlags, code []byte, err error) {
	words, code, found, ended := firstLine(source)
	switch {
	case !found:
		return scriptPlain, source, nil
	case !ended:
		return 0, nil, commands.ErrShebang
	case len(words) == 0:
		return 0, nil, commands.ErrShebangEngine
	case words[0] != "#!lua":
		return 0, nil, commands.ErrScriptEngine(words[0])
	}
	for _, w := range words[1:] {
		list, ok := strings.CutPrefix(w, "flags=")
		if !ok {
			return 0, nil, commands.ErrScriptOption(w)
		}
		if list == "" {
			continue
		}
		for name := range strings.SplitSeq(list, ",") {
			flag, ok := scriptFlagOf(name)
			if !ok {
				return 0, nil, commands.ErrScriptFlag(name)
			}
			flags |= flag
		}
	}
	return flags, code, nil
}

// mayWrite reports whether a command may change the data, as far as that depends on the script that it runs:
// one that says no-writes may not. Any other command may.
func (s *scripting) mayWrite(row *commands.Row, argv [][]byte) bool {
	var flags scriptFlags
	switch row.Name {
	case "eval":
		flags, _, _ = readScriptFlags(argv[1])
	case "evalsha":
		if script := s.cache.find(argv[1]); script != nil {
			flags = script.flags
		}
	case "fcall":
		if f := s.libraries.find(argv[1]); f != nil {
			flags = f.flags
		}
	}
	return flags&scriptNoWrites == 0
}
