package stats

// Traffic counts the input and output of clients, and the batches of commands in which they were served. It
// is updated once for each batch: output counts when it is passed to the connection.
type Traffic struct {
	Reads, Writes     int64
	InBytes, OutBytes int64
	Batches, BatchUS  int64 // number of batches, and their total time
	LongestUS         int64 // the longest turn: a batch, or a slice of due work
}

// Read counts a read of a number of bytes.
func (t *Traffic) Read(bytes int) {
	t.Reads++
	t.InBytes += int64(bytes)
}

// Write counts output of a number of bytes.
func (t *Traffic) Write(bytes int) {
	t.Writes++
	t.OutBytes += int64(bytes)
}

// Batch counts a batch with its time.
func (t *Traffic) Batch(us int64) {
	t.Batches++
	t.BatchUS += max(us, 0)
	t.Turn(us)
}

// Turn records how long the executor was held without a break.
func (t *Traffic) Turn(us int64) { t.LongestUS = max(t.LongestUS, us) }

// Sums holds the counts that Rates uses.
type Sums struct {
	Commands int64
	Traffic
}

const (
	// slotUS is the length of a slot of Rates, and rateSlots the number of slots for a rate, as in Redis.
	slotUS    = 100_000
	rateSlots = 16
)

// Rates computes how fast counts have risen recently. The zero value is for counts that began at zero.
type Rates struct {
	slot  int64               // the latest slot that has begun
	sums  [rateSlots + 1]Sums // the counts at the beginning of a slot, by its number modulo the length
	endUS int64               // of that slot
}

// Due reports whether the counts must be passed to Rates before anything more is counted.
func (r *Rates) Due(nowUS int64) bool { return nowUS >= r.endUS || nowUS < r.endUS-slotUS }

// Sample passes the current counts.
func (r *Rates) Sample(nowUS int64, now Sums) {
	slot := nowUS / slotUS
	if slot < r.slot { // the clock was set back
		for i := range r.sums {
			r.sums[i] = now
		}
	}
	for s := max(r.slot+1, slot-rateSlots); s <= slot; s++ {
		r.sums[s%int64(len(r.sums))] = now
	}
	r.slot, r.endUS = slot, (slot+1)*slotUS
}

// Rise returns how much each count has risen in the slots before the latest.
func (r *Rates) Rise() Sums {
	n := int64(len(r.sums))
	now, then := &r.sums[r.slot%n], &r.sums[(r.slot+1)%n]
	return Sums{Commands: now.Commands - then.Commands, Traffic: Traffic{
		Reads: now.Reads - then.Reads, Writes: now.Writes - then.Writes, InBytes: now.InBytes - then.InBytes,
		OutBytes: now.OutBytes - then.OutBytes, Batches: now.Batches - then.Batches, BatchUS: now.BatchUS - then.BatchUS}}
}

// PerSecond converts a rise to a rate in a second.
func PerSecond(rise int64) float64 { return float64(rise) * 1_000_000 / (slotUS * rateSlots) }

// recentSeconds is how long Buffers remembers, as in Redis.
const recentSeconds = 8

// Buffers holds the largest amounts of waiting input and output of one client in the last seconds.
type Buffers struct {
	seconds [recentSeconds]struct{ in, out int }
	now     int
}

// Sample passes the number of waiting bytes of a client.
func (b *Buffers) Sample(in, out int) {
	s := &b.seconds[b.now]
	s.in, s.out = max(s.in, in), max(s.out, out)
}

// Tick is called once a second.
func (b *Buffers) Tick() {
	b.now = (b.now + 1) % recentSeconds
	b.seconds[b.now] = struct{ in, out int }{}
}

// Most returns the largest amounts.
func (b *Buffers) Most() (in, out int) {
	for _, s := range b.seconds {
		in, out = max(in, s.in), max(out, s.out)
	}
	return in, out
}
