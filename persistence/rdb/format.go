package rdb

// MaxVersion is the newest version of the format that Reader knows (Redis 8.6). Version 13 adds typeStream4.
// The other additions of version 13 are refused.
const MaxVersion = 13

// Versions that Writer can write.
const (
	// Version7 can be read by Redis 7.0 and everything newer.
	Version7 = 10
	// VersionFieldExpiry is the oldest version with deadlines of hash fields (Redis 7.4).
	VersionFieldExpiry = 12
)

// Value types. Format, do not change.
const (
	typeString          = 0
	typeList            = 1
	typeSet             = 2
	typeZSet            = 3 // scores as text
	typeHash            = 4
	typeZSet2           = 5 // scores as binary doubles
	typeModulePreGA     = 6
	typeModule2         = 7
	typeHashZipmap      = 9
	typeListZiplist     = 10
	typeSetIntset       = 11
	typeZSetZiplist     = 12
	typeHashZiplist     = 13
	typeListQuicklist   = 14 // nodes are ziplists
	typeStream          = 15
	typeHashListpack    = 16
	typeZSetListpack    = 17
	typeListQuicklist2  = 18 // nodes are listpacks or single large elements
	typeStream2         = 19 // adds first ID, largest deleted ID, entries added, entries read
	typeSetListpack     = 20
	typeStream3         = 21 // adds a consumer's active time
	typeHashFieldsPreGA = 22 // an absolute deadline for each field
	typeHashPackExPreGA = 23 // listpack of field, value, deadline
	typeHashFields      = 24 // deadlines relative to the least of them
	typeHashListpackEx  = 25 // as 23, after the least deadline
	typeStream4         = 26 // adds the producers that it remembers, after the groups (Redis 8.6)
	plainNode           = 1  // quicklist node container: a single element
	packedNode          = 2  // quicklist node container: a listpack
)

// Opcodes in the place of a value type. Format, do not change.
const (
	opSlotInfo      = 244
	opFunction2     = 245
	opFunctionPreGA = 246
	opModuleAux     = 247
	opIdle          = 248
	opFreq          = 249
	opAux           = 250
	opResizeDB      = 251
	opExpireMS      = 252
	opExpireSec     = 253
	opSelectDB      = 254
	opEOF           = 255
)

// First byte of a length, and of an encoded string. Format, do not change.
const (
	len6Bit    = 0x00
	len14Bit   = 0x40
	len32Bit   = 0x80
	len64Bit   = 0x81
	encInt8    = 0xC0
	encInt16   = 0xC1
	encInt32   = 0xC2
	encLZF     = 0xC3
	lenTypeTop = 0xC0 // mask of the two bits that give the form
)

// Opcodes inside a self-describing module value. Format, do not change.
const (
	moduleEOF    = 0
	moduleSInt   = 1
	moduleUInt   = 2
	moduleFloat  = 3
	moduleDouble = 4
	moduleString = 5
)

// maxFieldDeadlineMS is the largest deadline of a hash field that Redis accepts: 48 bits.
const maxFieldDeadlineMS = 1<<48 - 1

// Kind is the kind of an Object's value.
type Kind uint8

// The kinds of values.
const (
	String Kind = iota + 1
	List
	Set
	ZSet
	Hash
	Stream
	Bloom
)

// String returns the kind's name in the reply of TYPE.
func (k Kind) String() string {
	switch k {
	case String:
		return "string"
	case List:
		return "list"
	case Set:
		return "set"
	case ZSet:
		return "zset"
	case Hash:
		return "hash"
	case Stream:
		return "stream"
	case Bloom:
		return "Bloom filter"
	}
	return "none"
}

// typeKind returns the kind of a value type; 0 for an invalid type, or the type of a module.
func typeKind(t byte) Kind {
	switch t {
	case typeString:
		return String
	case typeList, typeListZiplist, typeListQuicklist, typeListQuicklist2:
		return List
	case typeSet, typeSetIntset, typeSetListpack:
		return Set
	case typeZSet, typeZSet2, typeZSetZiplist, typeZSetListpack:
		return ZSet
	case typeHash, typeHashZipmap, typeHashZiplist, typeHashListpack,
		typeHashFieldsPreGA, typeHashPackExPreGA, typeHashFields, typeHashListpackEx:
		return Hash
	case typeStream, typeStream2, typeStream3, typeStream4:
		return Stream
	}
	return 0
}

// typeName returns the name of a value type for error texts.
func typeName(t byte) string {
	switch t {
	case typeModulePreGA, typeModule2:
		return "module value"
	case typeListQuicklist, typeListQuicklist2:
		return "list as quicklist"
	case typeHashZipmap:
		return "hash as zipmap"
	case typeSetIntset:
		return "set as intset"
	case typeListZiplist, typeZSetZiplist, typeHashZiplist:
		return typeKind(t).String() + " as ziplist"
	case typeHashListpack, typeZSetListpack, typeSetListpack, typeHashPackExPreGA, typeHashListpackEx:
		return typeKind(t).String() + " as listpack"
	}
	return typeKind(t).String()
}
