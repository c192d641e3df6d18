package call

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"lockserver/internal/resp"
)

// How the replies of all shards become one.

// joinPieces joins replies of the form that SCAN has.
func joinPieces(_ []string, replies []resp.Value) resp.Value {
	var found []resp.Value
	cursors, more := make([]string, len(replies)), false
	for i, v := range replies {
		next, list := Piece(v)
		if cursors[i] = next; next == "0" {
			cursors[i] = ended
		}
		more = more || next != "0"
		found = append(found, list...)
	}
	next := "0"
	if more {
		next = strings.Join(cursors, ",")
	}
	return resp.Value{Kind: resp.Array, Elems: []resp.Value{{Kind: resp.Bulk, Str: next}, {Kind: resp.Array, Elems: found}}}
}

// field returns a number of a reply that is a map: an integer or a double.
func field(name string) func(resp.Value) float64 {
	return func(v resp.Value) float64 {
		f := FieldsOf(v)
		return float64(f.Int(name)) + f.Number(name)
	}
}

// joinBy joins lists, in the order of a number in their elements: rising for 1, falling for -1. The limit of
// their length is the last word, behind COUNT or GET.
func joinBy(by func(resp.Value) float64, order int) joining {
	return func(words []string, replies []resp.Value) resp.Value {
		all := resp.Value{Kind: resp.Array}
		for _, v := range replies {
			all.Elems = append(all.Elems, v.Elems...)
		}
		slices.SortStableFunc(all.Elems, func(a, b resp.Value) int { return order * cmp.Compare(by(a), by(b)) })
		if n, err := strconv.Atoi(words[len(words)-1]); err == nil && n >= 0 && len(words) > 2 {
			all.Elems = all.Elems[:min(n, len(all.Elems))]
		}
		return all
	}
}

// joinHot joins the replies of LOCK.HOT.
func joinHot(words []string, replies []resp.Value) resp.Value {
	lists := make([]resp.Value, len(replies))
	all, total := replies[0], 0.0
	for i, v := range replies {
		f := FieldsOf(v)
		lists[i], total = f["keys"], total+field("total")(v)
	}
	for i := 0; i+1 < len(all.Elems); i += 2 {
		switch of := &all.Elems[i+1]; all.Elems[i].Str {
		case "total":
			of.Float, of.Int = total, int64(total)
		case "keys":
			*of = joinBy(field("most"), -1)(words, lists)
		}
	}
	return all
}

// joinFigures adds up the integers of maps, also of the maps in them. Of other numbers it takes the largest:
// they are durations.
func joinFigures(_ []string, replies []resp.Value) resp.Value {
	sum := replies[0]
	for _, v := range replies[1:] {
		sum = addFigures(sum, v)
	}
	return sum
}

func addFigures(a, b resp.Value) resp.Value {
	switch {
	case a.Kind != b.Kind:
	case a.Kind == resp.Integer:
		a.Int += b.Int
	case a.Kind == resp.Double && b.Float > a.Float:
		return b
	case a.Kind == resp.Map:
		sum := resp.Value{Kind: resp.Map, Elems: slices.Clone(a.Elems)}
		for i := 0; i+1 < len(b.Elems); i += 2 {
			at := 0
			for at < len(sum.Elems) && sum.Elems[at].Str != b.Elems[i].Str {
				at += 2
			}
			if at < len(sum.Elems) {
				sum.Elems[at+1] = addFigures(sum.Elems[at+1], b.Elems[i+1])
			} else {
				sum.Elems = append(sum.Elems, b.Elems[i], b.Elems[i+1])
			}
		}
		return sum
	}
	return a
}

// summed are the fields of INFO that are added up. Of the fields in worst the largest value counts, or the
// first value that is not "ok". All other fields are taken from the first shard: they belong to the process,
// or mean nothing as a sum.
var (
	summed = []string{"connected_clients", "blocked_clients", "instantaneous_ops_per_sec", "total_commands_processed", "used_memory",
		"used_memory_peak", "rdb_changes_since_last_save", "aof_current_size", "delayed_pending", "delayed_streams", "delayed_fired"}
	worst = []string{"loading", "rdb_bgsave_in_progress", "rdb_last_bgsave_status", "aof_last_write_status", "delayed_late_max_us"}
)

// joinInfo joins the replies of INFO.
func joinInfo(_ []string, replies []resp.Value) resp.Value {
	var names []string
	values := make(map[string]string)
	for _, v := range replies {
		for line := range strings.Lines(v.Str) {
			name, value, is := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
			if !is || name == "txt" {
				continue
			}
			before, known := values[name]
			if !known {
				names = append(names, name)
			}
			values[name] = addInfo(name, before, value)
		}
	}
	var b strings.Builder
	for _, name := range names {
		b.WriteString(name + ":" + values[name] + "\r\n")
	}
	return resp.Value{Kind: resp.Bulk, Str: b.String()}
}

// addInfo is the value of a field of INFO for one shard more. before is empty for the first one.
func addInfo(name, before, value string) string {
	a, failed := strconv.ParseInt(before, 10, 64)
	b, other := strconv.ParseInt(value, 10, 64)
	numbers := failed == nil && other == nil
	switch {
	case before == "":
		return value
	case slices.Contains(summed, name) && numbers:
		return strconv.FormatInt(a+b, 10)
	case slices.Contains(worst, name) && (numbers && b > a || !numbers && before == "ok"):
		return value
	case strings.HasPrefix(name, "cmdstat_"), strings.HasPrefix(name, "db"):
		return addPairs(before, value)
	}
	return before
}

// addPairs adds up "calls=1,usec=20,usec_per_call=20.00", and divides anew.
func addPairs(a, b string) string {
	sums, pairs := make(map[string]int64), strings.Split(a, ",")
	for _, pair := range slices.Concat(pairs, strings.Split(b, ",")) {
		name, value, _ := strings.Cut(pair, "=")
		n, _ := strconv.ParseInt(value, 10, 64)
		sums[name] += n
	}
	for i, pair := range pairs {
		name, _, _ := strings.Cut(pair, "=")
		if pairs[i] = name + "=" + strconv.FormatInt(sums[name], 10); name == "usec_per_call" {
			pairs[i] = name + "=" + strconv.FormatFloat(float64(sums["usec"])/float64(max(1, sums["calls"])), 'f', 2, 64)
		}
	}
	return strings.Join(pairs, ",")
}
