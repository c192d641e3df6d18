package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"

	"lockserver/commands"
	"lockserver/internal/config"
	"lockserver/internal/rusage"
	"lockserver/server/acl"
	"lockserver/server/memory"
	"lockserver/server/shard"
	"lockserver/server/stats"
	"lockserver/server/testmode"
	"lockserver/server/transport"
	"lockserver/store"
	"lockserver/store/hash"
	"lockserver/store/hll"
	"lockserver/store/list"
	"lockserver/store/set"
	"lockserver/store/stream"
	"lockserver/store/zset"
)

func configRows() []commands.Row {
	admin := whenever | commands.Admin
	perParameter := "O(N) where N is the number of parameters given"
	row := func(name string, run func(*commands.Ctx) error, summary, complexity string, args ...commands.Arg) commands.Row {
		return commands.Row{Name: name, Group: commands.Server, Since: "2.0.0", Flags: admin, Run: run, Summary: summary,
			Complexity: complexity, Args: args}
	}
	set := row("set", configSet, "Changes directives; all of them, or none.", perParameter,
		commands.Block("data", commands.Str("parameter"), commands.Str("value")).Many())
	set.Secrets = configSecrets
	reset := row("resetstat", configResetStat, "Sets the counts of INFO to zero.", "O(1)")
	rewrite := row("rewrite", configRewrite, "Writes the directives in force into the configuration file.", "O(1)")
	rewrite.Since = "2.8.0"
	for _, r := range []*commands.Row{&set, &reset, &rewrite} {
		r.Tips = []string{"request_policy:all_nodes", "response_policy:all_succeeded"}
	}
	return []commands.Row{{Name: "config", Group: commands.Server, Since: "2.0.0", HelpSince: "5.0.0",
		Summary: "Commands about the configuration.", Complexity: "Depends on the subcommand.",
		Sub: []commands.Row{
			row("get", configGet, "Returns the directives that patterns match.", perParameter,
				commands.Str("parameter").Many()),
			set, rewrite,
			reset,
		}}}
}

func configGet(c *commands.Ctx) error {
	var patterns []string
	for _, p := range c.Args().Rest() {
		patterns = append(patterns, string(p))
	}
	pairs := sessionOf(c).executor.config.Get(patterns...)
	c.Out.Map(len(pairs) / 2)
	for _, word := range pairs {
		c.Out.BulkString(word)
	}
	return nil
}

// configSecrets are the values of the secret directives among the words.
func configSecrets(args [][]byte, dst []int) []int {
	for i := 2; i+1 < len(args); i += 2 {
		if config.IsSecret(string(args[i])) {
			dst = append(dst, i+1)
		}
	}
	return dst
}

func configSet(c *commands.Ctx) error {
	a := c.Args()
	if a.Left()%2 != 0 {
		return commands.ErrSyntax
	}
	var pairs []string
	for _, word := range a.Rest() {
		pairs = append(pairs, string(word))
	}
	s := sessionOf(c)
	ex := s.executor
	next := ex.config.Clone()
	names, err := next.Set(pairs, s.IsLocal())
	if err == nil && ex.Durable.Loading() && slices.ContainsFunc(names, fixedInLoad) {
		return commands.ErrLoading
	}
	if err == nil {
		err = staysInTestMode(next, names)
	}
	if name := named(names, "port", "tls-port", "bind", "dir"); err == nil && name != "" && ex.opts.peers != nil {
		err = &config.SetError{Name: name, Reason: "the shards of a process have their places from the start"}
	}
	if err == nil && slices.Contains(names, "maxclients") {
		err = admitsMaxClients(next)
	}
	if err == nil {
		err = ex.keptByGroup(names)
	}
	if err == nil && slices.Contains(names, "requirepass") && usersOf(c).Shared() && next.RequirePassFile == "" {
		return agreeOnPassword(c, next.RequirePass, names)
	}
	if err == nil {
		err = configurer{ex}.encryptAnew(next, names)
	}
	if err != nil {
		return configError(err)
	}
	if err := (configurer{ex}).reconfigure(next, next, names); err != nil {
		return configError(err)
	}
	ex.applyConfig()
	ex.host.tellPlace()
	if named(names, "requirepass", "requirepass-file") != "" {
		ex.users.SetDefaultPassword(next.RequirePass)
		s.followDefault()
	}
	c.Out.OK()
	return nil
}

// agreeOnPassword is CONFIG SET requirepass in a raft group that has its users in its log.
func agreeOnPassword(c *commands.Ctx, password string, names []string) error {
	if len(names) > 1 {
		return configError(&config.SetError{Name: "requirepass", Reason: "it goes to all members of the raft group: give it alone"})
	}
	s := sessionOf(c)
	return usersOf(c).Agree(c, func(draft *acl.Users) error {
		draft.SetDefaultPassword(password)
		return nil
	}, func(c *commands.Ctx) {
		setRequirePass(s.executor, password)
		s.followDefault()
		c.Out.OK()
	})
}

// setRequirePass changes what CONFIG GET shows of the password.
func setRequirePass(ex *executor, password string) {
	next := ex.config.Clone()
	next.RequirePass = password
	if err := (configurer{ex}).reconfigure(next, next, nil); err != nil {
		ex.Logger.Error("requirepass is shown as it was", "cause", err)
	}
}

// fixedInLoad reports whether a directive stays as it is while data is loaded: a load goes by it.
func fixedInLoad(name string) bool {
	switch name {
	case "appendonly", "dir", "repl-diskless-load":
		return true
	}
	return false
}

// admitsMaxClients refuses a number of clients for which there are not enough descriptors.
// The error is a *config.SetError.
func admitsMaxClients(next *config.Config) error {
	fit, _, err := FitMaxClients(next.MaxClients, next.IOThreads)
	if err != nil {
		return &config.SetError{Name: "maxclients", Reason: err.Error()}
	}
	if fit < next.MaxClients {
		return &config.SetError{Name: "maxclients", Reason: fmt.Sprintf(
			"The operating system is not able to handle the specified number of clients, try with %d", fit)}
	}
	return nil
}

// encryptAnew reads certificates and keys again if a directive of TLS was given, be it the same file as
// before. The error is a *config.SetError; the log has the reason.
func (ex configurer) encryptAnew(next *config.Config, names []string) error {
	i := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, "tls-") })
	if i < 0 || next.TLS.Port == 0 {
		return nil
	}
	if err := ex.encryption.Configure(&next.TLS); err != nil {
		ex.Logger.Warn("TLS stays as it is", "cause", err)
		return &config.SetError{Name: names[i], Reason: "Unable to update TLS configuration. Check server logs."}
	}
	return nil
}

// listening are the directives that say where clients come from.
var listening = []string{"port", "bind", "tls-port"}

// named is the first of some names that was given; empty: none.
func named(names []string, some ...string) string {
	if i := slices.IndexFunc(names, func(name string) bool { return slices.Contains(some, name) }); i >= 0 {
		return names[i]
	}
	return ""
}

// reconfigure makes next the configuration; names are the directives that are new. The server then listens
// where listen says. After an error all is as it was. The error is one of listenAnew or of durability.
func (ex configurer) reconfigure(next, listen *config.Config, names []string) error {
	back, err := ex.listenAnew(listen, names)
	if err != nil {
		return err
	}
	if err := ex.Durable.Reconfigure(next, names); err != nil {
		back()
		return err
	}
	ex.config = next
	return nil
}

// listenAnew listens where the directives say, if one was given that does; connections stay. back takes it
// back. The error is a *config.SetError; the log has the reason. An embedded server stays where the program
// has put it.
func (ex configurer) listenAnew(next *config.Config, names []string) (back func(), err error) {
	back = func() { _ = ex.encryptAnew(ex.config, names) }
	if named(names, listening...) == "" {
		return back, nil
	}
	if !ex.opts.EventLoops {
		return back, &config.SetError{Name: named(names, listening...), Reason: "can't set immutable config"}
	}
	was := ex.host.port()
	port := next.Port
	if port == 0 && !slices.Contains(names, "port") { // it is a free one
		port = was
	}
	if err := ex.host.move(next.Bind, port, ex.secure(next)); err != nil {
		back()
		return back, ex.couldNotListen(err, names)
	}
	return func() {
		if err := ex.host.move(ex.config.Bind, was, ex.secure(ex.config)); err != nil {
			ex.Logger.Error("could not listen again where it was", "cause", err)
		}
		_ = ex.encryptAnew(ex.config, names)
	}, nil
}

// couldNotListen is the client's error for one of transport.Endpoint.Move.
func (ex configurer) couldNotListen(err error, names []string) error {
	name, reason := named(names, "port", "bind"), "Unable to listen on this port. Check server logs."
	if failed := (*transport.MoveError)(nil); errors.As(err, &failed) && failed.Secure {
		name = named(names, "tls-port", "bind")
	}
	if name == "bind" {
		reason = "Failed to bind to specified addresses."
	}
	ex.Logger.Warn("Warning: " + err.Error())
	ex.Logger.Warn("Failed applying new configuration. Possibly related to new " + name + " setting. Restoring previous settings.")
	return &config.SetError{Name: name, Reason: reason}
}

// configError turns a refusal into what the client sees.
func configError(err error) error {
	var unknown *config.UnknownError
	if errors.As(err, &unknown) {
		return commands.Error(unknown.Error())
	}
	var set *config.SetError
	if errors.As(err, &set) {
		return commands.Error(set.Error())
	}
	return err
}

func configRewrite(c *commands.Ctx) error {
	ex := sessionOf(c).executor
	if ex.opts.ConfigFile == "" {
		return commands.ErrNoConfigFile
	}
	if err := ex.withUsers().RewriteFile(ex.opts.ConfigFile); err != nil {
		ex.Logger.Error("CONFIG REWRITE failed", "cause", err)
		return commands.ErrRewrite(err)
	}
	c.Out.OK()
	return nil
}

func configResetStat(c *commands.Ctx) error {
	configurer{sessionOf(c).executor}.forgetCounts()
	c.Out.OK()
	return nil
}

// forgetCounts sets all that is counted to zero.
func (ex configurer) forgetCounts() {
	ex.Store.ResetStats()
	ex.counts = counts{limiters: commands.Refusals{Hash: ex.counts.limiters.Hash}}
	ex.Counts = shard.Counts{Delayed: shard.Delayed{SinceMS: ex.Counts.Delayed.SinceMS}}
	ex.Waits.ForgetCounts()
	ex.Stats.ForgetCounts()
	ex.Durable.ForgetCounts()
	ex.scripts.ForgetCounts()
	clear(ex.users.Log.Denied[:])
}

// The directives in the form in which they are used.

// applyConfig turns the directives into the forms in which they are used: at the start, and after CONFIG
// SET. After the start it runs under the executor.
func (ex *executor) applyConfig() {
	c := ex.config
	ex.limits.configure(c)
	ex.Settings = commands.Settings{
		Refusals:       &ex.counts.limiters,
		Counts:         &ex.counts.ofCommands,
		MaxStringBytes: c.ProtoMaxBulkLen,
		LockWatchdogMS: c.LockWatchdogTimeoutMS,
		Events:         c.NotifyKeyspaceEvents.Effective(),
		OneSlot:        ex.group.Strict(),
	}
	ex.followEvents()
	ex.users.Configure(c.ACLPubSubDefault == "allchannels", c.ACLLogMaxLen)
	ex.tracking.Bound(c.TrackingTableMaxKeys)
	ex.scripts.SetTimeLimit(c.BusyReplyThresholdMS)
	ex.boundMemory()
	ex.Replication.Reconfigured()
	ex.Acks.Release()
	ex.guarded = ex.Follows && c.Replication.ReadOnly || c.Replication.MinToWrite > 0
	ex.mayBeStale, ex.Acks.Needed = ex.Follows && !c.Replication.ServeStale, !ex.Follows && c.Replication.MinAck > 0
	if ex.Member != nil {
		ex.guarded, ex.mayBeStale, ex.Acks.Needed = false, ex.Follows, !ex.Follows
		ex.Settings.MayRecur = ex.Member.MayRecur
	}
	ex.Store.OwnDeadlines().Remember(ex.Follows && ex.Member == nil)
	ex.Gauge.Configure(c.SlowlogSlowerThanUS, c.LatencyMonitorThresholdMS)
	ex.Stats.Tracking, ex.Stats.Percentiles = c.LatencyTracking, nil
	for _, p := range c.LatencyPercentiles {
		ex.Stats.Percentiles = append(ex.Stats.Percentiles, stats.Percentile{Of: p, Text: config.PercentileText(p)})
	}
	ex.Gauge.ConfigureLogs(c.CommandlogRequestLargerThan, c.CommandlogReplyLargerThan, c.CommandlogLockWaitLongerThanUS)
	ex.Stats.Requests.Most, ex.Stats.Replies.Most = c.CommandlogLargeRequestMaxLen, c.CommandlogLargeReplyMaxLen
	ex.Stats.Waits.Most = c.CommandlogLockWaitMaxLen
	ex.Stats.Slow.Most, ex.Stats.Events.ThresholdMS = c.SlowlogMaxLen, c.LatencyMonitorThresholdMS
	ex.Store.SetLimits(store.Limits{
		Hash: hash.Limits{Entries: int(c.HashMaxListpackEntries), Value: int(c.HashMaxListpackValue)},
		Set: set.Limits{IntsetEntries: int(c.SetMaxIntsetEntries), Entries: int(c.SetMaxListpackEntries),
			Value: int(c.SetMaxListpackValue)},
		ZSet:      zset.Limits{Entries: int(c.ZSetMaxListpackEntries), Value: int(c.ZSetMaxListpackValue)},
		List:      list.Limits{Fill: c.ListMaxListpackSize},
		HLL:       hll.Limits{SparseBytes: int(c.HLLSparseMaxBytes)},
		Stream:    stream.Limits{NodeMaxBytes: int(c.StreamNodeMaxBytes), NodeMaxEntries: int(c.StreamNodeMaxEntries)},
		Producers: stream.ProducerLimits{DurationS: c.StreamIdmpDuration, MaxSize: c.StreamIdmpMaxSize},
	})
	if ex.opts.LogLevel != nil {
		ex.opts.LogLevel.Set(c.LogLevel.SlogLevel())
	}
	ex.Waits.Configure(c)
}

// boundMemory tells the store what the directives say of memory.
func (ex *executor) boundMemory() {
	c := ex.config
	ex.Store.SetMemory(store.Memory{MaxBytes: ex.memoryBound(), Policy: policies[c.MaxMemoryPolicy], Samples: c.MaxMemorySamples,
		LogFactor: c.LFULogFactor, DecayMinutes: c.LFUDecayMinutes}, ex.Rand)
	ex.Store.SetLazy(store.Lazy{Eviction: c.LazyEviction, Expire: c.LazyExpire, ServerDel: c.LazyServerDel, UserDel: c.LazyUserDel,
		UserFlush: c.LazyUserFlush})
	ex.Memory.Pressure.Evicting = ex.mustEvict()
	ex.Memory.Clients.SetLimit(clientLimitOf(c))
	ex.Memory.Pressure.MostEvictions = memory.EvictionKeys(c.EvictionTenacity)
}

// mustEvict reports whether memory is full, and keys go then.
func (ex *executor) mustEvict() bool {
	return ex.Store.Full() && policies[ex.config.MaxMemoryPolicy] != store.NoEviction
}

// memoryBound is maxmemory. A replica has no bound unless it is configured to have one: its master decides
// which keys are evicted.
func (ex *executor) memoryBound() int {
	if ex.Follows && (ex.config.Replication.IgnoreMaxMemory || ex.Member != nil) {
		return 0
	}
	return int(ex.config.MaxMemory)
}

// policies are the words of maxmemory-policy.
var policies = map[string]store.Policy{
	"noeviction":  store.NoEviction,
	"allkeys-lru": store.AllKeysLRU, "allkeys-lfu": store.AllKeysLFU, "allkeys-random": store.AllKeysRandom,
	"volatile-lru": store.VolatileLRU, "volatile-lfu": store.VolatileLFU, "volatile-random": store.VolatileRandom,
	"volatile-ttl": store.VolatileTTL,
}

// reservedDescriptors is how many descriptors are kept for what is not a client, as in Redis:
// files, listeners, the runtime's.
const reservedDescriptors = 32

// FitMaxClients makes the process able to have maxClients clients, and two descriptors for each
// further event loop (of io-threads): it raises the limit of open files. Where it may not, fits is how many
// clients there can be instead, and warning says so; it is empty if all is well. err says that the limit
// leaves nothing for clients. It is for programs that own their process.
func FitMaxClients(maxClients, loops int) (fits int, warning string, err error) {
	return fitMaxClients(maxClients, loops, rusage.OpenFiles)
}

func fitMaxClients(maxClients, loops int, openFiles func(need uint64) (uint64, bool, error)) (fits int, warning string, err error) {
	reserved := uint64(reservedDescriptors + 2*max(0, loops-1))
	need := uint64(maxClients) + reserved
	limit, ok, cause := openFiles(need)
	switch {
	case !ok || limit >= need:
		return maxClients, "", nil
	case limit <= reserved:
		return 0, "", fmt.Errorf("the limit of open files (ulimit -n) is %d, which leaves none for clients: %d are reserved, "+
			"and maxclients %d needs %d", limit, reserved, maxClients, need)
	}
	warning = fmt.Sprintf("maxclients is %d instead of %d: that many would need %d open files, and the limit (ulimit -n) is %d, "+
		"which the system does not raise: %v", limit-reserved, maxClients, need, limit, cause)
	return int(limit - reserved), warning, nil
}

// secure returns the encrypted port, or nil.
func (ex *executor) secure(c *config.Config) *transport.Secure {
	if c.TLS.Port == 0 {
		return nil
	}
	return &transport.Secure{Bind: c.Bind, Port: c.TLS.Port, Config: func() *tls.Config { return ex.encryption.Fresh(ex.Logger) }}
}

// staysInTestMode refuses a change of the configuration that test mode must not have. The error is a
// *config.SetError.
func staysInTestMode(next *config.Config, names []string) error {
	if !next.TestMode {
		return nil
	}
	fit := next.Clone()
	if err := testmode.Fit(fit); err != nil {
		return &config.SetError{Name: names[0], Reason: err.Error()}
	}
	if name := named(names, listening...); name != "" && next.TestTopology != testmode.Standalone {
		return &config.SetError{Name: name, Reason: "test-topology: clients know the members by their ports"}
	}
	if next.DBFilename != "" || len(next.Save) > 0 {
		return &config.SetError{Name: names[0], Reason: "test-mode: nothing is kept"}
	}
	return nil
}
