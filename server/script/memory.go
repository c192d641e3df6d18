package script

// Memory holds about the sizes of an engine's parts, in bytes.
type Memory struct{ Machine, FunctionMachine, Scripts, Libraries int }

// machineBytes is about the size of a Lua state with only its libraries. TestMemory measures it.
const machineBytes = 46 << 10

// Memory returns the sizes of the Lua states, without the values of scripts, and of compiled code.
func (e *Engine) Memory() Memory {
	m := Memory{Scripts: e.cache.bytes, Libraries: e.libraries.bytes}
	if e.scripts != nil {
		m.Machine = machineBytes
	}
	if e.functions != nil {
		m.FunctionMachine = machineBytes
	}
	return m
}
