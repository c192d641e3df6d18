package acl

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// The text form of users: the rules that make them.

// flags returns the words for a user's state, in Redis' order.
func (r *rules) flags() []string {
	state, payload := "off", "sanitize-payload"
	if r.on {
		state = "on"
	}
	if r.skipSanitize {
		payload = "skip-sanitize-payload"
	}
	if r.noPass {
		return []string{state, "nopass", payload}
	}
	return []string{state, payload}
}

// String returns all rules, in the form of a line of an ACL file after the user's name.
func (r *rules) String() string {
	words := r.flags()
	for _, hash := range r.passwords {
		words = append(words, "#"+hash)
	}
	for i, s := range r.selectors {
		if text := s.String(); i == 0 {
			words = append(words, text)
		} else {
			words = append(words, "("+text+")")
		}
	}
	return strings.Join(words, " ")
}

// String returns the selector's rules.
func (s *selector) String() string {
	var words []string
	if keys := s.keyWords(); keys != "" {
		words = append(words, keys)
	}
	if !s.allChannels {
		words = append(words, "resetchannels")
	}
	if channels := s.channelWords(); channels != "" {
		words = append(words, channels)
	}
	if s.someDBs {
		words = append(words, cmp.Or(s.databaseWord(), "resetdbs"))
	}
	return strings.Join(append(words, s.commandWords()), " ")
}

// commandWords returns the rules about commands.
func (s *selector) commandWords() string {
	first := "-@all"
	if s.future {
		first = "+@all"
	}
	return strings.Join(append([]string{first}, s.rules...), " ")
}

// keyWords returns the rules about keys.
func (s *selector) keyWords() string {
	if s.allKeys {
		return "~*"
	}
	var words []string
	for _, k := range s.keys {
		sign := "~"
		switch k.access {
		case reads:
			sign = "%R~"
		case writes:
			sign = "%W~"
		}
		words = append(words, sign+k.text)
	}
	return strings.Join(words, " ")
}

// channelWords returns the rules about channels.
func (s *selector) channelWords() string {
	if s.allChannels {
		return "&*"
	}
	var words []string
	for _, p := range s.channels {
		words = append(words, "&"+p.text)
	}
	return strings.Join(words, " ")
}

// databaseWord returns the rule about databases; empty if no database may be used.
func (s *selector) databaseWord() string {
	if !s.someDBs {
		return "alldbs"
	}
	var ids []string
	for _, id := range s.dbs {
		ids = append(ids, strconv.Itoa(id))
	}
	if ids == nil {
		return ""
	}
	return "db=" + strings.Join(ids, ",")
}

// namesDatabases reports whether there is a rule about databases. Without such a rule the reply leaves the
// field out.
func (r *rules) namesDatabases() bool {
	return slices.ContainsFunc(r.selectors, func(s *selector) bool { return s.someDBs })
}
