package acl

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"strings"

	"lockserver/commands"
	"lockserver/internal/ascii"
	"lockserver/internal/decimal"
	"lockserver/internal/resp"
)

// The rules of a user: the words of ACL SETUSER, of a line of an ACL file, and of the directive user.

// The errors of rules. The texts are those of Redis.
var (
	errRuleName       = errors.New("Unknown command or category name in ACL")
	errRuleSyntax     = errors.New("Syntax error")
	errKeyAfterAll    = errors.New("Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns")
	errChanAfterAll   = errors.New("Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. Try 'resetchannels' to start with an empty list of channels")
	errNoSuchPassword = errors.New("The password you are trying to remove from the user does not exist")
	errPasswordHash   = errors.New("The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters")
	errFirstArg       = errors.New("Allowing first-arg of a subcommand is not supported")
	errDBRange        = errors.New("The provided database ID is out of range")
	errDuplicateUser  = errors.New("Duplicate user found. A user can only be defined once in config files")
)

// ruleMaker reads rules.
type ruleMaker struct {
	table *commands.Table
	// allChannels says that a new selector allows all channels (acl-pubsub-default).
	allChannels bool
}

func (m *ruleMaker) newSelector() *selector {
	return &selector{allowed: make(bitmap, (m.table.Size()+63)/64), allChannels: m.allChannels}
}

// newRules returns the rules of a new user.
func (m *ruleMaker) newRules() *rules { return &rules{selectors: []*selector{m.newSelector()}} }

// untilZero cuts a text at its first zero byte, as C does.
func untilZero(s string) string {
	text, _, _ := strings.Cut(s, "\x00")
	return text
}

// is reports whether a rule equals one of the words, in any case.
func is(rule string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return ascii.EqualFold([]byte(rule), w) })
}

// apply applies a rule. After an error the rules may be half changed.
func (m *ruleMaker) apply(r *rules, rule string) error {
	word := untilZero(rule)
	switch {
	case rule == "":
	case is(word, "on"):
		r.on = true
	case is(word, "off"):
		r.on = false
	case is(word, "skip-sanitize-payload"):
		r.skipSanitize = true
	case is(word, "sanitize-payload"):
		r.skipSanitize = false
	case is(word, "nopass"):
		r.noPass, r.passwords = true, nil
	case is(word, "resetpass"):
		r.noPass, r.passwords = false, nil
	case strings.ContainsRune("><#!", rune(rule[0])):
		return r.changePasswords(rule)
	case rule[0] == '(' && rule[len(rule)-1] == ')':
		s, err := m.readSelector(rule[1 : len(rule)-1])
		if err != nil {
			return err
		}
		r.selectors = append(r.selectors, s)
	case is(word, "clearselectors"):
		r.selectors = r.selectors[:1]
	case is(word, "reset"):
		m.reset(r)
	default:
		return m.applyTo(r.selectors[0], rule)
	}
	return nil
}

// reset gives a user the rules of a new user.
func (m *ruleMaker) reset(r *rules) { *r = *m.newRules() }

// changePasswords adds or removes a password, or a password's hash.
func (r *rules) changePasswords(rule string) error {
	hash := rule[1:]
	switch rule[0] {
	case '>', '<':
		hash = hashOf(hash)
	default:
		if !isHash(hash) {
			return errPasswordHash
		}
	}
	at := slices.Index(r.passwords, hash)
	switch adds := rule[0] == '>' || rule[0] == '#'; {
	case adds:
		if at < 0 {
			r.passwords = append(r.passwords, hash)
		}
		r.noPass = false
	case at < 0:
		return errNoSuchPassword
	default:
		r.passwords = slices.Delete(r.passwords, at, at+1)
	}
	return nil
}

// hashOf returns the stored form of a password: its SHA-256 in hexadecimal digits.
func hashOf(password string) string {
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:])
}

func isHash(s string) bool {
	if len(s) != hex.EncodedLen(sha256.Size) {
		return false
	}
	return !strings.ContainsFunc(s, func(c rune) bool { return (c < '0' || c > '9') && (c < 'a' || c > 'f') })
}

// readSelector reads the text between the parentheses of a selector. If quotes are not balanced, it reads
// nothing, as in Redis.
func (m *ruleMaker) readSelector(text string) (*selector, error) {
	s := m.newSelector()
	words, ok := resp.SplitWords(nil, []byte(untilZero(text)))
	if !ok {
		words = nil
	}
	for _, w := range words {
		if err := m.applyTo(s, string(w)); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// applyTo applies a rule to a selector.
func (m *ruleMaker) applyTo(s *selector, rule string) error {
	word := untilZero(rule)
	switch {
	case is(word, "allkeys", "~*"):
		s.allKeys, s.keys = true, nil
	case is(word, "resetkeys"):
		s.allKeys, s.keys = false, nil
	case is(word, "allchannels", "&*"):
		s.allChannels, s.channels = true, nil
	case is(word, "resetchannels"):
		s.allChannels, s.channels = false, nil
	case is(word, "allcommands", "+@all"):
		s.allowAll(true)
	case is(word, "nocommands", "-@all"):
		s.allowAll(false)
	case is(word, "alldbs"):
		s.someDBs, s.dbs = false, nil
	case is(word, "resetdbs"):
		s.someDBs, s.dbs = true, nil
	case len(word) >= 3 && is(word[:3], "db="):
		return s.setDatabases(word[3:])
	case word == "":
		return errRuleSyntax
	case word[0] == '~' || word[0] == '%':
		return s.addKeys(rule)
	case word[0] == '&':
		return s.addChannels(rule)
	case word[0] == '+' || word[0] == '-':
		return m.applyCommand(s, word[1:], word[0] == '+')
	default:
		return errRuleSyntax
	}
	return nil
}

// addKeys applies ~pattern, %R~pattern and %W~pattern.
func (s *selector) addKeys(rule string) error {
	if s.allKeys {
		return errKeyAfterAll
	}
	text, may := rule[1:], readsAndWrites
	if rule[0] == '%' {
		var ok bool
		if text, may, ok = cutAccess(text); !ok {
			return errRuleSyntax
		}
	}
	if hasSpaces(text) {
		return errRuleSyntax
	}
	if at := slices.IndexFunc(s.keys, func(k keyPattern) bool { return k.text == text }); at >= 0 {
		s.keys[at].access |= may
	} else {
		s.keys = append(s.keys, keyPattern{newPattern(text), may})
	}
	return nil
}

// cutAccess reads the letters before the ~ of a rule about keys. Without the ~ the pattern is empty.
func cutAccess(text string) (rest string, may access, ok bool) {
	for i := range len(text) {
		var letter access
		switch c := ascii.Lower(text[i]); {
		case c == 'r':
			letter = reads
		case c == 'w':
			letter = writes
		case c == '~' && may != 0:
			return text[i+1:], may, true
		}
		if letter == 0 || may&letter != 0 {
			return "", 0, false
		}
		may |= letter
	}
	return "", may, may != 0
}

func (s *selector) addChannels(rule string) error {
	if s.allChannels {
		return errChanAfterAll
	}
	text := rule[1:]
	if hasSpaces(text) {
		return errRuleSyntax
	}
	if !slices.ContainsFunc(s.channels, func(p pattern) bool { return p.text == text }) {
		s.channels = append(s.channels, newPattern(text))
	}
	return nil
}

// setDatabases applies db=0,1: only these databases are allowed.
func (s *selector) setDatabases(list string) error {
	var dbs []int
	for _, word := range strings.Split(list, ",") {
		id, ok := decimal.ParseInt([]byte(word))
		switch {
		case !ok:
			return errRuleSyntax
		case id < 0 || id > math.MaxInt32:
			return errDBRange
		}
		dbs = append(dbs, int(id))
	}
	slices.Sort(dbs)
	s.someDBs, s.dbs = true, slices.Compact(dbs)
	return nil
}

// hasSpaces reports whether the text contains a byte that would end it in an ACL file.
func hasSpaces(text string) bool { return strings.ContainsAny(text, " \t\n\v\f\r\x00") }

// applyCommand allows, or forbids, a command, a subcommand, a category, or a command with a first argument.
func (m *ruleMaker) applyCommand(s *selector, name string, on bool) error {
	if len(name) > 0 && name[0] == '@' {
		c, ok := commands.CategoryByName([]byte(name[1:]))
		if !ok {
			return errRuleName
		}
		s.remember(name, on)
		s.allowCategory(m.table, c, on)
		return nil
	}
	bar := strings.LastIndexByte(name, '|')
	if !on || bar < 0 {
		return m.allowNamed(s, name, name, on)
	}
	return m.applyQualified(s, name, bar)
}

// applyQualified applies +command|word: word is a subcommand, or a first argument if the command has no
// subcommands.
func (m *ruleMaker) applyQualified(s *selector, name string, bar int) error {
	row, word := m.table.LookupFull([]byte(name[:bar])), name[bar+1:]
	switch {
	case row == nil && isElsewhere(name[:bar]):
		s.remember(name, true)
		return nil
	case row == nil:
		return errRuleName
	case row.Parent() != nil:
		return errFirstArg
	case word == "" || hasSpaces(word): // a user with a space in a rule could not be saved
		return errRuleSyntax
	case len(row.Subcommands()) > 0:
		return m.allowNamed(s, name, name, true)
	}
	s.allowFirstArgs(row.Index(), word)
	s.remember(name, true)
	return nil
}

// allowNamed allows, or forbids, the command with a name.
func (m *ruleMaker) allowNamed(s *selector, name, rule string, on bool) error {
	row := m.table.LookupFull([]byte(name))
	switch {
	case row != nil:
		s.allow(row, on)
	case !isElsewhere(name):
		return errRuleName
	}
	s.remember(rule, on)
	return nil
}

// isElsewhere reports whether Redis has a command with this name and lockserver does not: rules may name it,
// so that an ACL file of Redis can be used.
func isElsewhere(name string) bool {
	return is(name, "failover", "migrate", "psync", "replconf", "restore-asking", "sync", "module|load", "module|loadex", "module|unload")
}

// mergeSelectors joins selectors that are spread over several words: "(+get" "~a)" is one rule. bad is the
// word with a parenthesis that is not closed.
func mergeSelectors(words []string) (merged []string, bad string, ok bool) {
	open := -1
	var whole string
	for i, w := range words {
		closes := strings.HasSuffix(w, ")")
		switch {
		case open < 0 && strings.HasPrefix(w, "(") && !closes:
			open, whole = i, w
		case open < 0:
			merged = append(merged, w)
		default:
			if whole += " " + untilZero(w); closes {
				open, merged = -1, append(merged, whole)
			}
		}
	}
	if open >= 0 {
		return nil, words[open], false
	}
	return merged, "", true
}
