//go:build oracle

package differential

func waitCases() family {
	return family{"wait and memory", []namedCase{
		{"wait", `
			WAIT 0 0
			WAIT -1 0
			WAIT 1 5
			WAIT 0 -1
			WAIT 1 -1
			WAIT 1 x
			WAIT x x
			WAIT 1 1.5
			WAIT
			WAIT 1
			MULTI
			WAIT 1 0
			EXEC
		`},
		{"pause", `
			CLIENT PAUSE
			CLIENT PAUSE x
			CLIENT PAUSE -1
			CLIENT PAUSE 1 BAD
			CLIENT PAUSE x BAD
			CLIENT PAUSE 1 WRITE ALL
			CLIENT PAUSE 0
			CLIENT PAUSE 1000000 WRITE
			GET k
			CLIENT UNPAUSE
			SET k v
			CLIENT PAUSE 5 ALL
			GET k
			CLIENT PAUSE 5
			SET k w
			CLIENT UNPAUSE x
		`},
		{"memory", `
			MEMORY
			MEMORY BAD
			MEMORY USAGE
			MEMORY USAGE gone
			MEMORY USAGE gone SAMPLES 5
			SET s v
			MEMORY USAGE s SAMPLES
			MEMORY USAGE s SAMPLES x
			MEMORY USAGE s SAMPLES -1
			MEMORY USAGE s BAD 1
			MEMORY USAGE s s
			MEMORY PURGE
			MEMORY PURGE x
			MEMORY STATS x
			COMMAND GETKEYS MEMORY USAGE a
			!D46 MEMORY USAGE s
			!D46 MEMORY DOCTOR
		`},
	}}
}
