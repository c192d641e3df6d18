package persistence

import (
	"errors"

	"lockserver/persistence/rdb"
	"lockserver/store"
)

// apartKey is the key for a value in the database Apart while the value is read.
var apartKey = []byte("payload")

// Dump appends the payload of a value to dst, as DUMP returns it: in version 10, or 12 if a field of a hash
// has a deadline. compress stores strings over 20 bytes with LZF. The payload contains neither key nor
// deadline.
func Dump(dst []byte, r store.Ref, compress bool) []byte {
	version := rdb.Version7
	if r.Kind() == store.Hash && r.Hash().Timed() > 0 {
		version = rdb.VersionFieldExpiry
	}
	p, err := rdb.DumpPayload(dst, rdb.WriterOptions{Compress: compress, Version: version},
		func(out *rdb.Writer) { saveValue(out, r) })
	if err != nil { // only a wrong order of our own calls can fail
		panic("persistence: a payload that cannot be written: " + err.Error())
	}
	return p
}

// ReadPayload decodes a payload of DUMP, of any version up to 12, without changing any key. The value is nil,
// without an error, if it is a hash with only overdue fields. The error is rdb.ErrPayloadFooter if the bytes
// are not a result of DUMP or come from a newer version. Otherwise it names the malformed place.
func ReadPayload(st *store.Store, payload []byte) (*store.Loose, error) {
	return ReadPayloadWarn(st, payload, nil)
}

// ReadPayloadWarn does the work of ReadPayload, with LoadOptions.Warn.
func ReadPayloadWarn(st *store.Store, payload []byte, warn func(text string)) (*store.Loose, error) {
	p, err := rdb.ParsePayload(payload)
	if err != nil {
		return nil, err
	}
	apart := st.Apart()
	p.Key = apartKey
	_, err = loadKey(p, apart, &p.Entry, &LoadOptions{Warn: warn})
	overdue := errors.Is(err, errExpired)
	if err == nil {
		err = loadBehind(p, apart)
	}
	if err == nil || overdue {
		err = p.Finish()
	}
	if err != nil || overdue {
		apart.Discard(apartKey)
		return nil, err
	}
	return apart.TakeLoose(apartKey), nil
}

// loadBehind reads the fields behind a stream.
func loadBehind(p *rdb.Payload, apart *store.DB) error {
	for {
		field, ok, err := p.NextProducers()
		if !ok || err != nil {
			return err
		}
		if err := loadProducers(p, apart, apartKey, field); err != nil {
			return err
		}
	}
}
