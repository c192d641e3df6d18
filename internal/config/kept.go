package config

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

// The directives that tune internals of Redis, or that only have a meaning in a cluster. They are read,
// checked, shown and written as in Redis, and have no effect.

// keptValues holds the values of these directives by type, so that a configuration is copied at once.
type keptValues struct {
	places  map[string]int // the index of each directive among those of its type; all copies share the map
	flags   []bool
	numbers []int64
	texts   []string
}

// kept returns the function that finds the value of such a directive by its name.
func kept[T bool | int64 | string](name string) func(*Config) *T {
	return func(c *Config) *T {
		var at any
		switch i := c.kept.places[name]; any((*T)(nil)).(type) {
		case *bool:
			at = &c.kept.flags[i]
		case *int64:
			at = &c.kept.numbers[i]
		default:
			at = &c.kept.texts[i]
		}
		return at.(*T)
	}
}

// newKept returns the zero values of all kept directives.
func newKept(rows []directive) keptValues {
	values := keptValues{places: make(map[string]int)}
	for _, d := range rows {
		switch d.Kind.(type) {
		case boolKind:
			values.places[d.Name] = len(values.flags)
			values.flags = append(values.flags, false)
		case integerKind[int64], memoryKind, raisedKind:
			values.places[d.Name] = len(values.numbers)
			values.numbers = append(values.numbers, 0)
		default:
			values.places[d.Name] = len(values.texts)
			values.texts = append(values.texts, "")
		}
	}
	return values
}

// clone returns a copy that shares no values.
func (v *keptValues) clone() keptValues {
	return keptValues{v.places, slices.Clone(v.flags), slices.Clone(v.numbers), slices.Clone(v.texts)}
}

// keptTable describes the kept directives: name, an older name or "-", type, default. A type is bool, text,
// enum:words, int:from:to, memory:from:to, or a special type. A letter may follow: s for a directive that is
// only given at the start, h for a directive that CONFIG GET shows only for its whole name.
const keptTable = `
	active-defrag-cycle-max                - int:1:99              25
	active-defrag-cycle-min                - int:1:99              1
	active-defrag-ignore-bytes             - memory:1:max          100mb
	active-defrag-max-scan-fields          - int:1:max             1000
	active-defrag-threshold-lower          - int:0:1000            10
	active-defrag-threshold-upper          - int:0:1000            100
	active-expire-effort                   - int:1:10              1
	activedefrag                           - bool                  no
	activerehashing                        - bool                  yes
	always-show-logo                       - bool/s                no
	aof-disable-auto-gc                    - bool/h                no
	aof-rewrite-cpulist                    aof_rewrite_cpulist text/s
	aof-rewrite-incremental-fsync          - bool                  yes
	bgsave-cpulist                         bgsave_cpulist text/s
	bind-source-addr                       - text
	bio-cpulist                            bio_cpulist text/s
	cluster-allow-pubsubshard-when-down    - bool                  yes
	cluster-allow-reads-when-down          - bool                  no
	cluster-allow-replica-migration        - bool                  yes
	cluster-announce-bus-port              - int:0:65535           0
	cluster-announce-hostname              - hostname
	cluster-announce-human-nodename        - nodename
	cluster-config-file                    - text/s                nodes.conf
	cluster-link-sendbuf-limit             - memory:0:max          0
	cluster-migration-barrier              - int:0:int             1
	cluster-node-timeout                   - int:0:max             15000
	cluster-ping-interval                  - int:0:max/h           0
	cluster-port                           - int:0:65535/s         0
	cluster-preferred-endpoint-type        - enum:ip,hostname,unknown-endpoint ip
	cluster-replica-no-failover            cluster-slave-no-failover bool no
	cluster-replica-validity-factor        cluster-slave-validity-factor int:0:int 10
	cluster-require-full-coverage          - bool                  yes
	crash-log-enabled                      - bool                  yes
	crash-memcheck-enabled                 - bool                  yes
	disable-thp                            - bool/s                yes
	dynamic-hz                             - bool                  yes
	hide-user-data-from-log                - bool                  no
	ignore-warnings                        - text
	io-threads-do-reads                    - bool/s                no
	jemalloc-bg-thread                     - bool                  yes
	loading-process-events-interval-bytes  - int:1024:int/h        2097152
	max-new-connections-per-cycle          - int:1:1000            10
	max-new-tls-connections-per-cycle      - int:1:1000            1
	oom-score-adj                          - adjustment            no
	oom-score-adj-values                   - scores                0,200,800
	proc-title-template                    - title                 {title},{listen-addr},{server-mode}
	propagation-error-behavior             - enum:ignore,panic,panic-on-replicas ignore
	rdb-save-incremental-fsync             - bool                  yes
	repl-disable-tcp-nodelay               - bool                  no
	replica-ignore-disk-write-errors       - bool                  no
	replica-lazy-flush                     slave-lazy-flush bool   no
	sanitize-dump-payload                  - enum:no,yes,clients   no
	server-cpulist                         server_cpulist text/s
	set-proc-title                         - bool/s                yes
	use-exit-on-panic                      - bool/h                no
	watchdog-period                        - int:0:int/h           0`

// keptRows returns the rows of the kept directives. A comma in a default means a blank.
func keptRows() []directive {
	var rows []directive
	for _, line := range strings.Split(strings.TrimSpace(keptTable), "\n") {
		words := strings.Fields(line)
		of, letter, _ := strings.Cut(words[2], "/")
		d := directive{Name: words[0], Inert: true, Hidden: letter == "h", Kind: keptKind(words[0], of)}
		if letter == "s" {
			d.When = atStart
		}
		if words[1] != "-" {
			d.Aliases = []string{words[1]}
		}
		if len(words) > 3 {
			d.Default = strings.ReplaceAll(words[3], ",", " ")
		}
		rows = append(rows, d)
	}
	return rows
}

// keptKind returns the kind for a type in keptTable.
func keptKind(name, of string) kind {
	parts := strings.Split(of, ":")
	bound := func(i int) int64 {
		switch parts[i] {
		case "max":
			return maxInt64
		case "int":
			return maxInt32
		case "least":
			return minInt32
		}
		n, ok := parseInteger(parts[i])
		if !ok {
			panic("config: the bound of " + name + " is no number")
		}
		return n
	}
	word := kept[string](name)
	switch parts[0] {
	case "bool":
		return boolean(kept[bool](name))
	case "int":
		return integer(bound(1), bound(2), kept[int64](name))
	case "memory":
		return memory(bound(1), bound(2), kept[int64](name))
	case "enum":
		return enum(word, strings.Split(parts[1], ",")...)
	case "adjustment":
		return aliasedKind{enumKind[string]{word, []string{"no", "yes", "relative", "absolute"}}, "relative", "yes"}
	case "scores":
		return scoresKind{word}
	case "title":
		return textKind{word, checkTitle}
	case "hostname":
		return textKind{word, checkHostname}
	case "nodename":
		return textKind{word, checkNodename}
	}
	return text(word)
}

// Reasons of Redis for refusing values that only Redis would use.
var (
	errTitle        = errors.New("template format is invalid or contains unknown variables")
	errScoreValue   = errors.New("Invalid oom-score-adj-values, elements must be between -2000 and 2000.")
	errHostnameLong = errors.New("Hostnames must be less than 256 characters")
	errHostname     = errors.New("Hostnames may only contain alphanumeric characters, hyphens or dots")
	errNodename     = errors.New("Announced human node name contained invalid character")
)

// titleVariable matches the variables that the title of the process may contain.
var titleVariable = regexp.MustCompile(`\{(title|listen-addr|server-mode|port|tls-port|unixsocket|config-file)\}`)

// checkTitle refuses a title that Redis cannot write at that time, because some variables are still empty.
func checkTitle(s string) error {
	filled := titleVariable.ReplaceAllStringFunc(s, func(variable string) string {
		switch variable {
		case "{listen-addr}", "{port}", "{tls-port}":
			return "x"
		}
		return ""
	})
	if strings.ContainsAny(filled, "{}") || strings.Trim(filled, " ") == "" {
		return errTitle
	}
	return nil
}

func checkHostname(s string) error {
	if len(s) >= 256 {
		return errHostnameLong
	}
	for _, c := range []byte(s) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && c != '-' && c != '.' {
			return errHostname
		}
	}
	return nil
}

func checkNodename(s string) error {
	if strings.ContainsAny(s, "!#$%&()*+:;<>?@[]^{|}~\x00") {
		return errNodename
	}
	return nil
}

// scoresKind is oom-score-adj-values: three numbers, none below the number before it.
type scoresKind struct{ field func(*Config) *string }

func (k scoresKind) set(c *Config, args []string, _ bool) error {
	if len(args) != 3 {
		return errArgCount
	}
	for _, a := range args {
		n, ok := parseInteger(a)
		if !ok || n < -2000 || n > 2000 {
			return errScoreValue
		}
	}
	*k.field(c) = strings.Join(args, " ")
	return nil
}
func (k scoresKind) get(c *Config) string        { return *k.field(c) }
func (k scoresKind) lines(c, _ *Config) []string { return []string{k.get(c)} }
func (scoresKind) shape() shape                  { return wordList }

// raisedKind is a size that CONFIG SET raises to the smallest size with an effect. A file may have a smaller
// size, as in Redis, and CONFIG GET shows that size.
type raisedKind struct {
	kind
	least int64
	field func(*Config) *int64
}

// raise raises the value. CONFIG SET calls it after the change.
func (k raisedKind) raise(c *Config) { *k.field(c) = max(*k.field(c), k.least) }

// aliasedKind is an enum in which the word alias means the same as another word. CONFIG GET shows that other
// word.
type aliasedKind struct {
	enumKind[string]
	alias, shown string
}

func (k aliasedKind) set(c *Config, args []string, again bool) error {
	err := k.enumKind.set(c, args, again)
	if err == nil && *k.field(c) == k.alias {
		*k.field(c) = k.shown
	}
	return err
}
