package config

import "strings"

// Command is the parsed command line.
type Command struct {
	// Config is the configuration; nil with Help and Version.
	Config *Config
	// File is the path of the configuration file as the command line spells it; empty if there is no file.
	File string
	// Help and Version say that the program prints that text and does not start a server.
	Help, Version bool
	// TestMemory and CheckSystem ask for the checks that redis-server runs under these words, in place of a
	// server.
	TestMemory, CheckSystem bool
}

// ParseArgs reads a command line (without the program's name) in redis-server's form:
//
//	[file] [-] [--directive value ...] ... [-]
//
// The file is read first, then standard input if the first or last word is "-", then the options. Later lines
// win, even over a line of a file that would be refused: --tls-cluster no starts with a file that says
// yes. The word behind an option is always its value. Further words are values too, up to the next word that
// starts with "--". "--port 7000" may be one word, and "--save" without a value means "". -v, --version, -h
// and --help are recognised if they stand alone, --test-memory and --check-system as the first word. The
// error is a *LineError, or the error of Files.Read.
func ParseArgs(args []string, files Files) (Command, error) {
	if len(args) == 1 {
		switch args[0] {
		case "-v", "--version":
			return Command{Version: true}, nil
		case "-h", "--help":
			return Command{Help: true}, nil
		}
	}
	if len(args) > 0 {
		switch args[0] {
		case "--test-memory":
			return Command{TestMemory: true}, nil
		case "--check-system":
			return Command{CheckSystem: true}, nil
		}
	}
	var cmd Command
	l := newLoader(files)
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		cmd.File, args = args[0], args[1:]
	}
	options, fromStdin, badOption := splitOptions(args, cmd.File == "")
	l.later = replacing(options)
	if cmd.File != "" {
		data, err := files.Read(cmd.File)
		if err != nil {
			return Command{}, &LineError{Text: cmd.File, Reason: "can't open the configuration file: " + err.Error()}
		}
		if err := l.load(cmd.File, data, 0); err != nil {
			return Command{}, err
		}
	}
	if badOption != nil {
		return Command{}, badOption
	}
	if fromStdin {
		data, err := files.Stdin()
		if err != nil {
			return Command{}, &LineError{Text: "-", Reason: "can't read standard input: " + err.Error()}
		}
		if err := l.load("standard input", data, 0); err != nil {
			return Command{}, err
		}
	}
	for _, o := range options {
		if d := lookup(o.words[0]); l.later[d] > 0 {
			l.later[d]--
		}
		reason, err := l.line(o.words, 0)
		if err != nil {
			return Command{}, err
		}
		if reason != "" {
			return Command{}, &LineError{Text: withoutSecret(o.text), Reason: reason}
		}
	}
	cmd.Config = l.c
	return cmd, nil
}

// replacing counts, by directive, the options that replace all earlier values. An option of a list that
// several lines make up adds to the earlier values, so it does not count.
func replacing(options []option) map[*directive]int {
	n := make(map[*directive]int)
	for _, o := range options {
		if d := lookup(o.words[0]); d != nil && d.Kind != nil && d.Kind.shape() != lineByLine {
			n[d]++
		}
	}
	return n
}

// option is one directive of the command line.
type option struct {
	words []string // name and values
	text  string   // the text as typed, for errors
}

// splitOptions groups the words of a command line. first says that args[0] is the command line's first word.
func splitOptions(args []string, first bool) (options []option, fromStdin bool, err error) {
	open := false // the last option has no value yet, so the next word is its value
	for i, a := range args {
		switch {
		case a == "-" && !open && (i == 0 && first || i == len(args)-1):
			fromStdin = true
		case strings.HasPrefix(a, "--") && !open:
			words, ok := splitWords(a[2:])
			if !ok {
				return nil, false, &LineError{Text: withoutSecret(a), Reason: errUnbalanced.Error()}
			}
			if len(words) == 0 {
				return nil, false, &LineError{Text: withoutSecret(a), Reason: "an option needs a name"}
			}
			// A bare --save would be an error; scripts mean "never".
			if strings.EqualFold(words[0], "save") && len(words) == 1 && (i == len(args)-1 || strings.HasPrefix(args[i+1], "--")) {
				words = append(words, "")
			}
			open = len(words) == 1
			options = append(options, option{words, a})
		case len(options) == 0:
			return nil, false, &LineError{Text: a, Reason: "unknown argument '" + a + "'; options start with --"}
		default:
			o := &options[len(options)-1]
			o.words, o.text = append(o.words, a), o.text+" "+shown(a)
			open = false
		}
	}
	return options, fromStdin, nil
}
