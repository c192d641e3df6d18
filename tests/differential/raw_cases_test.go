//go:build oracle

package differential

import (
	"fmt"
	"strings"
)

// array writes a command as clients do.
func array(args ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b.String()
}

func one(name, bytes string) rawCase { return rawCase{name: name, parts: []string{bytes}} }

func differs(c rawCase, deviation string) rawCase {
	c.deviation = deviation
	return c
}

// rawCases returns the cases. They end with a PING if the connection should stay usable.
func rawCases() []rawCase {
	return slicesOf(inlineCases(), headerCases(), pipelineCases(), sessionCases(), largeCases())
}

func slicesOf(lists ...[]rawCase) (all []rawCase) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

func inlineCases() []rawCase {
	return []rawCase{
		one("inline", "PING\r\n"),
		one("inline, no CR", "PING\nPING\n"),
		one("inline, arguments", "ECHO hello\r\nSET inline1 v\r\nGET inline1\r\n"),
		one("inline, spaces", "   ECHO    hello   \r\nPING\r\n"),
		one("inline, tabs", "\tECHO\thello\t\r\nPING\r\n"),
		one("inline, blank lines", "\r\n\r\n\n  \r\nPING\r\n"),
		one("inline, double quotes", "ECHO \"a b\\r\\n\\x00\\xff\\\"\\t\"\r\n"),
		one("inline, single quotes", "ECHO 'a b\\'c\\n'\r\n"),
		one("inline, empty quotes", "ECHO \"\"\r\nECHO ''\r\n"),
		one("inline, unbalanced double", "ECHO \"abc\r\nPING\r\n"),
		one("inline, unbalanced single", "ECHO 'abc\r\nPING\r\n"),
		one("inline, text after a quote", "ECHO \"abc\"def\r\nPING\r\n"),
		one("inline, quote inside", "ECHO ab\"c d\"\r\nPING\r\n"),
		one("inline, unknown", "NOSUCH a b\r\nPING\r\n"),
		one("inline, arity", "GET\r\nPING\r\n"),
		one("inline, zero byte", "ECHO a\x00b\r\nPING\r\n"),
		one("inline, high bytes", "ECHO \xff\xfe\r\n"),
		one("inline, dollar", "$5\r\nPING\r\n"),
		one("inline, plus", "+OK\r\nPING\r\n"),
		one("inline, colon", ":1\r\n"),
		one("inline, minus", "-ERR\r\nPING\r\n"),
		one("inline, percent", "%1\r\nPING\r\n"),
		one("inline, quit", "QUIT\r\nPING\r\n"),
		one("inline, half a line", "PIN"),
		{name: "inline, in pieces", parts: []string{"PI", "NG\r", "\nEC", "HO x\r\n"}},
		one("inline, POST", "POST / HTTP/1.1\r\nPING\r\n"),
		one("inline, Host:", "Host: localhost\r\nPING\r\n"),
		one("inline, GET of HTTP", "GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		one("inline, quoted hex", "ECHO \"\\xZZ\\x4\\x41\"\r\n"),
	}
}

func headerCases() []rawCase {
	ping := array("PING")
	return []rawCase{
		one("array", ping),
		one("empty array", "*0\r\n"+ping),
		one("null array", "*-1\r\n"+ping),
		one("negative array", "*-5\r\n"+ping),
		one("array length: text", "*abc\r\n"+ping),
		one("array length: empty", "*\r\n"+ping),
		one("array length: plus", "*+1\r\n$4\r\nPING\r\n"),
		one("array length: zeros", "*01\r\n$4\r\nPING\r\n"),
		one("array length: space", "* 1\r\n$4\r\nPING\r\n"),
		one("array length: space behind", "*1 \r\n$4\r\nPING\r\n"),
		one("array length: fraction", "*1.5\r\n$4\r\nPING\r\n"),
		one("array length: 2^31", "*2147483648\r\n"+ping),
		one("array length: 2^63", "*9223372036854775808\r\n"+ping),
		differs(one("array length: 2^20+1", "*1048577\r\n"), "D9"),
		one("array length: 2^20", "*1048576\r\n$4\r\nPING\r\n"),
		one("array length: no CR", "*1\n$4\r\nPING\r\n"),
		one("bulk: no dollar", "*1\r\nPING\r\n"),
		one("bulk: colon", "*1\r\n:4\r\n"),
		one("bulk: a zero byte", "*1\r\n\x00"),
		one("bulk: star", "*1\r\n*1\r\n$4\r\nPING\r\n"),
		one("bulk length: text", "*1\r\n$abc\r\n"),
		one("bulk length: empty", "*1\r\n$\r\n"),
		one("bulk length: -1", "*1\r\n$-1\r\n"),
		one("bulk length: -2", "*1\r\n$-2\r\n"),
		one("bulk length: plus", "*1\r\n$+4\r\nPING\r\n"),
		one("bulk length: zeros", "*1\r\n$04\r\nPING\r\n"),
		one("bulk length: huge", "*1\r\n$9223372036854775807\r\n"),
		one("bulk length: overflow", "*1\r\n$99999999999999999999\r\n"),
		one("bulk length: 512 MB + 1", "*1\r\n$536870913\r\n"),
		one("bulk length: 512 MB", "*1\r\n$536870912\r\nabc"),
		one("bulk length: second", "*2\r\n$4\r\nECHO\r\n$x\r\n"+ping),
		one("bulk: too short", "*1\r\n$3\r\nPING\r\n"+ping),
		one("bulk: too long", "*1\r\n$5\r\nPING\r\n"+ping),
		one("bulk: other bytes for CRLF", "*1\r\n$4\r\nPINGxx"+ping),
		one("bulk: empty name", "*1\r\n$0\r\n\r\n"+ping),
		one("errors after good ones", ping+"*1\r\n$x\r\n"+ping),
		one("half an array", "*2\r\n$4\r\nECHO\r\n"),
		one("half a bulk", "*2\r\n$4\r\nECHO\r\n$10\r\nabc"),
		one("name with a space", array("GET k")),
		one("name with a line break", array("GE\r\nT", "k")),
		one("argument with a line break in an error", array("NOSUCH", "a\r\nb")),
		{name: "byte by byte", parts: strings.Split(array("SET", "raw1", "v")+ping, "")},
		{name: "cut in a header", parts: []string{"*2\r", "\n$4\r\nECHO\r\n$1", "0\r\n0123", "456789\r", "\n" + ping}},
		{name: "cut in an error", parts: []string{"*1\r\n$", "x", "\r\n"}},
	}
}

func pipelineCases() []rawCase {
	var many strings.Builder
	for i := range 2000 {
		many.WriteString(array("SET", fmt.Sprint("raw2-", i), strings.Repeat("v", i%300)))
		many.WriteString(array("GET", fmt.Sprint("raw2-", i)))
	}
	return []rawCase{
		one("pipeline", array("SET", "raw3", "1")+array("INCR", "raw3")+array("GET", "raw3")+array("DEL", "raw3")),
		one("pipeline, mixed forms", array("PING")+"PING\r\n"+array("ECHO", "x")+"\r\nECHO y\r\n"),
		one("pipeline, errors", array("NOSUCH")+array("GET")+array("PING")),
		one("pipeline, many", many.String()),
		one("pipeline, quit", array("PING")+array("QUIT")+array("PING")),
		one("pipeline, quit with arguments", array("QUIT", "now")+array("PING")),
		one("pipeline, select", array("SELECT", "5")+array("SET", "raw4", "v")+array("SELECT", "0")+array("GET", "raw4")),
		one("pipeline, reset", array("HELLO", "3")+array("GET", "no such")+array("RESET")+array("GET", "no such")),
	}
}

func sessionCases() []rawCase {
	missing := array("GET", "no such key")
	hello := func(args ...string) string { return array(append([]string{"HELLO"}, args...)...) }
	return []rawCase{
		one("hello", hello()+missing),
		one("hello 2", hello("2")+missing),
		one("hello 3", hello("3")+missing),
		one("hello 1", hello("1")+missing),
		one("hello 4", hello("4")+missing),
		one("hello text", hello("x")+missing),
		one("hello auth", hello("3", "AUTH", "default", "")+missing),
		one("hello auth, wrong user", hello("3", "AUTH", "nobody", "x")+missing),
		one("hello auth, short", hello("3", "AUTH", "x")+missing),
		one("hello, bad option", hello("3", "BAD")+missing),
		one("hello, bad name", hello("3", "SETNAME", "a b")+missing),
		one("reply off", array("CLIENT", "REPLY", "OFF")+array("PING")+array("NOSUCH")+array("CLIENT", "REPLY", "ON")+array("PING")),
		one("reply skip", array("CLIENT", "REPLY", "SKIP")+array("ECHO", "1")+array("ECHO", "2")),
		one("reply skip twice", array("CLIENT", "REPLY", "SKIP")+array("CLIENT", "REPLY", "SKIP")+array("ECHO", "1")+array("ECHO", "2")),
		one("reply skip in off", array("CLIENT", "REPLY", "OFF")+array("CLIENT", "REPLY", "SKIP")+array("ECHO", "1")+
			array("CLIENT", "REPLY", "ON")+array("ECHO", "2")),
		one("reply off in a transaction", array("MULTI")+array("SET", "k", "v")+array("CLIENT", "REPLY", "OFF")+array("PING")+array("EXEC")+
			array("PING")+array("CLIENT", "REPLY", "ON")+array("PING")),
		one("reply on in a transaction", array("CLIENT", "REPLY", "OFF")+array("MULTI")+array("PING")+array("CLIENT", "REPLY", "ON")+
			array("ECHO", "1")+array("EXEC")+array("ECHO", "2")),
		one("reply skip and off in a transaction", array("MULTI")+array("CLIENT", "REPLY", "SKIP")+array("CLIENT", "REPLY", "OFF")+
			array("CLIENT", "REPLY", "ON")+array("ECHO", "1")+array("EXEC")+array("ECHO", "2")+array("ECHO", "3")),
		differs(one("reply off, quit", array("CLIENT", "REPLY", "OFF")+array("QUIT")), "D117"),
		one("reply skip, error", array("CLIENT", "REPLY", "SKIP")+array("NOSUCH")+array("PING")),
		differs(one("auth without password", array("AUTH", "x")+array("AUTH", "default", "x")+array("AUTH", "nobody", "x")+array("AUTH")), "D106"),
		one("kill oneself", array("CLIENT", "KILL", "TYPE", "pubsub")+array("PING")),
		one("reset", array("CLIENT", "SETNAME", "me")+array("RESET")+array("CLIENT", "GETNAME")),
		differs(one("tracking, prefixes that overlap", array("CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", "x", "PREFIX", "ab", "PREFIX", "abc")), "D58"),
		one("tracking in a pipeline", hello("3")+array("CLIENT", "TRACKING", "ON")+array("GET", "raw6")+array("SET", "raw6", "v")+
			array("GET", "raw6")+array("INCR", "raw6")+array("DEL", "raw6")),
		one("tracking by prefix in a pipeline", hello("3")+array("CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", "raw7")+
			array("SET", "raw7-b", "v")+array("SET", "raw7-a", "v")+array("SET", "raw7-b", "w")+array("DEL", "raw7-a", "raw7-b")),
		one("nulls", missing+array("HMGET", "no such key", "a")+array("HRANDFIELD", "no such key", "1")+array("SPOP", "no such key")),
		one("xread, nothing", array("XREAD", "BLOCK", "5", "STREAMS", "no such key", "$")+array("PING")),
	}
}

func largeCases() []rawCase {
	args := make([]string, 2000)
	for i := range args {
		args[i] = fmt.Sprint("no such key ", i)
	}
	return []rawCase{
		one("inline of 60 KB", "ECHO "+strings.Repeat("x", 60<<10)+"\r\nPING\r\n"),
		{name: "inline without an end", parts: []string{strings.Repeat("x", 40<<10), strings.Repeat("x", 30<<10), "y"}},
		{name: "array length without an end", parts: []string{"*" + strings.Repeat("1", 40<<10), strings.Repeat("1", 30<<10), "1"}},
		{name: "bulk length without an end", parts: []string{"*1\r\n$" + strings.Repeat("1", 40<<10), strings.Repeat("1", 30<<10), "1"}},
		one("a value of 1 MB", array("SET", "raw5", strings.Repeat("v", 1<<20))+array("STRLEN", "raw5")+array("GET", "raw5")),
		one("2000 arguments", array(append([]string{"MGET"}, args...)...)+array("PING")),
		one("a name of 1 MB", array(strings.Repeat("N", 1<<20))+array("PING")),
	}
}

func passwordCases() []rawCase {
	ping, set := array("PING"), array("SET", "k", "v")
	ten := array("NOSUCH", "1", "2", "3", "4", "5", "6", "7", "8", "9")
	eleven := array("NOSUCH", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10")
	return []rawCase{
		one("no auth", ping+set+array("NOSUCH")+array("GET")+array("CLIENT", "NOSUCH")+array("COMMAND")),
		one("no auth, debug", array("DEBUG", "SLEEP", "0")+array("DEBUG")+ping),
		one("auth", array("AUTH", "secret")+ping+set),
		one("auth with a name", array("AUTH", "default", "secret")+ping),
		one("auth, wrong", array("AUTH", "wrong")+ping+array("AUTH", "secret")+ping),
		one("auth, wrong name", array("AUTH", "nobody", "secret")+ping),
		one("auth, arity", array("AUTH")+array("AUTH", "a", "b", "c")),
		one("auth, empty", array("AUTH", "")+ping),
		differs(one("auth, prefix", array("AUTH", "secre")+array("AUTH", "secrets")), "D106"),
		differs(one("auth stays after a wrong one", array("AUTH", "secret")+array("AUTH", "wrong")+ping), "D106"),
		one("hello", array("HELLO")+array("HELLO", "3")+ping),
		one("hello auth", array("HELLO", "3", "AUTH", "default", "secret")+ping),
		one("hello auth, wrong", array("HELLO", "3", "AUTH", "default", "wrong")+ping),
		one("hello auth, bad option", array("HELLO", "3", "AUTH", "default", "secret", "BAD")+ping),
		one("hello, wrong version first", array("HELLO", "9", "AUTH", "default", "secret")+ping),
		one("quit", array("QUIT")+ping),
		one("reset", array("AUTH", "secret")+array("RESET")+ping),
		one("reset before", array("RESET")+ping),
		one("inline", "PING\r\nAUTH secret\r\nPING\r\n"),
		one("ten words inline", "NOSUCH 1 2 3 4 5 6 7 8 9\r\nPING\r\n"),
		differs(one("eleven words inline", "NOSUCH 1 2 3 4 5 6 7 8 9 10\r\nPING\r\n"), "D120"),
		one("eleven words inline behind auth", "AUTH secret\r\nNOSUCH 1 2 3 4 5 6 7 8 9 10\r\nPING\r\n"),
		one("ten arguments", ten+ping),
		one("eleven arguments", eleven+ping),
		one("eleven arguments behind auth", array("AUTH", "secret")+eleven+ping),
		one("a long argument", array("AUTH", strings.Repeat("x", 16384))+ping),
		one("too long an argument", array("AUTH", strings.Repeat("x", 16385))+ping),
		one("too long an argument behind auth", array("AUTH", "secret")+array("ECHO", strings.Repeat("x", 20000))+ping),
		one("a bad length", "*1\r\n$abc\r\n"),
		differs(one("a long inline", "ECHO "+strings.Repeat("x", 20000)+"\r\n"+ping), "D120"),
	}
}
