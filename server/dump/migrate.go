package dump

import (
	"context"
	"strconv"

	"lockserver/commands"
	"lockserver/internal/ascii"
	"lockserver/internal/decimal"
	"lockserver/internal/resp"
	"lockserver/persistence"
)

// defaultTimeoutMS is the timeout of a MIGRATE with a timeout below 1.
const defaultTimeoutMS = 1000

// migrateRow returns the row of MIGRATE.
func migrateRow(run func(*commands.Ctx) error) commands.Row {
	const use = commands.RW | commands.Access | commands.Delete
	return commands.Row{Name: "migrate", Group: commands.Generic, Since: "2.6.0", Flags: commands.Write, Run: run,
		Cats: commands.CatDangerous, FindKeys: migrateKeys, Secrets: migrateSecrets,
		Summary:    "Moves keys to another server, or copies them there.",
		Complexity: "O(N) for N elements, besides what DUMP, DEL and the other server's RESTORE take",
		Tips:       []string{"nondeterministic_output"},
		Args: []commands.Arg{commands.Str("host"), commands.Int("port"),
			commands.OneOf("key-selector", commands.Key("key", use), commands.Flag("").Named("empty-string")),
			commands.Int("destination-db"), commands.Int("timeout"),
			commands.Opt(commands.Flag("COPY").From("3.0.0")),
			commands.Opt(commands.Flag("REPLACE").From("3.0.0")),
			commands.Opt(commands.OneOf("authentication",
				commands.Str("auth").Shown("password").After("AUTH").From("4.0.7"),
				commands.Block("auth2", commands.Str("username"), commands.Str("password")).After("AUTH2").From("6.0.0"))),
			commands.Opt(commands.Key("keys", use).After("KEYS").Shown("key").From("3.0.6").Many().FromEnd())}}
}

// The positions of words with a fixed place, and of the first option.
const (
	migrateHost = iota + 1
	migratePort
	migrateKey
	migrateDB
	migrateTimeout
	migrateOptions
)

// migrateKeys finds the keys of a call. Like Redis it looks for KEYS before it checks the other options, and
// not at the end of the call.
func migrateKeys(args [][]byte, dst []commands.KeyRef) ([]commands.KeyRef, bool) {
	const use = commands.RW | commands.Access | commands.Delete
	for i := migrateOptions; i < len(args)-1; i++ {
		switch {
		case ascii.EqualFold(args[i], "AUTH"):
			i++
		case ascii.EqualFold(args[i], "AUTH2"):
			i += 2
		case ascii.EqualFold(args[i], "KEYS"):
			if len(args[migrateKey]) > 0 {
				return dst, true // a syntax error
			}
			for at := i + 1; at < len(args); at++ {
				dst = append(dst, commands.KeyRef{Pos: at, Flags: use})
			}
			return dst, true
		}
	}
	return append(dst, commands.KeyRef{Pos: migrateKey, Flags: use}), true
}

// migrateSecrets finds the words after AUTH and AUTH2, up to the first mistake.
func migrateSecrets(args [][]byte, dst []int) []int {
	for i := migrateOptions; i < len(args); i++ {
		words := 0
		switch {
		case ascii.EqualFold(args[i], "COPY"), ascii.EqualFold(args[i], "REPLACE"):
		case ascii.EqualFold(args[i], "AUTH"):
			words = 1
		case ascii.EqualFold(args[i], "AUTH2"):
			words = 2
		default:
			return dst
		}
		for ; words > 0 && i+1 < len(args); words-- {
			i++
			dst = append(dst, i)
		}
	}
	return dst
}

// migration holds the parameters and the result of a MIGRATE.
type migration struct {
	keys [][]byte // the keys that are sent, in this order
	copy bool     // the keys stay here

	target    target
	timeoutMS int64 // of each step: to connect, and each read and write
	db        int64
	auth      []byte // a command; nil: no login
	restores  []byte // a RESTORE for each key
	replace   bool

	// acked says, for each key, whether the target has confirmed it.
	acked []bool
	err   error
}

// moved returns the keys that the target has confirmed.
func (m *migration) moved() (keys [][]byte) {
	for i, ok := range m.acked {
		if ok {
			keys = append(keys, m.keys[i])
		}
	}
	return keys
}

// read reads the call. Redis checks the options first, and then the timeout before the database.
func (m *migration) read(argv [][]byte) error {
	m.target = target{string(argv[migrateHost]), string(argv[migratePort])}
	keys := argv[migrateKey : migrateKey+1]
options:
	for i := migrateOptions; i < len(argv); i++ {
		left := len(argv) - 1 - i
		switch word := argv[i]; {
		case ascii.EqualFold(word, "COPY"):
			m.copy = true
		case ascii.EqualFold(word, "REPLACE"):
			m.replace = true
		case ascii.EqualFold(word, "AUTH") && left >= 1:
			m.auth = resp.AppendCommand(nil, []byte("AUTH"), argv[i+1])
			i++
		case ascii.EqualFold(word, "AUTH2") && left >= 2:
			m.auth = resp.AppendCommand(nil, []byte("AUTH"), argv[i+1], argv[i+2])
			i += 2
		case ascii.EqualFold(word, "KEYS"):
			if len(argv[migrateKey]) > 0 {
				return commands.ErrMigrateKeys
			}
			keys = argv[i+1:]
			break options
		default:
			return commands.ErrSyntax
		}
	}
	timeout, okTimeout := decimal.ParseInt(argv[migrateTimeout])
	db, okDB := decimal.ParseInt(argv[migrateDB])
	if !okTimeout || !okDB {
		return commands.ErrNotInteger
	}
	if m.timeoutMS, m.db = timeout, db; timeout <= 0 {
		m.timeoutMS = defaultTimeoutMS
	}
	m.keys = commands.CloneAll(keys)
	return nil
}

// pack makes the commands for the target. It leaves out missing keys.
func (m *migration) pack(c *commands.Ctx, host Transfer) {
	name, present := "RESTORE", m.keys[:0]
	if host.InCluster() {
		name = "RESTORE-ASKING"
	}
	var payload []byte
	for _, key := range m.keys {
		r := c.DB.Find(key)
		if !r.OK() {
			continue
		}
		ttl := int64(0)
		if at := r.DeadlineMS(); at != 0 {
			ttl = max(1, at-c.NowMS())
		}
		payload = persistence.Dump(payload[:0], r, host.Compresses())
		words := [][]byte{[]byte(name), key, strconv.AppendInt(nil, ttl, 10), payload}
		if m.replace {
			words = append(words, []byte("REPLACE"))
		}
		m.restores = resp.AppendCommand(m.restores, words...)
		present = append(present, key)
	}
	m.keys = present
	m.acked = make([]bool, len(present))
}

// migrate reads the keys at once. The target is contacted without the lock, if the client can wait.
func migrate(c *commands.Ctx, host Transfer) error {
	m := new(migration)
	if err := m.read(c.Argv); err != nil {
		return err
	}
	if m.pack(c, host); len(m.keys) == 0 {
		c.Out.Simple("NOKEY")
		return nil
	}
	return host.State().carry(c, host, m)
}

// send sends the keys to the target and reads its answers, until ctx ends. It needs no lock.
func (m *migration) send(ctx context.Context, targets *Targets) {
	if m.try(ctx, targets, true) {
		m.try(ctx, targets, false)
	}
}
