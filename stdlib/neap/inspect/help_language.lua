--- help_language.lua: Lua's own words, for who comes from another language: help by word.
local language = {}

for words, text in pairs {
    ["if then else elseif"] = [[
if x > 0 then … elseif x < 0 then … else … end

An array is no condition: take its one element, as in if x:sum():item() > 0 then.
Inside np.jit the choice is np.where or np.cond.]],
    ["for in do pairs ipairs"] = [[
for k = 1, 10 do … end                  k is 1, 2, …, 10; a third number is the step
for k, value in ipairs(list) do … end   the entries 1, 2, … of a table
for key, value in pairs(t) do … end     all entries of a table

The parts of an array: for k = 0, #x - 1 do local part = x[k] … end.]],
    ["while repeat until break"] = [[
while loss > 0.1 do … end
repeat … until loss < 0.1     break leaves a loop]],
    ["function return end"] = [[
function f(x, y) return x * y end
local f = function(x) return x, 2 * x end     several results: local a, b = f(1)]],
    ["local"] = [[
local x, y = 1, 2     variables of the block, file or function around; others are global]],
    ["and or not true false nil"] = [[
a and b, a or b, not a     nil and false are false, all else is true: 0 and "" too
~= is "not equal"; x = x or 3 gives a default

For elements of arrays: np.logical_and(a, b), a:eq(b), a:ne(b).]],
    ["goto"] = [[
goto name … ::name::     a jump; ::continue:: at the end of a loop's body is its common use]],
    ["table"] = [[
t = {1, 2, 3}       t[1] is 1, #t is 3
t = {lr=0.1}        t.lr is 0.1; absent entries are nil

Functions of tables, such as table.insert(t, 4): www.lua.org/manual/5.1, section 5.5.]],
} do
    for word in words:gmatch "%S+" do language[word] = text end
end

return language
