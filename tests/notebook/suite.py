"""The Jupyter project's suite for kernels (jupyter_kernel_test), with samples for all its parts: none is skipped."""
import counted
import jupyter_kernel_test


class Kernel(jupyter_kernel_test.KernelTests):
    kernel_name = "neap"
    language_name = "lua"
    file_extension = ".lua"
    code_hello_world = "print 'hello, world'"
    code_stderr = "io.stderr:write 'oops\\n'"
    completion_samples = [
        {"text": "np.lins", "matches": {"linspace"}},
        {"text": "np.zeros({2}, {dt", "matches": {"dtype="}},
        {"text": "for_t = 1 for_", "matches": set()},
    ]
    complete_code_samples = ["1 + 1", "print 'x'", "local x = 2", "function f()\nend", "?np.sum", ""]
    incomplete_code_samples = ["function f()", "print(", "x = {", "for k = 1, 2 do", "x ="]
    invalid_code_samples = ["x = = 2", "end", "for in do", "1 +* 2"]
    code_page_something = "?np.sum"
    code_generate_error = "error 'bad'"
    code_execute_result = [
        {"code": "6 * 7", "result": "42"},
        {"code": "np.arange(3)", "result": "[0 1 2]  i32[3]"},
        {"code": "np.ones{2, 2}", "mime": "text/html"},
        {"code": "'text'", "result": '"text"'},
    ]
    code_display_data = [
        {"code": "np.display(np.ones{2, 2})", "mime": "text/html"},
        {"code": "np.display{['image/png'] = '\\137PNG\\r\\n\\26\\n'}", "mime": "image/png"},
        {"code": "np.display{['image/svg+xml'] = '<svg/>'}", "mime": "image/svg+xml"},
        {"code": "np.display{['text/latex'] = '$x^2$'}", "mime": "text/latex"},
    ]
    code_history_pattern = "6 ?*"
    supported_history_operations = ("tail", "range", "search")
    code_inspect_sample = "np.sum"
    code_clear_output = "np.clear_output()"


class Welcome(jupyter_kernel_test.IopubWelcomeTests):
    kernel_name = "neap"
    support_iopub_welcome = True


if __name__ == "__main__":
    counted.main()
