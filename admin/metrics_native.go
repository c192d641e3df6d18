package admin

import (
	"maps"
	"slices"
	"strconv"

	dto "github.com/prometheus/client_model/go"

	"lockserver/commands"
	"lockserver/internal/lockclass"
	"lockserver/server"
	"lockserver/server/raft"
)

// mostSales is the largest number of sales with metrics of their own, of all shards together. Each sale costs
// a few series, as long as Prometheus stores them.
const mostSales = 2000

// The metrics that only this server has. A database is a label, because databases share no names.
var (
	locksHeld   = gauge("lockserver_locks_held", "Locks that are held, as LOCK.LIST shows them.", "db")
	lockWaiters = gauge("lockserver_lock_waiters", "Commands that wait for locks, permits or limiters.", "db")
	lockWaits   = metric{"lockserver_lock_wait_seconds", dto.MetricType_HISTOGRAM,
		"How long commands waited for locks, however their waits ended.", []string{"db"}}
	oldestWait      = gauge("lockserver_lock_oldest_wait_seconds", "For how long the oldest wait for a lock or a permit has been under way; 0: there is none. Limiters do not count.")
	longestHold     = gauge("lockserver_lock_longest_hold_seconds", "For how long the lock has been held that has been held longest; 0: none is held.")
	handoffs        = counter("lockserver_lock_handoffs_total", "Locks that were granted to who had waited for them.", "db")
	leasesExpired   = counter("lockserver_leases_expired_total", "Leases that ran out while their lock was held.", "db")
	deadlocks       = counter("lockserver_deadlocks_total", "Waits that were refused because they closed a deadlock cycle.", "db")
	staleTokens     = counter("lockserver_stale_tokens_total", "Commands with a token that was not, or no longer, that of the lock.", "db")
	notifyWaits     = gauge("lockserver_lock_waiters_notify", "Waits for locks that block no connection (NOTIFY). They are among lockserver_lock_waiters.")
	toConfirm       = gauge("lockserver_lock_grants_to_confirm", "Locks that were granted after such waits and are not confirmed yet.")
	unconfirmed     = counter("lockserver_lock_unconfirmed_grants_total", "Grants after such waits that were not confirmed in time, and passed on.")
	lockAsks        = counter("lockserver_lock_asks_total", "Calls of LOCK.ASK for locks that were held.")
	asksHeard       = counter("lockserver_lock_asks_heard_total", "Calls of LOCK.ASK that reached a client of a holder.")
	maxWaiters      = gauge("lockserver_lock_max_waiters", "The directive lock-max-waiters; 0: no limit.")
	maxWaits        = gauge("lockserver_lock_max_waits_per_client", "The directive lock-max-waits-per-client; 0: no limit.")
	limitRefusals   = counter("lockserver_lock_limit_refusals_total", "Waits that were refused with -LOCKLIMIT: lock-max-waiters, lock-max-waits-per-client.")
	limiterRefusals = counter("lockserver_limiter_refusals_total", "Calls that limiters refused: LIMIT.TAKE, LIMIT.MTAKE, CL.THROTTLE.")
	// ofCommands are the metrics of commands.Counts.
	ofCommands = [...]metric{
		commands.CountGives:        counter("lockserver_limiter_gives_total", "Calls of LIMIT.GIVE that gave units back. One that finds a full limiter does not count."),
		commands.CountExtensions:   counter("lockserver_sale_extensions_total", "Calls of SECKILL.EXTEND that made a hold end later."),
		commands.CountCarts:        counter("lockserver_sale_carts_total", "Carts that were sold (SECKILL.CART). A retry does not count."),
		commands.CountCartRefusals: counter("lockserver_sale_cart_refusals_total", "Calls of SECKILL.CART that one of their sales refused."),
		commands.CountPriorities:   counter("lockserver_lock_priority_waits_total", "Calls that waited for locks or permits with a PRIORITY above 0."),
	}
	classWaits = metric{"lockserver_lock_class_wait_seconds", dto.MetricType_HISTOGRAM,
		"How long commands waited for locks and semaphores of a class (lock-class), however their waits ended.", []string{"class"}}
	classHolds = metric{"lockserver_lock_class_hold_seconds", dto.MetricType_HISTOGRAM,
		"How long locks and semaphores of a class were held, however that ended.", []string{"class"}}
	classGrants    = counter("lockserver_lock_class_grants_total", "New holders of locks and semaphores of a class.", "class")
	classRefusals  = counter("lockserver_lock_class_refusals_total", "Calls without WAIT, and waits beyond a limit, that did not get a lock of a class.", "class")
	classTimeouts  = counter("lockserver_lock_class_timeouts_total", "Waits for locks of a class that ended because their time was over.", "class")
	classDeadlocks = counter("lockserver_lock_class_deadlocks_total", "Waits for locks of a class that closed a deadlock cycle.", "class")
	classLosses    = counter("lockserver_lock_class_losses_total",
		"Locks of a class that their owners lost: expired, forced, deleted, overwritten, unconfirmed.", "class", "reason")
	classWaiting  = gauge("lockserver_lock_class_waiters", "Waits for locks and semaphores of a class.", "class")
	permitGrants  = counter("lockserver_semaphore_grants_total", "Acquisitions of permits of semaphores of a class.", "class")
	permitWaiting = gauge("lockserver_semaphore_waiters", "Waits for permits of semaphores of a class.", "class")
	latchKeys     = gauge("lockserver_latches", "Latches that clients wait for.", "db")
	latchWaiters  = gauge("lockserver_latch_waiters", "Commands that wait for latches.", "db")
	historyBytes  = gauge("lockserver_lock_history_bytes", "Memory of LOCK.HISTORY.")
	spansSent     = counter("lockserver_trace_spans_total", "Spans of waits with a sampled TRACE that a collector took (otlp-endpoint).")
	spansDropped  = counter("lockserver_trace_spans_dropped_total",
		"Spans of waits that were dropped: the queue was full, or the collector did not take them.")
	watchdogs     = gauge("lockserver_lock_watchdogs", "Locks with a lease that the server renews.")
	salesCount    = gauge("lockserver_sales", "Sales. The latest "+strconv.Itoa(mostSales)+" have metrics of their own.")
	saleStock     = gauge("lockserver_sale_stock", "Pieces that are left.", "db", "voucher")
	saleSold      = counter("lockserver_sale_sold_total", "Pieces that were sold, those that were taken back later among them.", "db", "voucher")
	saleReturned  = counter("lockserver_sale_returned_total", "Pieces of orders that were taken back: cancelled, or not confirmed in time.", "db", "voucher")
	saleHeld      = gauge("lockserver_sale_held", "Pieces that are sold and not yet confirmed.", "db", "voucher")
	saleConfirmed = gauge("lockserver_sale_confirmed", "Pieces of confirmed orders.", "db", "voucher")
	saleLag       = gauge("lockserver_sale_lag", "Orders that a group of consumers has not been given.", "db", "group", "voucher")
	salePending   = gauge("lockserver_sale_pending", "Orders that it has been given and has not acknowledged.", "db", "group", "voucher")
	delayPending  = gauge("lockserver_delayed_pending", "Entries that are added to their streams later (DELAY.ADD).", "db")
	delayFired    = counter("lockserver_delayed_fired_total", "Delayed entries that were added to their streams.")
	delayRecurred = counter("lockserver_delayed_recurred_total", "Delayed entries that recur and were added to their streams.")
	delaySkipped  = counter("lockserver_delayed_skipped_total", "Times of recurring entries that were missed and not made up for.")
	delayLate     = metric{"lockserver_delayed_late_seconds", dto.MetricType_HISTOGRAM, "How late delayed entries were added to their streams.", nil}
	certificate   = gauge("lockserver_tls_certificate_end_seconds", "When the first of the server's certificates ends, in seconds since 1970.")
	alarms        = gauge("lockserver_raft_alarm", "What an operator has to look at, by kind: docs/RUNBOOK.md has a paragraph for each.", groupLabel, "kind")
	logSyncs      = metric{"lockserver_raft_log_sync_seconds", dto.MetricType_HISTOGRAM, "How long syncs of the group's log took on this member.", []string{groupLabel}}
	commits       = metric{"lockserver_raft_commit_seconds", dto.MetricType_HISTOGRAM,
		"How long it took from the proposal of an entry by this leader until it was committed and applied.", []string{groupLabel}}
	roundTrips = metric{"lockserver_raft_member_round_trip_seconds", dto.MetricType_HISTOGRAM,
		"How long members took to answer heartbeats of this leader, which wait for no disk.", []string{groupLabel, "member"}}
	memberLag   = gauge("lockserver_raft_member_lag_entries", "Committed entries that a member has not applied, as far as this one knows.", groupLabel, "member")
	syncSeconds = metric{"lockserver_aof_sync_seconds", dto.MetricType_HISTOGRAM, "How long syncs of the append-only log took.", nil}
)

func nativeMetrics() []*metric {
	all := []*metric{&locksHeld, &lockWaiters, &lockWaits, &oldestWait, &longestHold, &handoffs, &lockAsks, &asksHeard, &leasesExpired, &deadlocks, &staleTokens, &notifyWaits, &toConfirm, &unconfirmed, &maxWaiters, &maxWaits,
		&limitRefusals, &limiterRefusals, &watchdogs, &classWaits, &classHolds, &classGrants, &classRefusals, &classTimeouts, &classDeadlocks, &classLosses, &classWaiting,
		&permitGrants, &permitWaiting, &latchKeys, &latchWaiters, &historyBytes, &spansSent, &spansDropped, &salesCount,
		&saleStock, &saleSold, &saleReturned, &saleHeld, &saleConfirmed, &saleLag, &salePending,
		&delayPending, &delayFired, &delayRecurred, &delaySkipped, &delayLate, &syncSeconds, &certificate, &alarms, &logSyncs, &commits, &roundTrips, &memberLag}
	for i := range ofCommands {
		all = append(all, &ofCommands[i])
	}
	return all
}

// member sends the alarms of a member of a raft group, and the end of its first certificate.
func (s *scrape) member(f *server.Figures, group string) {
	if !f.CertificateEnds.IsZero() {
		s.send(&certificate, float64(f.CertificateEnds.Unix()))
	}
	if !f.InGroup {
		return
	}
	of := make(map[raft.Kind]int)
	for _, a := range f.Alarms {
		of[a.Kind]++
	}
	for _, k := range raft.Kinds {
		s.send(&alarms, float64(of[k]), group, string(k))
	}
	s.raftTimes(f, group)
}

// raftTimes sends the durations of steps in a raft group, and the lag of members.
func (s *scrape) raftTimes(f *server.Figures, group string) {
	t := &f.RaftTimes
	s.sendTimes(&logSyncs, &t.Sync.All, group)
	s.sendTimes(&commits, &t.Commit.All, group)
	for i := range t.Trips {
		s.sendTimes(&roundTrips, &t.Trips[i].All, group, t.Trips[i].ID)
	}
	for _, l := range f.RaftLags {
		s.send(&memberLag, float64(l.Entries), group, l.ID)
	}
}

// dbName is the name of a database in redis_exporter.
func dbName(id int) string { return "db" + strconv.Itoa(id) }

// locks sends the metrics of the locks, of delayed entries and of the log. Database 0 is always included,
// so that there is a series to draw.
func (s *scrape) locks(f *server.Figures) {
	ids := slices.Sorted(maps.Keys(f.Locks))
	for _, id := range ids {
		l, db := f.Locks[id], dbName(id)
		s.send(&locksHeld, float64(l.Held), db)
		s.send(&lockWaiters, float64(l.Waiting), db)
		s.send(&latchKeys, float64(l.Latches), db)
		s.send(&latchWaiters, float64(l.LatchWaiters), db)
		s.send(&handoffs, float64(l.Handoffs), db)
		s.send(&leasesExpired, float64(l.Expired), db)
		s.send(&deadlocks, float64(l.Deadlocks), db)
		s.send(&staleTokens, float64(l.StaleTokens), db)
		s.sendTimes(&lockWaits, &l.Waits.Histogram, db)
	}
	s.send(&notifyWaits, float64(f.NotifyWaits))
	s.send(&toConfirm, float64(f.GrantsToConfirm))
	s.send(&unconfirmed, float64(f.UnconfirmedGrants))
	s.send(&lockAsks, float64(f.LockAsks))
	s.send(&asksHeard, float64(f.LockAsksHeard))
	s.send(&maxWaiters, float64(f.LockMaxWaiters))
	s.send(&maxWaits, float64(f.LockMaxWaitsPerClient))
	s.send(&limitRefusals, float64(f.LimitRefusals))
	s.send(&limiterRefusals, float64(f.LimiterRefusals))
	for event, n := range f.Counts {
		s.send(&ofCommands[event], float64(n))
	}
	s.send(&watchdogs, float64(f.Watchdogs))
	s.send(&oldestWait, float64(f.OldestWaitUS)/1e6)
	s.send(&longestHold, float64(f.LongestHoldMS)/1e3)
	for _, id := range slices.Sorted(maps.Keys(f.Delays.Pending)) {
		s.send(&delayPending, float64(f.Delays.Pending[id]), dbName(id))
	}
	s.send(&delayFired, float64(f.Delays.Fired))
	s.send(&delayRecurred, float64(f.Delays.Recurred))
	s.send(&delaySkipped, float64(f.Delays.Skipped))
	s.sendTimes(&delayLate, &f.Delays.Late)
	if f.Syncs != nil {
		s.sendTimes(&syncSeconds, f.Syncs)
	}
}

// classes sends the metrics of the classes of locks.
func (s *scrape) classes(f *server.Figures) {
	for i := range f.LockClasses {
		c := &f.LockClasses[i]
		s.sendTimes(&classWaits, &c.Waits, c.Name)
		s.sendTimes(&classHolds, &c.Holds, c.Name)
		s.send(&classGrants, float64(c.Grants), c.Name)
		s.send(&classRefusals, float64(c.Refusals), c.Name)
		s.send(&classTimeouts, float64(c.Timeouts), c.Name)
		s.send(&classDeadlocks, float64(c.Deadlocks), c.Name)
		s.send(&classWaiting, float64(c.Waiting), c.Name)
		s.send(&permitGrants, float64(c.PermitGrants), c.Name)
		s.send(&permitWaiting, float64(c.PermitWaiting), c.Name)
		for reason, n := range c.Lost {
			s.send(&classLosses, float64(n), c.Name, lockclass.LossNames[reason])
		}
	}
	s.send(&historyBytes, float64(f.LockHistoryBytes))
	s.send(&spansSent, float64(f.SpansDelivered))
	s.send(&spansDropped, float64(f.SpansDropped))
}

// sales sends the metrics of the sales.
func (s *scrape) sales(f *server.Figures) {
	s.send(&salesCount, float64(f.Sales))
	reported := 0
	s.source.EachSale(func(id int, sale *commands.SaleFigures) bool {
		db := dbName(id)
		pairs, isNew := s.label(&saleStock, db, sale.Voucher)
		if !isNew {
			return true
		}
		s.sendTo(&saleStock, float64(sale.Stock), pairs)
		s.sendTo(&saleSold, float64(sale.Sold)+float64(sale.Returned), pairs)
		s.sendTo(&saleReturned, float64(sale.Returned), pairs)
		s.sendTo(&saleHeld, float64(sale.Held), pairs)
		s.sendTo(&saleConfirmed, float64(sale.Confirmed), pairs)
		for _, g := range sale.Groups {
			pairs, isNew := s.label(&salePending, db, g.Name, sale.Voucher)
			if !isNew {
				continue
			}
			s.sendTo(&salePending, float64(g.Pending), pairs)
			if g.Lag >= 0 {
				s.sendTo(&saleLag, float64(g.Lag), pairs)
			}
		}
		reported++
		return reported < s.mostSales
	})
}
