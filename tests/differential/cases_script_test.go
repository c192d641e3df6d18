//go:build oracle

package differential

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// scriptCase is a script with its keys and arguments.
type scriptCase struct {
	body string
	keys []string
	args []string
}

func lua(body string) scriptCase { return scriptCase{body: body} }

// TestScripts plays scripts on both servers, in both versions of the protocol, and compares replies and data.
func TestScripts(t *testing.T) {
	p := startPair(t, "")
	for _, group := range []struct {
		name  string
		cases []scriptCase
	}{
		{"conversions", scriptConversions()}, {"replies", scriptReplies()}, {"errors", scriptErrors()}, {"api", scriptAPI()},
		{"first lines", scriptFirstLines()}, {"language", scriptLanguage()}, {"libraries", scriptLibraries()},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, version := range []int{2, 3} {
				here := p.in(t)
				here.begin(version)
				for _, c := range group.cases {
					here.script(version, "EVAL", c)
				}
				if diff := here.diff(); len(diff) > 0 {
					t.Errorf("version %d: the data differs: %v", version, diff)
				}
			}
		})
	}
}

// TestScriptDifferences plays scripts with deliberate differences.
func TestScriptDifferences(t *testing.T) {
	p := startPair(t, "")
	for _, c := range []struct{ deviation, body string }{
		{"D108", "getmetatable('').__index = string"},
		{"D108", "return string.dump(function() end)"},
	} {
		ours, redis := p.do("EVAL", c.body, "0")
		require.Falsef(t, ours.Equal(redis), "%s: no difference, but it cites %s: %s", c.body, c.deviation, redis)
	}
}

// script runs a script on both servers.
func (p *pair) script(version int, command string, c scriptCase) {
	p.t.Helper()
	args := append([]string{command, c.body, strconv.Itoa(len(c.keys))}, c.keys...)
	args = append(args, c.args...)
	ours, redis := p.do(args...)
	if !testkit.SameReply(args, ours, redis) {
		p.t.Errorf("version %d: %s\n  %s", version, c.body, differ(ours, redis))
	}
}

// scriptConversions returns scripts that return each kind of value.
func scriptConversions() []scriptCase {
	var list []scriptCase
	for _, v := range []string{
		"1", "-1", "0", "3.99", "-3.99", "1e15", "2^53", "2^53+1", "-2^63", "2^63", "2^64", "1e300", "-1e300", "0/0", "1/0", "-1/0",
		"0.1", "'text'", "''", "'a\\0b'", "'a\\r\\nb'", "true", "false", "nil", "print", "redis.call", "coroutine.create(function() end)",
		"{}", "{1}", "{1,2,3}", "{1,nil,3}", "{nil,2}", "{1,2,nil,4}", "{'a',{'b',{'c'}}}", "{{},{},{{}}}", "{true,false,true}",
		"{1.5,'x',false,nil,9}", "{[0]=1,[1]=2}", "{a=1}", "{1,2,a=3}", "{[1]='x',[3]='z'}", "{print}", "{1,print,2}",
		"{ok='fine'}", "{ok=''}", "{ok='a\\r\\nb'}", "{ok='a\\0b'}", "{ok=1}", "{ok=true}", "{ok={}}", "{ok='x', 1, 2}",
		"{err='My Error'}", "{err='MyError'}", "{err='-x y'}", "{err='a\\r\\nb'}", "{err='a\\0b c'}", "{err=1}", "{err=true}", "{err='e', ok='o'}",
		"{double=1}", "{double=0.1}", "{double=-0}", "{double=1e100}", "{double=1/0}", "{double=-1/0}", "{double='1'}", "{double=3.0000000001}",
		"{big_number='123456789012345678901234567890'}", "{big_number='a\\r\\nb'}", "{big_number=1}",
		"{map={a=1}}", "{map={}}", "{map={[1]='x'}}", "{map={a={map={b=2}}}}", "{map=1}", "{set={a=true}}", "{set={}}", "{set={[1]=true}}", "{set=1}",
		"{verbatim_string={format='txt', string='hello'}}", "{verbatim_string={format='t', string='hello'}}",
		"{verbatim_string={format='text', string=''}}", "{verbatim_string={format=1, string='x'}}", "{verbatim_string={string='x'}}",
		"{verbatim_string={format='txt'}}", "{verbatim_string='x'}",
		"{{ok='a'},{err='b c'},{double=1.5}}", "1,2,3", "", "('x'):rep(1000)", "string.char(0,1,2,255)",
		"setmetatable({}, {__index=function(t,k) if k < 4 then return k end end})", "setmetatable({err='real'}, {__index=function() return 'x' end})",
	} {
		list = append(list, lua("return "+v), lua("redis.setresp(3) return "+v))
	}
	return append(list,
		scriptCase{"return {KEYS[1], KEYS[2], ARGV[1], ARGV[2], #KEYS, #ARGV}", []string{"a", "b"}, []string{"c"}},
		scriptCase{"return {KEYS, ARGV}", []string{"", "\x00\xff"}, []string{"1", "x y"}},
		scriptCase{"return {type(KEYS[1]), type(ARGV[1]), ARGV[1] + 1}", []string{"1"}, []string{"41"}},
		scriptCase{"KEYS[1] = 'x' ARGV = 5 return KEYS", []string{"a"}, nil},
		scriptCase{"KEYS[1] = 'x' KEYS[2] = 'y' return KEYS", []string{"a"}, nil},
		scriptCase{"return KEYS", nil, nil},
		lua("local t = {} for i = 1, 3000 do t[i] = i end return t"),
		lua("local t = {} for i = 1, 100 do t = {t, i} end return t"),
	)
}

// scriptReplies returns scripts that show the replies of commands.
func scriptReplies() []scriptCase {
	// show writes a value of Lua in full, with tables sorted by key.
	const show = `local function show(v)
	if type(v) ~= 'table' then return type(v) .. ':' .. tostring(v) end
	local keys = {}
	for k in pairs(v) do keys[#keys+1] = k end
	table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
	local s = '{'
	for _, k in ipairs(keys) do s = s .. show(k) .. '=' .. show(v[k]) .. ' ' end
	return s .. '}'
end
`
	var list []scriptCase
	for _, call := range []string{
		"'set','s','v'", "'get','s'", "'get','none'", "'mget','s','none','s'", "'set','n',10", "'incr','n'", "'incrbyfloat','n','0.5'", "'strlen','s'", "'append','s','w'",
		"'setrange','s',3,'xyz'", "'getrange','s',0,-1", "'set','s','x','nx'", "'set','s','x','get'", "'get','h'",
		"'hset','h','f','v','g','w'", "'hget','h','f'", "'hget','h','none'", "'hgetall','h'", "'hmget','h','f','none'", "'hkeys','h'", "'hincrby','h','n',3",
		"'hincrbyfloat','h','n','1.5'", "'hgetall','none'", "'hexists','h','f'", "'hstrlen','h','f'", "'hsetnx','h','f','x'", "'hdel','h','f','g'",
		"'rpush','l','a','b','c'", "'lrange','l',0,-1", "'lpop','l'", "'lpop','none'", "'lpop','l',2", "'lindex','l',9", "'blpop','none',0", "'brpop','none',0", "'blmove','none','x','left','left',0",
		"'bzpopmin','none',0", "'lmpop',1,'none','left'", "'blmpop',0,1,'none','left'", "'rpush','l','a','b','a'", "'lpos','l','a'", "'lrem','l',0,'a'", "'llen','l'",
		"'sadd','u','a'", "'smembers','u'", "'sismember','u','a'", "'smismember','u','a','b'", "'spop','u'", "'spop','none'", "'smembers','none'", "'scard','u'",
		"'zadd','z',1,'a',2.5,'b'", "'zrange','z',0,-1", "'zrange','z',0,-1,'withscores'", "'zscore','z','b'", "'zscore','z','none'", "'zmscore','z','a','none'", "'zincrby','z',0.1,'a'",
		"'zrank','z','b'", "'zpopmin','z'", "'zpopmin','none'", "'zrangebyscore','z','-inf','+inf','withscores'", "'zadd','z','nx','incr',1,'b'", "'zrangebyscore','z','-inf','+inf','limit',0,-1",
		"'xadd','x','1-1','f','v'", "'xadd','x','1-1','f','v'", "'xrange','x','-','+'", "'xlen','x'", "'xread','streams','x','0'", "'xread','block',0,'streams','x','$'",
		"'xread','streams','x','9'", "'xgroup','create','x','g','0'", "'xreadgroup','group','g','c','streams','x','>'", "'xpending','x','g'", "'xinfo','groups','x'", "'xack','x','g','1-1'",
		"'expire','s',1000", "'ttl','none'", "'type','s'", "'exists','s','h','none'", "'del','s'", "'del','s'", "'rename','none','x'", "'echo','x'", "'ping'", "'ping','a b'",
		"'select',0", "'dbsize'", "'publish','ch','m'", "'spublish','ch','m'", "'setbit','b',7,1", "'bitcount','b'", "'bitfield','b','get','u8',0", "'pfadd','p','a'", "'pfcount','p'",
		"'geoadd','geo','13.361389','38.115556','P'", "'geopos','geo','P','none'", "'geodist','geo','P','P'", "'sort','l'", "'copy','n','n2'", "'command','count','x'",
		"'lcs','n','n2'", "'sintercard',1,'u'", "'config','get','x'", "'nosuch'", "'get'", "'get','a','b'", "'lpush','n','x'", "'xadd','n','*','a','b'",
		"'set','s',1e15", "'get','s'", "'set','s',0.1", "'get','s'", "'set','s',1e17", "'get','s'", "'set','s',-0.0", "'get','s'", "'set','s',123456.789", "'get','s'", "'set','s',2^53", "'get','s'",
	} {
		list = append(list, lua(show+"return show(redis.pcall("+call+"))"), lua(show+"redis.setresp(3) return show(redis.pcall("+call+"))"))
		list = append(list, lua("return redis.call("+call+")"))
		if !strings.Contains(call, "hgetall") && !strings.Contains(call, "xinfo") { // maps become tables, which have no order
			list = append(list, lua("redis.setresp(3) return redis.call("+call+")"))
		}
	}
	return list
}

// scriptErrors returns scripts with errors.
func scriptErrors() []scriptCase {
	var list []scriptCase
	for _, body := range []string{
		"return redis.call()", "return redis.pcall()", "return redis.call({})", "return redis.call('set', {})", "return redis.call(nil)", "return redis.call('set', 'a', true)",
		"return redis.call('')", "return redis.call('set')", "return redis.call('nosuch')", "return redis.call('multi')", "return redis.call('client', 'id')", "return redis.call('client', 'nosuch')",
		"return redis.call('client')", "return redis.call('subscribe', 'x')", "return redis.call('eval', 'return 1', 0)", "return redis.call('script', 'flush')", "return redis.call('hello')",
		"return redis.call('function', 'list')", "return redis.call('exec')", "return redis.call('watch', 'a')", "return redis.call('auth', 'x')", "return redis.call('monitor')", "return redis.call('save')",
		"return redis.call('shutdown')", "return redis.call('config', 'set', 'x', 'y')", "return redis.call('debug', 'sleep', 0)",
		"error('x')", "error('x', 0)", "error('x', 1)", "error('x', 2)", "error()", "error(nil)", "error(12)", "error(true)", "error({err='My Err'})", "error({err='E', source='s', line=3})", "error(setmetatable({err='x y'}, {}))",
		"local function f() error('deep') end f()", "local function f() redis.call('nosuch') end\nf()", "\n\n  redis.call('get')", "return tostring(pcall(redis.call, 'nosuch'))",
		"return {pcall(redis.call, 'nosuch')}", "return {pcall(error, {err='x y'})}", "return {pcall(error, {a=1})}", "return {pcall(error, 'x')}", "return {pcall(error)}",
		"local ok, e = pcall(redis.call, 'get') return {type(e), e}", "local ok, e = pcall(function() error({err='a b', c=1}) end) return {type(e), e}",
		"return {xpcall(function() error('x') end, function(m) return 'handled ' .. m end)}", "return select(2, xpcall(function() redis.call('nosuch') end, function(m) return type(m) end))",
		"local t = redis.pcall('nosuch') return t.err", "local t = redis.pcall('nosuch') error(t)", "local t = redis.pcall('nosuch') return t", "local t = redis.pcall('hget', 'x') return {t}",
		"redis.call('set', 'k', 'v') redis.call('lpush', 'k', 'x')", "redis.call('set', 'k2', 'v') error('after')", "return redis.call('lpush', 'k', 'x')", "return redis.pcall('lpush', 'k', 'x')",
		"return nosuch", "x = 1", "function f() end", "_G.x = 1", "_G['y'] = 2", "redis.x = 1", "string.x = 1", "redis = 1", "return _G.nosuch", "rawset(_G, 'x', 1)", "setmetatable(_G, {})",
		"getmetatable(_G).__index = nil", "string.format = nil", "table.insert(redis, 1)", "math.pi = 3", "ARGV.x = 1 return ARGV.x",
		"return (", "return return", "x x", "if", "for", "local 1", "return 'unfinished", "return [[unfinished", "--[[ unfinished", "goto x", "return 1 2", "a.b:c = 1", "return ...", "local a <const> = 1", "break",
		"return nil .. 'x'", "return {} .. 'x'", "return 1 + nil", "return 1 + 'x'", "return 1 < 'x'", "return {} < {}", "return nil + 1", "local t = nil return t.x", "local t = nil t.x = 1", "return #nil", "return -{}",
		"return ('x')()", "local t = {} t.a.b = 1", "local t = {} return t.a.b", "local t = {} t.f()", "local t = {} t:f()", "nosuch()", "return math.nosuch()", "return 5 .. nil", "return ('x').y.z",
		"return tostring()", "return string.rep()", "return string.rep('x', -1)", "return ('x'):rep(3)", "return string.format('%d', 'x')", "return string.format('%y', 1)", "return table.concat({1,{},3})", "return table.concat({1,2}, ',', 1, 3)",
		"return unpack({}, 1, 8000)", "return unpack({}, 1, 1e8)", "local function f() return f() + 1 end return f()", "return setmetatable(1, {})", "return ipairs()", "return tonumber('z', 99)",
		"return loadstring('return 1 +')()", "return {loadstring('return 1 +')}", "return loadstring('return 42')()", "return {load(function() return nil end)}", "return string.char(256)", "return string.char(-1)", "return math.random(0)", "return math.random(2, 1)", "for i = 1, 10, 0 do end",
		"for i = 'a', 10 do end", "for i = {}, 10 do end", "local a; local b = a.c.d", "return assert(false)", "return assert(nil, 'msg')", "return assert(false, {err='a b'})", "return assert(1, 2, 3)", "return dofile('x')", "return require('x')", "return io", "return debug", "return package", "return print",
		"return error_reply('x')", "return coroutine.resume(1)", "return {coroutine.resume(coroutine.create(function() error('in') end))}", "coroutine.wrap(function() error('in') end)()", "coroutine.wrap(function() redis.call('nosuch') end)()",
	} {
		list = append(list, lua(body))
	}
	return list
}

// scriptAPI returns scripts that use the functions of the table redis.
func scriptAPI() []scriptCase {
	var list []scriptCase
	for _, body := range []string{
		"return redis.error_reply('My Err')", "return redis.error_reply('MyErr')", "return redis.error_reply('-MyErr x')", "return redis.error_reply('')", "return redis.error_reply()", "return redis.error_reply(1)", "return redis.error_reply('a', 'b')", "return redis.error_reply({})",
		"return redis.error_reply('a b\\r\\n')", "return redis.error_reply('a\\0b c')", "return redis.error_reply('x').err", "return redis.status_reply('x').ok",
		"return redis.status_reply('x y')", "return redis.status_reply('')", "return redis.status_reply()", "return redis.status_reply(1)", "return redis.status_reply('a\\r\\nb')",
		"return redis.sha1hex('')", "return redis.sha1hex('abc')", "return redis.sha1hex(1)", "return redis.sha1hex(1.5)", "return redis.sha1hex()", "return redis.sha1hex('a', 'b')", "return redis.sha1hex({})", "return redis.sha1hex(nil)",
		"return redis.set_repl(redis.REPL_NONE)", "return {redis.REDIS_VERSION, redis.REDIS_VERSION_NUM}", "return redis.set_repl()", "return redis.set_repl(1, 2)", "return redis.set_repl(9)", "return redis.set_repl('x')", "return redis.set_repl(-1)", "return redis.replicate_commands()",
		"return {redis.REPL_ALL, redis.REPL_AOF, redis.REPL_SLAVE, redis.REPL_REPLICA, redis.REPL_NONE}", "return {redis.LOG_DEBUG, redis.LOG_VERBOSE, redis.LOG_NOTICE, redis.LOG_WARNING}",
		"return redis.breakpoint()", "return redis.debug('x')", "return redis.setresp()", "return redis.setresp(1)", "return redis.setresp(4)", "return redis.setresp('3')", "return redis.setresp('x')", "return redis.setresp(2, 3)", "return redis.setresp({})", "return redis.setresp(2.5)",
		"redis.setresp(3) redis.setresp(2) return redis.call('get', 'none')", "redis.setresp(3) return {redis.call('get', 'none'), 1}", "redis.setresp(3) return {true, false}",
		"return redis.log()", "return redis.log(1)", "return redis.log('x', 'y')", "return redis.log(9, 'y')", "return redis.log(-1, 'y')", "return redis.log(0, 'y')", "return redis.log('1', 'y', {}, nil)", "return redis.log({}, 'y')",
		"return redis.acl_check_cmd()", "return redis.acl_check_cmd('nosuch')", "return redis.acl_check_cmd('set', 'a', 'b')", "return redis.acl_check_cmd('client', 'list')", "return redis.acl_check_cmd('client', 'nosuch')", "return redis.acl_check_cmd({})", "return redis.acl_check_cmd('get')",
		"return redis.register_function('x', 1)", "return redis.nosuch", "return server", "return type(redis)", "return type(redis.call)",
		"local t = {} for k in pairs(redis) do t[#t+1] = k end table.sort(t) return t", "return redis.call('select', 3)", "redis.call('select', 3) redis.call('set', 'in3', 'x') return redis.call('dbsize')", "return redis.call('get', 'in3')",
		"return {redis.call('time')[1] ~= nil, #redis.call('time')}", "redis.call('set', 'e', 'v', 'px', 1) local t = 0 for i = 1, 3000000 do t = t + 1 end return redis.call('exists', 'e')",
	} {
		list = append(list, lua(body))
	}
	return list
}

// scriptFirstLines returns scripts with a shebang line.
func scriptFirstLines() []scriptCase {
	var list []scriptCase
	for _, body := range []string{
		"#!lua", "#!lua\n", "#!lua\nreturn 1", "#!lua\n\nerror('third')", "#!lua flags=\nreturn 1", "#!lua flags=no-writes\nreturn redis.call('set', 'a', 'b')", "#!lua flags=no-writes\nreturn redis.call('get', 'a')",
		"#!lua flags=no-writes\nreturn redis.call('publish', 'a', 'b')", "#!lua flags=no-writes,allow-oom,allow-stale,no-cluster,allow-cross-slot-keys\nreturn 2", "#!lua flags=x\nreturn 1", "#!lua flags=no-writes,\nreturn 1", "#!lua flags=NO-WRITES\nreturn 1",
		"#!lua flags=no-writes flags=allow-oom\nreturn redis.call('set', 'a', 'b')", "#!lua name=x\nreturn 1", "#!lua x\nreturn 1", "#!Lua\nreturn 1", "#!js\nreturn 1", "#!\nreturn 1", "#! lua\nreturn 1", "#!\"\nreturn 1", "#!lua \"flags=no-writes\"\nreturn 3", "#!lua\treturn 1",
		"#! \nreturn 1", "#!lua\r\nreturn 1", " #!lua\nreturn 1", "#lua\nreturn 1", "#!lua\nreturn (", "#!lua flags=allow-oom\nreturn redis.call('set', 'a', 'b')",
	} {
		list = append(list, lua(body))
	}
	return list
}
