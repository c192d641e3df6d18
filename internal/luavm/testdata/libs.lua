return struct.pack("b", 1), struct.pack("B", 255), struct.pack("b", -1), struct.pack("h", 258), struct.pack(">h", 258), struct.pack("<h", 258), struct.pack("H", 65535)
=> "true \"\x01\" \"\xff\" \"\xff\" \"\x02\x01\" \"\x01\x02\" \"\x02\x01\" \"\xff\xff\""

return struct.pack("i", 1), struct.pack(">i", 1), struct.pack("i8", 1), struct.pack("i2", 1), struct.pack("l", -1), struct.pack("L", 2^40), struct.pack("T", 5), struct.pack("I", 4294967295)
=> "true \"\x01\\000\\000\\000\" \"\\000\\000\\000\x01\" \"\x01\\000\\000\\000\\000\\000\\000\\000\" \"\x01\\000\" \"\xff\xff\xff\xff\xff\xff\xff\xff\" \"\\000\\000\\000\\000\\000\x01\\000\\000\" \"\x05\\000\\000\\000\\000\\000\\000\\000\" \"\xff\xff\xff\xff\""

return struct.pack("f", 1.5), struct.pack(">f", 1.5), struct.pack("d", 1.5), struct.pack(">d", -0.1)
=> "true \"\\000\\000\xc0?\" \"?\xc0\\000\\000\" \"\\000\\000\\000\\000\\000\\000\xf8?\" \"\xbf\xb9\x99\x99\x99\x99\x99\x9a\""

return struct.pack("s", "abc"), struct.pack("c0", "abc"), struct.pack("c2", "abc"), struct.pack("c", "abc"), struct.pack("x"), struct.pack("bxb", 1, 2)
=> "true \"abc\\000\" \"abc\" \"ab\" \"a\" \"\\000\" \"\x01\\000\x02\""

return struct.pack("!bi", 1, 2), struct.pack("!4bd", 1, 2), struct.pack("!8bhil", 1, 2, 3, 4), struct.pack("!bc3i", 1, "abc", 2), struct.pack("!2 b i", 1, 2)
=> "true \"\x01\\000\\000\\000\x02\\000\\000\\000\" \"\x01\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000@\" \"\x01\\000\x02\\000\x03\\000\\000\\000\x04\\000\\000\\000\\000\\000\\000\\000\" \"\x01abc\x02\\000\\000\\000\" \"\x01\\000\x02\\000\\000\\000\""

return struct.pack("c4", "abc")
=> "false \"user_script:1: bad argument #3 to 'pack' (string too short)\""

return struct.pack("q", 1)
=> "false \"user_script:1: bad argument #1 to 'pack' (invalid format option 'q')\""

return struct.pack("!3", 1)
=> "false \"user_script:1: alignment 3 is not a power of 2\""

return struct.pack("i3", 1)
=> "true \"\x01\\000\\000\""

return struct.pack("i16", 1)
=> "true \"\x01\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\""

return struct.pack("i32", 1)
=> "true \"\x01\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\""

return struct.pack("i33", 1)
=> "false \"user_script:1: integral size 33 is larger than limit of 32\""

return struct.pack("i0", 1)
=> "true \"\""

return struct.pack("i99999999999", 1)
=> "false \"user_script:1: integral size overflow\""

return struct.pack("b")
=> "false \"user_script:1: bad argument #2 to 'pack' (number expected, got nil)\""

return struct.pack("b", "x")
=> "false \"user_script:1: bad argument #2 to 'pack' (number expected, got string)\""

return struct.pack("s")
=> "false \"user_script:1: bad argument #2 to 'pack' (string expected, got nil)\""

return struct.pack()
=> "false \"user_script:1: bad argument #1 to 'pack' (string expected, got no value)\""

return struct.pack("")
=> "true \"\""

return struct.pack("L", -1), struct.pack("L", 2^63), struct.pack("L", 2^64), struct.pack("l", 2^63), struct.pack("B", 256), struct.pack("b", 200), struct.pack("B", 1.9), struct.pack("B", -1.9)
=> "true \"\xff\xff\xff\xff\xff\xff\xff\xff\" \"\\000\\000\\000\\000\\000\\000\\000\x80\" \"\\000\\000\\000\\000\\000\\000\\000\\000\" \"\\000\\000\\000\\000\\000\\000\\000\x80\" \"\\000\" \"\xc8\" \"\x01\" \"\xff\""

return struct.unpack("b", "\255"), struct.unpack("B", "\255"), struct.unpack("h", "\1\2"), struct.unpack(">h", "\1\2"), struct.unpack("i", "\255\255\255\255"), struct.unpack("I", "\255\255\255\255")
=> "true -1 255 513 258 -1 4294967295 5"

return struct.unpack("l", "\255\255\255\255\255\255\255\255"), struct.unpack("L", "\255\255\255\255\255\255\255\255"), struct.unpack("L", "\0\0\0\0\0\0\0\128"), struct.unpack("i2", "\0\128")
=> "true -1 1.8446744073709552e+19 9.2233720368547758e+18 -32768 3"

return struct.unpack("f", "\0\0\192\63"), struct.unpack(">d", "\63\248\0\0\0\0\0\0"), struct.unpack("s", "abc\0def"), struct.unpack("c3", "abcdef")
=> "true 1.5 1.5 \"abc\" \"abc\" 4"

return struct.unpack("Bc0", "\3abcdef"), struct.unpack("bbb", "\1\2\3"), struct.unpack("bb", "\1\2\3", 2), struct.unpack("", "abc")
=> "true \"abc\" 1 2 1"

return struct.unpack("c0", "abc")
=> "false \"user_script:1: format 'c0' needs a previous size\""

return struct.unpack("sc0", "abc\0def")
=> "false \"user_script:1: format 'c0' needs a previous size\""

return struct.unpack("Bc0", "\9abc")
=> "false \"user_script:1: bad argument #2 to 'unpack' (data string too short)\""

return struct.unpack("s", "abc")
=> "false \"user_script:1: unfinished string in data\""

return struct.unpack("i", "abc")
=> "false \"user_script:1: bad argument #2 to 'unpack' (data string too short)\""

return struct.unpack("b", "a", 2)
=> "false \"user_script:1: bad argument #2 to 'unpack' (data string too short)\""

return struct.unpack("b", "a", 3)
=> "false \"user_script:1: bad argument #2 to 'unpack' (data string too short)\""

return struct.unpack("b", "a", 0)
=> "false \"user_script:1: bad argument #3 to 'unpack' (offset must be 1 or greater)\""

return struct.unpack("b", "a", -1)
=> "false \"user_script:1: bad argument #2 to 'unpack' (data string too short)\""

return struct.unpack("!bi", "\1\0\0\0\2\0\0\0"), struct.unpack("!bi", "x\1\0\0\0\2\0\0\0", 2)
=> "true 1 1 512 9"

return struct.unpack("i16", "\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")
=> "true 1 17"

return struct.unpack("q", "a")
=> "false \"user_script:1: bad argument #1 to 'unpack' (invalid format option 'q')\""

return struct.unpack("b")
=> "false \"user_script:1: bad argument #2 to 'unpack' (string expected, got no value)\""

return struct.size("b"), struct.size("h"), struct.size("i"), struct.size("l"), struct.size("L"), struct.size("f"), struct.size("d"), struct.size("x"), struct.size("c10"), struct.size("!bi"), struct.size("bhil"), struct.size("!bhil"), struct.size("T")
=> "true 1 2 4 8 8 4 8 1 10 8 15 16 8"

return struct.size("s")
=> "false \"user_script:1: bad argument #1 to 'size' (option 's' has no fixed size)\""

return struct.size("c0")
=> "false \"user_script:1: bad argument #1 to 'size' (option 'c0' has no fixed size)\""

return struct.size("q")
=> "true 0"

return struct.size()
=> "false \"user_script:1: bad argument #1 to 'size' (string expected, got no value)\""

return struct.unpack("dLc0", struct.pack("dLc0", 1.5, 3, "abc"))
=> "true 1.5 \"abc\" 20"

return struct.pack("dLc0Lc0", 12345, string.len("key"), "key", string.len("value"), "value")
=> "true \"\\000\\000\\000\\000\x80\x1c\xc8@\x03\\000\\000\\000\\000\\000\\000\\000key\x05\\000\\000\\000\\000\\000\\000\\000value\""

local hex = function(s) return (s:gsub(".", function(c) return string.format("%02x", c:byte()) end)) end return hex(cmsgpack.pack(1)), hex(cmsgpack.pack(-1)), hex(cmsgpack.pack(127)), hex(cmsgpack.pack(128)), hex(cmsgpack.pack(255)), hex(cmsgpack.pack(256)), hex(cmsgpack.pack(65535)), hex(cmsgpack.pack(65536)), hex(cmsgpack.pack(2^32)), hex(cmsgpack.pack(2^53)), hex(cmsgpack.pack(-32)), hex(cmsgpack.pack(-33)), hex(cmsgpack.pack(-128)), hex(cmsgpack.pack(-129)), hex(cmsgpack.pack(-32768)), hex(cmsgpack.pack(-32769)), hex(cmsgpack.pack(-2147483648)), hex(cmsgpack.pack(-2147483649))
=> "true \"01\" \"ff\" \"7f\" \"cc80\" \"ccff\" \"cd0100\" \"cdffff\" \"ce00010000\" \"cf0000000100000000\" \"cf0020000000000000\" \"e0\" \"d0df\" \"d080\" \"d1ff7f\" \"d18000\" \"d2ffff7fff\" \"d280000000\" \"d3ffffffff7fffffff\""

local hex = function(s) return (s:gsub(".", function(c) return string.format("%02x", c:byte()) end)) end return hex(cmsgpack.pack(1.5)), hex(cmsgpack.pack(0.1)), hex(cmsgpack.pack(-0.5)), hex(cmsgpack.pack(1e300)), hex(cmsgpack.pack(1/0)), hex(cmsgpack.pack(-1/0)), hex(cmsgpack.pack(2^63)), hex(cmsgpack.pack(2^64)), hex(cmsgpack.pack(-2^63)), hex(cmsgpack.pack(1e20))
=> "true \"ca3fc00000\" \"cb3fb999999999999a\" \"cabf000000\" \"cb7e37e43c8800759c\" \"ca7f800000\" \"caff800000\" \"ca5f000000\" \"ca5f800000\" \"d38000000000000000\" \"cb4415af1d78b58c40\""

local hex = function(s) return (s:gsub(".", function(c) return string.format("%02x", c:byte()) end)) end return hex(cmsgpack.pack(0/0)), hex(cmsgpack.pack(-0.0)), hex(cmsgpack.pack(tonumber("nan")))
=> "true \"cbfff8000000000000\" \"00\" \"cb7ff8000000000000\""

local hex = function(s) return (s:gsub(".", function(c) return string.format("%02x", c:byte()) end)) end return hex(cmsgpack.pack("")), hex(cmsgpack.pack("abc")), hex(cmsgpack.pack(("x"):rep(31))), hex(cmsgpack.pack(("x"):rep(32))), hex(cmsgpack.pack(("x"):rep(255))):sub(1, 10), hex(cmsgpack.pack(("x"):rep(256))):sub(1, 10), hex(cmsgpack.pack(("x"):rep(65536))):sub(1, 12)
=> "true \"a0\" \"a3616263\" \"bf78787878787878787878787878787878787878787878787878787878787878\" \"d9207878787878787878787878787878787878787878787878787878787878787878\" \"d9ff787878\" \"da01007878\" \"db0001000078\""

local hex = function(s) return (s:gsub(".", function(c) return string.format("%02x", c:byte()) end)) end return hex(cmsgpack.pack(true)), hex(cmsgpack.pack(false)), hex(cmsgpack.pack(nil)), hex(cmsgpack.pack(cjson.null)), hex(cmsgpack.pack({})), hex(cmsgpack.pack({1, 2, 3})), hex(cmsgpack.pack({a = 1})), hex(cmsgpack.pack({[1] = 1, [3] = 3})), hex(cmsgpack.pack({1, nil, 3})), hex(cmsgpack.pack({[1.5] = 1})), hex(cmsgpack.pack({{1}, {2}})), hex(cmsgpack.pack(print))
=> "false \"user_script:1: Script attempted to access nonexistent global variable 'print'\""

local hex = function(s) return (s:gsub(".", function(c) return string.format("%02x", c:byte()) end)) end local t = {} for i = 1, 16 do t[i] = i end return hex(cmsgpack.pack(t)), hex(cmsgpack.pack(1, 2, "a")), hex(cmsgpack.pack({[0] = 1, 2}))
=> "true \"dc00100102030405060708090a0b0c0d0e0f10\" \"0102a161\" \"8201020001\""

local hex = function(s) return (s:gsub(".", function(c) return string.format("%02x", c:byte()) end)) end local t = {} for i = 1, 20 do t = {t} end return hex(cmsgpack.pack(t))
=> "true \"91919191919191919191919191919191c0\""

local t = {} t[1] = t return #cmsgpack.pack(t)
=> "true 17"

return cmsgpack.pack()
=> "false \"user_script:1: bad argument #0 to 'pack' (MessagePack pack needs input.)\""

return cmsgpack.unpack(cmsgpack.pack(1, "a", {1, {2}}, {a = {b = 1}}, true, false, nil, 1.5, -5, 2^40, -2^40, 300, -300, 70000, -70000))
=> "true 1 \"a\" {[1]=1,[2]={[1]=2}} {[\"a\"]={[\"b\"]=1}} true false nil 1.5 -5 1099511627776 -1099511627776 300 -300 70000 -70000"

return cmsgpack.unpack("\204\255"), cmsgpack.unpack("\208\255"), cmsgpack.unpack("\205\255\255"), cmsgpack.unpack("\209\255\255"), cmsgpack.unpack("\206\255\255\255\255"), cmsgpack.unpack("\210\255\255\255\255"), cmsgpack.unpack("\207\255\255\255\255\255\255\255\255"), cmsgpack.unpack("\211\255\255\255\255\255\255\255\255")
=> "true 255 -1 65535 -1 4294967295 -1 -1 -1"

return cmsgpack.unpack("\192"), cmsgpack.unpack("\195\194"), cmsgpack.unpack("\202\63\192\0\0"), cmsgpack.unpack("\203\63\248\0\0\0\0\0\0"), cmsgpack.unpack("\217\3abc"), cmsgpack.unpack("\218\0\3abc"), cmsgpack.unpack("\219\0\0\0\3abc")
=> "true nil true 1.5 1.5 \"abc\" \"abc\" \"abc\""

return cmsgpack.unpack("\220\0\2\1\2"), cmsgpack.unpack("\221\0\0\0\2\1\2"), cmsgpack.unpack("\222\0\1\161a\1"), cmsgpack.unpack("\223\0\0\0\1\161a\1"), cmsgpack.unpack("\129\1\2")
=> "true {[1]=1,[2]=2} {[1]=1,[2]=2} {[\"a\"]=1} {[\"a\"]=1} {[1]=2}"

return cmsgpack.unpack("")
=> "true"

return cmsgpack.unpack()
=> "false \"user_script:1: bad argument #1 to 'unpack' (string expected, got no value)\""

return cmsgpack.unpack("\204")
=> "false \"user_script:1: Missing bytes in input.\""

return cmsgpack.unpack("\147\1\2")
=> "false \"user_script:1: Missing bytes in input.\""

return cmsgpack.unpack("\129\161a")
=> "false \"user_script:1: Missing bytes in input.\""

return cmsgpack.unpack("\193")
=> "false \"user_script:1: Bad data format in input.\""

return cmsgpack.unpack("\196\1a")
=> "false \"user_script:1: Bad data format in input.\""

return cmsgpack.unpack("\199")
=> "false \"user_script:1: Bad data format in input.\""

return cmsgpack.unpack("\212\1\1")
=> "false \"user_script:1: Bad data format in input.\""

return cmsgpack.unpack("\219\255\255\255\255abc")
=> "false \"user_script:1: Missing bytes in input.\""

return cmsgpack.unpack("\221\255\255\255\255")
=> "false \"user_script:1: Missing bytes in input.\""

return cmsgpack.unpack("\129\192\1")
=> "false \"table index is nil\""

return cmsgpack.unpack("\1\2\3"), cmsgpack.unpack_one("\1\2\3"), cmsgpack.unpack_one("\1\2\3", 1), cmsgpack.unpack_one("\1\2\3", 2)
=> "true 1 1 2 -1 3"

return cmsgpack.unpack_one("\1\2\3", 3)
=> "true -1"

return cmsgpack.unpack_one("\1\2\3", 4)
=> "false \"user_script:1: Start offset 4 greater than input length 3.\""

return cmsgpack.unpack_one("\1\2\3", -1)
=> "false \"user_script:1: Invalid request to unpack with offset of -1 and limit of 3.\""

return cmsgpack.unpack_limit("\1\2\3", 2), cmsgpack.unpack_limit("\1\2\3", 3), cmsgpack.unpack_limit("\1\2\3", 5), cmsgpack.unpack_limit("\1\2\3", 1, 1)
=> "true 2 -1 -1 2 2"

return cmsgpack.unpack_limit("\1\2\3", 0)
=> "true 1 2 3"

return cmsgpack.unpack_limit("\1\2\3", 0, 1)
=> "true 1"

return cmsgpack.unpack_limit("\1\2\3", -1)
=> "false \"user_script:1: Invalid request to unpack with offset of 0 and limit of 3.\""

return cmsgpack.unpack_limit("\1\2\3")
=> "false \"user_script:1: bad argument #2 to 'unpack_limit' (number expected, got no value)\""

return cmsgpack.unpack({})
=> "false \"user_script:1: bad argument #1 to 'unpack' (string expected, got table)\""

return cmsgpack._NAME, cmsgpack._VERSION, cmsgpack._COPYRIGHT, cmsgpack._DESCRIPTION
=> "true \"cmsgpack\" \"lua-cmsgpack 0.4.0\" \"Copyright (C) 2012, Salvatore Sanfilippo\" \"MessagePack C implementation for Lua\""

return cjson.encode({1, 2, 3}), cjson.encode({a = 1}), cjson.encode({}), cjson.encode("x"), cjson.encode(1), cjson.encode(true), cjson.encode(nil), cjson.encode(cjson.null), cjson.encode({{}, {1}, {b = {}}})
=> "true \"[1,2,3]\" \"{\\\"a\\\":1}\" \"{}\" \"\\\"x\\\"\" \"1\" \"true\" \"null\" \"null\" \"[{},[1],{\\\"b\\\":{}}]\""

return cjson.encode({1, nil, 3}), cjson.encode({[1] = 1, [2] = 2}), cjson.encode({[3] = 1}), cjson.encode({1, 2, cjson.null})
=> "true \"[1,null,3]\" \"[1,2]\" \"[null,null,1]\" \"[1,2,null]\""

return cjson.encode({[1] = 1, a = 2}) == '{"1":1,"a":2}' or cjson.encode({[1] = 1, a = 2}) == '{"a":2,"1":1}'
=> "true true"

return cjson.encode({[1.5] = 1}), cjson.encode({[-1] = 1}), cjson.encode({[0] = 1})
=> "true \"{\\\"1.5\\\":1}\" \"{\\\"-1\\\":1}\" \"{\\\"0\\\":1}\""

return cjson.encode({[11] = 1})
=> "false \"user_script:1: Cannot serialise table: excessively sparse array\""

return cjson.encode({[10] = 1})
=> "true \"[null,null,null,null,null,null,null,null,null,1]\""

return cjson.encode({[1000000] = 1})
=> "false \"user_script:1: Cannot serialise table: excessively sparse array\""

return cjson.encode({[true] = 1})
=> "false \"user_script:1: Cannot serialise boolean: table key must be a number or string\""

return cjson.encode({[{}] = 1})
=> "false \"user_script:1: Cannot serialise table: table key must be a number or string\""

return cjson.encode(print)
=> "false \"user_script:1: Script attempted to access nonexistent global variable 'print'\""

return cjson.encode({print})
=> "false \"user_script:1: Script attempted to access nonexistent global variable 'print'\""

return cjson.encode(function() end)
=> "false \"user_script:1: Cannot serialise function: type not supported\""

return cjson.encode(coroutine.create(function() end))
=> "false \"user_script:1: Cannot serialise thread: type not supported\""

return cjson.encode(0/0)
=> "false \"user_script:1: Cannot serialise number: must not be NaN or Inf\""

return cjson.encode(1/0)
=> "false \"user_script:1: Cannot serialise number: must not be NaN or Inf\""

return cjson.encode({-1/0})
=> "false \"user_script:1: Cannot serialise number: must not be NaN or Inf\""

return cjson.encode()
=> "false \"user_script:1: bad argument #1 to 'encode' (expected 1 argument)\""

return cjson.encode(1, 2)
=> "false \"user_script:1: bad argument #1 to 'encode' (expected 1 argument)\""

return cjson.encode("\0\1\31\"\\/\127\128\255\n\t\r\b\f é<>&'")
=> "true \"\\\"\\\\u0000\\\\u0001\\\\u001f\\\\\\\"\\\\\\\\\\\\/\\\\u007f\x80\xff\\\\n\\\\t\\\\r\\\\b\\\\f é<>&'\\\"\""

return cjson.encode(1.5), cjson.encode(0.1), cjson.encode(1e15), cjson.encode(123456789012345), cjson.encode(1e100), cjson.encode(-0.5), cjson.encode(100), cjson.encode(2^53), cjson.encode(1/3), cjson.encode(1e14), cjson.encode(12345678901234)
=> "true \"1.5\" \"0.1\" \"1e+15\" \"1.2345678901234e+14\" \"1e+100\" \"-0.5\" \"100\" \"9.007199254741e+15\" \"0.33333333333333\" \"1e+14\" \"12345678901234\""

local t = {} for i = 1, 1000 do t = {t} end return #cjson.encode(t)
=> "false \"user_script:1: Cannot serialise, excessive nesting (1001)\""

local t = {} for i = 1, 1001 do t = {t} end return cjson.encode(t)
=> "false \"user_script:1: Cannot serialise, excessive nesting (1001)\""

local t = {} t[1] = t return cjson.encode(t)
=> "false \"user_script:1: Cannot serialise, excessive nesting (1001)\""

local t = {} t.a = t return cjson.encode(t)
=> "false \"user_script:1: Cannot serialise, excessive nesting (1001)\""

return cjson.decode("[1,2,3]"), cjson.decode('{"a":1,"b":{"c":[true,false,null]}}'), cjson.decode('"x"'), cjson.decode("1"), cjson.decode("true"), cjson.decode("null") == cjson.null
=> "true {[1]=1,[2]=2,[3]=3} {[\"a\"]=1,[\"b\"]={[\"c\"]={[1]=true,[2]=false,[3]=userdata}}} \"x\" 1 true true"

return cjson.decode("[]"), cjson.decode("{}"), cjson.decode("[[],{}]"), cjson.decode(" [ 1 , 2 ] "), cjson.decode("\t\n\r1")
=> "true {} {} {[1]={},[2]={}} {[1]=1,[2]=2} 1"

return cjson.decode("1.5"), cjson.decode("-1"), cjson.decode("1e3"), cjson.decode("1E-2"), cjson.decode("0"), cjson.decode("-0") == 0, cjson.decode("0.5"), cjson.decode("123456789012345678")
=> "true 1.5 -1 1000 0.01 0 true 0.5 1.2345678901234568e+17"

return cjson.decode("inf"), cjson.decode("-inf"), cjson.decode("Infinity"), tostring(cjson.decode("nan")), tostring(cjson.decode("NaN")), cjson.decode("0x10"), cjson.decode("-0x10"), cjson.decode("01"), cjson.decode("+1")
=> "true inf -inf inf \"nan\" \"nan\" 16 -16 1 1"

return cjson.decode("1."), cjson.decode(".5")
=> "false \"user_script:1: Expected value but found invalid token at character 1\""

return cjson.decode(".5")
=> "false \"user_script:1: Expected value but found invalid token at character 1\""

return cjson.decode("1.")
=> "true 1"

return cjson.decode("-")
=> "false \"user_script:1: Expected value but found invalid number at character 1\""

return cjson.decode("+")
=> "false \"user_script:1: Expected value but found invalid number at character 1\""

return cjson.decode("+1")
=> "true 1"

return cjson.decode("01")
=> "true 1"

return cjson.decode("-01")
=> "true -1"

return cjson.decode("1e")
=> "false \"user_script:1: Expected the end but found invalid token at character 2\""

return cjson.decode("0x")
=> "false \"user_script:1: Expected the end but found invalid token at character 2\""

return cjson.decode("1 2")
=> "false \"user_script:1: Expected the end but found T_NUMBER at character 3\""

return cjson.decode("")
=> "false \"user_script:1: Expected value but found T_END at character 1\""

return cjson.decode(" ")
=> "false \"user_script:1: Expected value but found T_END at character 2\""

return cjson.decode("[")
=> "false \"user_script:1: Expected value but found T_END at character 2\""

return cjson.decode("[1")
=> "false \"user_script:1: Expected comma or array end but found T_END at character 3\""

return cjson.decode("[1,")
=> "false \"user_script:1: Expected value but found T_END at character 4\""

return cjson.decode("[1,]")
=> "false \"user_script:1: Expected value but found T_ARR_END at character 4\""

return cjson.decode("[,1]")
=> "false \"user_script:1: Expected value but found T_COMMA at character 2\""

return cjson.decode("[1 2]")
=> "false \"user_script:1: Expected comma or array end but found T_NUMBER at character 4\""

return cjson.decode("]")
=> "false \"user_script:1: Expected value but found T_ARR_END at character 1\""

return cjson.decode("{")
=> "false \"user_script:1: Expected object key string but found T_END at character 2\""

return cjson.decode('{"a"')
=> "false \"user_script:1: Expected colon but found T_END at character 5\""

return cjson.decode('{"a":')
=> "false \"user_script:1: Expected value but found T_END at character 6\""

return cjson.decode('{"a":1')
=> "false \"user_script:1: Expected comma or object end but found T_END at character 7\""

return cjson.decode('{"a":1,')
=> "false \"user_script:1: Expected object key string but found T_END at character 8\""

return cjson.decode('{"a":1,}')
=> "false \"user_script:1: Expected object key string but found T_OBJ_END at character 8\""

return cjson.decode('{a:1}')
=> "false \"user_script:1: Expected object key string but found invalid token at character 2\""

return cjson.decode('{1:1}')
=> "false \"user_script:1: Expected object key string but found T_NUMBER at character 2\""

return cjson.decode('{"a" 1}')
=> "false \"user_script:1: Expected colon but found T_NUMBER at character 6\""

return cjson.decode('{"a":1 "b":2}')
=> "false \"user_script:1: Expected comma or object end but found T_STRING at character 8\""

return cjson.decode('}')
=> "false \"user_script:1: Expected value but found T_OBJ_END at character 1\""

return cjson.decode('"abc')
=> "false \"user_script:1: Expected value but found unexpected end of string at character 5\""

return cjson.decode('"a\\qb"')
=> "false \"user_script:1: Expected value but found invalid escape code at character 3\""

return cjson.decode('"a\\u12"')
=> "false \"user_script:1: Expected value but found invalid unicode escape code at character 3\""

return cjson.decode('"a\\u12zz"')
=> "false \"user_script:1: Expected value but found invalid unicode escape code at character 3\""

return cjson.decode('"\\ud800"')
=> "false \"user_script:1: Expected value but found invalid unicode escape code at character 2\""

return cjson.decode('"\\ud800\\u0041"')
=> "false \"user_script:1: Expected value but found invalid unicode escape code at character 2\""

return cjson.decode('"\\udc00"')
=> "false \"user_script:1: Expected value but found invalid unicode escape code at character 2\""

return cjson.decode('"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\\u0000x"'), cjson.decode('"\\"\\\\\\/\\b\\f\\n\\r\\t"')
=> "true \"Aé€😀\\000x\" \"\\\"\\\\/\b\f\\\n\\r\t\""

return cjson.decode('"a\nb\tc"'), cjson.decode('"é€"'), cjson.decode('"\127"')
=> "true \"a\\\nb\tc\" \"é€\" \"\x7f\""

return cjson.decode("tru")
=> "false \"user_script:1: Expected value but found invalid token at character 1\""

return cjson.decode("truex")
=> "false \"user_script:1: Expected the end but found invalid token at character 5\""

return cjson.decode("nul")
=> "false \"user_script:1: Expected value but found invalid token at character 1\""

return cjson.decode("falsey")
=> "false \"user_script:1: Expected the end but found invalid token at character 6\""

return cjson.decode("x")
=> "false \"user_script:1: Expected value but found invalid token at character 1\""

return cjson.decode("[true,fals]")
=> "false \"user_script:1: Expected value but found invalid token at character 7\""

return cjson.decode("1\0")
=> "false \"user_script:1: JSON parser does not support UTF-16 or UTF-32\""

return cjson.decode("[1\0]")
=> "false \"user_script:1: Expected comma or array end but found T_END at character 3\""

return cjson.decode("\0[\0")
=> "false \"user_script:1: JSON parser does not support UTF-16 or UTF-32\""

return cjson.decode("{\0")
=> "false \"user_script:1: JSON parser does not support UTF-16 or UTF-32\""

return cjson.decode("\255\254")
=> "false \"user_script:1: Expected value but found invalid token at character 1\""

return cjson.decode()
=> "false \"user_script:1: bad argument #1 to 'decode' (expected 1 argument)\""

return cjson.decode({})
=> "false \"user_script:1: bad argument #1 to 'decode' (string expected, got table)\""

return cjson.decode("1", 2)
=> "false \"user_script:1: bad argument #1 to 'decode' (expected 1 argument)\""

return cjson.decode(5)
=> "true 5"

return cjson.decode('{"a":1,"a":2}').a, cjson.decode('{"1":1}')["1"], cjson.decode('{"":1}')[""]
=> "true 2 1 1"

return type(cjson.decode(("["):rep(1000) .. ("]"):rep(1000)))
=> "true \"table\""

return cjson.decode(("["):rep(1001) .. ("]"):rep(1001))
=> "false \"user_script:1: Found too many nested data structures (1001) at character 1001\""

return cjson.decode(("{\"a\":"):rep(1001) .. "1" .. ("}"):rep(1001))
=> "false \"user_script:1: Found too many nested data structures (1001) at character 5001\""

return cjson.encode(cjson.decode('{"a":[1,2,{"b":null}]}'))
=> "true \"{\\\"a\\\":[1,2,{\\\"b\\\":null}]}\""

return cjson.encode_sparse_array()
=> "true false 2 10"

return {cjson.encode_sparse_array(true)}, cjson.encode({[1000] = 1}), {cjson.encode_sparse_array(false)}
=> "true {[1]=true,[2]=2,[3]=10} \"{\\\"1000\\\":1}\" {[1]=false,[2]=2,[3]=10}"

return {cjson.encode_sparse_array(false, 3, 20)}, cjson.encode({[15] = 1}), {cjson.encode_sparse_array(false, 2, 10)}
=> "true {[1]=false,[2]=3,[3]=20} \"[null,null,null,null,null,null,null,null,null,null,null,null,null,null,1]\" {[1]=false,[2]=2,[3]=10}"

return {cjson.encode_sparse_array(false, 0)}, cjson.encode({[15] = 1}), {cjson.encode_sparse_array(false, 2, 10)}
=> "true {[1]=false,[2]=0,[3]=10} \"[null,null,null,null,null,null,null,null,null,null,null,null,null,null,1]\" {[1]=false,[2]=2,[3]=10}"

return cjson.encode_sparse_array(1)
=> "false \"user_script:1: bad argument #1 to 'encode_sparse_array' (invalid option '1')\""

return cjson.encode_sparse_array(true, -1)
=> "false \"user_script:1: bad argument #1 to 'encode_sparse_array' (expected integer between 0 and 2147483647)\""

return cjson.encode_sparse_array(true, 1, 2, 3)
=> "false \"user_script:1: bad argument #4 to 'encode_sparse_array' (found too many arguments)\""

return cjson.encode_max_depth(), cjson.decode_max_depth(), cjson.encode_number_precision(), cjson.encode_keep_buffer(), cjson.encode_invalid_numbers(), cjson.decode_invalid_numbers()
=> "true 1000 1000 14 true false true"

local a = cjson.encode_max_depth(2) local r = {a, cjson.encode({{}}), select(2, pcall(cjson.encode, {{{}}}))} cjson.encode_max_depth(1000) return r
=> "true {[1]=2,[2]=\"[{}]\",[3]=\"Cannot serialise, excessive nesting (3)\"}"

local a = cjson.decode_max_depth(2) local r = {a, #cjson.decode("[[]]"), select(2, pcall(cjson.decode, "[[[]]]"))} cjson.decode_max_depth(1000) return r
=> "true {[1]=2,[2]=1,[3]=\"Found too many nested data structures (3) at character 3\"}"

local a = cjson.encode_number_precision(3) local r = {a, cjson.encode(1/3), cjson.encode(12345)} cjson.encode_number_precision(14) return r
=> "true {[1]=3,[2]=\"0.333\",[3]=\"1.23e+04\"}"

return cjson.encode_number_precision(15)
=> "false \"user_script:1: bad argument #1 to 'encode_number_precision' (expected integer between 1 and 14)\""

return cjson.encode_number_precision(0)
=> "false \"user_script:1: bad argument #1 to 'encode_number_precision' (expected integer between 1 and 14)\""

return cjson.encode_max_depth(0)
=> "false \"user_script:1: bad argument #1 to 'encode_max_depth' (expected integer between 1 and 2147483647)\""

return cjson.encode_max_depth("x")
=> "false \"user_script:1: bad argument #1 to 'encode_max_depth' (number expected, got string)\""

return cjson.decode_max_depth(-1)
=> "false \"user_script:1: bad argument #1 to 'decode_max_depth' (expected integer between 1 and 2147483647)\""

local a = cjson.encode_invalid_numbers(true) local r = {a, cjson.encode(0/0), cjson.encode(1/0), cjson.encode(-1/0)} cjson.encode_invalid_numbers(false) return r
=> "true {[1]=true,[2]=\"nan\",[3]=\"inf\",[4]=\"-inf\"}"

local a = cjson.encode_invalid_numbers("null") local r = {a, cjson.encode(0/0), cjson.encode({1/0})} cjson.encode_invalid_numbers("off") return r, cjson.encode_invalid_numbers()
=> "true {[1]=\"null\",[2]=\"null\",[3]=\"[null]\"} false"

return cjson.encode_invalid_numbers("x")
=> "false \"user_script:1: bad argument #1 to 'encode_invalid_numbers' (invalid option 'x')\""

return cjson.encode_invalid_numbers(1)
=> "false \"user_script:1: bad argument #1 to 'encode_invalid_numbers' (invalid option '1')\""

local a = cjson.decode_invalid_numbers(false) local r = {a, select(2, pcall(cjson.decode, "nan")), select(2, pcall(cjson.decode, "0x10")), select(2, pcall(cjson.decode, "inf")), select(2, pcall(cjson.decode, "01"))} cjson.decode_invalid_numbers(true) return r
=> "true {[1]=false,[2]=\"Expected value but found invalid token at character 1\",[3]=\"Expected value but found invalid number at character 1\",[4]=\"Expected value but found invalid token at character 1\",[5]=\"Expected value but found invalid number at character 1\"}"

return cjson.decode_invalid_numbers("null")
=> "false \"user_script:1: bad argument #1 to 'decode_invalid_numbers' (invalid option 'null')\""

return cjson.encode_keep_buffer(false), cjson.encode_keep_buffer("off"), cjson.encode_keep_buffer(true), cjson.encode_keep_buffer()
=> "true false false true true"

return cjson.encode_keep_buffer(1)
=> "false \"user_script:1: bad argument #1 to 'encode_keep_buffer' (invalid option '1')\""

return cjson._NAME, cjson._VERSION, type(cjson.null), type(cjson.new())
=> "true \"cjson\" \"2.1.0\" \"userdata\" \"table\""

local c = cjson.new() c.encode_max_depth(3) return c.encode_max_depth(), cjson.encode_max_depth(), c.encode({1}), c.null == cjson.null
=> "true 3 1000 \"[1]\" true"

return bit.tobit(1), bit.tobit(2^31), bit.tobit(2^32), bit.tobit(2^32 + 5), bit.tobit(-1), bit.tobit(1.5), bit.tobit(2.5), bit.tobit(-1.5), bit.tobit("10")
=> "true 1 -2147483648 0 5 -1 2 2 -2 10"

return bit.bnot(0), bit.bnot(-1), bit.bnot(0xff), bit.band(0xff, 0x0f), bit.band(255, 15, 7), bit.bor(1, 2, 4), bit.bxor(5, 3), bit.band(5), bit.bor(5)
=> "true -1 0 -256 15 7 7 6 5 5"

return bit.lshift(1, 31), bit.lshift(1, 32), bit.rshift(-1, 28), bit.arshift(-256, 4), bit.rol(0x12345678, 12), bit.ror(0x12345678, 12), bit.bswap(0x12345678), bit.lshift(1, -1), bit.rshift(1, 33)
=> "true -2147483648 1 15 -16 1164411171 1736516421 2018915346 -2147483648 0"

return bit.tohex(1), bit.tohex(-1), bit.tohex(255, 2), bit.tohex(255, -4), bit.tohex(0xdeadbeef), bit.tohex(1, 0), bit.tohex(0xabcdef, 20), bit.tohex(0xabcdef, -20)
=> "true \"00000001\" \"ffffffff\" \"ff\" \"00FF\" \"deadbeef\" \"\" \"00abcdef\" \"00ABCDEF\""

return bit.tobit(1e20), bit.tobit(1/0), bit.tobit(-2^31 - 1), bit.bor(2^53, 1)
=> "true 2025163840 0 2147483647 1"

