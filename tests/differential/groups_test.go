//go:build oracle

package differential

import "lockserver/internal/resp"

// checkGroups compares replies about consumer groups without the times: of deliveries, and of the last
// activity of consumers.
func checkGroups(p *pair, args []string) string {
	ours, redis := p.do(args...)
	if a, b := withoutTimes(ours), withoutTimes(redis); a.String() != b.String() {
		return differ(ours, redis)
	}
	return ""
}

// withoutTimes replaces times by 0, and leaves out fields that only later versions have.
func withoutTimes(v resp.Value) resp.Value {
	if v.Kind != resp.Array && v.Kind != resp.Map {
		return v
	}
	if isPending(v.Elems) {
		v.Elems = append([]resp.Value(nil), v.Elems...)
		v.Elems[len(v.Elems)-2] = resp.Value{Kind: resp.Integer}
		return v
	}
	var elems []resp.Value
	for i := 0; i < len(v.Elems); i++ {
		e := withoutTimes(v.Elems[i])
		if e.Kind == resp.Bulk && i+1 < len(v.Elems) && v.Elems[i+1].Kind == resp.Integer {
			switch e.Str {
			case "inactive", "active-time":
				i++
				continue
			case "idle", "seen-time":
				elems = append(elems, e, resp.Value{Kind: resp.Integer})
				i++
				continue
			}
		}
		elems = append(elems, e)
	}
	v.Elems = elems
	return v
}

// isPending reports whether a list is an ID, optionally a consumer, a time and a number of deliveries.
func isPending(e []resp.Value) bool {
	n := len(e)
	return (n == 3 || n == 4) && e[n-1].Kind == resp.Integer && e[n-2].Kind == resp.Integer && e[0].Kind == resp.Bulk &&
		(n == 3 || e[1].Kind == resp.Bulk)
}
