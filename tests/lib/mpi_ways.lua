--- mpi_ways.lua: what process 1 of mpi_life_test.lua does.
return function(how, over_all, x)
    if how == "kill" then os.execute "sleep 1; kill -9 $PPID" end -- mpirun ends the rest: they are to wait by then
    if how == "exit" then os.exit(0) end
    if how == "raise" then error "boom" end
    while how == "loop" do end
    if how == "other" then print(over_all "pmin" (x)) end
end
