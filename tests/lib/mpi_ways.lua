--- mpi_ways.lua: what process 1 of mpi_life_test.lua does, after so many seconds.
return function(how, over_all, x, seconds)
    if seconds then os.execute("sleep " .. seconds) end
    if how == "kill" then os.execute "kill -9 $PPID" end
    if how == "exit" then os.exit(0) end
    if how == "raise" then error "boom" end
    while how == "loop" do end
    if how == "other" then print(over_all "pmin" (x)) end
end
