package luabench

// program is a small script. ARGV[1] is the amount of work. It returns a number that shows whether two
// servers computed the same.
type program struct {
	name string
	work int
	text string
	// keeps says that the program holds the data that it makes until its end, so its memory has a target.
	keeps bool
}

// programs returns the ten programs of the table: loops, arithmetic, calls, tables and texts.
func programs() []program {
	return []program{
		{"a loop of additions", 3_000_000, "local s = 0 for i = 1, n do s = s + i end return s", false},
		{"`*`, `+`, `/`, `-` and `%`", 1_000_000,
			"local x, y = 0.5, 1 for i = 1, n do x = (x * 3.7 + y) % 1013 y = x / 3 - y * 0.25 end return math.floor(x)", false},
		{"`while` and `if` (Collatz)", 3000, `
local c = 0
for r = 1, n do
  local m = 27 + r
  while m ~= 1 do
    if m % 2 == 0 then m = m / 2 else m = 3 * m + 1 end
    c = c + 1
  end
end
return c`, false},
		{"calls (Fibonacci of 27)", 27, "local function fib(m) if m < 2 then return m end return fib(m - 1) + fib(m - 2) end return fib(n)", false},
		{"a sieve in an array", 400_000, `
local t, c = {}, 0
for i = 2, n do t[i] = true end
for i = 2, math.floor(math.sqrt(n)) do
  if t[i] then for j = i * i, n, i do t[j] = false end end
end
for i = 2, n do if t[i] then c = c + 1 end end
return c`, false},
		{"appends, then `ipairs`", 500_000, "local t, s = {}, 0 for i = 1, n do t[#t + 1] = i end for i, v in ipairs(t) do s = s + v end return s", false},
		{"fields read and set", 1_000_000,
			"local p = {x = 1, y = 2, name = 'a'} for i = 1, n do p.x = p.x + p.y p.y = 3 - p.y end return p.x", false},
		{"counts by text keys, then `pairs`", 200_000, `
local t, s = {}, 0
for i = 1, n do
  local k = 'key:' .. (i % 1000)
  t[k] = (t[k] or 0) + 1
end
for k, v in pairs(t) do s = s + v end
return s`, false},
		{"strings built by `..` and `table.concat`", 200_000,
			"local t = {} for i = 1, n do t[#t + 1] = i .. ':' .. 'value' end return #table.concat(t, ',')", false},
		{"`string.format`, `find`, `sub`, `byte`", 100_000, `
local c = 0
for i = 1, n do
  local s = string.format('%d:%s', i, 'abc')
  if string.find(s, '9', 1, true) then c = c + 1 end
  c = c + #string.sub(s, 2, 4) + string.byte(s, 1)
end
return c`, false},
	}
}

// makeDocument sets t to n objects, which a program then encodes.
const makeDocument = `
local t = {}
for i = 1, n do
  t[i] = {id = i, name = 'customer ' .. i, tags = {'a', 'b', 'c'}, price = i * 1.25, active = true, text = 'some text of a certain length'}
end
`

// conversions returns the programs with cjson. ARGV[2] is a large document and ARGV[3] a small object, for
// programs that read them.
func conversions() []program {
	return []program{
		{"encode an array of objects, made before", 60_000, makeDocument + "return #cjson.encode(t)", true},
		{"encode a small object again and again", 100_000, "local o, s = cjson.decode(ARGV[3]), 0 for i = 1, n do s = s + #cjson.encode(o) end return s", false},
		{"decode one text of many objects", 45_000, "return #cjson.decode(ARGV[2])", true},
		{"decode a small object again and again", 100_000, "local s = 0 for i = 1, n do s = s + cjson.decode(ARGV[3]).id end return s", false},
		{"decode small objects, and keep them all", 100_000, "local t = {} for i = 1, n do t[i] = cjson.decode(ARGV[3]) end return #t", true},
	}
}

// smallObject is ARGV[3].
const smallObject = `{"id":17,"name":"customer","qty":3,"tags":["a","b"]}`
