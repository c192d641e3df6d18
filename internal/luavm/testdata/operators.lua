return 1
=> "true 1"

for i = "3", 1, -1 do if i == 1 then return i end end
=> "true 1"

local r = {} for i = "1", "0x3" do r[#r + 1] = i end return r
=> "true {[1]=1,[2]=2,[3]=3}"

for i = "a", 1 do end
=> "false \"user_script:1: 'for' initial value must be a number\""

for i = 1, {} do end
=> "false \"user_script:1: 'for' limit must be a number\""

for i = 1, 2, nil do end
=> "false \"user_script:1: 'for' step must be a number\""

local x = {} for i = 1, x.y do end
=> "false \"user_script:1: 'for' limit must be a number\""

local n = 0 for i = 1, 0 do n = n + 1 end for i = 3, 1 do n = n + 1 end for i = 1, 2, 0.25 do n = n + 1 end return n
=> "true 5"

local n = 0 for i = 1, 1 / 0 do n = n + 1 if n > 10 then break end end return n
=> "true 11"

return tonumber("1e3"), tonumber("0x10"), tonumber(" 10 "), tonumber("10a"), tonumber("0x"), tonumber("1e"), tonumber(""), tonumber(" ")
=> "true 1000 16 10 nil nil nil nil nil"

return tonumber("\t10\n"), tonumber("1 0"), tonumber("10\0abc"), tonumber("1."), tonumber(".5"), tonumber("."), tonumber("+5"), tonumber("- 5"), tonumber("--5"), tonumber("5-")
=> "true 10 nil 10 1 0.5 nil 5 nil nil nil"

return tonumber("inf"), tonumber("-INF"), tonumber("infinity"), tonumber("infi"), tonumber("1e400"), tonumber("1e-400"), tonumber("0x1p4"), tonumber("0x.8"), tonumber("0x1.8p1"), tonumber("-0x10")
=> "true inf -inf inf nil inf 0 16 0.5 3 -16"

return tostring(tonumber("nan")), tostring(tonumber("-nan")), tostring(tonumber("NaN(12)"))
=> "true \"nan\" \"-nan\" \"nan\""

return tonumber("0xffffffffffffffffff"), tonumber("010"), tonumber("1_000"), tonumber("0b1"), tonumber("0o7"), tonumber("1e+5"), tonumber("1E-2"), tonumber("1e5.5")
=> "true 4.7223664828696452e+21 10 nil nil nil 100000 0.01 nil"

return tonumber("10", 2), tonumber("ff", 16), tonumber("0xff", 16), tonumber("zz", 36), tonumber("8", 8), tonumber("-ff", 16), tonumber(" 11 ", 2), tonumber("", 16), tonumber("1.5", 16), tonumber("7", 10.9)
=> "true 2 255 255 1295 nil 1.8446744073709552e+19 3 nil nil 7"

return tonumber("99999999999999999999", 9), tonumber("-1", 9), tonumber(nil, 10), tonumber({}), tonumber(true)
=> "true nil 1.8446744073709552e+19 nil nil nil"

return tonumber("10", 1)
=> "false \"user_script:1: bad argument #2 to 'tonumber' (base out of range)\""

return tonumber("10", 37)
=> "false \"user_script:1: bad argument #2 to 'tonumber' (base out of range)\""

return tonumber()
=> "false \"user_script:1: bad argument #1 to 'tonumber' (value expected)\""

return tonumber({}, 16)
=> "false \"user_script:1: bad argument #1 to 'tonumber' (string expected, got table)\""

return 010, 0x1F, 1e2, .5, 5., 3e-2, 0xA, 0x10p1, 1e1000
=> "true 10 31 100 0.5 5 0.029999999999999999 10 32 inf"

return 010 + "010", "0x10" + 1, " 5 " * "2", "1e1" / 4, "7" % 4, 2 ^ "3", -"2", - "0x10"
=> "true 20 17 10 2.5 3 8 -2 -16"

return "10" + 1, "10" .. 1, 10 .. "", "abc" < "abd", "a" < "B", "" < "a", "a\0b" < "a\0c", "Z" < "a"
=> "true 11 \"101\" \"10\" true false true true true"

return "1_0" + 1
=> "false \"user_script:1: attempt to perform arithmetic on a string value\""

return "0b1" + 1
=> "false \"user_script:1: attempt to perform arithmetic on a string value\""

local s = "x" return s + 1
=> "false \"user_script:1: attempt to perform arithmetic on local 's' (a string value)\""

return "a" + 1
=> "false \"user_script:1: attempt to perform arithmetic on a string value\""

return 1 + nil
=> "false \"user_script:1: attempt to perform arithmetic on a nil value\""

return 1 + {}
=> "false \"user_script:1: attempt to perform arithmetic on a table value\""

return {} + 1
=> "false \"user_script:1: attempt to perform arithmetic on a table value\""

return {} + {}
=> "false \"user_script:1: attempt to perform arithmetic on a table value\""

return {} .. {}
=> "false \"user_script:1: attempt to concatenate a table value\""

return -{}
=> "false \"user_script:1: attempt to perform arithmetic on a table value\""

return -nil
=> "false \"user_script:1: attempt to perform arithmetic on a nil value\""

return #nil
=> "false \"user_script:1: attempt to get length of a nil value\""

return #5
=> "false \"user_script:1: attempt to get length of a number value\""

local t = {} return #t.x
=> "false \"user_script:1: attempt to get length of field 'x' (a nil value)\""

return tostring(922337203685477), tostring(1e15), tostring(123456789012345), tostring(1/0), tostring(-1/0), tostring(0/0), tostring(2^53), tostring(0.1), tostring(1e100), tostring(100), tostring(1e14), tostring(99999999999999)
=> "true \"9.2233720368548e+14\" \"1e+15\" \"1.2345678901234e+14\" \"inf\" \"-inf\" \"-nan\" \"9.007199254741e+15\" \"0.1\" \"1e+100\" \"100\" \"1e+14\" \"99999999999999\""

return tostring(-0.0), tostring(0), tostring(-(0/0)), tostring(1e-5), tostring(1e-4), tostring(123456.789e3), tostring(1/3), tostring(100000000000000), tostring(-100000000000000), tostring(5e-324), tostring(1.7976931348623157e308)
=> "true \"-0\" \"-0\" \"nan\" \"1e-05\" \"0.0001\" \"123456789\" \"0.33333333333333\" \"1e+14\" \"-1e+14\" \"4.9406564584125e-324\" \"1.7976931348623e+308\""

return tostring(12345678901234567890), tostring(0.1 + 0.2), tostring(3.14159265358979), tostring(1e21), tostring(-1e15), tostring(2^63), tostring(1234567.891), tostring(99999999999999.5)
=> "true \"1.2345678901235e+19\" \"0.3\" \"3.1415926535898\" \"1e+21\" \"-1e+15\" \"9.2233720368548e+18\" \"1234567.891\" \"1e+14\""

return 922337203685477 .. "", 1.5 .. "|" .. 2 .. "|" .. 1e15 .. "|" .. -1 .. "|" .. 0.1
=> "true \"9.2233720368548e+14\" \"1.5|2|1e+15|-1|0.1\""

return 1 .. 2 == "12", 1 .. "" == "1", "a" .. 1 + 2 .. "b", "a" .. "b" .. "c" == "abc"
=> "true true true \"a3b\" true"

local a, b = 1, 2 a, b = b, a return a, b
=> "true 2 1"

local i, a = 1, {} i, a[i] = i + 1, 20 return i, a[1], a[2]
=> "true 2 20 nil"

local a = {} local i = 3 i, a[i] = i + 1, 20 return a[3], a[4], i
=> "true 20 nil 4"

local a, b, c = (function() return 1, 2, 3 end)() return a, b, c
=> "true 1 2 3"

local a, b, c = (function() return 1, 2, 3 end)(), 10 return a, b, c
=> "true 1 10 nil"

local a, b a, b = (function() return 1, 2, 3 end)() return a, b
=> "true 1 2"

local a, b, c = 0, 0, 0 a, b, c = 1 return a, b, c
=> "true 1 nil nil"

local a, b = 5 a, b = b, a return a, b
=> "true nil 5"

local t = {1, 2} t[1], t[2] = t[2], t[1] return t
=> "true {[1]=2,[2]=1}"

local function f(a) a, b = tostring(a), 1 return a end return f(5)
=> "false \"user_script:1: Attempt to modify a readonly table\""

local function f(a) local b a, b = tostring(a), 1 return a, b end return f(5)
=> "true \"5\" 1"

local function f(a) a = a .. "x" return a end return f("y")
=> "true \"yx\""

local function f(a) a = (tostring(a)) return a end return f(5)
=> "true \"5\""

local function f(a, b) b = a and b .. a return b end return f("1", "2")
=> "true \"21\""

local function f(a) a = #a return a end return f({1, 2, 3})
=> "true 3"

local function f(a) a = a % 3 return a end return f(8)
=> "true 2"

return 5 % 3, -5 % 3, 5 % -3, -5 % -3, 5.5 % 2, -0.5 % 1, 5 % 0.3
=> "true 2 1 -1 -2 1.5 0.5 0.20000000000000018"

return tostring(5 % 0), tostring(-5 % 0), tostring(0 % 0), tostring(5 % (1/0)), tostring(-5 % (1/0)), tostring(5 % (-1/0)), tostring((1/0) % 2)
=> "true \"-nan\" \"-nan\" \"-nan\" \"-nan\" \"-nan\" \"-nan\" \"-nan\""

return 9223372036854775807 % 1000, 1e17 % 7, 123456789012345678 % 10, 2^53 % 3, 1e300 % 7, -1e17 % 7, 4611686018427387904 % 13
=> "true 0 0 0 2 0 0 0"

local a, b = 9223372036854775807, 1000 return a % b, (a - 1) % b, a % 7, -a % 7
=> "true 0 0 0 0"

return 2 ^ 10, 2 ^ -1, 2 ^ 0.5, (-8) ^ (1 / 3), 0 ^ 0, 10 ^ 2, 10 ^ -2, 2 ^ 1023 * 2, -2 ^ 2
=> "true 1024 0.5 1.4142135623730951 -nan 1 100 0.01 inf -4"

return 1 / 0, -1 / 0, 1e308 * 10, 7 / 2, -7 / 2, 1 / 3
=> "true inf -inf inf 3.5 -3.5 0.33333333333333331"

return 1 == 1.0, "1" == 1, 0 == -0, 0/0 == 0/0, nil == false, {} == {}
=> "true true false true false false false"

return 1 < 2, 1 <= 1, 2 > 1, "a" <= "a", not (1 < 2), not nil, not 0
=> "true true true true true false true false"

return 1 < "2"
=> "false \"user_script:1: attempt to compare number with string\""

return "a" < 1
=> "false \"user_script:1: attempt to compare string with number\""

return nil < 1
=> "false \"user_script:1: attempt to compare nil with number\""

return nil > 1
=> "false \"user_script:1: attempt to compare number with nil\""

return {} < {}
=> "false \"user_script:1: attempt to compare two table values\""

return nil < nil
=> "false \"user_script:1: attempt to compare two nil values\""

return {} <= {}
=> "false \"user_script:1: attempt to compare two table values\""

return true < false
=> "false \"user_script:1: attempt to compare two boolean values\""

return 1 <= "x"
=> "false \"user_script:1: attempt to compare number with string\""

return "x" >= 1
=> "false \"user_script:1: attempt to compare number with string\""

return print
=> "false \"user_script:1: Script attempted to access nonexistent global variable 'print'\""

return 1 and 2, nil and 1, false or nil, nil or false, 1 or 2, false and nil, nil and nil or 3
=> "true 2 nil nil false 1 false 3"

local a, b = nil, 5 local c = a and b or 7 local d = b and a or 8 local e = (a or b) and (b or a) return c, d, e
=> "true 7 8 5"

local x = 5 local y = x > 3 and "big" or "small" local z = x < 3 and "small" or x == 5 and "five" or "other" return y, z
=> "true \"big\" \"five\""

local x = nil local y = x == nil and 1 or 2 local z = not x and 3 or 4 return y, z, x == nil, not not x
=> "true 1 3 true false"

local function f(...) return ... end local a = f(1, 2) or f(3) local b = (f(1, 2)) return a, b, (f(4, 5))
=> "true 1 1 4"

local t = {} t.x = 1 t["y"] = 2 t[1] = 3 t[-1] = 4 t[1.5] = 5 t[true] = 6 return t.x, t.y, t[1], t[-1], t[1.5], t[true], t[2]
=> "true 1 2 3 4 5 6 nil"

local t = {1, 2, 3, nil, 5} return #t, t[5]
=> "true 5 5"

local t = {1, nil, 3} return #t
=> "true 3"

local t = {n = 1, [1] = "a", "b", [2] = "c"} return t[1], t[2], t.n
=> "true \"b\" \"c\" 1"

local t = {(function() return 1, 2, 3 end)(), (function() return 1, 2, 3 end)()} return #t, t[1], t[2], t[4]
=> "true 4 1 1 3"

local t = {} t[nil] = 1
=> "false \"user_script:1: table index is nil\""

local t = {} t[0/0] = 1
=> "false \"user_script:1: table index is NaN\""

local t = {} return t[nil], t[0/0]
=> "true nil nil"

local t = {[nil] = 1}
=> "false \"user_script:1: table index is nil\""

local k = nil local t = {} t[k] = 1
=> "false \"user_script:1: table index is nil\""

local t = {} t[1000000] = 1 t[500000] = 2 return #t, t[1000000], t[500000], t[999999]
=> "true 0 1 2 nil"

local t = {} for i = 1, 300000 do t[i] = i end return #t, t[262143], t[262144], t[262145], t[300000], t[300001]
=> "true 300000 262143 262144 262145 300000 nil"

local t = {} for i = 1, 300000 do t[#t + 1] = i end t[#t] = nil return #t, t[299999]
=> "true 299999 299999"

return #"abc", #"", #"a\0b", -"5", - -5, not not true, #{1, 2} + 1
=> "true 3 0 3 -5 5 true 3"

local goto = 5 return goto
=> "true 5"

local t = {goto = 1} t.goto = t.goto + 1 return t.goto
=> "true 2"

local continue, x = 1, 2 return continue + x
=> "true 3"

return 2 ^ 3 ^ 2, -2 ^ 2, not 1 == 2, 1 .. 2 .. 3, 2 * 3 % 4, 1 + 2 < 4, "a" .. "b" == "ab", 5 - 3 - 1, 2 / 2 * 3
=> "true 512 -4 false \"123\" 2 true true 1 3"

local s = 0 for i = 10, 1, -3 do s = s * 100 + i end return s
=> "true 10070401"

local s = "" for i = 1, 3 do for j = 1, 3 do if j == 2 then break end s = s .. i .. j .. " " end end return s
=> "true \"11 21 31 \""

local i = 0 repeat local j = i i = i + 1 until j >= 3 return i
=> "true 4"

local i = 0 while true do i = i + 1 if i > 5 then break end end return i
=> "true 6"

local f = {} for i = 1, 3 do f[i] = function() i = i + 1 return i end end return f[1](), f[1](), f[2](), f[3]()
=> "true 2 3 3 4"

local f while true do do local x = 1 f = function() return x end break end end local y = 99 local z = 98 return f()
=> "true 1"

local fs = {} for i = 1, 3 do local x = i if i == 2 then local y = x * 10 fs[#fs + 1] = function() return x + y end break end fs[#fs + 1] = function() return x end end local q, r, s, t, u = 1, 2, 3, 4, 5 return fs[1](), fs[2]()
=> "true 1 22"

local fs = {} local i = 0 repeat local x = i fs[#fs + 1] = function() x = x + 1 return x end i = i + 1 until x >= 2 return fs[1](), fs[1](), fs[2](), fs[3](), #fs
=> "true 1 2 2 3 3"

local fs = {} local i = 0 while i < 3 do local x = i fs[#fs + 1] = function() return x end i = i + 1 end return fs[1](), fs[2](), fs[3]()
=> "true 0 1 2"

local x = 1 local function g() return x end pcall(error, "a") x = 2 return g()
=> "true 2"

local x = 1 local function g() x = x + 1 return x end pcall(function() g() error("a") end) x = x * 10 return g(), x
=> "true 21 21"

local x = 1 local ok, err = pcall(function() local y = 5 local function h() y = y + 1 x = x + y return y end h() error({h}) end) return x, err[1](), err[1](), x
=> "true 7 7 8 22"

local f = function(n) if n == 0 then return "outer" end return f and f(n - 1) end return f(3)
=> "false \"user_script:1: Script attempted to access nonexistent global variable 'f'\""

local f = 7 local f = function() return f end return f()
=> "true 7"

local function f(n) if n <= 1 then return 1 end return n * f(n - 1) end return f(10)
=> "true 3628800"

local x = 1 do local x = x + 1 do local x = x + 1 return x end end
=> "true 3"

local a <const> = 1
=> "compile: user_script:1: unexpected symbol near '<'"

local function f(...) return select("#", ...), ... end return f(nil, nil)
=> "true 2 nil nil"

local function f(...) local a, b = ... return a, b, arg end return f(1, 2, 3)
=> "true 1 2 nil"

local function f(...) return arg.n, arg[1], arg[2] end return f(1, 2, 3)
=> "true 3 1 2"

local function f(a, ...) return arg.n, arg[1], a end return f(1, 2, 3)
=> "true 2 2 1"

local function f(...) local t = {...} return #t, t[1], ... end return f(1, 2, 3)
=> "true 3 1 1 2 3"

local function f(...) local t = {..., ...} return #t, t[1], t[2], t[3] end return f(1, 2)
=> "true 3 1 1 2"

local function f(...) return (...) end return f(1, 2), f()
=> "true 1 nil"

return (function(...) return select(2, ...) end)(1, 2, 3)
=> "true 2 3"

return ...
=> "true"

local t = setmetatable({}, {__index = function(t, k) return k .. "!" end}) return t.foo, t[1]
=> "true \"foo!\" \"1!\""

local t = setmetatable({}, {__index = {a = 1}}) return t.a, t.b
=> "true 1 nil"

local log = {} local t = setmetatable({}, {__newindex = function(t, k, v) rawset(t, k, v * 2) log[#log + 1] = k end}) t.a = 1 t[1] = 2 t[2], t[3] = 3, 4 t.a = 5 local k = "z" t[k] = 9 return t, log
=> "true {[1]=4,[2]=6,[3]=8,[\"a\"]=5,[\"z\"]=18} {[1]=\"a\",[2]=1,[3]=3,[4]=2,[5]=\"z\"}"

local mt = {} mt.__add = function(a, b) return "add" end mt.__concat = function(a, b) return "cat" end mt.__eq = function() return true end mt.__lt = function() return true end mt.__le = function() return false end mt.__call = function(self, x) return x end mt.__unm = function() return "unm" end mt.__len = function() return 42 end mt.__mod = function() return "mod" end mt.__tostring = function() return "str" end local a, b = setmetatable({}, mt), setmetatable({}, mt) return a + 1, 1 + a, a .. "x", "x" .. a, 1 .. a, a .. b, a == b, a < b, a <= b, a(7), -a, #a, a % 2, 2 % a, tostring(a)
=> "true \"add\" \"add\" \"cat\" \"cat\" \"cat\" \"cat\" true true false 7 \"unm\" 0 \"mod\" \"mod\" \"str\""

local mt = {__sub = function() return "sub" end, __mul = function() return "mul" end, __div = function() return "div" end, __pow = function() return "pow" end} local a = setmetatable({}, mt) return a - 1, 1 - a, a * "2", "2" * a, a / 1, nil, a ^ 2, "x" ^ a
=> "true \"sub\" \"sub\" \"mul\" \"mul\" \"div\" nil \"pow\" \"pow\""

local a = setmetatable({}, {__lt = function() return 1 end}) local b = setmetatable({}, {__lt = function() return 1 end}) return a < b
=> "false \"user_script:1: attempt to compare two table values\""

local a = setmetatable({}, {__eq = function() return true end}) return a == {}, a == 1, a ~= a
=> "true false false false"

local t = setmetatable({}, {__call = function(self, ...) return select("#", ...), ... end}) return t(1, nil, 3)
=> "true 3 1 nil 3"

local a = setmetatable({}, {__concat = function(a, b) return (type(a) == "table" and "T" or a) .. "+" .. (type(b) == "table" and "T" or b) end}) return "x" .. "y" .. a, a .. "x" .. "y", 1 .. a .. 2
=> "true \"xy+T\" \"T+xy\" \"1T+2\""

local t = {} t.a = {} t.a.b = function(self, x) return x end function t.a.c(x) return x + 1 end function t.a:d(x) return self == t.a, x end return t.a:b(3), t.a.c(4), t.a:d(5)
=> "true 3 5 true 5"

return ("x"):rep(3), #("abc"), ("%d"):format(5)
=> "true \"xxx\" 3 \"5\""

local t = {f = function() return 1, 2 end} local a, b, c = t.f(), t.f() return a, b, c
=> "true 1 1 2"

do return 1 end
=> "true 1"

return;
=> "true"

local function f() end return f(), (f()), 1
=> "true nil nil 1"

local a = {} a.x, a.y = 1, 2 local n = 0 for k, v in pairs(a) do n = n + v end return n
=> "true 3"

local t = {10, 20, 30} local s = "" for i, v in ipairs(t) do s = s .. i .. "=" .. v .. ";" end return s
=> "true \"1=10;2=20;3=30;\""

local s = 0 for k, v in next, {1, 2, 3} do s = s + v end return s
=> "true 6"

for k in 5 do end
=> "false \"user_script:1: attempt to call a number value\""

local t = {} for k in t do end
=> "false \"user_script:1: attempt to call a table value\""

for k in nil do end
=> "false \"user_script:1: attempt to call a nil value\""

local function iter(s, c) if c < s then return c + 1 end end local r = {} for i in iter, 3, 0 do r[#r + 1] = i end return r
=> "true {[1]=1,[2]=2,[3]=3}"

return -0 == 0, 1e15 + 0.5, 2^53 + 1, 1e16 == 1e16 + 1
=> "true true 1000000000000000.5 9007199254740992 true"

local a = 1 local b = a; local c = b return a, b, c
=> "true 1 1 1"

return "\65\066\x41\z"
=> "true \"ABx41z\""

return "a\
b", 'it''s'
=> "compile: user_script:2: '<eof>' expected near ''s''"

return [[
line1
line2]], [==[a]]b]==], #[[
=> "compile: user_script:3: unfinished long string near '<eof>'"

x]]
=> "compile: user_script:1: '=' expected near ']'"

return "\a\b\f\n\r\t\v\\\"\'\0end"
=> "true \"\a\b\f\\\n\\r\t\v\\\\\\\"'\\000end\""

return "tab\9end", "\1234", "\0"
=> "true \"tab\tend\" \"{4\" \"\\000\""

return 'single "quoted"', "double 'quoted'"
=> "true \"single \\\"quoted\\\"\" \"double 'quoted'\""

--[[ comment ]] return 1 -- end
=> "true 1"

--[==[ comment
]] still ]==] return 2
=> "true 2"

return 1 --[[ inner ]] + 2
=> "true 3"

local x = 5 if x == 1 then return 1 elseif x == 5 then return "five" elseif x then return 3 else return 4 end
=> "true \"five\""

local x if x then return 1 else return 2 end
=> "true 2"

local v, t = 1, {} v = t.x and t.x.y return v
=> "true nil"

local v, t = 1, {} v = t.x and t.y and 3 return v
=> "true nil"

local v, t = 1, {x = 1} v = t.x and t.y and 3 return v
=> "true nil"

local v, t = 1, {x = false} v = t.y or t.x and 3 return v
=> "true false"

local v = 1 v = tonumber('x') and 2 return v
=> "true nil"

local v = 1 v = (not v and 2) and 3 return v
=> "true false"

local v = true v = not v and 1 == 2 return v
=> "true false"

local v, t = 5, {} v = (t.x or t.y) and 1 return v
=> "true nil"

local v, t = 5, {} v = t.x and 1 v = v or 7 return v
=> "true 7"

local function f(v) v = type(v) == 'x' and 2 return v end return f(1), f('x')
=> "true false false"

local v = 1 v = (function() return nil end)() and 2 return v
=> "true nil"

local function f(v) local u = function() v = not v and 2 return v end return u() end return f(1), f(nil)
=> "true false 2"

local v, t = 1, {} while true do v = t.x and t.y if not v then break end end return v
=> "true nil"

local a, b, t = 1, 2, {} a, b = t.x and 3, t.y or 4 return a, b
=> "true nil 4"

