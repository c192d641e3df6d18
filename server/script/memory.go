package script

// Memory is about how many bytes an engine takes.
type Memory struct{ Machine, FunctionMachine, Scripts, Libraries int }

// machineBytes is about what a machine takes that has its libraries and nothing else. TestMemory measures it.
const machineBytes = 46 << 10

// Memory returns what the machines take, without the values of scripts, and what is compiled.
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
