local t = {} for i = 1, 40 do t['key' .. i] = i end local s = {} for k, v in pairs(t) do s[#s + 1] = k end return table.concat(s, ' ')
=> "true \"key16 key9 key35 key24 key14 key8 key31 key26 key17 key39 key13 key21 key4 key32 key2 key1 key27 key40 key38 key22 key33 key3 key25 key15 key6 key34 key11 key5 key30 key10 key19 key29 key7 key37 key20 key12 key18 key23 key36 key28\""

local t = {a = 1, b = 2, c = 3, [1] = 4, [2.5] = 5, [-1] = 6, [true] = 7, [1e300] = 8} local s = {} for k, v in pairs(t) do s[#s + 1] = tostring(k) end return table.concat(s, ' ')
=> "true \"a true c b 1 1e+300 -1 2.5\""

local t = {} for i = 100, 1, -3 do t[i] = i end local s = {} for k, v in pairs(t) do s[#s + 1] = k end return table.concat(s, ' ')
=> "true \"31 46 4 76 7 10 55 16 94 28 79 64 49 82 25 34 58 100 43 13 70 22 52 1 88 85 37 73 91 97 61 19 40 67\""

local t = {} for i = 1, 60 do t[i * 37 % 101] = i end for i = 1, 60, 3 do t[i * 37 % 101] = nil end for i = 1, 30 do t['x' .. i] = i end local s = {} for k, v in pairs(t) do s[#s + 1] = k end return table.concat(s, ' ')
=> "true \"x5 x28 x20 32 x1 33 x17 x13 9 x16 39 10 40 42 43 x14 x4 3 12 49 50 x27 x8 13 52 x23 53 x26 59 60 x24 62 63 x3 69 70 73 74 19 x12 80 x15 83 84 22 x11 89 90 23 93 x2 x10 99 100 x18 x30 x21 x25 x7 2 x22 20 94 29 x29 79 x19 30 x9 x6\""

local s = {} for k, v in pairs(cjson.decode('{"id":1,"name":"x","qty":3,"tags":[1,2],"price":1.5,"note":null,"another":true}')) do s[#s + 1] = k end return table.concat(s, ' ')
=> "true \"note name tags id qty another price\""

return cjson.encode({id = 1, name = 'x', qty = 3, price = 1.5, active = true, note = 'n', tag = 'z'})
=> "true \"{\\\"note\\\":\\\"n\\\",\\\"name\\\":\\\"x\\\",\\\"active\\\":true,\\\"id\\\":1,\\\"qty\\\":3,\\\"price\\\":1.5,\\\"tag\\\":\\\"z\\\"}\""

local t = {1, 2, nil, 4} local u = {nil, nil, 3} local v = {} v[1] = 1 v[2] = 2 v[4] = 4 local w = {n = 1, 1, 2, 3, nil, 5, nil} return #t, #u, #v, #w
=> "true 4 3 4 3"

local r = {} for n = 1, 40 do local t = {} for i = 1, n do t[i] = i end for i = n, 1, -2 do t[i] = nil end r[n] = #t end return table.concat(r, ' ')
=> "true \"0 1 2 1 4 1 6 1 8 1 10 1 12 1 14 1 16 1 18 1 20 1 22 1 24 1 26 1 28 1 30 1 32 1 34 1 36 1 38 1\""

local r = {} for n = 1, 40 do local t = {} for i = n, 1, -1 do if i % 5 ~= 0 then t[i] = i end end r[n] = #t end return table.concat(r, ' ')
=> "true \"1 2 3 4 4 6 7 8 9 9 9 12 13 14 14 16 17 18 19 19 19 19 19 24 24 26 27 28 29 29 29 32 33 34 34 36 37 38 39 39\""

local r = {} for n = 1, 30 do local t = {unpack({1, 2, 3, nil, 5, 6, nil, nil, 9, 10, 11, 12}, 1, n % 13)} r[n] = #t end return table.concat(r, ' ')
=> "true \"1 2 3 3 5 6 6 3 9 10 11 12 0 1 2 3 3 5 6 6 3 9 10 11 12 0 1 2 3 3\""

local t = cmsgpack.unpack(cmsgpack.pack({a = 1, b = 2, c = {1, 2, 3}, d = 'x', e = 5})) local s = {} for k in pairs(t) do s[#s + 1] = k end return table.concat(s, ' ')
=> "true \"a c b e d\""

local t = {} for i = 1, 20 do t[i] = i end for k in pairs(t) do if k % 2 == 0 then t[k] = nil end end t[25] = 1 local s = {} for k in pairs(t) do s[#s + 1] = k end return table.concat(s, ' ')
=> "true \"1 3 5 7 9 11 13 15 17 19 25\""

return pcall(next, {1, 2}, 'x')
=> "true false \"invalid key to 'next'\""

return 0, -0, tostring(0), tostring(-0), 1 / 0, 1 / -0
=> "true 0 0 \"0\" \"0\" inf inf"

local a = -0 local b = 0 return tostring(a), tostring(b)
=> "true \"-0\" \"-0\""

local t = {x = {}} local function f() return t.x.y.z end return pcall(f)
=> "true false \"user_script:1: attempt to index field 'y' (a nil value)\""

local t = {} local function f() return t:method() end return pcall(f)
=> "true false \"user_script:1: attempt to call method 'method' (a nil value)\""

local a local function f() return a.b end return pcall(f)
=> "true false \"user_script:1: attempt to index upvalue 'a' (a nil value)\""

local a = {} local function f(...) local x, y = ... return x + y end return pcall(f, 1, a)
=> "true false \"user_script:1: attempt to perform arithmetic on local 'y' (a table value)\""

local a = {} local function f() local x = a.b.c return x end local function g() return f() end return pcall(g)
=> "true false \"user_script:1: attempt to index field 'b' (a nil value)\""

local function f(n) if n == 0 then error('deep', 2) end return f(n - 1) end return pcall(f, 3)
=> "true false \"deep\""

return pcall(function() for i = 1, 'x' do end end), pcall(function() for i = {}, 2 do end end), pcall(function() for i = 1, 2, nil do end end)
=> "true false false false \"user_script:1: 'for' step must be a number\""

return pcall(function() local a = 'x' .. {} end), pcall(function() local b = {} return 'x' .. b .. 'y' end), pcall(function() return {} < {} end), pcall(function() return 1 < 'x' end)
=> "true false false false false \"user_script:1: attempt to compare number with string\""

