return return
=> "compile: user_script:1: unexpected symbol near 'return'"

x =
=> "compile: user_script:1: unexpected symbol near '<eof>'"

local
=> "compile: user_script:1: '<name>' expected near '<eof>'"

local 1
=> "compile: user_script:1: '<name>' expected near '1'"

if x then
=> "compile: user_script:1: 'end' expected near '<eof>'"

if x
=> "compile: user_script:1: 'then' expected near '<eof>'"

while true do
=> "compile: user_script:1: 'end' expected near '<eof>'"

for i = 1 do end
=> "compile: user_script:1: ',' expected near 'do'"

for i do end
=> "compile: user_script:1: '=' or 'in' expected near 'do'"

for 1 = 1, 2 do end
=> "compile: user_script:1: '<name>' expected near '1'"

for i, 5 in x do end
=> "compile: user_script:1: '<name>' expected near '5'"

repeat x()
=> "compile: user_script:1: 'until' expected near '<eof>'"

function f(
=> "compile: user_script:1: <name> or '...' expected near '<eof>'"

function f(a, 1) end
=> "compile: user_script:1: <name> or '...' expected near '1'"

function f(..., a) end
=> "compile: user_script:1: ')' expected near ','"

function 5() end
=> "compile: user_script:1: '<name>' expected near '5'"

x = }
=> "compile: user_script:1: unexpected symbol near '}'"

x = {1, 2
=> "compile: user_script:1: '}' expected near '<eof>'"

x = {1, 2
return 1
=> "compile: user_script:2: '}' expected (to close '{' at line 1) near 'return'"

f(
=> "compile: user_script:1: unexpected symbol near '<eof>'"

f(1, 2
=> "compile: user_script:1: ')' expected near '<eof>'"

f(1
,2
=> "compile: user_script:2: ')' expected (to close '(' at line 1) near '<eof>'"

f
(1)
=> "compile: user_script:2: ambiguous syntax (function call x new statement) near '('"

a.b:c = 1
=> "compile: user_script:1: function arguments expected near '='"

a.b:c
=> "compile: user_script:1: function arguments expected near '<eof>'"

(a) = 1
=> "compile: user_script:1: syntax error near '='"

f() = 1
=> "compile: user_script:1: unexpected symbol near '='"

a, f() = 1, 2
=> "compile: user_script:1: syntax error near '='"

(f())
=> "compile: user_script:1: syntax error near '<eof>'"

a + 1
=> "compile: user_script:1: '=' expected near '+'"

1 = 2
=> "compile: user_script:1: unexpected symbol near '1'"

"x" = 1
=> "compile: user_script:1: unexpected symbol near '\"x\"'"

return 1 2
=> "compile: user_script:1: '<eof>' expected near '2'"

return 1; return 2
=> "compile: user_script:1: '<eof>' expected near 'return'"

break
=> "compile: user_script:1: no loop to break near '<eof>'"

do break end
=> "compile: user_script:1: no loop to break near 'end'"

while true do break x = 1 end
=> "compile: user_script:1: 'end' expected near 'x'"

return 'abc
=> "compile: user_script:1: unfinished string near '<eof>'"

return "abc
def"
=> "compile: user_script:1: unfinished string near '\"abc'"

return [[abc
=> "compile: user_script:1: unfinished long string near '<eof>'"

return [==[abc]=]
=> "compile: user_script:1: unfinished long string near '<eof>'"

--[[ abc
=> "compile: user_script:1: unfinished long comment near '<eof>'"

return [=abc
=> "compile: user_script:1: invalid long string delimiter near '[='"

return "\300"
=> "compile: user_script:1: escape sequence too large near '\"'"

return "\x"
=> "true \"x\""

return 3x
=> "compile: user_script:1: malformed number near '3x'"

return 0x
=> "compile: user_script:1: malformed number near '0x'"

return 0xg
=> "compile: user_script:1: malformed number near '0xg'"

return 1.2.3
=> "compile: user_script:1: malformed number near '1.2.3'"

return 1e
=> "compile: user_script:1: malformed number near '1e'"

return 1..2
=> "compile: user_script:1: malformed number near '1..2'"

return @
=> "compile: user_script:1: unexpected symbol near '@'"

return $x
=> "compile: user_script:1: unexpected symbol near '$'"

return !x
=> "compile: user_script:1: unexpected symbol near '!'"

return a ~ b
=> "compile: user_script:1: '<eof>' expected near '~'"

return ~1
=> "compile: user_script:1: unexpected symbol near '~'"

return a != b
=> "compile: user_script:1: '<eof>' expected near '!'"

x++
=> "compile: user_script:1: '=' expected near '+'"

x += 1
=> "compile: user_script:1: '=' expected near '+'"

local x = 5 x
=> "compile: user_script:1: '=' expected near '<eof>'"

goto x
=> "compile: user_script:1: '=' expected near 'x'"

::label::
=> "compile: user_script:1: unexpected symbol near ':'"

return ...
=> "true"

function f() return ... end
=> "compile: user_script:1: cannot use '...' outside a vararg function near '...'"

local function f() local g = function(...) return ... end return ... end
=> "compile: user_script:1: cannot use '...' outside a vararg function near '...'"

return #
=> "compile: user_script:1: unexpected symbol near '<eof>'"

return -
=> "compile: user_script:1: unexpected symbol near '<eof>'"

return not
=> "compile: user_script:1: unexpected symbol near '<eof>'"

return {1, 2, 3
=> "compile: user_script:1: '}' expected near '<eof>'"

return {a = }
=> "compile: user_script:1: unexpected symbol near '}'"

return {[1] 2}
=> "compile: user_script:1: '=' expected near '2'"

return a.
=> "compile: user_script:1: '<name>' expected near '<eof>'"

return a.1
=> "compile: user_script:1: '<eof>' expected near '.1'"

return a:b
=> "compile: user_script:1: function arguments expected near '<eof>'"

return a[1
=> "compile: user_script:1: ']' expected near '<eof>'"

return a[]
=> "compile: user_script:1: unexpected symbol near ']'"

return (1
=> "compile: user_script:1: ')' expected near '<eof>'"

return ()
=> "compile: user_script:1: unexpected symbol near ')'"

and
=> "compile: user_script:1: unexpected symbol near 'and'"

end
=> "compile: user_script:1: '<eof>' expected near 'end'"

else
=> "compile: user_script:1: '<eof>' expected near 'else'"

until x
=> "compile: user_script:1: '<eof>' expected near 'until'"

x = 1 end
=> "compile: user_script:1: '<eof>' expected near 'end'"

if x then else elseif y then end
=> "compile: user_script:1: 'end' expected near 'elseif'"

if x then end end
=> "compile: user_script:1: '<eof>' expected near 'end'"

for i = 1, 2 do
=> "compile: user_script:1: 'end' expected near '<eof>'"

function f() 
=> "compile: user_script:1: 'end' expected near '<eof>'"

local function
=> "compile: user_script:1: '<name>' expected near '<eof>'"

local function 1
=> "compile: user_script:1: '<name>' expected near '1'"

local x, = 1
=> "compile: user_script:1: '<name>' expected near '='"

local x = 1,
=> "compile: user_script:1: unexpected symbol near '<eof>'"

return function
=> "compile: user_script:1: '(' expected near '<eof>'"

return function end
=> "compile: user_script:1: '(' expected near 'end'"

return 1 +
=> "compile: user_script:1: unexpected symbol near '<eof>'"

return + 1
=> "compile: user_script:1: unexpected symbol near '+'"

return 1 .. 
=> "compile: user_script:1: unexpected symbol near '<eof>'"

return "a" "b"
=> "compile: user_script:1: '<eof>' expected near '\"b\"'"

f "a" "b" x
=> "compile: user_script:1: '=' expected near '<eof>'"

a = b c = d
=> "false \"user_script:1: Script attempted to access nonexistent global variable 'b'\""

local a; b = c; ;
=> "compile: user_script:1: unexpected symbol near ';'"

;
=> "compile: user_script:1: unexpected symbol near ';'"

x = 5 5
=> "compile: user_script:1: unexpected symbol near '5'"

local t = {} t.x.y:z.w = 1
=> "compile: user_script:1: function arguments expected near '.'"

return '\' 
=> "compile: user_script:1: unfinished string near '<eof>'"

return "unfinished \
string
=> "compile: user_script:2: unfinished string near '<eof>'"

local é = 1
=> "compile: user_script:1: '<name>' expected near '\xc3'"

return 5 % % 2
=> "compile: user_script:1: unexpected symbol near '%'"

return a == == b
=> "compile: user_script:1: unexpected symbol near '=='"

return not not
=> "compile: user_script:1: unexpected symbol near '<eof>'"

return nil nil
=> "compile: user_script:1: '<eof>' expected near 'nil'"

return 1 and
=> "compile: user_script:1: unexpected symbol near '<eof>'"

return or
=> "compile: user_script:1: unexpected symbol near 'or'"

local a b
=> "compile: user_script:1: '=' expected near '<eof>'"

if then end
=> "compile: user_script:1: unexpected symbol near 'then'"

while do end
=> "compile: user_script:1: unexpected symbol near 'do'"

repeat until
=> "compile: user_script:1: unexpected symbol near '<eof>'"

for in x do end
=> "compile: user_script:1: '<name>' expected near 'in'"

for i in do end
=> "compile: user_script:1: unexpected symbol near 'do'"

for i = 1, 2, 3, 4 do end
=> "compile: user_script:1: 'do' expected near ','"

function a.b.c.d:e.f() end
=> "compile: user_script:1: '(' expected near '.'"

function a:b:c() end
=> "compile: user_script:1: '(' expected near ':'"

local function a.b() end
=> "compile: user_script:1: '(' expected near '.'"

local x = function f() end
=> "compile: user_script:1: '(' expected near 'f'"

x = 'a\0b' y
=> "compile: user_script:1: '=' expected near '<eof>'"

x = "abc\0def
=> "compile: user_script:1: unfinished string near '<eof>'"

