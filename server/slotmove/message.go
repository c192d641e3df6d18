package slotmove

// A Request goes from a member of one shard to a member of another one.
type Request struct {
	Cluster, To string // names of the cluster, and of the shard that is asked
	// Move is the move that the answer is about.
	Move ID
	// Entries are steps that the target's leader is to write: arrive, stage, ready or take. Without them the
	// source is asked for the status of the move.
	Entries []*Entry
	// Waits go along with take: waits with NOTIFY for keys of the slots, in the order in which they began.
	Waits []QueuedWait
}

// QueuedWait is a wait with NOTIFY (wait.MovedWait). No log has it.
type QueuedWait struct {
	User                string
	Words               [][]byte
	SinceUS, DeadlineMS int64
}

// Size returns about the length of the wait in a message.
func (w *QueuedWait) Size() (n int) {
	n = len(w.User) + 24
	for _, word := range w.Words {
		n += len(word) + 4
	}
	return n
}

// Answer is the answer to a request: the report of the target, or the status of the source.
type Answer struct {
	Report Report
	Status Status
}

// messageVersion begins each request and each answer.
const messageVersion = 1

// AppendTo appends the request in its format, do not change: a version in a byte, then all fields in the
// order of the struct. A text and a list begin with their length, an entry is a text.
func (r *Request) AppendTo(dst []byte) []byte {
	w := writer{append(dst, messageVersion)}
	w.text(r.Cluster)
	w.text(r.To)
	w.id(r.Move)
	w.length(len(r.Entries))
	for _, e := range r.Entries {
		w.text(string(e.AppendTo(nil)))
	}
	w.length(len(r.Waits))
	for i := range r.Waits {
		of := &r.Waits[i]
		w.text(of.User)
		w.length(len(of.Words))
		for _, word := range of.Words {
			w.text(string(word))
		}
		w.numbers(of.SinceUS, of.DeadlineMS)
	}
	return w.b
}

// ParseRequest reads a request.
func ParseRequest(b []byte) (*Request, error) {
	if len(b) == 0 || b[0] != messageVersion {
		return nil, errDamaged
	}
	in := reader{b: b[1:]}
	r := &Request{Cluster: in.text(), To: in.text(), Move: in.id()}
	for n := in.length(); n > 0 && !in.bad; n-- {
		e, err := ParseEntry([]byte(in.text()))
		if err != nil {
			return nil, err
		}
		r.Entries = append(r.Entries, e)
	}
	for n := in.length(); n > 0 && !in.bad; n-- {
		of := QueuedWait{User: in.text()}
		for words := in.length(); words > 0 && !in.bad; words-- {
			of.Words = append(of.Words, []byte(in.text()))
		}
		of.SinceUS, of.DeadlineMS = in.number(), in.number()
		r.Waits = append(r.Waits, of)
	}
	if in.bad || len(in.b) > 0 {
		return nil, errDamaged
	}
	return r, nil
}

// AppendTo appends the answer in its format, do not change: a version in a byte, then all fields in the order
// of the structs.
func (a *Answer) AppendTo(dst []byte) []byte {
	w := writer{append(dst, messageVersion)}
	w.flag(a.Report.Arrived)
	w.place(a.Report.At)
	w.flag(a.Report.Ready)
	w.digest(a.Report.Digest)
	w.flag(a.Report.Taken)
	w.flag(a.Report.Refused)
	w.flag(a.Status.Over)
	w.flag(a.Status.Given)
	w.place(a.Status.End)
	w.numbers(a.Status.FreezeMS, a.Status.Generation, a.Status.Token)
	return w.b
}

// ParseAnswer reads an answer.
func ParseAnswer(b []byte) (*Answer, error) {
	if len(b) == 0 || b[0] != messageVersion {
		return nil, errDamaged
	}
	in := reader{b: b[1:]}
	a := &Answer{Report{in.flag(), in.place(), in.flag(), in.digest(), in.flag(), in.flag()},
		Status{in.flag(), in.flag(), in.place(), in.number(), in.number(), in.number()}}
	if in.bad || len(in.b) > 0 {
		return nil, errDamaged
	}
	return a, nil
}
