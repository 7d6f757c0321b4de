// Ways to call the core: without the GIL, and so that Ctrl-C is answered.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "core.h"
#include "errors.h"

namespace deeplake {

// Returns whether the interpreter began to exit. Then nothing of Python may be touched, and handles
// are leaked.
bool finalizing();

// Returns whether this thread is in a Python function that the core calls.
bool inside_function();

// Runs close in its own thread, without the GIL; the main thread drops owners after it. For closes
// inside a Python function that would wait for that function, for ever.
void close_elsewhere(std::function<void()> close, std::shared_ptr<void> owners);

// Runs f without the GIL; f touches nothing of Python and does not throw. This is no guard object:
// an exiting interpreter ends a thread that wants the GIL back by unwinding, and destructors do not
// let that pass.
template <class F>
auto without_gil(F&& f) {
    PyThreadState* saved = PyEval_SaveThread();
    auto result = f();
    PyEval_RestoreThread(saved);
    return result;
}

// Calls f, which is short, and throws its failure.
template <class F>
void call(F&& f) {
    dl_error err;
    check(without_gil([&] { return f(&err); }), err);
}

// Stops f besides its context. It is called with the GIL and the number of the signal, again and
// again until f returns.
using Interrupt = std::function<void(std::uint64_t press)>;

// Calls f, which may take long, and throws its failure. Meanwhile the main thread checks signals at
// least ten times a second. If a signal raises, it cancels the context of f, waits for f, and
// throws that exception. In a function that a query calls, f is stopped with the query.
void call_long(const Core& core, const std::function<dl_status(dl_context, dl_error*)>& f,
               const Interrupt& interrupt = {});

}  // namespace deeplake
