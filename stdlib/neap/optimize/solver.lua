--- solver.lua: linear programs, with integers or without, through Clp and Cbc of COIN-OR (libClp.so.1 and
-- libCbcSolver.so.3 of package coinor-libcbc3, EPL-2.0), which are loaded for the first program.
--
--     least cost·x    row_lower <= A x <= row_upper    lower <= x <= upper    x[j] whole for the columns of `whole`
--
-- Nothing stops these libraries from outside, they write to standard output, they take SIGINT, and a fault of theirs
-- would end the process. So a child of fork solves the program: it has a copy of all memory, calls the libraries, and
-- writes what they find into memory that both processes share. The parent waits for the end of a pipe that the child
-- holds, which comes however the child ends; Ctrl-C and the end of time kill the child. The child blocks all signals,
-- calls nothing of neap's core, and collects no garbage. Symbols are found before the fork: a child should not load.
--
-- Clp solves programs without integers, for its interface tells the prices of rows, which Cbc's (2.10) does not. Cbc
-- needs Clp, whose package comes with it. (SciPy uses HiGHS, of which Debian 12 has no package.)
--
-- Clp's word is not taken for an end: of 2500 random programs Clp 1.17 called 12 infeasible that were unbounded, and
-- with presolve one optimal. It is right with neither its scaling nor presolve, which are off first; and an end is
-- proved:
--   * an optimum by prices, of which follows a bound (weak duality) that the solution reaches;
--   * that there is no solution, by the least sum of what rows miss, which is above 0;
--   * that there is no bound, by a direction in which costs fall for ever.
-- Each proof is an optimum. Cbc 2.10 has wrong optima with its own preprocessing, which is off, too.
local ffi = require "ffi"
local core = require "neap.core"

local huge = math.huge

ffi.cdef [[
typedef struct neap_solver_time { long seconds, nanoseconds; } neap_solver_time;
typedef struct neap_solver_pollfd { int fd; short events, revents; } neap_solver_pollfd;
typedef struct neap_solver_report {
    int32_t ended, status, limit, has_x; // has_x: values holds x, the prices of rows, the reduced costs of columns
    double iterations, nodes, bound;
    double values[1]; // and all that follow
} neap_solver_report;
int neap_solver_clock(int clock, neap_solver_time *out) __asm__("clock_gettime");
int neap_solver_poll(neap_solver_pollfd *fds, unsigned long count, int timeout_ms) __asm__("poll");
int neap_solver_pipe(int *fds, int flags) __asm__("pipe2");
int neap_solver_open(const char *path, int flags, ...) __asm__("open");
int neap_solver_dup(int from, int to) __asm__("dup2");
int neap_solver_close(int fd) __asm__("close");
int neap_solver_fork(void) __asm__("fork");
int neap_solver_wait(int pid, int *status, int options) __asm__("waitpid");
int neap_solver_kill(int pid, int signal) __asm__("kill");
int neap_solver_control(int option, ...) __asm__("prctl");
int neap_solver_parent(void) __asm__("getppid");
int neap_solver_self(void) __asm__("getpid");
void neap_solver_exit(int status) __asm__("_exit");
int neap_solver_fill(void *set) __asm__("sigfillset");
int neap_solver_mask(int how, const void *set, void *before) __asm__("pthread_sigmask");
void *neap_solver_map(void *at, size_t bytes, int access, int flags, int fd, long offset) __asm__("mmap");
int neap_solver_unmap(void *at, size_t bytes) __asm__("munmap");

void *Clp_newModel(void);
void Clp_setLogLevel(void *model, int level);
void Clp_loadProblem(void *model, int columns, int rows, const int *start, const int *index, const double *value,
                     const double *lower, const double *upper, const double *cost, const double *row_lower,
                     const double *row_upper);
void Clp_setMaximumIterations(void *model, int most);
void Clp_scaling(void *model, int mode);
int Clp_dual(void *model, int values_pass);
int Clp_primal(void *model, int values_pass);
int Clp_initialSolve(void *model);
int Clp_status(void *model);
int Clp_numberIterations(void *model);
const double *Clp_getColSolution(void *model);
const double *Clp_getRowPrice(void *model);
const double *Clp_getReducedCost(void *model);
void *Cbc_newModel(void);
void Cbc_setLogLevel(void *model, int level);
void Cbc_setParameter(void *model, const char *name, const char *value);
void Cbc_loadProblem(void *model, int columns, int rows, const int *start, const int *index, const double *value,
                     const double *lower, const double *upper, const double *cost, const double *row_lower,
                     const double *row_upper);
void Cbc_setInteger(void *model, int column);
void Cbc_setAllowableGap(void *model, double gap);
void Cbc_setAllowableFractionGap(void *model, double gap);
void Cbc_setMaximumNodes(void *model, int most);
void Cbc_setMaximumSeconds(void *model, double most);
int Cbc_solve(void *model);
int Cbc_isProvenOptimal(void *model);
int Cbc_isProvenInfeasible(void *model);
int Cbc_status(void *model);
int Cbc_secondaryStatus(void *model);
int Cbc_getNodeCount(void *model);
int Cbc_getIterationCount(void *model);
double Cbc_getBestPossibleObjValue(void *model);
const double *Cbc_bestSolution(void *model);
]]

local C = ffi.C
local SIGKILL, SET_MASK, CLOEXEC, MONOTONIC, DIES_WITH_PARENT = 9, 2, 0x80000, 1, 1
local WRITE_ONLY, READABLE, ACCESS, SHARED = 1, 1, 3, 0x21
local SLICE = 0.05     -- seconds between two looks whether Ctrl-C was pressed
local GRACE = 1        -- seconds beyond the limit in which Cbc may still end by itself, with what it has found
local MOST = 2 ^ 31 - 1
local GAP = 1e-9       -- of objectives, within which Cbc takes one solution for as good as another
local CLOSE = 1e-6     -- how much of a limit, or of a sum of costs, may be missed, as a share of what is added up
local UNKNOWN = 1e49   -- of a bound: Cbc has none yet
local MISSED = 1e-7    -- what counts as above 0

local solver = {}

solver.OPTIMAL, solver.LIMIT, solver.INFEASIBLE, solver.UNBOUNDED, solver.FAILED = 0, 1, 2, 3, 4
solver.ITERATIONS, solver.SECONDS, solver.NODES = 1, 2, 3 -- which limit

-- ---- Libraries ------------------------------------------------------------------------------------------------------

local FUNCTIONS = {
    ["libClp.so.1"] = { "newModel", "setLogLevel", "loadProblem", "setMaximumIterations", "scaling", "dual", "primal",
                        "initialSolve", "status", "numberIterations", "getColSolution", "getRowPrice",
                        "getReducedCost" },
    ["libCbcSolver.so.3"] = { "newModel", "setLogLevel", "setParameter", "loadProblem", "setInteger",
                              "setAllowableGap", "setAllowableFractionGap", "setMaximumNodes", "setMaximumSeconds",
                              "solve", "isProvenOptimal", "isProvenInfeasible", "status", "secondaryStatus",
                              "getNodeCount", "getIterationCount", "getBestPossibleObjValue", "bestSolution" },
}

--- The functions of a library, by their names without the prefix; nil where it lacks one, or is not there.
local function functions_of(file, prefix)
    local found, library = pcall(ffi.load, file)
    if not found then return nil end
    local list = {}
    for _, name in ipairs(FUNCTIONS[file]) do
        local ok, f = pcall(function() return library[prefix .. name] end)
        if not ok then return nil end
        list[name] = f
    end
    list.library = library -- which lives as long as its functions are called
    return list
end

local clp, cbc

--- Loads the libraries, or raises what to install.
function solver.load(name)
    if cbc then return end
    clp, cbc = functions_of("libClp.so.1", "Clp_"), functions_of("libCbcSolver.so.3", "Cbc_")
    if not clp or not cbc then
        clp, cbc = nil, nil
        core.raise(name, "it needs the solver Cbc, which is not installed (package coinor-libcbc3)")
    end
end

-- ---- In the child ---------------------------------------------------------------------------------------------------

local clock_box = ffi.new "neap_solver_time"

local function now()
    C.neap_solver_clock(MONOTONIC, clock_box)
    return tonumber(clock_box.seconds) + tonumber(clock_box.nanoseconds) * 1e-9
end

--- Whether x keeps bounds and rows of a program, and the prices y of rows show that none is better: with them, and
-- with what they leave of costs as prices of bounds, the limits add up to a bound of all costs (weak duality).
local function is_proved(p, x, y)
    local sum, size, cost, bound, terms = p.sum, p.size, 0, 0, 1
    for i = 0, p.m - 1 do sum[i], size[i] = 0, 1 end
    local function add(price, low, high, room)
        local limit = price > 0 and low or high
        if math.abs(limit) == huge then return math.abs(price) <= room end
        bound, terms = bound + price * limit, terms + math.abs(price * limit)
        return true
    end
    for j = 0, p.n - 1 do
        local reduced, most, room = p.cost[j], 1, CLOSE * math.max(1, math.abs(x[j]))
        if not (x[j] >= p.lower[j] - room and x[j] <= p.upper[j] + room) then return false end
        for k = p.start[j], p.start[j + 1] - 1 do
            local value, i = p.value[k], p.index[k]
            sum[i], size[i] = sum[i] + value * x[j], size[i] + math.abs(value * x[j])
            reduced, most = reduced - value * y[i], most + math.abs(value * y[i])
        end
        cost, terms = cost + p.cost[j] * x[j], terms + math.abs(p.cost[j] * x[j])
        if not add(reduced, p.lower[j], p.upper[j], CLOSE * most) then return false end
    end
    for i = 0, p.m - 1 do
        local room = CLOSE * size[i]
        if not (sum[i] >= p.row_lower[i] - room and sum[i] <= p.row_upper[i] + room) then return false end
        if not add(y[i], p.row_lower[i], p.row_upper[i], CLOSE) then return false end
    end
    return math.abs(cost - bound) <= CLOSE * terms
end

local WAYS = 3

--- Solves a program without integers in one of three ways: Clp's status, 0 only where the optimum is proved, and model.
local function try(p, way, maxiter)
    local model = clp.newModel()
    clp.setLogLevel(model, 0)
    clp.loadProblem(model, p.n, p.m, p.start, p.index, p.value, p.lower, p.upper, p.cost, p.row_lower, p.row_upper)
    clp.setMaximumIterations(model, maxiter)
    if way < WAYS then clp.scaling(model, 0) end
    if way == 1 then clp.dual(model, 0) elseif way == 2 then clp.primal(model, 0) else clp.initialSolve(model) end
    local status = clp.status(model)
    if status == 0 and not is_proved(p, clp.getColSolution(model), clp.getRowPrice(model)) then status = 4 end
    return status, model
end

--- A model with the proved optimum of a program that has one; nil: no way finds it.
local function optimum(p, first)
    for way = first or 1, WAYS do
        local status, model = try(p, way, MOST)
        if status == 0 then return model end
    end
    return nil
end

--- A program with others of the fields of p.
local function changed(p, fields)
    for key, value in pairs(p) do
        if fields[key] == nil then fields[key] = value end
    end
    return fields
end

--- Whether nothing keeps the limits of p: the least sum of what rows miss is above 0. nil: it is not found.
local function has_none(p)
    local n, m, count = p.n, p.m, p.start[p.n]
    local all = n + 2 * m
    local q = changed(p, { n = all, start = ffi.new("int[?]", all + 1), index = ffi.new("int[?]", count + 2 * m),
                           value = ffi.new("double[?]", count + 2 * m), cost = ffi.new("double[?]", all),
                           lower = ffi.new("double[?]", all), upper = ffi.new("double[?]", all) })
    ffi.copy(q.start, p.start, 4 * n)
    ffi.copy(q.index, p.index, 4 * count)
    ffi.copy(q.value, p.value, 8 * count)
    ffi.copy(q.lower, p.lower, 8 * n)
    ffi.copy(q.upper, p.upper, 8 * n)
    for k = 0, 2 * m - 1 do -- row k misses its upper limit by column n + k, its lower one by column n + m + k
        local j = n + k
        q.start[j], q.index[count + k], q.value[count + k] = count + k, k % m, k < m and -1 or 1
        q.cost[j], q.upper[j] = 1, huge
    end
    q.start[all] = count + 2 * m
    local model = optimum(q)
    if not model then return nil end
    local x, missed = clp.getColSolution(model), 0
    for k = n, all - 1 do missed = missed + x[k] end
    return missed > MISSED
end

--- Whether there is a direction that no limit of p ends and in which costs fall. nil: it is not found.
local function falls_for_ever(p)
    local q = changed(p, { lower = ffi.new("double[?]", p.n), upper = ffi.new("double[?]", p.n),
                           row_lower = ffi.new("double[?]", p.m), row_upper = ffi.new("double[?]", p.m) })
    for j = 0, p.n - 1 do
        q.lower[j], q.upper[j] = p.lower[j] == -huge and -1 or 0, p.upper[j] == huge and 1 or 0
    end
    for i = 0, p.m - 1 do
        q.row_lower[i], q.row_upper[i] = p.row_lower[i] == -huge and -huge or 0, p.row_upper[i] == huge and huge or 0
    end
    local model = optimum(q)
    if not model then return nil end
    local x, cost = clp.getColSolution(model), 0
    for j = 0, p.n - 1 do cost = cost + p.cost[j] * x[j] end
    return cost < -MISSED
end

--- Solves the program without integers: a status, and a model of Clp, with the optimum where there is one.
local function solve_continuous(p)
    local found, model = try(p, 1, p.maxiter)
    if found == 0 then return solver.OPTIMAL, model end
    if found == 3 then return solver.LIMIT, model end
    local none = has_none(p)
    if none then return solver.INFEASIBLE, model end
    if none == false and falls_for_ever(p) then return solver.UNBOUNDED, model end
    local second = optimum(p, 2)
    return second and solver.OPTIMAL or solver.FAILED, second or model
end

local function report_continuous(p, report)
    local status, model = solve_continuous(p)
    report.status, report.limit, report.iterations = status, solver.ITERATIONS, clp.numberIterations(model)
    if status == solver.OPTIMAL then
        ffi.copy(report.values, clp.getColSolution(model), 8 * p.n)
        ffi.copy(report.values + p.n, clp.getRowPrice(model), 8 * p.m)
        ffi.copy(report.values + p.n + p.m, clp.getReducedCost(model), 8 * p.n)
        report.has_x = 1
    end
end

--- A model of Cbc, solved.
local function solve_whole(p, cost)
    local model = cbc.newModel()
    cbc.setLogLevel(model, 0)
    for _, name in ipairs { "scaling", "presolve", "preprocess" } do cbc.setParameter(model, name, "off") end
    cbc.loadProblem(model, p.n, p.m, p.start, p.index, p.value, p.lower, p.upper, cost, p.row_lower, p.row_upper)
    for _, column in ipairs(p.whole) do cbc.setInteger(model, column) end
    cbc.setAllowableGap(model, GAP)
    cbc.setAllowableFractionGap(model, p.gap)
    if p.node_limit < MOST then cbc.setMaximumNodes(model, p.node_limit) end
    if p.deadline < huge then
        cbc.setParameter(model, "timeMode", "elapsed")
        cbc.setMaximumSeconds(model, math.max(p.deadline - now(), 0))
    end
    cbc.solve(model)
    return model
end

--- What has come of a model of Cbc: a status, and which limit.
local function outcome(model)
    if cbc.isProvenOptimal(model) ~= 0 then return solver.OPTIMAL, 0 end
    if cbc.isProvenInfeasible(model) ~= 0 then return solver.INFEASIBLE, 0 end
    if cbc.status(model) ~= 1 then return solver.FAILED, 0 end
    return solver.LIMIT, cbc.secondaryStatus(model) == 3 and solver.NODES or solver.SECONDS
end

--- Cbc's integers are near to whole numbers. They are rounded, and the other numbers are those that are the best beside
-- them; where there are none, all stays as it is.
local function copy_rounded(p, report, x)
    local q = changed(p, { lower = ffi.new("double[?]", p.n), upper = ffi.new("double[?]", p.n) })
    ffi.copy(q.lower, p.lower, 8 * p.n)
    ffi.copy(q.upper, p.upper, 8 * p.n)
    for _, column in ipairs(p.whole) do
        local whole = math.floor(x[column] + 0.5)
        q.lower[column], q.upper[column] = whole, whole
    end
    local model = optimum(q)
    ffi.copy(report.values, model and clp.getColSolution(model) or x, 8 * p.n)
    report.has_x = 1
end

local function report_whole(p, report)
    local relaxed, first = solve_continuous(p)
    report.status, report.iterations = relaxed, clp.numberIterations(first)
    if relaxed ~= solver.OPTIMAL and relaxed ~= solver.UNBOUNDED then return end
    local model = solve_whole(p, relaxed == solver.UNBOUNDED and p.nothing or p.cost)
    local status, limit = outcome(model)
    report.nodes, report.iterations = cbc.getNodeCount(model), cbc.getIterationCount(model)
    report.bound, report.limit = cbc.getBestPossibleObjValue(model), limit
    report.status = status
    if relaxed == solver.UNBOUNDED then
        if status == solver.OPTIMAL then report.status = solver.UNBOUNDED end
        return
    end
    local x = cbc.bestSolution(model)
    if x ~= nil and (status == solver.OPTIMAL or status == solver.LIMIT) then
        copy_rounded(p, report, x)
    elseif status == solver.OPTIMAL then
        report.status = solver.FAILED
    end
end

--- The child's life. Does not return.
local function live(p, report, parent)
    collectgarbage "stop"
    C.neap_solver_control(DIES_WITH_PARENT, ffi.cast("unsigned long", SIGKILL))
    local ok = C.neap_solver_parent() == parent
    if ok then
        local nowhere = C.neap_solver_open("/dev/null", WRITE_ONLY)
        C.neap_solver_dup(nowhere, 1)
        C.neap_solver_dup(nowhere, 2)
        ok = pcall(#p.whole > 0 and report_whole or report_continuous, p, report)
    end
    report.ended = ok and 1 or 0
    C.neap_solver_exit(ok and 0 or 1)
end

-- ---- In the parent --------------------------------------------------------------------------------------------------

--- Waits until the other end of the pipe is closed: true; false: the time is over.
local function wait_for(fd, until_when)
    local fds = ffi.new("neap_solver_pollfd[1]", { { fd = fd, events = READABLE } })
    while true do
        local left = until_when - now()
        if left <= 0 then return false end
        if C.neap_solver_poll(fds, 1, math.ceil(1000 * math.min(SLICE, left))) > 0 then return true end
        core.check_interrupt()
        if core.callbacks_due(false) then core.run_callbacks() end
    end
end

--- A child that solves p: its number, or nil where the system gives none, and the end of the pipe.
local function start(p, report)
    local fds, all, before = ffi.new "int[2]", ffi.new "uint64_t[16]", ffi.new "uint64_t[16]"
    if C.neap_solver_pipe(fds, CLOEXEC) ~= 0 then return nil end
    local parent = C.neap_solver_self()
    C.neap_solver_fill(all)
    C.neap_solver_mask(SET_MASK, all, before)
    local child = C.neap_solver_fork()
    if child == 0 then live(p, report, parent) end
    C.neap_solver_mask(SET_MASK, before, nil)
    C.neap_solver_close(fds[1])
    if child < 0 then
        C.neap_solver_close(fds[0])
        return nil
    end
    return child, fds[0]
end

--- What the child has found, in Lua's own memory.
local function found(p, report)
    local n, m, values = p.n, p.m, report.values
    local result = { status = report.status, limit = report.limit, iterations = report.iterations,
                     nodes = report.nodes, bound = math.abs(report.bound) < UNKNOWN and report.bound or -huge }
    if report.has_x ~= 0 then
        result.x, result.prices, result.reduced = ffi.new("double[?]", n), ffi.new("double[?]", m),
            ffi.new("double[?]", n)
        ffi.copy(result.x, values, 8 * n)
        ffi.copy(result.prices, values + n, 8 * m)
        ffi.copy(result.reduced, values + n + m, 8 * n)
    end
    return result
end

--- Solves p = { n, m; start, index, value: A by columns; cost, nothing (zeros), lower, upper, row_lower, row_upper;
-- sum, size: room for a number a row; whole: a list of columns from 0; maxiter, node_limit, seconds, gap }, with C
-- arrays. Elements of rows, and costs, are to be of the size of 1. Returns { status, limit, iterations, nodes, bound },
-- whose bound is minus infinity where it is not known, and, with a solution, the C arrays x, prices and reduced.
function solver.solve(name, p)
    solver.load(name)
    local bytes = ffi.sizeof "neap_solver_report" + 8 * (2 * p.n + p.m)
    local memory = C.neap_solver_map(nil, bytes, ACCESS, SHARED, -1, 0)
    if memory == ffi.cast("void *", -1) then core.raise(name, "there is no memory for the solution") end
    local report = ffi.cast("neap_solver_report *", memory)
    p.deadline = now() + p.seconds
    local child, pipe = start(p, report)
    local result, fine, problem
    if child then
        local ended
        fine, ended = pcall(wait_for, pipe, p.deadline + (#p.whole > 0 and GRACE or 0))
        if not fine then problem = ended end
        if not (fine and ended) then C.neap_solver_kill(child, SIGKILL) end
        while C.neap_solver_wait(child, nil, 0) < 0 and ffi.errno() == 4 do end -- EINTR
        C.neap_solver_close(pipe)
        if fine and not ended then
            result = { status = solver.LIMIT, limit = solver.SECONDS, iterations = 0, nodes = 0, bound = -huge }
        elseif fine and report.ended == 0 then
            result = { status = solver.FAILED, iterations = 0, nodes = 0, bound = -huge }
        elseif fine then
            result = found(p, report)
        end
    end
    C.neap_solver_unmap(memory, bytes)
    if not child then core.raise(name, "the system gives no process for the solver") end
    if not fine then error(problem, 0) end
    return result
end

for _, f in ipairs { functions_of, solver.load, now, try, optimum, changed, has_none, falls_for_ever,
                     solve_continuous, report_continuous, solve_whole, outcome, copy_rounded, report_whole, live,
                     wait_for, start, found, solver.solve } do
    jit.off(f)
end

return solver
