//go:build oracle

package differential

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"lockserver/internal/resp"
)

// Some output cannot be the same on both servers. These rules mask it in the data that a connection received:
//
//   - in lines of MONITOR the time; lines of the test's own connection are left out,
//   - in lines of CLIENT LIST and CLIENT INFO the fields that depend on time and memory (unlikeFields), and
//     the order,
//   - in INFO all fields except those about connections (talkFigures),
//   - the path of the socket,
//   - the null of an invalidation, which depends on the protocol (D59),
//   - the order of names in UNSUBSCRIBE without names, and of patterns in PUBLISH, which is random in Redis,
//   - the flag u, which Redis shows until the end of its round for a client that no longer waits,
//   - the output of MONITOR after a CLIENT PAUSE (D132),
//   - the place of MONITOR's lines among the replies of a transaction, for the client that began it (D142).

// unlikeFields lists the fields of CLIENT LIST that may differ.
var unlikeFields = []string{"fd", "age", "idle", "qbuf", "qbuf-free", "argv-mem", "multi-mem", "rbs", "rbp", "obl", "oll", "omem",
	"tot-mem", "events"}

// talkFigures lists the fields of INFO that are compared: about the actions of connections, and the data. The
// table of tracked keys is not compared (D56).
var talkFigures = []string{"connected_clients", "blocked_clients", "tracking_clients", "pubsub_clients", "watching_clients",
	"total_watched_keys", "total_blocking_keys", "total_blocking_keys_on_nokey", "expired_keys", "evicted_keys", "evicted_clients",
	"pubsub_channels", "pubsub_patterns", "pubsubshard_channels", "tracking_total_prefixes", "unexpected_error_replies", "db0", "db1", "db2"}

// ownLine matches MONITOR's lines about the test's own commands.
var ownLine = regexp.MustCompile(`"ECHO" "fence"$|"CLIENT" "(ID|LIST|INFO)"( "ID" "\d+")?$|"SETNAME" "fence"$`)

var momentOfMonitor = regexp.MustCompile(`^\d+\.\d{6} \[`)

// maskAll masks the data that a connection received, so that both servers' data must be equal.
func maskAll(values []resp.Value, socket string) []resp.Value {
	list := make([]resp.Value, 0, len(values))
	for _, v := range values {
		if v.Kind == resp.Simple && momentOfMonitor.MatchString(v.Str) && ownLine.MatchString(v.Str) {
			continue
		}
		list = append(list, mask(v, socket))
	}
	sortPatterns(list)
	var names []*string
	for i := range list {
		names = namesLeft(&list[i], names)
	}
	sorted := make([]string, len(names))
	for i, name := range names {
		sorted[i] = *name
	}
	slices.Sort(sorted)
	for i, name := range sorted {
		*names[i] = name
	}
	return list
}

func mask(v resp.Value, socket string) resp.Value {
	v.Str = strings.ReplaceAll(v.Str, socket, "SOCKET")
	switch text := strings.TrimPrefix(v.Str, "txt:"); {
	case v.Kind == resp.Simple:
		v.Str = momentOfMonitor.ReplaceAllString(v.Str, "T [")
	case strings.HasPrefix(text, "id="):
		v.Str = maskClients(text)
	case strings.HasPrefix(text, "# "):
		v.Str = maskInfo(text)
	}
	v.Elems = slices.Clone(v.Elems)
	for i := range v.Elems {
		v.Elems[i] = mask(v.Elems[i], socket)
	}
	n := len(v.Elems)
	if n > 1 && v.Elems[n-1].IsNull() && (v.Elems[n-2].Str == "invalidate" || v.Elems[n-2].Str == "__redis__:invalidate") {
		v.Elems[n-1] = resp.Value{Kind: resp.Null}
	}
	return v
}

func maskClients(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.Contains(l, " name=fence ") {
			l = ""
		}
		lines[i] = strings.Join(slices.DeleteFunc(strings.Split(l, " "), func(field string) bool {
			name, _, _ := strings.Cut(field, "=")
			return slices.Contains(unlikeFields, name)
		}), " ")
		if before, after, found := strings.Cut(lines[i], " flags="); found {
			flags, after, _ := strings.Cut(after, " ")
			lines[i] = before + " flags=" + cmp.Or(strings.ReplaceAll(flags, "u", ""), "N") + " " + after
		}
	}
	slices.Sort(lines) // Redis rotates the order of its clients
	return strings.Join(lines, "\n")
}

func maskInfo(text string) string {
	fields := infoFields(text)
	var lines []string
	for _, name := range talkFigures {
		if value, ok := fields[name]; ok {
			value, _, _ = strings.Cut(value, "avg_ttl=")
			lines = append(lines, name+":"+value)
		}
	}
	return strings.Join(lines, "\n")
}

// sortPatterns sorts consecutive messages of several patterns that match the same channel.
func sortPatterns(list []resp.Value) {
	same := func(a, b resp.Value) bool {
		return len(a.Elems) == 4 && len(b.Elems) == 4 && a.Elems[0].Str == "pmessage" && b.Elems[0].Str == "pmessage" &&
			slices.EqualFunc(a.Elems[2:], b.Elems[2:], resp.Value.Equal)
	}
	for from := 0; from < len(list); {
		to := from + 1
		for to < len(list) && same(list[from], list[to]) {
			to++
		}
		slices.SortStableFunc(list[from:to], func(a, b resp.Value) int { return strings.Compare(a.Elems[1].Str, b.Elems[1].Str) })
		from = to
	}
}

// isMonitored reports whether a value is a line of MONITOR.
func isMonitored(v resp.Value) bool { return v.Kind == resp.Simple && strings.HasPrefix(v.Str, "T [") }

// withoutMonitored leaves out lines of MONITOR.
func withoutMonitored(values []resp.Value) []resp.Value {
	return slices.DeleteFunc(values, isMonitored)
}

// showsWithin reports whether a reply was interrupted by a line of MONITOR.
func showsWithin(v resp.Value) bool {
	return slices.ContainsFunc(v.Elems, func(e resp.Value) bool { return isMonitored(e) || showsWithin(e) })
}

// inPieces splits replies into their elements, and puts lines of MONITOR at the end.
func inPieces(values []resp.Value) []resp.Value {
	var pieces, shown []resp.Value
	var take func(values []resp.Value)
	take = func(values []resp.Value) {
		for _, v := range values {
			switch {
			case isMonitored(v):
				shown = append(shown, v)
			case len(v.Elems) > 0:
				take(v.Elems)
			default:
				pieces = append(pieces, v)
			}
		}
	}
	take(values)
	return append(pieces, shown...)
}

// namesLeft collects the names in messages about ended subscriptions.
func namesLeft(v *resp.Value, names []*string) []*string {
	if len(v.Elems) == 3 && slices.Contains([]string{"unsubscribe", "punsubscribe", "sunsubscribe"}, v.Elems[0].Str) {
		return append(names, &v.Elems[1].Str)
	}
	for i := range v.Elems {
		names = namesLeft(&v.Elems[i], names)
	}
	return names
}

// joinInvalidations joins consecutive messages about keys, and puts them after all other values. Redis runs
// the commands that a pause delayed in one round, and sends one message to BCAST at its end. Here each
// client's commands send a message, which may come before another client's replies (D132).
func joinInvalidations(values []resp.Value) (list []resp.Value) {
	others := slices.DeleteFunc(slices.Clone(values), tellsOfKeys)
	messages := slices.DeleteFunc(slices.Clone(values), func(v resp.Value) bool { return !tellsOfKeys(v) })
	for _, v := range append(others, messages...) {
		if n := len(list); n > 0 && tellsOfKeys(v) && tellsOfKeys(list[n-1]) {
			last := &list[n-1].Elems[len(v.Elems)-1]
			last.Elems = slices.Concat(last.Elems, v.Elems[len(v.Elems)-1].Elems)
			slices.SortFunc(last.Elems, func(a, b resp.Value) int { return strings.Compare(a.Str, b.Str) })
			last.Elems = slices.CompactFunc(last.Elems, resp.Value.Equal)
			continue
		}
		list = append(list, v)
	}
	return list
}

func tellsOfKeys(v resp.Value) bool {
	n := len(v.Elems)
	return n > 1 && v.Elems[n-1].Kind == resp.Array && (v.Elems[n-2].Str == "invalidate" || v.Elems[n-2].Str == "__redis__:invalidate")
}
