"""peers.py: the expressions of bench/rows in other systems.

`peers.py serve SYSTEM THREADS CLOCK` takes its turns beside neap: bench/peer.lua tells it, by lines on its standard
input, what to time, and reads a line for each. A kernel's Python text (bench/kernels.lua) is statements over inputs x,
y, z, w and the functions below, which each system spells in its own way; the last statement is the result. CLOCK is
"wall", or "cpu" for the CPU time of all threads.

    kernel SIZE COLUMNS INPUTS TEXT   makes inputs and calls the kernel once: "ok" and the sum of its magnitudes
    time COUNT                        makes so many calls, each until the result is on the host: ns a call
    cold SIZE COLUMNS INPUTS TEXT     ns of the first call of a new function of the text
    case PATHS TEXT                   makes a call of bench/cases.lua, and calls it once: "ok" and its magnitude
    step NAME SIZES                   makes a step of bench/steps.py, calls it once: "ok" and ns; `time` goes on with it
    mesh WHAT DEVICES ELEMENTS USED   makes a function of bench/mesh.py, and calls it once: "ok" and its magnitude,
                                      or -1 where it is large

Started by bench/peers it measures the training step and writes "row name<TAB>system<TAB>value". Values are medians over
rounds of about 4 ms each.
"""

import ctypes
import os
import re
import signal
import statistics
import subprocess
import sys
import time

import cases
import mesh
import steps

SLICE = 4e-3
BATCH, PIXELS, HIDDEN, CLASSES = 128, 784, 256, 10
TRAINING_ROW = "training step, 784-256-10, batch 128"
INPUTS = ["x", "y", "z", "w"]
TF32 = os.environ.get("NEAP_TF32") == "1"


def compiled(text, names):
    """The function of a kernel's text."""
    *statements, result = [part.strip() for part in text.split(";")]
    lines = ["def kernel(%s):" % ", ".join(INPUTS), *("    " + part for part in statements), "    return " + result]
    scope = dict(names)
    exec("\n".join(lines), scope)
    return scope["kernel"]


class Numpy:
    def __init__(self, threads):
        import numpy as np

        def exps(x):
            most = x.max(-1, keepdims=True)
            return np.exp(x - most), most

        def softmax(x):
            e, _ = exps(x)
            return e / e.sum(-1, keepdims=True)

        def logsumexp(x):
            e, most = exps(x)
            return np.log(e.sum(-1)) + most[..., 0]

        self.names = dict(
            tanh=np.tanh, exp=np.exp, sqrt=np.sqrt, where=np.where, clip=np.clip, maximum=np.maximum, sum=np.sum,
            mean=lambda x, axis: x.mean(axis, keepdims=True), most=np.max, variance=np.var, softmax=softmax,
            logsumexp=logsumexp)

    def array(self, x):
        return x

    def function(self, text):
        return compiled(text, self.names)

    def ready(self, result):
        return result

    def same(self, result):
        """For functions that give what is on the host already."""
        return result

    def forget(self):
        pass


class Scipy(Numpy):
    def __init__(self, threads):
        import scipy.linalg  # loaded here: a system that is not installed does not start
        import scipy.signal  # noqa: F401

        super().__init__(threads)


class Pandas(Numpy):
    def __init__(self, threads):
        import pandas  # noqa: F401

        super().__init__(threads)


class Numexpr(Numpy):
    def __init__(self, threads):
        import numexpr

        numexpr.set_num_threads(threads)
        self.evaluate = numexpr.evaluate

    def function(self, text):
        import numpy as np

        numbers = {}

        def number(match):  # literals would be f64
            name = "n%d" % len(numbers)
            numbers[name] = np.float32(match.group())
            return name

        text = re.sub(r"(?<![\w.*])\d+\.\d+", number, text)
        return lambda *inputs: self.evaluate(text, dict(zip(INPUTS, inputs), **numbers))


class Torch(Numpy):
    def __init__(self, threads):
        import torch

        torch.set_num_threads(threads)
        self.torch = torch
        self.names = dict(
            tanh=torch.tanh, exp=torch.exp, sqrt=torch.sqrt, where=torch.where, clip=torch.clip,
            maximum=lambda x, least: torch.clamp(x, min=least), sum=torch.sum,
            mean=lambda x, axis: x.mean(axis, keepdim=True), most=torch.amax,
            variance=lambda x: torch.var(x, correction=0), softmax=lambda x: torch.softmax(x, -1),
            logsumexp=lambda x: torch.logsumexp(x, -1))

    def array(self, x):
        return self.torch.from_numpy(x)


class TorchCompile(Torch):
    made = {}  # text: its function, which is compiled for one size, then for all

    def function(self, text):
        if text not in self.made:
            self.made[text] = self.torch.compile(compiled(text, self.names))
        return self.made[text]

    def forget(self):
        self.made = {}
        self.torch._dynamo.reset()


class Jax(Numpy):
    platform = "cpu"

    def __init__(self, threads):
        os.environ["JAX_PLATFORMS"] = self.platform
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, set(cores[:threads]))
        import jax
        import jax.numpy as jnp

        self.jax, self.array, self.ready = jax, jnp.asarray, jax.block_until_ready
        self.names = dict(
            tanh=jnp.tanh, exp=jnp.exp, sqrt=jnp.sqrt, where=jnp.where, clip=jnp.clip, maximum=jnp.maximum, sum=jnp.sum,
            mean=lambda x, axis: x.mean(axis, keepdims=True), most=jnp.max, variance=jnp.var,
            softmax=lambda x: jax.nn.softmax(x, -1), logsumexp=lambda x: jax.nn.logsumexp(x, -1))


class JaxJit(Jax):
    def function(self, text):
        return self.jax.jit(compiled(text, self.names))


class JaxGpu(JaxJit):
    """JAX on the first GPU: f32 in f32, unless NEAP_TF32 asks for less of neap, too."""

    platform = "cuda"

    def __init__(self, threads):
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"  # neap wants some of the memory
        super().__init__(len(os.sched_getaffinity(0)))
        self.jax.devices()  # without a GPU it does not start
        if not TF32:
            self.jax.config.update("jax_default_matmul_precision", "highest")


class TorchGpu(Torch):
    """PyTorch likewise."""

    def __init__(self, threads):
        super().__init__(threads)
        self.torch.zeros(1, device="cuda")
        self.torch.backends.cuda.matmul.allow_tf32 = TF32
        self.torch.backends.cudnn.allow_tf32 = TF32


class JaxDevices(Jax):
    """For bench/mesh.py: all cores, as many devices as it says."""

    def __init__(self, threads):
        mesh.prepare()
        super().__init__(len(os.sched_getaffinity(0)))


SYSTEMS = {"numpy": Numpy, "scipy": Scipy, "pandas": Pandas, "numexpr": Numexpr, "torch": Torch,
           "torch compile": TorchCompile, "jax": Jax, "jax jit": JaxJit, "jax devices": JaxDevices,
           "jax gpu": JaxGpu, "torch gpu": TorchGpu, "torch compile gpu": TorchGpu}


def inputs(size, columns, count):
    """The inputs of a kernel: those that bench/kernels.lua makes, then zeros of one element, which nobody reads."""
    import numpy as np

    made = [np.zeros(1, np.float32)] * len(INPUTS)
    for k in range(1, count + 1):
        x = ((np.arange(2000) * (2 * k - 1)) % 2000).astype(np.float32) / np.float32(700) - np.float32(1.4 - 0.05 * k)
        made[k - 1] = np.resize(x * x if k == 4 else x, size).reshape((-1, columns) if columns > 1 else -1)
    return made


def magnitude(result):
    import numpy as np

    first = np.asarray(result[0] if isinstance(result, tuple) else result)
    return float(np.abs(first.astype(np.complex128 if first.dtype.kind == "c" else np.float64)).sum())


def end_with_parent():
    """Stopped processes (peer.lua) do not see the end of their input."""
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def serve(name, threads, clock):
    import numpy as np

    now = time.process_time_ns if clock == "cpu" else time.perf_counter_ns
    system = SYSTEMS[name](threads)
    end_with_parent()
    np.seterr(all="ignore")
    function, arguments, ready = None, None, None
    print("ready %d" % os.getpid(), flush=True)
    for line in sys.stdin:
        words = line.rstrip("\n").split("\t")
        try:
            if words[0] == "step":
                start = time.perf_counter_ns()
                function, arguments, ready = steps.make(name, words[1], words[2]), [], system.same
                function()
                answer = "ok\t%.6g" % (time.perf_counter_ns() - start)
            elif words[0] == "case":
                function, arguments, ready = None, [], system.same  # None frees what the last one held
                function = cases.make(name, words[1].split(), words[2].replace("\x1e", "\n"), threads)
                answer = "ok\t%.9g" % magnitude(function())
            elif words[0] == "mesh":
                function, arguments, ready = None, [], system.ready  # None frees what the last one held
                devices, elements = map(int, words[2:4])
                function = mesh.make(words[1], devices, elements, words[4] == "used")
                result = function()
                answer = "ok\t%.9g" % (magnitude(result) if devices * elements <= mesh.CHECKED else -1)
                del result
            elif words[0] == "time":
                count, start = int(words[1]), now()
                for _ in range(count):
                    ready(function(*arguments))
                answer = "%.6g" % ((now() - start) / count)
            else:
                size, columns, count = map(int, words[1:4])
                ready = system.ready
                arguments = [system.array(x) for x in inputs(size, columns, count)]
                if words[0] == "cold":
                    system.forget()
                start = time.perf_counter_ns()
                function = system.function(words[4])
                result = system.ready(function(*arguments))
                first = time.perf_counter_ns() - start
                answer = "ok\t%.9g" % magnitude(result) if words[0] == "kernel" else "%.6g" % first
        except Exception as problem:
            answer = "no\t" + " ".join(str(problem).split())[:200]
        print(answer, flush=True)


def median_seconds(f, repeats):
    f()
    count = 1
    while True:
        start = time.perf_counter()
        for _ in range(count):
            f()
        spent = time.perf_counter() - start
        if spent > SLICE / 2:
            break
        count *= 2
    count = max(1, int(count * SLICE / spent))
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(count):
            f()
        times.append((time.perf_counter() - start) / count)
    return statistics.median(times)


def jax_training():
    import jax
    import jax.numpy as jnp
    import numpy as np

    rng = np.random.default_rng(0)
    params = [rng.normal(0, 0.05, s).astype(np.float32)
              for s in ((PIXELS, HIDDEN), (HIDDEN,), (HIDDEN, CLASSES), (CLASSES,))]
    x = jnp.asarray(rng.random((BATCH, PIXELS), np.float32))
    labels = jnp.asarray(rng.integers(0, CLASSES, BATCH))

    def loss(p):
        logits = jax.nn.relu(x @ p[0] + p[1]) @ p[2] + p[3]
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()

    @jax.jit
    def step(p, m, v, t):
        value, g = jax.value_and_grad(loss)(p)
        m = [0.9 * a + 0.1 * b for a, b in zip(m, g)]
        v = [0.999 * a + 0.001 * b * b for a, b in zip(v, g)]
        p = [a - 1e-3 * (b / (1 - 0.9**t)) / (jnp.sqrt(c / (1 - 0.999**t)) + 1e-8) for a, b, c in zip(p, m, v)]
        return value, p, m, v

    state = [0.0, [jnp.asarray(p) for p in params], [jnp.zeros_like(p) for p in params],
             [jnp.zeros_like(p) for p in params], 0]

    def once():
        state[4] += 1
        state[0:4] = step(state[1], state[2], state[3], float(state[4]))
        float(state[0])

    return once


def torch_training():
    import torch

    torch.manual_seed(0)
    x, labels = torch.rand(BATCH, PIXELS), torch.randint(0, CLASSES, (BATCH,))
    model = torch.nn.Sequential(torch.nn.Linear(PIXELS, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, CLASSES))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    cross_entropy = torch.nn.CrossEntropyLoss()

    def once():
        optimizer.zero_grad()
        loss = cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        loss.item()

    return once


def run_training(system, repeats):
    make = globals().get(system + "_training")
    if make:
        print("%s\t%s\t%.6g" % (TRAINING_ROW, system, BATCH / median_seconds(make(), repeats)))


def main():
    words = sys.argv[1:]
    if words[:1] == ["serve"]:
        serve(words[1], int(words[2]), words[3])
        return
    repeats = 15
    if words[:1] == ["--repeats"]:
        repeats, words = int(words[1]), words[2:]
    if words[:1] == ["training"]:
        run_training(words[1], repeats)
        return
    for system in words:
        subprocess.run([sys.executable, __file__, "--repeats", str(repeats), "training", system], check=True)


main()
