//go:build oracle

package differential

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"lockserver/internal/resp"
)

// What the two servers cannot say alike is masked in what a connection received, by rule:
//
//   - in lines of MONITOR the moment; those of the test's own connection are left out,
//   - in lines of CLIENT LIST and CLIENT INFO the figures of a moment and of memory (unlikeFields), and
//     the order,
//   - of INFO all but the figures that tell what connections do (talkFigures),
//   - the socket's path,
//   - the null of an invalidation, which is of one protocol or the other (D59),
//   - the order in which UNSUBSCRIBE without names goes through them, and PUBLISH through patterns, which is
//     chance in Redis,
//   - the flag u, which Redis shows until its round is over, of who no longer waits,
//   - what MONITOR shows where CLIENT PAUSE was said (D132),
//   - where among the replies of a transaction MONITOR shows its commands to who has begun it (D142).

// unlikeFields are those of CLIENT LIST that are each server's own.
var unlikeFields = []string{"fd", "age", "idle", "qbuf", "qbuf-free", "argv-mem", "multi-mem", "rbs", "rbp", "obl", "oll", "omem",
	"tot-mem", "events"}

// talkFigures are those of INFO that are compared: what connections do, and what there is. The table of
// keys that are tracked is not (D56).
var talkFigures = []string{"connected_clients", "blocked_clients", "tracking_clients", "pubsub_clients", "watching_clients",
	"total_watched_keys", "total_blocking_keys", "total_blocking_keys_on_nokey", "expired_keys", "evicted_keys", "evicted_clients",
	"pubsub_channels", "pubsub_patterns", "pubsubshard_channels", "tracking_total_prefixes", "unexpected_error_replies", "db0", "db1", "db2"}

// ownLine is what MONITOR shows of the test's own commands.
var ownLine = regexp.MustCompile(`"ECHO" "fence"$|"CLIENT" "(ID|LIST|INFO)"( "ID" "\d+")?$|"SETNAME" "fence"$`)

var momentOfMonitor = regexp.MustCompile(`^\d+\.\d{6} \[`)

// maskAll is what a connection received in a form in which both servers' are the same.
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
	slices.Sort(lines) // Redis goes round among its clients
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

// sortPatterns sorts the messages that follow each other because several patterns match one channel.
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

// isMonitored reports whether a value is what MONITOR showed.
func isMonitored(v resp.Value) bool { return v.Kind == resp.Simple && strings.HasPrefix(v.Str, "T [") }

// withoutMonitored leaves out what MONITOR showed.
func withoutMonitored(values []resp.Value) []resp.Value {
	return slices.DeleteFunc(values, isMonitored)
}

// showsWithin reports whether a reply has come apart because MONITOR showed something in the middle of it.
func showsWithin(v resp.Value) bool {
	return slices.ContainsFunc(v.Elems, func(e resp.Value) bool { return isMonitored(e) || showsWithin(e) })
}

// inPieces is what replies consist of, without what it belongs to, and then what MONITOR showed.
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

// namesLeft collects the names in what tells of subscriptions that ended.
func namesLeft(v *resp.Value, names []*string) []*string {
	if len(v.Elems) == 3 && slices.Contains([]string{"unsubscribe", "punsubscribe", "sunsubscribe"}, v.Elems[0].Str) {
		return append(names, &v.Elems[1].Str)
	}
	for i := range v.Elems {
		names = namesLeft(&v.Elems[i], names)
	}
	return names
}

// joinInvalidations makes one of messages about keys that follow each other, and puts it behind what else
// there is. Redis runs what a pause has held in one round, and makes one message to BCAST of it at its end.
// Here each client's commands make one, which may come before another client's replies (D132).
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
