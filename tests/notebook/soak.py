"""A notebook that is used for as long as this process lives, for tests/faults/soak_test.lua: cells with values, errors,
pictures, tables and derivatives, one after the other. Prints "kernel PID", and after each round "round N HANDLES", the
arrays that the kernel's variables hold."""
import signal
import sys

import counted
from jupyter_client.manager import start_new_kernel

CELLS = [
    "local x = np.random.normal(np.random.key(1), {100, 20}) print(x:mean(), x:std())",
    "np.linspace(0, 1, 5)",
    "local step = np.jit(function(w) return w - 0.1 * np.grad(function(v) return (v ^ 2):sum() end)(w) end)\n"
    "local w = np.ones {50} for k = 1, 20 do w = step(w) end print(w:sum())",
    "error 'on purpose'",
    "for k = 1, 50 do print(k, np.arange(k):sum()) end",
    "np.table { a = np.arange(6), b = np.arange(6) ^ 2 }",
    "np.ones { 2, 3 }:matmul(np.ones { 2, 3 })",
    "np.plot.figure():line(np.arange(20), np.arange(20) ^ 2)",
    "collectgarbage() collectgarbage()",
]
HANDLES = "collectgarbage() collectgarbage() print('handles', np.debug.counters().live_handles)"
TIMEOUT = 120


def run_cell(client, code):
    """The text that a cell prints."""
    texts = []

    def take(message):
        if message["msg_type"] == "stream":
            texts.append(message["content"]["text"])

    client.execute_interactive(code, timeout=TIMEOUT, output_hook=take, allow_stdin=False)
    return "".join(texts)


def end(*_):
    sys.exit(0)


def main():
    counted.end_with_parent()
    manager, client = start_new_kernel(kernel_name="neap", startup_timeout=TIMEOUT)
    signal.signal(signal.SIGTERM, end)
    try:
        print("kernel", manager.provisioner.pid, flush=True)
        number = 0
        while True:
            for code in CELLS:
                run_cell(client, code)
            number += 1
            print("round", number, run_cell(client, HANDLES).split()[-1], flush=True)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


if __name__ == "__main__":
    main()
