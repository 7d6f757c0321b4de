#include "errors.h"

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

void raise(const Failure& failure) {
    py::object cls = py::module_::import("deeplake._errors").attr(class_of(failure.status()));
    // A path in a message need not be UTF-8.
    py::object text = py::reinterpret_steal<py::object>(PyUnicode_DecodeUTF8(
        failure.what(), static_cast<Py_ssize_t>(std::char_traits<char>::length(failure.what())), "replace"));
    if (!failure.details().empty()) {
        py::object more = py::module_::import("json").attr("loads")(failure.details());
        PyErr_SetObject(cls.ptr(), cls(text, more).ptr());
        return;
    }
    PyErr_SetObject(cls.ptr(), text.ptr());
}

}  // namespace

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
