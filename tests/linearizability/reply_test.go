package linearizability

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lockserver/internal/resp"
)

// The replies of HGETALL and LOCK.INFO about a lock.

// answerLook stores the reply of HGETALL: the holders and their tokens.
func (op *operation) answerLook(v resp.Value, wrong error) error {
	fields := fieldsOf(v)
	mode, sharable := fields["$mode"]
	token, err := strconv.ParseInt(fields["$token"].Str, 10, 64)
	if len(fields) == 0 {
		return nil
	}
	if (err == nil) == sharable {
		return wrong // each layout has exactly one of these fields
	}
	for field, value := range fields {
		if strings.HasPrefix(field, "$") {
			continue
		}
		h := seenHolder{token: token, watched: fields["$watchdog"].Str == "1"}
		if h.owner, err = ownerOf(field); err != nil {
			return wrong
		}
		if sharable {
			err = h.readShare(value.Str)
		} else {
			h.holds, err = strconv.ParseInt(value.Str, 10, 64)
			h.exclusive = h.holds
		}
		if err != nil || h.holds <= 0 || h.exclusive < 0 || h.exclusive > h.holds {
			return wrong
		}
		op.holders = append(op.holders, h)
	}
	op.sortHolders()
	if len(op.holders) == 0 || sharable && mode.Str != op.modeInRedis() || !sharable && len(op.holders) > 1 {
		return wrong
	}
	return nil
}

// readShare parses an owner's field of a lock that has had shared holders.
func (h *seenHolder) readShare(value string) error {
	rest, watched := strings.CutSuffix(value, ":w")
	h.watched = watched
	var shared int64
	if n, err := fmt.Sscanf(rest, "$%d:%d:%d", &h.token, &shared, &h.exclusive); n != 3 {
		return err
	}
	h.holds = shared + h.exclusive
	return nil
}

// answerInform stores the reply of LOCK.INFO: the holders and the waiters.
func (op *operation) answerInform(v resp.Value, wrong error) error {
	if v.IsNull() {
		return nil
	}
	fields := fieldsOf(v)
	for _, w := range fields["waiters"].Elems {
		op.waiting = append(op.waiting, strconv.FormatInt(fieldsOf(fieldsOf(w)["client"])["id"].Int, 10))
	}
	mode, sharable := fields["mode"]
	holders := fields["holders"].Elems
	if !sharable {
		holders = []resp.Value{v}
	}
	for _, e := range holders {
		f := fieldsOf(e)
		owner, err := ownerOf(f["owner"].Str)
		h := seenHolder{owner: owner, holds: f["holds"].Int, token: f["token"].Int, exclusive: some}
		if f["mode"].Str == "shared" {
			h.exclusive = 0
		}
		if err != nil || h.holds <= 0 || h.token <= 0 || fieldsOf(f["client"])["id"].Int < 0 {
			return wrong
		}
		op.holders = append(op.holders, h)
	}
	op.sortHolders()
	if len(op.holders) == 0 || sharable && (mode.Str == "exclusive") != (op.modeInRedis() == "write") {
		return wrong
	}
	return nil
}

func (op *operation) sortHolders() {
	slices.SortFunc(op.holders, func(a, b seenHolder) int { return cmp.Compare(a.owner, b.owner) })
}

// modeInRedis returns the value that the field of the mode must have for these holders.
func (op *operation) modeInRedis() string {
	if slices.ContainsFunc(op.holders, func(h seenHolder) bool { return h.exclusive != 0 }) {
		return "write"
	}
	return "read"
}

// whoHolds describes the holders in a word.
func (op *operation) whoHolds() string {
	switch {
	case len(op.holders) == 0:
		return "nil"
	case len(op.holders) > 1:
		return "tokens"
	case len(op.waiting) > 0:
		return "token, waiters"
	}
	return "token"
}

// shows reports whether an owner was seen as a holder.
func (op *operation) shows(owner int) bool {
	return slices.ContainsFunc(op.holders, func(h seenHolder) bool { return h.owner == owner })
}

func (h seenHolder) String() string {
	return fmt.Sprintf("%s x%d (exclusive %d) token %d", ownerName(h.owner), h.holds, h.exclusive, h.token)
}

func ownerOf(name string) (int, error) {
	number, found := strings.CutPrefix(name, "owner-")
	if !found {
		return 0, fmt.Errorf("%q is no owner", name)
	}
	return strconv.Atoi(number)
}

// fieldsOf converts a map that came as an array.
func fieldsOf(v resp.Value) map[string]resp.Value {
	fields := make(map[string]resp.Value, len(v.Elems)/2)
	for i := 0; i+1 < len(v.Elems); i += 2 {
		fields[v.Elems[i].Str] = v.Elems[i+1]
	}
	return fields
}
