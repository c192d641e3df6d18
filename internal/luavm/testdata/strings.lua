return ("abc"):len(), ("abc"):upper(), ("ABC"):lower(), ("abc"):reverse(), ("abc"):rep(2), ("abc"):sub(2), ("abc"):sub(2, 2), ("abc"):sub(-2), ("abc"):sub(-2, -2), ("abc"):sub(0), ("abc"):sub(5), ("abc"):sub(2, 1), ("abc"):sub(-100, 100), ("abc"):sub(1.9)
=> "true 3 \"ABC\" \"abc\" \"cba\" \"abcabc\" \"bc\" \"b\" \"bc\" \"b\" \"abc\" \"\" \"\" \"abc\" \"abc\""

return ("abc"):byte(), ("abc"):byte(2), ("abc"):byte(-1), ("abc"):byte(10), ("abc"):byte(1, -1), ("abc"):byte(0), ("abc"):byte(0, 2)
=> "true 97 98 99 nil 97 nil 97 98"

return string.char(), string.char(65), string.char(65, 66, 0, 255), (5):type()
=> "false \"user_script:1: attempt to index a number value\""

return (12.5 .. ""):len(), string.len(12), string.rep(1, 3), string.upper("é"), string.sub(12345, 2, 3), string.reverse(123), string.byte(5)
=> "true 4 2 \"111\" \"é\" \"23\" \"321\" 53"

return ("hello world"):find("wor"), ("hello"):find("l"), ("hello"):find("xyz"), ("hello"):find(""), ("hello"):find("", 10), ("hello"):find("l", 4), ("hello"):find("l", -1), ("hello"):find("l", -100), ("a.b"):find(".", 1, true), ("a.b"):find("%."), ("a+b"):find("+", 1, true)
=> "true 7 3 nil 1 6 4 nil 3 2 2 2 2"

return ("hello"):find("(l)(l)"), ("hello"):find("()ll()"), ("hello"):find("^h"), ("hello"):find("^e"), ("hello"):find("o$"), ("hello"):find("l$"), ("he$lo"):find("$l"), ("a\0b"):find("\0"), ("a\0b"):find("%z"), ("hello"):find("", 6), ("hello"):find("", 7)
=> "true 3 3 1 nil 5 nil 3 2 2 6 6 5"

return ("key=value"):match("(%w+)=(%w+)"), ("2024-01-02"):match("(%d+)-(%d+)-(%d+)"), ("  trim  "):match("^%s*(.-)%s*$"), ("abc"):match("b"), ("abc"):match("x"), ("abc"):match("()"), ("abc"):match(".-"), ("abc"):match(".-$"), ("abc123"):match("%a+"), ("abc123"):match("%d+")
=> "true \"key\" \"2024\" \"trim\" \"b\" nil 1 \"\" \"abc\" \"abc\" \"123\""

return ("abc"):match("[a-c]+"), ("abc"):match("[^a]+"), ("a-b"):match("[a%-]+"), ("a]b"):match("[]]"), ("a]b"):match("[^]]+"), ("a^b"):match("[b^]+"), ("abc"):match("[%a]+"), ("x-y"):match("[x-]+"), ("x-y"):match("[-y]+"), ("5a"):match("[%d-a]+")
=> "true \"abc\" \"bc\" \"a-\" \"]\" \"a\" \"^b\" \"abc\" \"x-\" \"-y\" \"5a\""

return ("THE (quick) fox"):find("%((%a+)%)"), ("f(a(b)c)d"):match("%b()"), ("THE (quick) fox"):gsub("%f[%a]%a+", "X"), ("hello hello"):match("(%a+) %1"), ("abab"):match("(ab)%1"), ("aXb"):match("%u"), ("a b"):match("%S+"), ("\t\n"):match("%c+") == "\t\n"
=> "true 5 \"(a(b)c)\" \"X (X) X\" \"hello\" \"ab\" \"X\" \"a\" true"

return ("hello"):gsub("l", "L"), ("hello"):gsub("l", "L", 1), ("hello"):gsub("", "-"), ("hello"):gsub("x", "y"), ("hello"):gsub(".", {h = "H", e = false, l = 1}), ("hello"):gsub("(h)(e)", "%2%1"), ("hello"):gsub("l+", "%0%0"), ("hello"):gsub(".", "%%"), ("abc"):gsub("%w", "%0-")
=> "true \"heLLo\" \"heLlo\" \"-h-e-l-l-o-\" \"hello\" \"He11o\" \"ehllo\" \"hellllo\" \"%%%%%\" \"a-b-c-\" 3"

return ("hello"):gsub("l", function(c) return c:upper() end), ("hello"):gsub("(l)(l)", function(a, b) return b .. a .. "!" end), ("hello"):gsub("l", function() end), ("hello"):gsub("l", function() return false end), ("hello"):gsub("l", function() return 5 end), ("abc"):gsub("()", function(p) return p end)
=> "true \"heLLo\" \"hell!o\" \"hello\" \"hello\" \"he55o\" \"1a2b3c4\" 4"

return ("abc"):gsub("^a", "x"), ("aaa"):gsub("^a", "x"), ("abc"):gsub("c$", "x"), ("abc"):gsub(".", "%0", 0), ("abc"):gsub(".", "x", -1), ("hello world"):gsub("o", "0", 1.9), ("abc"):gsub("b*", "x"), ("a,b,,c"):gsub(",", ";")
=> "true \"xbc\" \"xaa\" \"abx\" \"abc\" \"abc\" \"hell0 world\" \"xaxxcx\" \"a;b;;c\" 3"

local r = {} for w in ("one two three"):gmatch("%a+") do r[#r + 1] = w end return r
=> "true {[1]=\"one\",[2]=\"two\",[3]=\"three\"}"

local r = {} for k, v in ("a=1, b=2"):gmatch("(%w+)=(%w+)") do r[#r + 1] = k .. v end return r
=> "true {[1]=\"a1\",[2]=\"b2\"}"

local r = {} for p in ("abc"):gmatch("()") do r[#r + 1] = p end return r
=> "true {[1]=1,[2]=2,[3]=3,[4]=4}"

local r = {} for w in ("abc"):gmatch("") do r[#r + 1] = w end return #r
=> "true 4"

local r = {} for w in ("aab"):gmatch("^a") do r[#r + 1] = w end return r
=> "true {}"

local r = {} for w in string.gfind("a b", "%a") do r[#r + 1] = w end return r
=> "true {[1]=\"a\",[2]=\"b\"}"

local r = {} for w in ("a,b,,c"):gmatch("([^,]*)") do r[#r + 1] = w end return r
=> "true {[1]=\"a\",[2]=\"\",[3]=\"b\",[4]=\"\",[5]=\"\",[6]=\"c\",[7]=\"\"}"

return string.format("%d %i %5d %-5d| %05d %+d % d %.3d %5.3d", 1, 2, 3, 4, 5, 6, 7, 8, 9)
=> "true \"1 2     3 4    | 00005 +6  7 008   009\""

return string.format("%d %d %d %d", 1.9, -1.9, "10", "0x10"), string.format("%d", 2^31), string.format("%d", 2^53), string.format("%d", -2^53), string.format("%d", 1e15)
=> "true \"1 -1 10 16\" \"2147483648\" \"9007199254740992\" \"-9007199254740992\" \"1000000000000000\""

return string.format("%d", 2^63), string.format("%d", -2^63), string.format("%d", 1e300), string.format("%d", -1e300), string.format("%d", 1/0), string.format("%d", 0/0)
=> "true \"-9223372036854775808\" \"-9223372036854775808\" \"-9223372036854775808\" \"-9223372036854775808\" \"-9223372036854775808\" \"-9223372036854775808\""

return string.format("%u %u", 1, 2^32), string.format("%u", -1), string.format("%u", 2^63), string.format("%u", 2^64), string.format("%o %x %X %#x %#X %#o", 8, 255, 255, 255, 255, 8), string.format("%x", -1), string.format("%#x %#o", 0, 0), string.format("%08x|%-8x|%8X", 255, 255, 255)
=> "true \"1 4294967296\" \"18446744073709551615\" \"9223372036854775808\" \"0\" \"10 ff FF 0xff 0XFF 010\" \"ffffffffffffffff\" \"0 0\" \"000000ff|ff      |      FF\""

return string.format("%f %.2f %5.1f %-8.2f| %08.2f %+.1f %.0f %#.0f", 1.5, 1.005, 2.25, 3.14159, -3.14159, 2, 2.5, 3)
=> "true \"1.500000 1.00   2.2 3.14    | -0003.14 +2.0 2 3.\""

return string.format("%e %.2e %E %g %G %.3g %g %g %g %#g %#.3g", 12345.678, 0.00012, 1e100, 1e20, 1e-10, 1234567, 100000, 1000000, 0.0001, 1.5, 1)
=> "true \"1.234568e+04 1.20e-04 1.000000E+100 1e+20 1E-10 1.23e+06 100000 1e+06 0.0001 1.50000 1.00\""

return string.format("%g %f %e %d", 0, 0, 0, 0), string.format("%g", 0.1), string.format("%.14g", 0.1), string.format("%.17g", 0.1), string.format("%.20f", 0.1), string.format("%.99f", 1/3), string.format("%5s|%-5s|%.2s|%5.1s", "a", "b", "cde", "fgh")
=> "true \"0 0.000000 0.000000e+00 0\" \"0.1\" \"0.1\" \"0.10000000000000001\" \"0.10000000000000000555\" \"0.333333333333333314829616256247390992939472198486328125000000000000000000000000000000000000000000000\" \"    a|b    |cd|    f\""

return string.format("%f %g %e %5.1f|%-6f|%06f", 1/0, -1/0, 1/0, 1/0, 1/0, 1/0), string.format("%F", 1)
=> "false \"user_script:1: invalid option '%F' to 'format'\""

return string.format("%f %g %G %E", 1/0, 1/0, 1/0, 1/0), string.format("%f", 0/0), string.format("%+f % f", 1/0, 1/0)
=> "true \"inf inf INF INF\" \"-nan\" \"+inf  inf\""

return string.format("%.3f", -0.0), string.format("%g", -0.0)
=> "true \"-0.000\" \"-0\""

return string.format("%a", 1)
=> "false \"user_script:1: invalid option '%a' to 'format'\""

return string.format("%c%c%c", 65, 66, 67), string.format("%c", 0), #string.format("%c", 0), string.format("%5c|%-5c|", 65, 66), string.format("%c", 256 + 65)
=> "true \"ABC\" \"\" 0 \"    A|B    |\" \"A\""

return string.format("%s %s %s", "a", 1, 1.5), string.format("%s", "a\0b"), #string.format("%s", "a\0b"), string.format("%10s|", "abc"), string.format("%s", ("x"):rep(200)):len(), string.format("%.3s", ("x"):rep(200)), string.format("%300s", "x")
=> "false \"user_script:1: invalid format (width or precision too long)\""

return string.format("%q", 'a "quoted" \\ \n \r \0 \1 text'), string.format("%q", "é"), string.format("%q", 5), string.format("%5q", "x")
=> "true \"\\\"a \\\\\\\"quoted\\\\\\\" \\\\\\\\ \\\\\\\n \\\\r \\\\000 \x01 text\\\"\" \"\\\"é\\\"\" \"\\\"5\\\"\" \"\\\"x\\\"\""

return string.format("%%"), string.format("100%%"), string.format(""), string.format("%s%%", 5), string.format("%5%", 1)
=> "false \"user_script:1: invalid option '%%' to 'format'\""

return string.format("%s", true)
=> "false \"user_script:1: bad argument #2 to 'format' (string expected, got boolean)\""

return string.format("%s", nil)
=> "false \"user_script:1: bad argument #2 to 'format' (string expected, got nil)\""

return string.format("%d", "1.5"), string.format("%d", "1e3")
=> "true \"1\" \"1000\""

return string.format("%-+ #05d", 1), string.format("%+ d", 5), string.format("%-05d|", 5), string.format("%.0d", 0), string.format("%5.0d|", 0), string.format("%.10d", 5), string.format("%99d", 1):len()
=> "true \"+1   \" \"+5\" \"5    |\" \"\" \"     |\" \"0000000005\" 99"

return string.format("%i", 5.5), string.format("%10.4f|", math.pi), string.format("%-10.4f|", math.pi), string.format("%.0e", 12345), string.format("%#.0e", 12345), string.format("%.0g", 12345), string.format("%.10g", 100)
=> "true \"5\" \"    3.1416|\" \"3.1416    |\" \"1e+04\" \"1.e+04\" \"1e+04\" \"100\""

return string.format("%.3f", 2.0005), string.format("%.2f", 0.125), string.format("%.0f", 0.5), string.format("%.0f", 1.5), string.format("%.1f", 0.25), string.format("%.1f", 0.35)
=> "true \"2.001\" \"0.12\" \"0\" \"2\" \"0.2\" \"0.3\""

return tostring(1e15), tostring(1e14), 1e15 .. "", tostring(0.1), tostring(123.456), tostring(-1.5e-7), tostring(1e300 * 1e10)
=> "true \"1e+15\" \"1e+14\" \"1e+15\" \"0.1\" \"123.456\" \"-1.5e-07\" \"inf\""

return ("x"):rep(0), ("x"):rep(-1), ("ab"):rep(3), (""):rep(100), ("x"):rep(1e3):len()
=> "true \"\" \"\" \"ababab\" \"\" 1000"

return ("%d"):rep(3, ","):format(1, 2, 3)
=> "true \"123\""

return ("a"):byte(1, 2), ("\200"):byte(), #"\200\201", "\200" > "a", "\255" > "\1"
=> "true 97 200 2 true true"

return ("abc") < ("abd"), ("a") < ("aa"), ("") < ("a"), ("a\0a") < ("a\0b"), ("Z") < ("a"), ("é") > ("z"), "10" < "9"
=> "true true true true true true true true"

return ("x"):find("x", 1, 1), ("x."):find(".", 1, false), ("a%"):find("%", 1, true), ("[x"):find("[", 1, true)
=> "true 1 1 2 1 1"

return ("abc"):find("b", nil), ("abc"):find("b", "2"), ("abc"):find("b", 2.7), ("abc"):match("b", 3), ("abc"):match("c", 3), ("abc"):match("c", -1)
=> "true 2 2 2 nil \"c\" \"c\""

return ("a.b.c"):gsub("%.", "/"), ("path/to/file"):match("([^/]+)$"), ("k:v"):match("^(.-):(.*)$"), ("  x "):gsub("^%s+", ""), ("x=1;y=2"):gsub("(%w)=(%w)", "%2=%1")
=> "true \"a/b/c\" \"file\" \"k\" \"x \" \"1=x;2=y\" 2"

return ("aaa"):find("a-", 2), ("aaa"):match("^(a-)$"), ("aaab"):match("a-b"), ("abcabc"):match("a.-c"), ("abcabc"):match("a.*c"), ("aXbX"):match("(.-)X"), ("ab"):match("a?b?c?"), ("b"):match("a?b"), ("aab"):match("a+b"), ("b"):match("a*b")
=> "true 2 \"aaa\" \"aaab\" \"abc\" \"abcabc\" \"a\" \"ab\" \"b\" \"aab\" \"b\""

return ("x"):rep(40):match(("a?"):rep(10) .. "x+"):len(), (("a"):rep(20)):match(("a?"):rep(20) .. ("a"):rep(20)):len()
=> "true 40 20"

return ("((a))"):match("%b()"), ("(a"):match("%b()"), ("a)"):match("%b()"), ("[[x]]"):match("%b[]"), ("xax"):match("%bxx"), ("xx"):find("%bxx")
=> "true \"((a))\" nil nil \"[[x]]\" \"xax\" 1 2"

return ("THE END"):gsub("%f[%w]%w+", string.lower), ("a b"):find("%f[%z]"), ("foo.bar"):find("%f[%p]")
=> "true \"the end\" 4 4 3"

return ("hello"):gsub("(", "x")
=> "true \"xhxexlxlxox\" 6"

return ("hello"):gsub("%", "x")
=> "false \"user_script:1: malformed pattern (ends with '%')\""

return ("hello"):gsub("l", "%9")
=> "false \"user_script:1: invalid capture index\""

return ("hello"):gsub("(l)", "%1%2")
=> "false \"user_script:1: invalid capture index\""

return ("hello"):match("((((((((((((((((((((((((((((((((h))))))))))))))))))))))))))))))))")
=> "true \"h\" \"h\" \"h\" \"h\" \"h\" \"h\" \"h\" \"h\" \"h\" \"h\" \"h\" \"h\" \"h\" \"h\" \"h\" \"h\" \"h\" \"h\" \"h\" \"h\" \"h\" \"h\" \"h\" \"h\" \"h\" \"h\" \"h\" \"h\" \"h\" \"h\" \"h\" \"h\""

return ("hello"):match("(((((((((((((((((((((((((((((((((h)))))))))))))))))))))))))))))))))")
=> "false \"user_script:1: too many captures\""

return ("a"):rep(3000):find(("a?"):rep(5) .. "b")
=> "true nil"

return ("a"):rep(1000):match(".-b"), ("a"):rep(1000):find("a*b")
=> "true nil nil"

return #("a"):rep(100000):gsub("a", "bb"), (("a"):rep(10):gsub("a", "%0%0"))
=> "true 200000 \"aaaaaaaaaaaaaaaaaaaa\""

return ("abc"):gsub("%w", {a = "1", b = true})
=> "false \"user_script:1: invalid replacement value (a boolean)\""

return ("abc"):gsub("%w", setmetatable({}, {__index = function(t, k) return k .. k end}))
=> "true \"aabbcc\" 3"

return string.gsub("abc", "b", "%%1"), string.gsub("abc", "(b)", "<%1>"), string.gsub("abc", "", ""), string.gsub("", "", "x"), string.gsub("", "x*", "y"), string.gsub("abc", ".*", "x"), string.gsub("abc", "c*", "-")
=> "true \"a%1c\" \"a<b>c\" \"abc\" \"x\" \"y\" \"xx\" \"-a-b--\" 4"

local t = {} for i = 1, 300 do t[i] = 65 end return #string.char(unpack(t))
=> "true 300"

return tostring("x") == "x", ("x") == "x", "a" .. "b" == "ab", #("x" .. 1 .. 2)
=> "true true true true 3"

return ("test"):upper():lower():len(), ("%5.2f"):format(3.14159), ("x"):rep(3):reverse()
=> "true 4 \" 3.14\" \"xxx\""

return string.lower("ÀÉ\128ABC"), string.upper("àé\255abc")
=> "true \"ÀÉ\x80abc\" \"àé\xffABC\""

return string.format('% -c', -1.816447021352415e+13), string.format('%c', 2^32 + 65), string.format('%c', -1)
=> "true \"\" \"\" \"\xff\""

return string.gsub('ab (ba) 12_c aab', "()a*%1([^a]", '%0')
=> "true \"ab (ba) 12_c aab\" 0"

return string.gsub('ab (ba) 12_c aab', "[%w_]*()b%1a", 'x')
=> "true \"ab (ba) 12_c aab\" 0"

