#include "errors.h"

#include <cstdint>
#include <map>
#include <mutex>

namespace deeplake {
namespace {

// Classes of deeplake._errors by status. A test compares them with the core's own table.
const char* class_of(dl_status status) {
    static const char* const names[] = {
        "Error",         "InvalidArgumentError", "TensorTypeError", "OutOfRangeError",
        "NotFoundError", "AlreadyExistsError",   "CorruptError",    "UnsupportedError",
        "ConflictError", "ReadOnlyError",        "StorageError",    "ClosedError",
        "CanceledError", "ForkedError",          "InternalError",   "AccessDeniedError",
    };
    const auto count = static_cast<dl_status>(sizeof names / sizeof names[0]);
    return names[status > 0 && status < count ? status : 0];
}

// What functions of the user's raised. Of a failure that nobody raises the oldest are dropped.
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

py::object recall(const py::dict& details) {
    const std::lock_guard<std::mutex> lock(remembering());
    const auto found = remembered().find(py::cast<std::uint64_t>(details["cause"]));
    if (found == remembered().end()) return py::none();
    py::object cause = std::move(found->second);
    remembered().erase(found);
    return cause;
}

void raise(const Failure& failure) {
    py::object cls = py::module_::import("deeplake._errors").attr(class_of(failure.status()));
    // A path in a message need not be UTF-8.
    py::object text = py::reinterpret_steal<py::object>(PyUnicode_DecodeUTF8(
        failure.what(), static_cast<Py_ssize_t>(std::char_traits<char>::length(failure.what())),
        "replace"));
    if (!failure.details().empty()) {
        py::object more = py::module_::import("json").attr("loads")(failure.details());
        if (more.contains("cause")) {
            py::object cause = recall(more);
            // Who ends the program, or interrupts it, means all of it.
            if (!cause.is_none() &&
                PyErr_GivenExceptionMatches(cause.ptr(), PyExc_Exception) == 0) {
                PyErr_SetObject(py::type::handle_of(cause).ptr(), cause.ptr());
                return;
            }
            py::object error = cls(text);
            error.attr("__cause__") = cause;
            PyErr_SetObject(cls.ptr(), error.ptr());
            return;
        }
        PyErr_SetObject(cls.ptr(), cls(text, more).ptr());
        return;
    }
    PyErr_SetObject(cls.ptr(), text.ptr());
}

}  // namespace

std::string remember(py::object raised) {
    static std::uint64_t number = 0;
    // ends when the lock is free: what its destructors do may wait for others
    py::object forgotten;
    const std::lock_guard<std::mutex> lock(remembering());
    remembered()[++number] = std::move(raised);
    if (remembered().size() > most_remembered) {
        forgotten = std::move(remembered().begin()->second);
        remembered().erase(remembered().begin());
    }
    return std::to_string(number);
}

void forget(const dl_error& err) {
    if ((err.flags & DL_ERROR_DETAILS) == 0) return;
    const py::dict more =
        py::module_::import("json").attr("loads")(err.message + std::strlen(err.message) + 1);
    if (more.contains("cause")) recall(more);
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
