#include "convert.h"
#include "functions.h"
#include "objects.h"

namespace deeplake {
namespace {

py::object error_table() {
    const Core& c = core();
    Buffer json;
    call([&](dl_error* err) { return c.error_table(json.out(), err); });
    return json.json();
}

py::object devices() {
    const Core& c = core();
    Buffer json;
    call([&](dl_error* err) { return c.devices(json.out(), err); });
    return json.json();
}

void configure(const py::object& options) {
    const Core& c = core();
    // None has a meaning in "env", so no key is left out.
    const std::string json = to_json(py::dict(options));
    call([&](dl_error* err) { return c.configure(json.c_str(), err); });
}

py::tuple abi_version() {
    const std::int32_t v = core().abi_version();
    return py::make_tuple(v >> 16, v & 0xffff);
}

// Answers without loading the core: an unloaded one has no references.
std::int64_t memory_references() {
    const Core* c = loaded_core();
    return c == nullptr ? 0 : c->memory_references();
}

void test_panic(const Text& where) {
    const Core& c = core();
    call([&](dl_error* err) { return c.test_panic(where.c_str(), err); });
}

}  // namespace

void register_runtime(py::module_& m) {
    using py::arg;
    Visit::register_exit();
    m.def("generation", generation);
    m.def("loaded", [] { return loaded_core() != nullptr; });
    m.def("version", [] { return core().version(); });
    m.def("abi_version", abi_version);
    m.def("error_table", error_table);
    m.def("devices", devices);
    m.def("configure", configure, arg("options"));
    m.def("memory_references", memory_references);
    m.def("_test_panic", test_panic, arg("where"));
}

}  // namespace deeplake
