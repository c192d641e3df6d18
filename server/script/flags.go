package script

import (
	"bytes"
	"strings"

	"lockserver/commands"
	"lockserver/internal/resp"
)

// flagSet holds the flags that a script or function declares.
type flagSet uint8

const (
	noWrites       flagSet = 1 << iota // it only reads, and may only call commands that read
	allowOOM                           // it may run, and write, when memory is full
	allowStale                         // it may run on a replica that has lost its master
	noCluster                          // for clusters, as allow-cross-slot-keys
	allowCrossSlot                     //
	noShebang                          // it declares nothing: a script without a first line "#!"
)

// flagNames holds the words for the flags, in the order of FUNCTION LIST.
var flagNames = [...]struct {
	flag flagSet
	name string
}{
	{noWrites, "no-writes"}, {allowOOM, "allow-oom"}, {allowStale, "allow-stale"},
	{noCluster, "no-cluster"}, {allowCrossSlot, "allow-cross-slot-keys"},
}

// flagOf returns the flag for a word.
func flagOf(word string) (flag flagSet, ok bool) {
	for _, f := range flagNames {
		if f.name == word {
			return f.flag, true
		}
	}
	return 0, false
}

// names returns the words for the flags, in the order of FUNCTION LIST.
func (f flagSet) names() []string {
	var list []string
	for _, n := range flagNames {
		if f&n.flag != 0 {
			list = append(list, n.name)
		}
	}
	return list
}

// splitShebang splits source at the end of its first line if that begins with "#!"; code begins with the line
// break, so that line numbers are those of the author. found is false if there is no such line, words is nil
// if it cannot be split into words.
func splitShebang(source []byte) (words []string, code []byte, found, ended bool) {
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

// readFlags reads the first line of a script, if it declares flags, and returns the code after it.
func readFlags(source []byte) (flags flagSet, code []byte, err error) {
	words, code, found, ended := splitShebang(source)
	switch {
	case !found:
		return noShebang, source, nil
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
			flag, ok := flagOf(name)
			if !ok {
				return 0, nil, commands.ErrScriptFlag(name)
			}
			flags |= flag
		}
	}
	return flags, code, nil
}
