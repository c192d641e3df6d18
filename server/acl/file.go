package acl

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"lockserver/commands"
)

// Users are stored in an ACL file, with lines "user name rule...", or in such lines of the configuration
// file.

// Change says what happens to the connections of a user when the users are replaced.
type Change struct {
	Old  *User
	New  *User     // the user that they belong to from now on; nil: they are closed
	Left *Channels // if not nil, connections that are subscribed to other channels are closed, too
}

// Load replaces the users by those of an ACL file. It loads all of them, or none: then the error names the
// faults and their lines. path is the name of the file in errors. passwordSet says that requirepass is set:
// then the file must not leave the user default open. The changes are for the existing connections.
func (us *Users) Load(path, text string, passwordSet bool) ([]Change, error) {
	named, faults := us.readLines(path, text)
	if faults != "" {
		return nil, commands.ErrACLLoad(faults + "WARNING: ACL errors detected, no change to the previously active ACL rules was performed")
	}
	if named[DefaultName] == nil {
		named[DefaultName] = us.maker.defaultRules()
	}
	if passwordSet && named[DefaultName].open() {
		return nil, commands.ErrACLLoad(fmt.Sprintf("requirepass is set, but by the aclfile %s the user default needs no password, and the aclfile decides: "+
			"add a line such as \"user default on >PASSWORD ~* &* +@all\" or \"user default off\" to it, or remove requirepass. The users are as they were", path))
	}
	var changes []Change
	old := us.named
	us.named = map[string]*User{DefaultName: us.standard}
	for name, rules := range named {
		if name != DefaultName {
			us.named[name] = &User{name: name}
			us.named[name].obey(rules, us.maker.table)
		}
	}
	for name, u := range old {
		change := Change{Old: u, New: us.named[name]}
		if change.New != nil {
			change.Left = remaining(u.rules, named[name])
		}
		changes = append(changes, change)
	}
	us.standard.obey(named[DefaultName], us.maker.table)
	return changes, nil
}

// Draft returns a copy for changes. No connection belongs to its users, and its log is empty.
func (us *Users) Draft() *Users {
	d := &Users{maker: us.maker, named: make(map[string]*User, len(us.named))}
	for name, u := range us.named {
		own := *u
		d.named[name] = &own
	}
	d.standard = d.named[DefaultName]
	return d
}

// Adopt replaces the users by those of lines, in the form of Lines. Equal users stay unchanged. A line with
// invalid rules makes a user that is off. The changes are for the existing connections.
func (us *Users) Adopt(lines []string) (changes []Change, faults []error) {
	listed := map[string]bool{DefaultName: true}
	for _, line := range lines {
		name, text, _ := strings.Cut(line, " ")
		listed[name] = true
		u := us.named[name]
		if u != nil && u.rules.String() == text {
			continue
		}
		r := us.maker.newRules()
		if fault := us.readRules(r, "user "+name, strings.Split(text, " ")); fault != "" {
			faults = append(faults, errors.New(strings.TrimSpace(fault)))
			r = us.maker.newRules()
		}
		change := Change{Old: u, New: u}
		if u == nil {
			u = &User{name: name}
			us.named[name] = u
		} else {
			change.Left = remaining(u.rules, r)
		}
		if u.obey(r, us.maker.table); change.Old != nil {
			changes = append(changes, change)
		}
	}
	for _, u := range us.sorted() {
		if !listed[u.name] {
			delete(us.named, u.name)
			changes = append(changes, Change{Old: u})
		}
	}
	return changes, faults
}

// Others returns the names of the users that are not as Adopt makes them from the lines: they have other
// rules, are missing, or are not listed. The user default may be left out of the lines.
func (us *Users) Others(lines []string) (names []string) {
	listed := map[string]bool{DefaultName: true}
	for _, line := range lines {
		name, text, _ := strings.Cut(line, " ")
		listed[name] = true
		r := us.maker.newRules()
		if fault := us.readRules(r, "user "+name, strings.Split(text, " ")); fault != "" {
			r = us.maker.newRules()
		}
		if u := us.named[name]; u == nil || u.rules.String() != r.String() {
			names = append(names, name)
		}
	}
	for _, u := range us.sorted() {
		if !listed[u.name] {
			names = append(names, u.name)
		}
	}
	return names
}

// readLines reads the lines of an ACL file. faults lists all faults, each as a sentence.
func (us *Users) readLines(path, text string) (named map[string]*rules, faults string) {
	var b strings.Builder
	named = make(map[string]*rules)
	for i, line := range strings.Split(text, "\n") {
		line = strings.Trim(line, " \t\r\n")
		if line == "" {
			continue
		}
		where := fmt.Sprintf("%s:%d", path, i+1)
		words := strings.Split(line, " ")
		switch {
		case words[0] != "user" || len(words) < 2:
			fmt.Fprintf(&b, "%s should start with user keyword followed by the username. ", where)
		case hasSpaces(words[1]):
			fmt.Fprintf(&b, "'%s: username '%s' contains invalid characters. ", where, words[1])
		case named[words[1]] != nil:
			fmt.Fprintf(&b, "WARNING: Duplicate user '%s' found on line %d. ", words[1], i+1)
		default:
			named[words[1]] = us.maker.newRules()
			b.WriteString(us.readRules(named[words[1]], where, words[2:]))
		}
	}
	return named, b.String()
}

// readRules applies the rules of one line. It returns an error for every unknown command, but only for the
// first of the other faults, because these may follow from each other.
func (us *Users) readRules(r *rules, where string, words []string) (faults string) {
	merged, _, ok := mergeSelectors(words)
	if !ok {
		return where + ": Unmatched parenthesis in selector definition."
	}
	reported := false
	for _, rule := range merged {
		rule = strings.Trim(rule, "\t\r\n")
		switch err := us.maker.apply(r, rule); {
		case errors.Is(err, errRuleName):
			faults += fmt.Sprintf("%s: Error in applying operation '%s': %s. ", where, rule, err)
		case err != nil && !reported:
			faults += fmt.Sprintf("%s: %s. ", where, err)
			reported = true
		}
	}
	return faults
}

// Encode returns the text of an ACL file with all users.
func (us *Users) Encode() string {
	var b strings.Builder
	for _, line := range us.Lines() {
		b.WriteString("user " + line + "\n")
	}
	return b.String()
}

// withoutPassword returns a rule that was refused with err, in the form for an error in the log. A rule with
// bad syntax may be a password without its sign.
func withoutPassword(rule string, err error) string {
	if errors.Is(err, errRuleSyntax) || strings.ContainsAny(rule[:min(1, len(rule))], "><#!") {
		return "(hidden)"
	}
	return rule
}

// Declare makes the users of the directive user: a name and rules. If the user default is among them, its old
// rules are dropped. disabled lists users that cannot log in, which may be a mistake.
func (us *Users) Declare(lines [][]string) (disabled []string, err error) {
	var seen []string
	for _, words := range lines {
		name := words[0]
		if slices.Contains(seen, name) {
			return nil, fmt.Errorf("Error in user declaration '%s': %w", name, errDuplicateUser)
		}
		if seen = append(seen, name); name == "" || hasSpaces(name) {
			return nil, errors.New("Spaces not allowed in ACL usernames")
		}
		merged, bad, ok := mergeSelectors(words[1:])
		if !ok {
			return nil, fmt.Errorf("Error in user declaration '%s': Unmatched parenthesis", bad)
		}
		r := us.maker.newRules()
		for _, rule := range merged {
			if err := us.maker.apply(r, rule); err != nil {
				return nil, fmt.Errorf("Error loading ACL rule '%s' for the user named '%s': %w", withoutPassword(rule, err), name, err)
			}
		}
		u := us.named[name]
		if u == nil {
			u = &User{name: name}
			us.named[name] = u
		}
		u.obey(r, us.maker.table)
		if !r.on {
			disabled = append(disabled, name)
		}
	}
	return disabled, nil
}
