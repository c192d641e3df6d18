x = 1
=> "false \"user_script:1: Attempt to modify a readonly table\""

return x
=> "false \"user_script:1: Script attempted to access nonexistent global variable 'x'\""

x.y = 1
=> "false \"user_script:1: Script attempted to access nonexistent global variable 'x'\""

function x() end
=> "false \"user_script:1: Attempt to modify a readonly table\""

_G.x = 1
=> "false \"user_script:1: Attempt to modify a readonly table\""

_G["x"] = 1
=> "false \"user_script:1: Attempt to modify a readonly table\""

_G.print = 1
=> "false \"user_script:1: Attempt to modify a readonly table\""

_G._G = 1
=> "false \"user_script:1: Attempt to modify a readonly table\""

return rawset(_G, "x", 1)
=> "false \"Attempt to modify a readonly table\""

return rawget(_G, "x"), rawget(_G, "tostring") == tostring, _G.tostring == tostring, _G._G == _G
=> "true nil true true true"

return _G.nosuch
=> "false \"user_script:1: Script attempted to access nonexistent global variable 'nosuch'\""

tostring = 1
=> "false \"user_script:1: Attempt to modify a readonly table\""

tostring = nil
=> "false \"user_script:1: Attempt to modify a readonly table\""

string.x = 1
=> "false \"user_script:1: Attempt to modify a readonly table\""

string.rep = nil
=> "false \"user_script:1: Attempt to modify a readonly table\""

rawset(string, "rep", 1)
=> "false \"Attempt to modify a readonly table\""

rawset(string, "x", 1)
=> "false \"Attempt to modify a readonly table\""

table.insert(string, 1)
=> "false \"Attempt to modify a readonly table\""

table.insert(_G, 1)
=> "false \"Attempt to modify a readonly table\""

table.remove(_G)
=> "true"

table.sort(_G)
=> "true"

setmetatable(_G, {})
=> "false \"Attempt to modify a readonly table\""

setmetatable(_G, nil)
=> "false \"Attempt to modify a readonly table\""

setmetatable(string, {})
=> "false \"Attempt to modify a readonly table\""

setmetatable(cjson, {})
=> "false \"Attempt to modify a readonly table\""

return type(getmetatable("")), getmetatable("").__index == string, getmetatable(string), getmetatable(cjson)
=> "true \"table\" true nil nil"

getmetatable(_G).__index = nil
=> "false \"user_script:1: Attempt to modify a readonly table\""

return type(getmetatable(_G)), type(getmetatable(_G).__index), getmetatable(_G).__newindex
=> "true \"table\" \"function\" nil"

return type(_G), type(string), type(math), type(coroutine)
=> "true \"table\" \"table\" \"table\" \"table\""

math.pi = 3
=> "false \"user_script:1: Attempt to modify a readonly table\""

math.x = 1
=> "false \"user_script:1: Attempt to modify a readonly table\""

cjson.encode = nil
=> "false \"user_script:1: Attempt to modify a readonly table\""

cmsgpack.x = 1
=> "false \"user_script:1: Attempt to modify a readonly table\""

struct.pack = 1
=> "false \"user_script:1: Attempt to modify a readonly table\""

bit.band = 1
=> "false \"user_script:1: Attempt to modify a readonly table\""

coroutine.x = 1
=> "false \"user_script:1: Attempt to modify a readonly table\""

KEYS = 1
=> "false \"user_script:1: Attempt to modify a readonly table\""

ARGV = {}
=> "false \"user_script:1: Attempt to modify a readonly table\""

KEYS[1] = "x" return KEYS[1]
=> "true \"x\""

ARGV.x = 1 return ARGV.x
=> "true 1"

local s = string s.x = 1
=> "false \"user_script:1: Attempt to modify a readonly table\""

local s = {} for k in pairs(string) do s[#s + 1] = k end table.sort(s) return table.concat(s, ",")
=> "true \"byte,char,dump,find,format,gfind,gmatch,gsub,len,lower,match,rep,reverse,sub,upper\""

local s = {} for k in pairs(math) do s[#s + 1] = k end table.sort(s) return table.concat(s, ",")
=> "true \"abs,acos,asin,atan,atan2,ceil,cos,cosh,deg,exp,floor,fmod,frexp,huge,ldexp,log,log10,max,min,mod,modf,pi,pow,rad,random,randomseed,sin,sinh,sqrt,tan,tanh\""

local s = {} for k in pairs(table) do s[#s + 1] = k end table.sort(s) return table.concat(s, ",")
=> "true \"concat,foreach,foreachi,getn,insert,maxn,remove,setn,sort\""

local s = {} for k in pairs(coroutine) do s[#s + 1] = k end table.sort(s) return table.concat(s, ",")
=> "true \"create,resume,running,status,wrap,yield\""

local s = {} for k in pairs(bit) do s[#s + 1] = k end table.sort(s) return table.concat(s, ",")
=> "true \"arshift,band,bnot,bor,bswap,bxor,lshift,rol,ror,rshift,tobit,tohex\""

local s = {} for k in pairs(cjson) do s[#s + 1] = k end table.sort(s) return table.concat(s, ",")
=> "true \"_NAME,_VERSION,decode,decode_invalid_numbers,decode_max_depth,encode,encode_invalid_numbers,encode_keep_buffer,encode_max_depth,encode_number_precision,encode_sparse_array,new,null\""

local s = {} for k in pairs(cmsgpack) do s[#s + 1] = k end table.sort(s) return table.concat(s, ",")
=> "true \"_COPYRIGHT,_DESCRIPTION,_NAME,_VERSION,pack,unpack,unpack_limit,unpack_one\""

local s = {} for k in pairs(struct) do s[#s + 1] = k end table.sort(s) return table.concat(s, ",")
=> "true \"pack,size,unpack\""

return #string, next({}), string.rep == ("").rep
=> "true 0 nil true"

return print
=> "false \"user_script:1: Script attempted to access nonexistent global variable 'print'\""

return dofile
=> "false \"user_script:1: Script attempted to access nonexistent global variable 'dofile'\""

return loadfile
=> "false \"user_script:1: Script attempted to access nonexistent global variable 'loadfile'\""

return require
=> "false \"user_script:1: Script attempted to access nonexistent global variable 'require'\""

return package
=> "false \"user_script:1: Script attempted to access nonexistent global variable 'package'\""

return io
=> "false \"user_script:1: Script attempted to access nonexistent global variable 'io'\""

return debug
=> "false \"user_script:1: Script attempted to access nonexistent global variable 'debug'\""

return module
=> "false \"user_script:1: Script attempted to access nonexistent global variable 'module'\""

return pcall(function() return nosuch end)
=> "true false \"user_script:1: Script attempted to access nonexistent global variable 'nosuch'\""

return pcall(function() nosuch = 1 end)
=> "true false \"user_script:1: Attempt to modify a readonly table\""

local nosuch = 1 nosuch = 2 return nosuch
=> "true 2"

local t = setmetatable({}, {__index = _G}) return t.tostring == tostring, pcall(function() return t.nosuch end)
=> "true true false \"user_script:1: Script attempted to access nonexistent global variable 'nosuch'\""

local t = setmetatable({}, {__newindex = _G}) return pcall(function() t.x = 1 end)
=> "true false \"user_script:1: Attempt to modify a readonly table\""

local t = setmetatable({}, {__newindex = string}) return pcall(function() t.x = 1 end)
=> "true false \"user_script:1: Attempt to modify a readonly table\""

for k in pairs(_G) do if k == "tostring" then return true end end
=> "true true"

return rawequal(_G, _G), _G == _G._G, tostring(_G):sub(1, 6)
=> "true true true \"table:\""

return rawget(string, "len") == string.len, rawget(math, "pi"), rawget(_G, "nosuch")
=> "true true 3.1415926535897931 nil"

return next(math) ~= nil, table.maxn(_G), #_G, table.getn(string)
=> "true true 0 0 0"

string.gsub("x", ".", function() return x end)
=> "false \"user_script:1: Script attempted to access nonexistent global variable 'x'\""

return string.gsub("abc", "%w", _G)
=> "false \"Script attempted to access nonexistent global variable 'a'\""

return table.concat(_G), unpack(_G)
=> "true \"\""

