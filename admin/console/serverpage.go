package console

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"lockserver/internal/resp"
)

// The largest sizes of lists on the server's page. The server builds the list of clients at once, so it is
// not requested if there are very many clients.
const (
	commandsShown  = 12
	slowShown      = 12
	clientsShown   = 200
	mostForTheList = 1000
)

// serverPage is the page of the server itself.
type serverPage struct {
	Info        map[string]string // the call.Fields of INFO
	Databases   []databaseView
	Commands    []commandView
	Clients     []clientLine
	MoreClients int64  // not shown
	NoClients   string // why no list of clients is shown
	Slow        []slowView
	NoSlow      string
	NoLocks     string // why no figures of locks are shown
}

// commandView is the total time of one command.
type commandView struct {
	Name          string
	Calls, Failed int64
	EachUS        float64
	Share         int // of the time of the command with the largest time, in percent
	usec          int64
}

// clientLine is a line of CLIENT LIST.
type clientLine struct {
	ID, Address, Name, Library, User, Command, DB string
	AgeS, IdleS                                   int64
}

// slowView is an entry of the slow log.
type slowView struct {
	AtMS, TookUS          int64
	Command, Client, Name string
}

// loadServer is the page of the server.
func loadServer(who *viewer, _ *http.Request) (any, error) {
	v, err := who.conn.Do("INFO", "everything")
	if err != nil {
		return nil, err
	}
	p := &serverPage{Info: parseInfo(v.Str)}
	p.Commands = busiest(p.Info)
	p.readDatabases(who)
	p.readClients(who)
	p.readSlow(who)
	return p, nil
}

// parseInfo reads the reply of INFO.
func parseInfo(text string) map[string]string {
	info := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
			info[name] = value
		}
	}
	return info
}

// busiest returns the commands with the largest total times.
func busiest(info map[string]string) (list []commandView) {
	for field, value := range info {
		name, ok := strings.CutPrefix(field, "cmdstat_")
		if !ok {
			continue
		}
		stat := pairs(value)
		v := commandView{Name: strings.ToUpper(strings.ReplaceAll(name, "|", " ")), Calls: number(stat["calls"]), usec: number(stat["usec"]),
			Failed: number(stat["failed_calls"]) + number(stat["rejected_calls"])}
		v.EachUS, _ = strconv.ParseFloat(stat["usec_per_call"], 64)
		list = append(list, v)
	}
	slices.SortFunc(list, func(a, b commandView) int { return cmp.Or(cmp.Compare(b.usec, a.usec), cmp.Compare(a.Name, b.Name)) })
	list = list[:min(len(list), commandsShown)]
	for i := range list {
		list[i].Share = int(list[i].usec * 100 / max(1, list[0].usec))
	}
	return list
}

// readClients reads the list of clients.
func (p *serverPage) readClients(who *viewer) {
	n := number(p.Info["connected_clients"])
	switch {
	case !who.may("CLIENT", "LIST"):
		p.NoClients = "The ACL does not let " + who.name + " run CLIENT LIST."
		return
	case n > mostForTheList:
		p.NoClients = "There are too many clients for a list. CLIENT LIST in redis-cli shows them."
		return
	}
	v, err := who.conn.Do("CLIENT", "LIST")
	if err != nil {
		p.NoClients = err.Error()
		return
	}
	for line := range strings.Lines(strings.TrimPrefix(v.Str, "txt:")) {
		if len(p.Clients) == clientsShown {
			p.MoreClients++
			continue
		}
		f := make(map[string]string)
		for word := range strings.FieldsSeq(line) {
			if k, v, ok := strings.Cut(word, "="); ok {
				f[k] = v
			}
		}
		p.Clients = append(p.Clients, clientLine{ID: f["id"], Address: f["addr"], Name: f["name"], User: f["user"], Command: f["cmd"], DB: f["db"],
			Library: strings.TrimSpace(f["lib-name"] + " " + f["lib-ver"]), AgeS: number(f["age"]), IdleS: number(f["idle"])})
	}
}

// readSlow reads the slow log.
func (p *serverPage) readSlow(who *viewer) {
	if !who.may("SLOWLOG", "GET", strconv.Itoa(slowShown)) {
		p.NoSlow = "The ACL does not let " + who.name + " run SLOWLOG GET."
		return
	}
	v, err := who.conn.Do("SLOWLOG", "GET", strconv.Itoa(slowShown))
	if err != nil {
		p.NoSlow = err.Error()
		return
	}
	for _, e := range v.Elems {
		if len(e.Elems) < 6 {
			continue
		}
		p.Slow = append(p.Slow, slowView{AtMS: e.Elems[1].Int * 1000, TookUS: e.Elems[2].Int, Command: line(e.Elems[3].Elems),
			Client: e.Elems[4].Str, Name: e.Elems[5].Str})
	}
}

// line returns a command on one line.
func line(words []resp.Value) string {
	const most = 160
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.Str)
		if b.Len() > most {
			return b.String()[:most] + " ..."
		}
	}
	return b.String()
}

// serverPoints returns the values for the charts of the server at each second.
func serverPoints(who *viewer, body any) map[string][]float64 {
	info, now := body.(*serverPage).Info, who.seconds()
	value := func(name string) float64 { return float64(number(info[name])) }
	return map[string][]float64{
		OpsSeries:    {now, value("instantaneous_ops_per_sec")},
		MemorySeries: {now, value("used_memory"), value("used_memory_rss")},
	}
}
