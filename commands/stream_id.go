package commands

import (
	"bytes"
	"math"

	"lockserver/store/stream"
)

// maxIDBytes is the longest spelling of an ID that Redis reads.
const maxIDBytes = 127

// splitStreamID splits an ID into its two halves. Redis works on C strings: a zero byte ends the ID.
func splitStreamID(text []byte) (ms, seq []byte, hasSeq, ok bool) {
	if len(text) > maxIDBytes {
		return nil, nil, false, false
	}
	ms, seq, hasSeq = bytes.Cut(clip(text, len(text)), []byte("-"))
	return ms, seq, hasSeq, true
}

// parseStreamID parses "ms-seq", or "ms", which means ms-missingSeq.
func parseStreamID(text []byte, missingSeq uint64) (id stream.ID, ok bool) {
	ms, seq, hasSeq, ok := splitStreamID(text)
	if !ok {
		return id, false
	}
	if id.MS, ok = parseUint(ms); !ok {
		return id, false
	}
	id.Seq = missingSeq
	if hasSeq {
		id.Seq, ok = parseUint(seq)
	}
	return id, ok
}

// parseNewStreamID parses the ID of an entry to add: "ms-seq", "ms" for ms-0, or "ms-*". With the last form
// the stream chooses the sequence number, and autoSeq is true.
func parseNewStreamID(text []byte) (id stream.ID, autoSeq, ok bool) {
	ms, seq, hasSeq, ok := splitStreamID(text)
	if ok && hasSeq && string(seq) == "*" {
		id.MS, ok = parseUint(ms)
		return id, true, ok
	}
	id, ok = parseStreamID(text, 0)
	return id, false, ok
}

// parseBound parses one end of an interval: an ID, "-" or "+" for the lowest or highest possible ID, or an
// exclusive ID after "(".
func parseBound(text []byte, missingSeq uint64) (id stream.ID, exclusive, ok bool) {
	if len(text) > 1 && text[0] == '(' {
		id, ok = parseStreamID(text[1:], missingSeq)
		return id, true, ok
	}
	switch string(clip(text, len(text))) {
	case "-":
		return stream.ID{}, false, true
	case "+":
		return stream.MaxID(), false, true
	}
	id, ok = parseStreamID(text, missingSeq)
	return id, false, ok
}

// streamID reads an argument as an ID.
func streamID(a *Scanner) stream.ID {
	id, ok := parseStreamID(a.Bytes(), 0)
	if !ok {
		a.Fail(ErrStreamID)
	}
	return id
}

// nextStreamID returns the ID that XADD with * gives the next entry of s; s is nil if the key does not exist.
// It is the ID of the current time, or the one after the last if the clock has not advanced.
func nextStreamID(c *Ctx, s *stream.Stream) (stream.ID, error) {
	last := stream.ID{}
	if s != nil {
		last = s.LastID()
	}
	if last.IsMax() {
		return stream.ID{}, ErrStreamExhausted
	}
	if now := uint64(c.NowMS()); now > last.MS {
		return stream.ID{MS: now}, nil
	}
	return last.Next(), nil
}

// nextSequence returns the ID that XADD with ms-* gives the next entry of s.
func nextSequence(s *stream.Stream, ms uint64) (stream.ID, error) {
	last := stream.ID{}
	if s != nil {
		last = s.LastID()
	}
	switch {
	case last.MS != ms:
		return stream.ID{MS: ms}, nil
	case last.IsMax():
		return stream.ID{}, ErrStreamExhausted
	case last.Seq == math.MaxUint64:
		return stream.ID{}, ErrStreamIDSmall
	default:
		return last.Next(), nil
	}
}
