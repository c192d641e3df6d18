getmetatable("").__index = nil
=> "false \"user_script:1: Attempt to modify a readonly table\""

getmetatable("").x = 1
=> "false \"user_script:1: Attempt to modify a readonly table\""

rawset(getmetatable(""), "x", 1)
=> "false \"Attempt to modify a readonly table\""

local s = {} for k, v in pairs(_G) do if k ~= "redis" and k ~= "__redis__err__handler" and k ~= "os" then s[#s + 1] = k .. ":" .. type(v) end end table.sort(s) return table.concat(s, ",")
=> "true \"ARGV:table,KEYS:table,_G:table,_VERSION:string,assert:function,bit:table,cjson:table,cmsgpack:table,collectgarbage:function,coroutine:table,error:function,gcinfo:function,getmetatable:function,ipairs:function,load:function,loadstring:function,math:table,next:function,pairs:function,pcall:function,rawequal:function,rawget:function,rawset:function,select:function,setmetatable:function,string:table,struct:table,table:table,tonumber:function,tostring:function,type:function,unpack:function,xpcall:function\""

return getfenv
=> "false \"user_script:1: Script attempted to access nonexistent global variable 'getfenv'\""

return setfenv
=> "false \"user_script:1: Script attempted to access nonexistent global variable 'setfenv'\""

return newproxy
=> "false \"user_script:1: Script attempted to access nonexistent global variable 'newproxy'\""

