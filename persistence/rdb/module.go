package rdb

import "strings"

// moduleLetters lists the letters of a module type's name, by their numbers. Format, do not change.
const moduleLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// moduleID is the inverse of moduleName.
func moduleID(name string, version int) (id uint64) {
	for i := range len(name) {
		id = id<<6 | uint64(strings.IndexByte(moduleLetters, name[i]))
	}
	return id<<10 | uint64(version)
}

// moduleName decodes the name and version of a module's type: nine letters of six bits each, and ten bits.
func moduleName(id uint64) (name string, version int) {
	var b [9]byte
	for i := range b {
		b[i] = moduleLetters[id>>(64-6*(i+1))&63]
	}
	return string(b[:]), int(id & 1023)
}

// skipModule skips a module's data, which describes itself, up to its end mark.
func (d *decoder) skipModule() error {
	for {
		at := d.src.offset()
		op, err := d.length()
		if err != nil {
			return err
		}
		switch op {
		case moduleEOF:
			return nil
		case moduleSInt, moduleUInt:
			_, err = d.length()
		case moduleFloat:
			_, err = d.fixed(4)
		case moduleDouble:
			_, err = d.fixed(8)
		case moduleString:
			err = d.skipString()
		default:
			return d.corrupt(at, "module data: unknown opcode %d", op)
		}
		if err != nil {
			return err
		}
	}
}

// skipModuleAux skips the data that a module keeps besides the keys, and returns the module's name.
func (d *decoder) skipModuleAux() (string, error) {
	id, err := d.length()
	if err != nil {
		return "", err
	}
	at := d.src.offset()
	when, err := d.length()
	if err != nil {
		return "", err
	}
	if when != moduleUInt {
		return "", d.corrupt(at, "module data: %d where its time of loading should begin", when)
	}
	if _, err = d.length(); err != nil {
		return "", err
	}
	name, _ := moduleName(id)
	return name, d.skipModule()
}
