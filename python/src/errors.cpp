#include "errors.h"

#include <cstdint>
#include <map>
#include <mutex>

namespace deeplake {
namespace {

// Returns the class in deeplake._errors of a status. A test compares the names with the core's own
// table.
const char* class_of(dl_status status) {
    static const char* const names[] = {
        "Error",         "InvalidArgumentError", "TensorTypeError", "OutOfRangeError",
        "NotFoundError", "AlreadyExistsError",   "CorruptError",    "UnsupportedError",
        "ConflictError", "ReadOnlyError",        "StorageError",    "ClosedError",
        "CanceledError", "ForkedError",          "InternalError",   "AccessDeniedError",
        "DeviceError",   "WorkerError",
    };
    const auto count = static_cast<dl_status>(sizeof names / sizeof names[0]);
    return names[status > 0 && status < count ? status : 0];
}

// Bounds the remembered exceptions of Python functions. The oldest are dropped, if their failure
// was never raised.
constexpr size_t most_remembered = 64;

std::map<std::uint64_t, py::object>& remembered() {
    // never destroyed: the interpreter may be gone
    static auto* all = new std::map<std::uint64_t, py::object>;
    return *all;
}

std::mutex& remembering() {
    static auto* mutex = new std::mutex;
    return *mutex;
}

// Takes the exception with a number; None if it was dropped.
py::object recall(std::uint64_t number) {
    const std::lock_guard<std::mutex> lock(remembering());
    const auto found = remembered().find(number);
    if (found == remembered().end()) return py::none();
    py::object cause = std::move(found->second);
    remembered().erase(found);
    return cause;
}

// Decodes text of the core. A path in it need not be UTF-8.
py::object text_of(const char* text) {
    return py::reinterpret_steal<py::object>(PyUnicode_DecodeUTF8(
        text, static_cast<Py_ssize_t>(std::char_traits<char>::length(text)), "replace"));
}

// Returns the details of a conflict, as ConflictError takes them.
py::dict conflict_of(const dl_conflict& c) {
    py::list rows;
    for (std::int32_t i = 0; i < c.rows_n; i++) rows.append(c.rows[i]);
    py::dict out(py::arg("kind") = text_of(c.kind), py::arg("tensor") = text_of(c.tensor),
                 py::arg("rows") = rows, py::arg("count") = c.count);
    if (c.winner[0] != 0)
        out["winner"] = py::module_::import("json").attr("loads")(text_of(c.winner));
    return out;
}

// Sets the attributes of an exception that the core knows. The class has None for the others.
void set_fields(const py::object& error, const dl_error& e) {
    const auto set = [&](const char* name, const char* text) {
        if (text[0] != 0) error.attr(name) = text_of(text);
    };
    set("operation", e.operation);
    set("object", e.object);
    set("request_id", e.request_id);
    if (e.retryable != DL_RETRY_UNKNOWN)
        error.attr("retryable") = py::bool_(e.retryable == DL_RETRY_YES);
}

void raise(const Failure& failure) {
    const py::object cls = py::module_::import("deeplake._errors").attr(class_of(failure.status()));
    const py::object message = text_of(failure.what());
    const dl_error* const e = failure.fields();
    if (e == nullptr) {
        PyErr_SetObject(cls.ptr(), message.ptr());
        return;
    }
    const py::object error =
        (e->flags & DL_ERROR_CONFLICT) != 0 ? cls(message, conflict_of(e->conflict)) : cls(message);
    set_fields(error, *e);
    if (e->cause != 0) {
        const py::object cause = recall(e->cause);
        // An exception that ends or interrupts the program is raised itself.
        if (!cause.is_none() && PyErr_GivenExceptionMatches(cause.ptr(), PyExc_Exception) == 0) {
            PyErr_SetObject(py::type::handle_of(cause).ptr(), cause.ptr());
            return;
        }
        error.attr("__cause__") = cause;
    }
    PyErr_SetObject(cls.ptr(), error.ptr());
}

}  // namespace

void raise_from(const Failure& failure, const py::object& cause) {
    raise(failure);
    const py::error_already_set raised;
    raised.value().attr("__cause__") = cause;
    throw py::error_already_set(raised);
}

std::uint64_t remember(py::object raised) {
    static std::uint64_t number = 0;
    // destroyed after the lock is free: its destructors may wait for other threads
    py::object forgotten;
    const std::lock_guard<std::mutex> lock(remembering());
    remembered()[++number] = std::move(raised);
    if (remembered().size() > most_remembered) {
        forgotten = std::move(remembered().begin()->second);
        remembered().erase(remembered().begin());
    }
    return number;
}

void forget(const dl_error& err) {
    if (err.cause != 0) recall(err.cause);
}

void register_errors() {
    py::register_local_exception_translator([](std::exception_ptr p) {
        try {
            if (p) std::rethrow_exception(p);
        } catch (const Failure& failure) {
            raise(failure);
        }
    });
}

}  // namespace deeplake
