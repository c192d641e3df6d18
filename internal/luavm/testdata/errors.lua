local x return x.y
=> "false \"user_script:1: attempt to index local 'x' (a nil value)\""

local x return x.y.z
=> "false \"user_script:1: attempt to index local 'x' (a nil value)\""

local t = {} return t.x.y
=> "false \"user_script:1: attempt to index field 'x' (a nil value)\""

local t = {} return t.x.y.z
=> "false \"user_script:1: attempt to index field 'x' (a nil value)\""

local t = {} t.x.y = 1
=> "false \"user_script:1: attempt to index field 'x' (a nil value)\""

local t = {{}} return t[1].x.y
=> "false \"user_script:1: attempt to index field 'x' (a nil value)\""

local t = {} local k = "key" return t[k].y
=> "false \"user_script:1: attempt to index field '?' (a nil value)\""

local t = {} local k = "key" t[k].y = 1
=> "false \"user_script:1: attempt to index field '?' (a nil value)\""

local t = {} local k = 1 t.x[k] = 1
=> "false \"user_script:1: attempt to index field 'x' (a nil value)\""

return x.y
=> "false \"user_script:1: Script attempted to access nonexistent global variable 'x'\""

x.y = 1
=> "false \"user_script:1: Script attempted to access nonexistent global variable 'x'\""

x()
=> "false \"user_script:1: Script attempted to access nonexistent global variable 'x'\""

local x x()
=> "false \"user_script:1: attempt to call local 'x' (a nil value)\""

local x = 5 x()
=> "false \"user_script:1: attempt to call local 'x' (a number value)\""

local t = {} t.x()
=> "false \"user_script:1: attempt to call field 'x' (a nil value)\""

local t = {} t:x()
=> "false \"user_script:1: attempt to call method 'x' (a nil value)\""

local t = {} t.x.y()
=> "false \"user_script:1: attempt to index field 'x' (a nil value)\""

local t = {} local f = t.x f()
=> "false \"user_script:1: attempt to call local 'f' (a nil value)\""

("x")()
=> "false \"user_script:1: attempt to call a string value\""

({})()
=> "false \"user_script:1: attempt to call a table value\""

local t = {} t()
=> "false \"user_script:1: attempt to call local 't' (a table value)\""

local t = {x = {}} t.x()
=> "false \"user_script:1: attempt to call field 'x' (a table value)\""

local function f() local x = nil return function() return x.y end end return f()()
=> "false \"user_script:1: attempt to index upvalue 'x' (a nil value)\""

local function f() local x = nil return function() x() end end return f()()
=> "false \"user_script:1: attempt to call upvalue 'x' (a nil value)\""

local a return a .. "x"
=> "false \"user_script:1: attempt to concatenate local 'a' (a nil value)\""

local a return "x" .. a
=> "false \"user_script:1: attempt to concatenate local 'a' (a nil value)\""

local a = {} return "x" .. a.b
=> "false \"user_script:1: attempt to concatenate field 'b' (a nil value)\""

local a = {} return 1 .. a.b .. 2
=> "false \"user_script:1: attempt to concatenate field 'b' (a nil value)\""

local a = {} return a.b .. a
=> "false \"user_script:1: attempt to concatenate field 'b' (a nil value)\""

return "x" .. {}
=> "false \"user_script:1: attempt to concatenate a table value\""

return "x" .. nil
=> "false \"user_script:1: attempt to concatenate a nil value\""

return "x" .. true
=> "false \"user_script:1: attempt to concatenate a boolean value\""

return print .. "x"
=> "false \"user_script:1: Script attempted to access nonexistent global variable 'print'\""

local a = {} return a + 1
=> "false \"user_script:1: attempt to perform arithmetic on local 'a' (a table value)\""

local a = {} return 1 + a
=> "false \"user_script:1: attempt to perform arithmetic on local 'a' (a table value)\""

local a = {} return a.x + 1
=> "false \"user_script:1: attempt to perform arithmetic on field 'x' (a nil value)\""

local a = {} return a.x + a.y
=> "false \"user_script:1: attempt to perform arithmetic on field 'x' (a nil value)\""

local a = {} return a - {}
=> "false \"user_script:1: attempt to perform arithmetic on local 'a' (a table value)\""

local a = "abc" return a * 2
=> "false \"user_script:1: attempt to perform arithmetic on local 'a' (a string value)\""

local a = {} return a % 2
=> "false \"user_script:1: attempt to perform arithmetic on local 'a' (a table value)\""

local a = {} return 2 % a
=> "false \"user_script:1: attempt to perform arithmetic on local 'a' (a table value)\""

local a = {} return a.b % 2
=> "false \"user_script:1: attempt to perform arithmetic on field 'b' (a nil value)\""

local a return -a
=> "false \"user_script:1: attempt to perform arithmetic on local 'a' (a nil value)\""

local a = {} return -a
=> "false \"user_script:1: attempt to perform arithmetic on local 'a' (a table value)\""

local a = {} return -a.b
=> "false \"user_script:1: attempt to perform arithmetic on field 'b' (a nil value)\""

local a return #a
=> "false \"user_script:1: attempt to get length of local 'a' (a nil value)\""

local a = {} return #a.b
=> "false \"user_script:1: attempt to get length of field 'b' (a nil value)\""

local a = 5 return #a
=> "false \"user_script:1: attempt to get length of local 'a' (a number value)\""

local x = 5 x.y = 1
=> "false \"user_script:1: attempt to index local 'x' (a number value)\""

local x = true return x.y
=> "false \"user_script:1: attempt to index local 'x' (a boolean value)\""

local x = true x[1] = 2
=> "false \"user_script:1: attempt to index local 'x' (a boolean value)\""

local x = true x["y"] = 2
=> "false \"user_script:1: attempt to index local 'x' (a boolean value)\""

local x = print return x.y
=> "false \"user_script:1: Script attempted to access nonexistent global variable 'print'\""

local x = print x.y = 1
=> "false \"user_script:1: Script attempted to access nonexistent global variable 'print'\""

local s = "x" s.y = 1
=> "false \"user_script:1: attempt to index local 's' (a string value)\""

local s = "x" return s.y, s.len
=> "true nil function"

return (nil)[1]
=> "false \"user_script:1: attempt to index a nil value\""

return (nil).x
=> "false \"user_script:1: attempt to index a nil value\""

return ({}).x.y
=> "false \"user_script:1: attempt to index field 'x' (a nil value)\""

return cjson.null.x
=> "false \"user_script:1: attempt to index field 'null' (a userdata value)\""

return cjson.null + 1
=> "false \"user_script:1: attempt to perform arithmetic on field 'null' (a userdata value)\""

cjson.null()
=> "false \"user_script:1: attempt to call field 'null' (a userdata value)\""

error("msg")
=> "false \"user_script:1: msg\""

error("msg", 0)
=> "false \"msg\""

error("msg", 1)
=> "false \"user_script:1: msg\""

error("msg", 2)
=> "false \"msg\""

error("msg", 3)
=> "false \"user_script:27: msg\""

local function f() error("msg", 2) end f()
=> "false \"user_script:1: msg\""

local function f() error("msg", 3) end local function g() f() end g()
=> "false \"user_script:1: msg\""

local function f() error("msg", 1) end
local function g()
  f()
end
g()
=> "false \"user_script:1: msg\""

local function f() error("msg", 2) end
local function g()
  f()
end
g()
=> "false \"user_script:3: msg\""

error()
=> "false nil"

error(nil)
=> "false nil"

error(5)
=> "false \"user_script:1: 5\""

error(5, 0)
=> "false 5"

error(true)
=> "false true"

return select(2, pcall(error, {1, 2}))
=> "true {[1]=1,[2]=2} nil"

return pcall(error)
=> "true false nil"

return pcall(error, "x")
=> "true false \"x\""

return pcall(error, "x", 2)
=> "true false \"user_script:1: x\""

return pcall(error, nil)
=> "true false nil"

return pcall(function() error("x") end)
=> "true false \"user_script:1: x\""

return pcall(function() error("x", 2) end)
=> "true false \"x\""

return pcall(function() error("x", 3) end)
=> "true false \"user_script:1: x\""

return pcall(function() return pcall(function() error("x", 3) end) end)
=> "true true false \"user_script:1: x\""

return pcall(function() local x x() end)
=> "true false \"user_script:1: attempt to call local 'x' (a nil value)\""

return pcall(function() return 1, 2, 3 end)
=> "true true 1 2 3"

return pcall(select, "#", 1, nil, nil)
=> "true true 3"

return pcall(pcall)
=> "true true false \"attempt to call a boolean value\""

return pcall(pcall, error)
=> "true true false nil"

return pcall(5)
=> "true false \"attempt to call a number value\""

return pcall()
=> "true false \"attempt to call a boolean value\""

return pcall(string.rep)
=> "true false \"bad argument #1 to '?' (string expected, got no value)\""

return pcall(string.rep, "x")
=> "true false \"bad argument #2 to '?' (number expected, got no value)\""

return pcall(string.rep, "x", "y")
=> "true false \"bad argument #2 to '?' (number expected, got string)\""

return pcall(string.rep, {}, 1)
=> "true false \"bad argument #1 to '?' (string expected, got table)\""

return xpcall(function() error("a") end, function(e) return "handled " .. e end)
=> "true false \"handled user_script:1: a\""

return xpcall(function() error("a") end, function(e) return 1, 2 end)
=> "true false 1"

return xpcall(function() error({}) end, function(e) return type(e) end)
=> "true false \"table\""

return xpcall(function() return 1, 2 end, error)
=> "true true 1 2"

return xpcall(function() error("a") end, function() error("b") end)
=> "true false \"error in error handling\""

return xpcall(function() error("a") end, 5)
=> "true false \"error in error handling\""

return xpcall(error)
=> "false \"user_script:1: bad argument #2 to 'xpcall' (value expected)\""

return xpcall(5, function(e) return e end)
=> "true false \"attempt to call a number value\""

return xpcall(function(...) return select("#", ...) end, error, 1, 2)
=> "true true 0"

local ok, e = pcall(function() local t = setmetatable({}, {__index = function(t, k) error("no " .. k) end}) return t.x end) return e
=> "true \"user_script:1: no x\""

local ok, e = pcall(function() local t = setmetatable({}, {__index = function(t, k) error("no " .. k, 2) end}) return t.x end) return e
=> "true \"user_script:1: no x\""

local ok, e = pcall(function() error(setmetatable({}, {__tostring = function() return "custom" end})) end) return type(e), tostring(e)
=> "true \"table\" \"custom\""

local function f() return f() + 1 end return pcall(f)
=> "true false \"user_script:1: stack overflow\""

local function f() return pcall(f) end return f()
=> "true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true true false \"C stack overflow\""

local function f(n) if n == 0 then return 0 end return f(n - 1) end return f(100000)
=> "true 0"

local function f(n) if n == 0 then return 0 end return 1 + f(n - 1) end return f(15000)
=> "true 15000"

local t = setmetatable({}, {}) getmetatable(t).__index = t return pcall(function() return t.x end)
=> "true false \"user_script:1: loop in gettable\""

local t = setmetatable({}, {}) getmetatable(t).__newindex = t return pcall(function() t.x = 1 end)
=> "true false \"user_script:1: loop in settable\""

assert(false)
=> "false \"user_script:1: assertion failed!\""

assert(nil, "msg")
=> "false \"user_script:1: msg\""

assert(false, 5)
=> "false \"user_script:1: 5\""

assert(false, {})
=> "false \"user_script:1: bad argument #2 to 'assert' (string expected, got table)\""

assert()
=> "false \"user_script:1: bad argument #1 to 'assert' (value expected)\""

return assert(1, 2, 3)
=> "true 1 2 3"

return pcall(assert, false, "x")
=> "true false \"x\""

return pcall(assert, false)
=> "true false \"assertion failed!\""

return pcall(assert)
=> "true false \"bad argument #1 to '?' (value expected)\""

string.rep()
=> "false \"user_script:1: bad argument #1 to 'rep' (string expected, got no value)\""

local f = string.rep f()
=> "false \"user_script:1: bad argument #1 to 'f' (string expected, got no value)\""

local t = {f = string.rep} t.f()
=> "false \"user_script:1: bad argument #1 to 'f' (string expected, got no value)\""

local t = {f = string.rep} t:f()
=> "false \"user_script:1: calling 'f' on bad self (string expected, got table)\""

("x"):rep({})
=> "false \"user_script:1: bad argument #1 to 'rep' (number expected, got table)\""

("x"):rep()
=> "false \"user_script:1: bad argument #1 to 'rep' (number expected, got no value)\""

string.rep("x", {})
=> "false \"user_script:1: bad argument #2 to 'rep' (number expected, got table)\""

string.rep("x", "y")
=> "false \"user_script:1: bad argument #2 to 'rep' (number expected, got string)\""

string.sub()
=> "false \"user_script:1: bad argument #1 to 'sub' (string expected, got no value)\""

string.sub("x")
=> "false \"user_script:1: bad argument #2 to 'sub' (number expected, got no value)\""

string.sub("x", "a")
=> "false \"user_script:1: bad argument #2 to 'sub' (number expected, got string)\""

string.sub("x", 1, {})
=> "false \"user_script:1: bad argument #3 to 'sub' (number expected, got table)\""

string.char(256)
=> "false \"user_script:1: bad argument #1 to 'char' (invalid value)\""

string.char(-1)
=> "false \"user_script:1: bad argument #1 to 'char' (invalid value)\""

string.char("a")
=> "false \"user_script:1: bad argument #1 to 'char' (number expected, got string)\""

string.byte()
=> "false \"user_script:1: bad argument #1 to 'byte' (string expected, got no value)\""

string.format()
=> "false \"user_script:1: bad argument #1 to 'format' (string expected, got no value)\""

string.format("%d")
=> "false \"user_script:1: bad argument #2 to 'format' (no value)\""

string.format("%d", "x")
=> "false \"user_script:1: bad argument #2 to 'format' (number expected, got string)\""

string.format("%d", {})
=> "false \"user_script:1: bad argument #2 to 'format' (number expected, got table)\""

string.format("%s")
=> "false \"user_script:1: bad argument #2 to 'format' (no value)\""

string.format("%s", nil)
=> "false \"user_script:1: bad argument #2 to 'format' (string expected, got nil)\""

string.format("%s", {})
=> "false \"user_script:1: bad argument #2 to 'format' (string expected, got table)\""

string.format("%y", 1)
=> "false \"user_script:1: invalid option '%y' to 'format'\""

string.format("%", 1)
=> "false \"user_script:1: invalid option '%' to 'format'\""

string.format("%10")
=> "false \"user_script:1: bad argument #2 to 'format' (no value)\""

string.format("%123d", 1)
=> "false \"user_script:1: invalid format (width or precision too long)\""

string.format("%.123d", 1)
=> "false \"user_script:1: invalid format (width or precision too long)\""

string.format("%--------d", 1)
=> "false \"user_script:1: invalid format (repeated flags)\""

string.format("%q")
=> "false \"user_script:1: bad argument #2 to 'format' (no value)\""

string.format("%c", "x")
=> "false \"user_script:1: bad argument #2 to 'format' (number expected, got string)\""

string.len()
=> "false \"user_script:1: bad argument #1 to 'len' (string expected, got no value)\""

string.len({})
=> "false \"user_script:1: bad argument #1 to 'len' (string expected, got table)\""

string.upper()
=> "false \"user_script:1: bad argument #1 to 'upper' (string expected, got no value)\""

string.find("x")
=> "false \"user_script:1: bad argument #2 to 'find' (string expected, got no value)\""

string.find("x", "[")
=> "false \"user_script:1: malformed pattern (missing ']')\""

string.find("x", "[a")
=> "false \"user_script:1: malformed pattern (missing ']')\""

string.find("x", "[^")
=> "false \"user_script:1: malformed pattern (missing ']')\""

string.find("x", "[]")
=> "false \"user_script:1: malformed pattern (missing ']')\""

string.find("x", "[]]")
=> "true"

string.find("x", "%")
=> "false \"user_script:1: malformed pattern (ends with '%')\""

string.find("x", "(x")
=> "false \"user_script:1: unfinished capture\""

string.find("x", "x)")
=> "true"

string.find("x", "%1")
=> "false \"user_script:1: invalid capture index\""

string.find("x", "(x)%2")
=> "false \"user_script:1: invalid capture index\""

string.find("x", "%b")
=> "false \"user_script:1: unbalanced pattern\""

string.find("x", "%bx")
=> "false \"user_script:1: unbalanced pattern\""

string.find("x", "%f")
=> "false \"user_script:1: missing '[' after '%f' in pattern\""

string.find("x", "%fx")
=> "false \"user_script:1: missing '[' after '%f' in pattern\""

string.gsub("x")
=> "false \"user_script:1: bad argument #2 to 'gsub' (string expected, got no value)\""

string.gsub("x", "x")
=> "false \"user_script:1: bad argument #3 to 'gsub' (string/function/table expected)\""

string.gsub("x", "x", true)
=> "false \"user_script:1: bad argument #3 to 'gsub' (string/function/table expected)\""

string.gsub("x", "x", {}, "a")
=> "false \"user_script:1: bad argument #4 to 'gsub' (number expected, got string)\""

string.gsub("x", "x", function() return {} end)
=> "false \"user_script:1: invalid replacement value (a table)\""

string.gsub("x", "x", function() return true end)
=> "false \"user_script:1: invalid replacement value (a boolean)\""

string.gsub("x", "x", "%2")
=> "false \"user_script:1: invalid capture index\""

return string.gsub("x", "x", "%")
=> "true \"\\000\" 1"

string.gsub("x", "(", "")
=> "true"

string.gmatch("x")
=> "false \"user_script:1: bad argument #2 to 'gmatch' (string expected, got no value)\""

string.rep("x", 1/0)
=> "true"

return string.rep("x", -1), string.rep("", 1e9), string.rep("ab", 2.9)
=> "true \"\" \"\" \"abab\""

table.concat()
=> "false \"user_script:1: bad argument #1 to 'concat' (table expected, got no value)\""

table.concat({1, {}, 3})
=> "false \"user_script:1: invalid value (table) at index 2 in table for 'concat'\""

table.concat({1, 2}, ",", 1, 3)
=> "false \"user_script:1: invalid value (nil) at index 3 in table for 'concat'\""

table.concat({1, 2}, {})
=> "false \"user_script:1: bad argument #2 to 'concat' (string expected, got table)\""

table.insert()
=> "false \"user_script:1: bad argument #1 to 'insert' (table expected, got no value)\""

table.insert({})
=> "false \"user_script:1: wrong number of arguments to 'insert'\""

table.insert({}, 1, 2, 3)
=> "false \"user_script:1: wrong number of arguments to 'insert'\""

table.insert({}, "a", 2)
=> "false \"user_script:1: bad argument #2 to 'insert' (number expected, got string)\""

table.insert(nil, 1)
=> "false \"user_script:1: bad argument #1 to 'insert' (table expected, got nil)\""

table.remove()
=> "false \"user_script:1: bad argument #1 to 'remove' (table expected, got no value)\""

table.sort()
=> "false \"user_script:1: bad argument #1 to 'sort' (table expected, got no value)\""

table.sort({3, "a", 1})
=> "false \"attempt to compare string with number\""

table.sort({3, 1, 2}, 5)
=> "false \"user_script:1: bad argument #2 to 'sort' (function expected, got number)\""

table.sort({3, 1, 2}, function() return true end)
=> "true"

table.sort({3, 1, 2, 5, 4, 9, 7}, function(a, b) return true end)
=> "false \"user_script:1: invalid order function for sorting\""

table.sort({{}, {}})
=> "false \"attempt to compare two table values\""

table.sort({1, nil, 2})
=> "false \"attempt to compare nil with number\""

table.getn()
=> "false \"user_script:1: bad argument #1 to 'getn' (table expected, got no value)\""

table.setn({}, 1)
=> "false \"user_script:1: 'setn' is obsolete\""

table.maxn()
=> "false \"user_script:1: bad argument #1 to 'maxn' (table expected, got no value)\""

table.foreach({})
=> "false \"user_script:1: bad argument #2 to 'foreach' (function expected, got no value)\""

unpack()
=> "false \"user_script:1: bad argument #1 to 'unpack' (table expected, got no value)\""

unpack({}, "a")
=> "false \"user_script:1: bad argument #2 to 'unpack' (number expected, got string)\""

unpack({}, 1, 8000)
=> "false \"user_script:1: too many results to unpack\""

unpack({}, 1, 1e8)
=> "false \"user_script:1: too many results to unpack\""

unpack({}, -1e9, 1e9)
=> "false \"user_script:1: too many results to unpack\""

return select("#", unpack({}, 1, 7997))
=> "true 7997"

return select("#", unpack({}, 1, 7996))
=> "true 7996"

local t = {} for i = 1, 7999 do t[i] = i end return select("#", unpack(t))
=> "true 7999"

local t = {} for i = 1, 8000 do t[i] = i end return select("#", unpack(t))
=> "false \"user_script:1: too many results to unpack\""

local t = {} for i = 1, 7000 do t[i] = i end return #{unpack(t)}
=> "true 7000"

local t = {} for i = 1, 5000 do t[i] = i end return math.max(unpack(t)), #string.rep("x", select(5000, unpack(t)))
=> "true 5000 5000"

select(0)
=> "false \"user_script:1: bad argument #1 to 'select' (index out of range)\""

select("x")
=> "false \"user_script:1: bad argument #1 to 'select' (number expected, got string)\""

select()
=> "false \"user_script:1: bad argument #1 to 'select' (number expected, got no value)\""

select(-5, 1)
=> "false \"user_script:1: bad argument #1 to 'select' (index out of range)\""

return select(-1, 1, 2, 3), select("#"), select(5, 1)
=> "true 3 0"

setmetatable({})
=> "false \"user_script:1: bad argument #2 to 'setmetatable' (nil or table expected)\""

setmetatable({}, 1)
=> "false \"user_script:1: bad argument #2 to 'setmetatable' (nil or table expected)\""

setmetatable(1, {})
=> "false \"user_script:1: bad argument #1 to 'setmetatable' (table expected, got number)\""

setmetatable(setmetatable({}, {__metatable = 1}), {})
=> "false \"user_script:1: cannot change a protected metatable\""

return getmetatable(setmetatable({}, {__metatable = 1})), getmetatable(1), getmetatable(nil), getmetatable(print)
=> "false \"user_script:1: Script attempted to access nonexistent global variable 'print'\""

getmetatable()
=> "false \"user_script:1: bad argument #1 to 'getmetatable' (value expected)\""

rawget()
=> "false \"user_script:1: bad argument #1 to 'rawget' (table expected, got no value)\""

rawget(1, 2)
=> "false \"user_script:1: bad argument #1 to 'rawget' (table expected, got number)\""

rawget({})
=> "false \"user_script:1: bad argument #2 to 'rawget' (value expected)\""

rawset({}, 1)
=> "false \"user_script:1: bad argument #3 to 'rawset' (value expected)\""

rawset({}, nil, 1)
=> "false \"table index is nil\""

rawset({}, 0/0, 1)
=> "false \"table index is NaN\""

rawequal(1)
=> "false \"user_script:1: bad argument #2 to 'rawequal' (value expected)\""

next()
=> "false \"user_script:1: bad argument #1 to 'next' (table expected, got no value)\""

ipairs()
=> "false \"user_script:1: bad argument #1 to 'ipairs' (table expected, got no value)\""

ipairs(nil)
=> "false \"user_script:1: bad argument #1 to 'ipairs' (table expected, got nil)\""

pairs()
=> "false \"user_script:1: bad argument #1 to 'pairs' (table expected, got no value)\""

pairs(1)
=> "false \"user_script:1: bad argument #1 to 'pairs' (table expected, got number)\""

pairs("x")
=> "false \"user_script:1: bad argument #1 to 'pairs' (table expected, got string)\""

type()
=> "false \"user_script:1: bad argument #1 to 'type' (value expected)\""

tostring()
=> "false \"user_script:1: bad argument #1 to 'tostring' (value expected)\""

collectgarbage("x")
=> "false \"user_script:1: bad argument #1 to 'collectgarbage' (invalid option 'x')\""

return collectgarbage(), collectgarbage("stop"), collectgarbage("step")
=> "true 0 0 false"

return collectgarbage("setpause", 100), collectgarbage("setpause", 200), collectgarbage("setpause", "200")
=> "true 200 100 200"

return collectgarbage("setstepmul", 100), collectgarbage("setstepmul"), collectgarbage("setstepmul", 200)
=> "true 200 100 0"

collectgarbage("setpause", "x")
=> "false \"user_script:1: bad argument #2 to 'collectgarbage' (number expected, got string)\""

collectgarbage("x", "y")
=> "false \"user_script:1: bad argument #1 to 'collectgarbage' (invalid option 'x')\""

collectgarbage("stop", {})
=> "false \"user_script:1: bad argument #2 to 'collectgarbage' (number expected, got table)\""

return _G[{}]
=> "false \"user_script:1: Second argument to luaProtectedTableError must be a string or number\""

return _G[true]
=> "false \"user_script:1: Second argument to luaProtectedTableError must be a string or number\""

loadstring()
=> "false \"user_script:1: bad argument #1 to 'loadstring' (string expected, got no value)\""

loadstring(5)
=> "true"

return loadstring("return")
=> "true function"

return loadstring("x =")
=> "true nil \"[string \\\"x =\\\"]:1: unexpected symbol near '<eof>'\""

return loadstring("x =", "=name")
=> "true nil \"name:1: unexpected symbol near '<eof>'\""

return loadstring("x =", "@name")
=> "true nil \"name:1: unexpected symbol near '<eof>'\""

return loadstring("x =\ny =")
=> "true nil \"[string \\\"x =...\\\"]:2: unexpected symbol near '='\""

return loadstring("x = a long line of source text that is certainly longer than what fits into the name of a chunk =")
=> "true nil \"[string \\\"x = a long line of source text that is certainly longer than wh...\\\"]:1: '=' expected near 'line'\""

return loadstring("return 1")()
=> "true 1"

return loadstring("return ...")(1, 2)
=> "true 1 2"

local f = loadstring("error('x')") return pcall(f)
=> "true false \"[string \\\"error('x')\\\"]:1: x\""

local f = loadstring("\n\nerror('x')", "=n") return pcall(f)
=> "true false \"n:3: x\""

local f = loadstring("x = 1") return pcall(f)
=> "true false \"[string \\\"x = 1\\\"]:1: Attempt to modify a readonly table\""

load()
=> "false \"user_script:1: bad argument #1 to 'load' (function expected, got no value)\""

load(5)
=> "false \"user_script:1: bad argument #1 to 'load' (function expected, got number)\""

local n = 0 return load(function() n = n + 1 return ({"return ", "1 + ", "2"})[n] end)()
=> "true 3"

return load(function() return nil end)
=> "true function"

return load(function() return 5 .. "" == "5" and nil end)
=> "true function"

return load(function() return {} end)
=> "true nil \"user_script:1: reader function must return a string\""

return loadstring("\27Lua")
=> "true nil \"[string \\\"\x1bLua\\\"]:1: unexpected symbol near 'char(27)'\""

return loadstring(nil)
=> "false \"user_script:1: bad argument #1 to 'loadstring' (string expected, got nil)\""

math.floor()
=> "false \"user_script:1: bad argument #1 to 'floor' (number expected, got no value)\""

math.floor("x")
=> "false \"user_script:1: bad argument #1 to 'floor' (number expected, got string)\""

math.max()
=> "false \"user_script:1: bad argument #1 to 'max' (number expected, got no value)\""

math.random(0)
=> "false \"user_script:1: bad argument #1 to 'random' (interval is empty)\""

math.random(2, 1)
=> "false \"user_script:1: bad argument #2 to 'random' (interval is empty)\""

math.random(1, 2, 3)
=> "false \"user_script:1: wrong number of arguments\""

math.fmod(1)
=> "false \"user_script:1: bad argument #2 to 'fmod' (number expected, got no value)\""

math.ldexp(1)
=> "false \"user_script:1: bad argument #2 to 'ldexp' (number expected, got no value)\""

coroutine.create()
=> "false \"user_script:1: bad argument #1 to 'create' (Lua function expected)\""

coroutine.create(5)
=> "false \"user_script:1: bad argument #1 to 'create' (Lua function expected)\""

coroutine.create(print)
=> "false \"user_script:1: Script attempted to access nonexistent global variable 'print'\""

coroutine.create(string.rep)
=> "false \"user_script:1: bad argument #1 to 'create' (Lua function expected)\""

coroutine.resume()
=> "false \"user_script:1: bad argument #1 to 'resume' (coroutine expected)\""

coroutine.resume(5)
=> "false \"user_script:1: bad argument #1 to 'resume' (coroutine expected)\""

coroutine.wrap()
=> "false \"user_script:1: bad argument #1 to 'wrap' (Lua function expected)\""

coroutine.wrap(function() error("x") end)()
=> "false \"user_script:1: user_script:1: x\""

coroutine.wrap(function() error({}) end)()
=> "false {} nil"

coroutine.yield()
=> "false \"attempt to yield across metamethod/C-call boundary\""

return coroutine.running()
=> "true nil"

coroutine.status()
=> "false \"user_script:1: bad argument #1 to 'status' (coroutine expected)\""

bit.band()
=> "false \"user_script:1: bad argument #1 to 'band' (number expected, got no value)\""

bit.band("x")
=> "false \"user_script:1: bad argument #1 to 'band' (number expected, got string)\""

bit.lshift(1)
=> "false \"user_script:1: bad argument #2 to 'lshift' (number expected, got no value)\""

bit.tohex()
=> "false \"user_script:1: bad argument #1 to 'tohex' (number expected, got no value)\""

string.nosuch()
=> "false \"user_script:1: attempt to call field 'nosuch' (a nil value)\""

