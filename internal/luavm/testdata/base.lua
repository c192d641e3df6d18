return type(1), type("x"), type(nil), type({}), type(print), type(true), type(cjson.null), type(coroutine.create(function() end))
=> "false \"user_script:1: Script attempted to access nonexistent global variable 'print'\""

return type(string.rep), type(function() end), type(KEYS), #KEYS, _VERSION
=> "true \"function\" \"function\" \"table\" 0 \"Lua 5.1\""

return tostring(nil), tostring(true), tostring(1), tostring("x"), tostring({}):sub(1, 7), tostring(tostring):sub(1, 9)
=> "true \"nil\" \"true\" \"1\" \"x\" \"table: \" \"function:\""

return tostring(cjson.null)
=> "true \"userdata: (nil)\""

return tostring(function() end):sub(1, 11), tostring(coroutine.create(function() end)):sub(1, 8)
=> "true \"function: 0\" \"thread: \""

return select(2, "a", "b", "c")
=> "true \"b\" \"c\""

return select(-2, "a", "b", "c")
=> "true \"b\" \"c\""

return (select(2, "a", "b", "c"))
=> "true \"b\""

return select("#"), select("#", nil), select("#x", 1)
=> "true 0 1 1"

return unpack({1, 2, 3})
=> "true 1 2 3"

return unpack({1, 2, 3}, 2)
=> "true 2 3"

return unpack({1, 2, 3}, 2, 5)
=> "true 2 3 nil nil"

return unpack({1, 2, 3}, -1, 1)
=> "true nil nil 1"

return unpack({}, 1, 0), unpack({})
=> "true nil"

return unpack({1, nil, 3})
=> "true 1 nil 3"

return next({}), next({10}), next({10}, 1), next({a = 1})
=> "true nil 1 nil \"a\" 1"

return rawequal("a", "a"), rawequal({}, {}), rawequal(1, 1.0), rawequal(1, "1"), rawequal(nil, nil)
=> "true true false true false true"

local t = setmetatable({}, {__index = function() return 5 end}) return rawget(t, "x"), t.x
=> "true nil 5"

local t = rawset({}, "x", 1) return t.x
=> "true 1"

local t = {} return setmetatable(t, {}) == t, getmetatable(t) ~= nil, getmetatable({})
=> "true true true nil"

local mt = {__metatable = "locked"} return getmetatable(setmetatable({}, mt))
=> "true \"locked\""

local t = {1, 2, 3} t[2] = nil local n = 0 for _ in pairs(t) do n = n + 1 end return n
=> "true 2"

local t = {} for i = 1, 10 do t[i] = i end for k in pairs(t) do t[k] = nil end return next(t)
=> "true nil"

local t = {1, 2, 3, a = 1, b = 2} local keys = {} for k in pairs(t) do keys[#keys + 1] = tostring(k) end table.sort(keys) return table.concat(keys)
=> "true \"123ab\""

local t = {1, 2, nil, 4} local n = 0 for i in ipairs(t) do n = n + 1 end return n
=> "true 2"

local t = setmetatable({}, {__index = function(t, i) if i < 4 then return i end end}) local n = 0 for i, v in ipairs(t) do n = n + v end return n
=> "true 0"

return math.floor(1.5), math.ceil(1.5), math.floor(-1.5), math.ceil(-1.5), math.abs(-3), math.max(1, 5, 3), math.min(4, 2, 8)
=> "true 1 2 -2 -1 3 5 2"

return math.sqrt(16), math.exp(0), math.log(1), math.log10(100), math.pow(2, 10), math.fmod(7, 3), math.fmod(-7, 3), math.mod(7, 3)
=> "true 4 1 0 2 1024 1 -1 1"

return math.modf(3.7), math.modf(-3.7), math.modf(5), math.modf(1/0), math.modf(-1/0)
=> "true 3 -3 5 inf -inf -0"

return math.frexp(8), math.frexp(0), math.ldexp(0.5, 4), math.deg(math.pi), math.rad(180), math.pi, math.huge, -math.huge
=> "true 0.5 0 8 180 3.1415926535897931 3.1415926535897931 inf -inf"

return math.sin(0), math.cos(0), math.tan(0), math.asin(0), math.acos(1), math.atan(0), math.atan2(0, 1), math.sinh(0), math.cosh(0), math.tanh(0)
=> "true 0 1 0 0 0 0 0 0 1 0"

return string.format("%.10f %.10f %.10f %.10f %.10f", math.sin(1), math.cos(1), math.tan(1), math.exp(1), math.log(10))
=> "true \"0.8414709848 0.5403023059 1.5574077247 2.7182818285 2.3025850930\""

return tostring(math.sqrt(-1)), tostring(math.log(-1)), tostring(math.acos(2)), tostring(math.asin(2)), tostring(math.fmod(1, 0)), tostring(math.log(0)), tostring(math.fmod(1/0, 1)), tostring(math.pow(-1, 0.5)), tostring(math.log10(-1)), tostring(math.sin(1/0)), tostring(math.exp(1000)), tostring(math.cos(1/0)), tostring(math.tan(1/0))
=> "true \"-nan\" \"-nan\" \"nan\" \"nan\" \"-nan\" \"-inf\" \"-nan\" \"-nan\" \"nan\" \"-nan\" \"inf\" \"-nan\" \"-nan\""

return math.floor("3.7"), math.max("10", 9), math.abs("-5")
=> "true 3 10 5"

return tostring(math.floor(-0.0)), tostring(math.ceil(-0.5)), tostring(math.abs(-0.0)), tostring(math.max(0/0, 1)), tostring(math.max(1, 0/0)), tostring(math.min(0/0, 1))
=> "true \"-0\" \"-0\" \"0\" \"-nan\" \"1\" \"-nan\""

return math.max(-1/0, 1), math.min(1/0, 2)
=> "true 1 2"

math.randomseed(0) return math.random(), math.random(), math.random(10), math.random(5, 10), math.random(-5, 5), math.random(1000000)
=> "true 0.1708280361121651 0.74990198051086721 1 10 1 785800"

math.randomseed(42) local r = {} for i = 1, 5 do r[i] = math.random(100) end return r
=> "true {[1]=75,[2]=35,[3]=12,[4]=43,[5]=9}"

math.randomseed(0) return math.random(), math.random()
=> "true 0.1708280361121651 0.74990198051086721"

math.randomseed(-1) return math.random(), math.random()
=> "true 0.3000257272739083 0.045311516171931993"

math.randomseed(123456789012) return math.random()
=> "true 0.26088651281822778"

math.randomseed(7) local r = {} for i = 1, 20 do r[i] = math.random(1, 6) end return table.concat(r, ",")
=> "true \"2,5,2,1,3,2,1,5,1,1,5,6,4,6,2,3,1,1,3,3\""

local t = {5, 2, 8, 1} table.sort(t) return t
=> "true {[1]=1,[2]=2,[3]=5,[4]=8}"

local t = {5, 2, 8, 1} table.sort(t, function(a, b) return a > b end) return t
=> "true {[1]=8,[2]=5,[3]=2,[4]=1}"

local t = {"b", "a", "C", "10", "9"} table.sort(t) return t
=> "true {[1]=\"10\",[2]=\"9\",[3]=\"C\",[4]=\"a\",[5]=\"b\"}"

local t = {} for i = 1, 100 do t[i] = (i * 37) % 101 end table.sort(t) local ok = true for i = 2, 100 do ok = ok and t[i - 1] <= t[i] end return ok
=> "true true"

local t = {} for i = 1, 20 do t[i] = {k = i % 3, i = i} end table.sort(t, function(a, b) return a.k < b.k end) local r = {} for i = 1, 20 do r[i] = t[i].i end return table.concat(r, ",")
=> "true \"15,9,6,12,18,3,13,1,16,19,10,4,7,17,2,11,8,14,5,20\""

local t = {} for i = 1, 50 do t[i] = {k = (i * 7) % 5, i = i} end table.sort(t, function(a, b) return a.k > b.k end) local r = {} for i = 1, 50 do r[i] = t[i].i end return table.concat(r, ",")
=> "true \"12,17,47,32,27,7,22,37,42,2,29,44,19,14,24,49,39,34,9,4,26,36,31,1,21,41,6,11,16,46,48,38,3,43,33,23,18,8,28,13,45,25,35,10,5,40,15,30,20,50\""

local mt = {__lt = function(a, b) return a.v < b.v end} local t = {} for i, v in ipairs({3, 1, 2}) do t[i] = setmetatable({v = v}, mt) end table.sort(t) return t[1].v, t[2].v, t[3].v
=> "true 1 2 3"

local t = {1, 2, 3} table.insert(t, 4) table.insert(t, 1, 0) return t
=> "true {[1]=0,[2]=1,[3]=2,[4]=3,[5]=4}"

local t = {} table.insert(t, 3, "x") return t
=> "true {[3]=\"x\"}"

local t = {1, 2, 3} table.insert(t, -1, "x") return t
=> "true {[-1]=\"x\",[2]=1,[3]=2,[4]=3}"

local t = {1, 2} table.insert(t, 10, "x") return t
=> "true {[1]=1,[2]=2,[10]=\"x\"}"

local t = {1, 2, 3} return table.remove(t), table.remove(t, 1), t
=> "true 3 1 {[1]=2}"

local t = {1, 2, 3} return table.remove(t, 5), table.remove(t, 0), #t
=> "true nil nil 3"

return table.remove({}), table.remove({}, 1), select("#", table.remove({}))
=> "true nil nil 0"

local t = {1, 2, 3} return table.remove(t, 2), t
=> "true 2 {[1]=1,[2]=3}"

return table.concat({1, 2, 3}), table.concat({1, 2, 3}, ","), table.concat({1, 2, 3}, ",", 2), table.concat({1, 2, 3}, ",", 2, 3), table.concat({}), table.concat({"a", 1.5, 1e15}, " ")
=> "true \"123\" \"1,2,3\" \"2,3\" \"2,3\" \"\" \"a 1.5 1e+15\""

return table.concat({1, 2, 3}, ",", 3, 2), table.concat({1}, ",", 1, 1), table.concat({1, 2}, 0)
=> "true \"\" \"1\" \"102\""

return table.getn({1, 2, 3}), table.maxn({1, 2, nil, 4}), table.maxn({[1.5] = 1, [-1] = 2}), table.maxn({})
=> "true 3 4 1.5 0"

local r = {} table.foreach({1, 2, a = 3}, function(k, v) r[#r + 1] = tostring(k) .. v end) table.sort(r) return r
=> "true {[1]=\"11\",[2]=\"22\",[3]=\"a3\"}"

return table.foreach({1, 2, 3}, function(k, v) if v == 2 then return "found" end end)
=> "true \"found\""

local r = {} table.foreachi({5, 6, 7}, function(i, v) r[i] = v * 2 end) return r
=> "true {[1]=10,[2]=12,[3]=14}"

return table.foreachi({5, 6, 7}, function(i, v) if v == 6 then return i end end)
=> "true 2"

local co = coroutine.create(function(a, b) local c = coroutine.yield(a + b) local d, e = coroutine.yield(c * 2) return d + e end) return {coroutine.resume(co, 1, 2)}, {coroutine.resume(co, 10)}, {coroutine.resume(co, 3, 4)}, {coroutine.resume(co)}, coroutine.status(co)
=> "true {[1]=true,[2]=3} {[1]=true,[2]=20} {[1]=true,[2]=7} {[1]=false,[2]=\"cannot resume dead coroutine\"} \"dead\""

local gen = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end) return gen(), gen(), gen(), gen()
=> "true 1 2 3"

local gen = coroutine.wrap(function() return 1 end) gen() return pcall(gen)
=> "true false \"cannot resume dead coroutine\""

local co co = coroutine.create(function() return coroutine.status(co), coroutine.running() == co end) return coroutine.status(co), coroutine.resume(co)
=> "true \"suspended\" true \"running\" true"

local co co = coroutine.create(function() return coroutine.resume(co) end) return coroutine.resume(co)
=> "true true false \"cannot resume running coroutine\""

local a, b a = coroutine.create(function() return coroutine.resume(b) end) b = coroutine.create(function() return coroutine.status(a), coroutine.resume(a) end) return coroutine.resume(a)
=> "true true true \"normal\" false \"cannot resume normal coroutine\""

local co = coroutine.create(function() error("x") end) return coroutine.resume(co)
=> "true false \"user_script:1: x\""

local co = coroutine.create(function() error({1}) end) return coroutine.resume(co)
=> "true false {[1]=1}"

local co = coroutine.create(function() local x x() end) local r = {coroutine.resume(co)} return r, coroutine.status(co), {coroutine.resume(co)}
=> "true {[1]=false,[2]=\"user_script:1: attempt to call local 'x' (a nil value)\"} \"dead\" {[1]=false,[2]=\"cannot resume dead coroutine\"}"

local co = coroutine.wrap(function() error("x") end) return pcall(co)
=> "true false \"user_script:1: x\""

local co = coroutine.wrap(function() error("x", 0) end) return pcall(co)
=> "true false \"x\""

local co = coroutine.wrap(function() error({1}) end) local ok, e = pcall(co) return ok, e[1]
=> "true false 1"

local co = coroutine.create(function() pcall(coroutine.yield, 1) return 2 end) return coroutine.resume(co)
=> "true true 2"

local co = coroutine.create(function() return pcall(function() coroutine.yield(1) end) end) return coroutine.resume(co)
=> "true true false \"attempt to yield across metamethod/C-call boundary\""

local co = coroutine.create(function() local t = setmetatable({}, {__index = function() coroutine.yield(1) end}) return t.x end) return coroutine.resume(co)
=> "true false \"attempt to yield across metamethod/C-call boundary\""

local co = coroutine.create(function() for x in function() return coroutine.yield(1) end do end return 2 end) return coroutine.resume(co)
=> "true false \"attempt to yield across metamethod/C-call boundary\""

local co = coroutine.create(function() table.sort({3, 2, 1}, function() coroutine.yield() end) end) return coroutine.resume(co)
=> "true false \"attempt to yield across metamethod/C-call boundary\""

local co = coroutine.create(function() string.gsub("abc", ".", function() coroutine.yield(1) end) end) return coroutine.resume(co)
=> "true false \"attempt to yield across metamethod/C-call boundary\""

local co = coroutine.create(function() return tostring(setmetatable({}, {__tostring = function() coroutine.yield(1) end})) end) return coroutine.resume(co)
=> "true false \"attempt to yield across metamethod/C-call boundary\""

local function inner() coroutine.yield("deep") return "done" end local co = coroutine.create(function() local r = inner() return r end) return {coroutine.resume(co)}, {coroutine.resume(co)}
=> "true {[1]=true,[2]=\"deep\"} {[1]=true,[2]=\"done\"}"

local co = coroutine.create(function(...) return select("#", ...) end) return coroutine.resume(co, nil, nil)
=> "true true 2"

local co = coroutine.create(function() return coroutine.yield() end) coroutine.resume(co) return coroutine.resume(co, 1, 2, 3)
=> "true true 1 2 3"

local x = 1 local co = coroutine.create(function() x = x + 1 coroutine.yield() x = x + 10 end) coroutine.resume(co) local a = x coroutine.resume(co) return a, x
=> "true 2 12"

local co = coroutine.wrap(function(...) local a = {...} while true do a = {coroutine.yield(#a)} end end) return co(1, 2), co(), co(1, 2, 3)
=> "true 2 0 3"

local co = coroutine.create(function() local co2 = coroutine.create(function() coroutine.yield(1) return 2 end) local r = {} r[1] = {coroutine.resume(co2)} coroutine.yield("mid") r[2] = {coroutine.resume(co2)} return r end) local a = {coroutine.resume(co)} local b = {coroutine.resume(co)} return a, b
=> "true {[1]=true,[2]=\"mid\"} {[1]=true,[2]={[1]={[1]=true,[2]=1},[2]={[1]=true,[2]=2}}}"

local cos = {} for i = 1, 100 do cos[i] = coroutine.wrap(function() local n = i while true do coroutine.yield(n) n = n + 1 end end) end local s = 0 for j = 1, 3 do for i = 1, 100 do s = s + cos[i]() end end return s
=> "true 15450"

local function gen(n) return coroutine.wrap(function() for i = 1, n do coroutine.yield(i) end end) end local s = 0 for i in gen(10) do s = s + i end return s
=> "true 55"

return pcall(coroutine.wrap(function() return pcall(error, "x") end))
=> "true true false \"x\""

local co = coroutine.wrap(function() local ok, e = pcall(function() local x = nil + 1 end) coroutine.yield(e) return "end" end) return co(), co()
=> "true \"user_script:1: attempt to perform arithmetic on a nil value\" \"end\""

local function rec(n) if n == 0 then return 0 end return coroutine.wrap(function() return 1 + rec(n - 1) end)() end return rec(50)
=> "true 50"

local function rec() return coroutine.wrap(rec)() end return pcall(rec)
=> "true false \"user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: user_script:1: C stack overflow\""

local t = {1, 2} t[30000000] = 'x' t[300000] = 'y' local n = 0 for k, v in pairs(t) do n = n + 1 end return #t, n, t[30000000], t[300000], t[30000001]
=> "true 2 4 \"x\" \"y\" nil"

local t = {[30000000] = 1, [0] = 2, [-1] = 3, [2^40] = 4, [0.5] = 5} return t[30000000], t[0], t[-1], t[2^40], t[0.5], #t, table.maxn(t)
=> "true 1 2 3 4 5 0 1099511627776"

local t = {} t[30000000] = 1 t[30000000] = nil return next(t), rawget(t, 30000000)
=> "true nil nil"

local m = {__index = function(t, k) return k end, __newindex = function(t, k, v) rawset(t, k, v * 2) end} local t = setmetatable({}, m) t[30000000] = 2 t[30000000] = 5 t[1] = 2 return t[30000000], t[30000001], t[1], getmetatable(t) == m
=> "true 5 30000001 4 true"

local t = {} t[30000000] = 1 setmetatable(t, {__metatable = 'no', __tostring = function() return 'mine' end, __eq = function() return true end}) return getmetatable(t), tostring(t), pcall(setmetatable, t, {})
=> "true \"no\" \"mine\" false \"cannot change a protected metatable\""

local t = {} t[300000] = 1 return t + 1
=> "false \"user_script:1: attempt to perform arithmetic on local 't' (a table value)\""

local t = {} t[300000] = 1 return t .. 'x'
=> "false \"user_script:1: attempt to concatenate local 't' (a table value)\""

local t = {} t[300000] = 1 return cjson.encode(t)
=> "false \"user_script:1: Cannot serialise table: excessively sparse array\""

local t = {5, 3} t[300000] = 1 table.sort(t) table.insert(t, 9) return t[1], t[2], t[3], #t, table.concat(t, ','), unpack(t)
=> "true 3 5 9 3 \"3,5,9\" 3 5 9"

