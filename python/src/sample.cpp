#include <pybind11/stl.h>

#include "convert.h"
#include "objects.h"

namespace deeplake {
namespace {

// The bytes of a sample, pinned during the life of this object.
class Data {
  public:
    explicit Data(const py::object& data)
        : view_(py::reinterpret_steal<py::object>(
              PyMemoryView_GetContiguous(data.ptr(), PyBUF_READ, 'C'))) {
        if (!view_) throw py::error_already_set();
    }
    const void* data() const { return PyMemoryView_GET_BUFFER(view_.ptr())->buf; }
    std::int64_t size() const { return PyMemoryView_GET_BUFFER(view_.ptr())->len; }

  private:
    py::object view_;
};

py::object header(const Core& c, const Data& data, int channels) {
    Buffer json;
    dl_error err;
    check(c.sample_inspect(data.data(), data.size(), channels, json.out(), &err), err);
    return json.json();
}

py::object inspect(const py::object& sample, int channels) {
    return header(core(), Data(sample), channels);
}

py::array decode(const py::object& sample, int channels) {
    const Core& c = core();
    const Data data(sample);
    py::object h = header(c, data, channels);
    py::array out(py::dtype(py::cast<std::string>(h["dtype"])),
                  py::cast<std::vector<py::ssize_t>>(h["shape"]));
    void* to = out.mutable_data();
    const std::int64_t room = out.nbytes(), size = data.size();
    const void* from = data.data();
    call([&](dl_error* err) { return c.sample_decode(from, size, channels, to, room, err); });
    return out;
}

}  // namespace

void register_sample(py::module_& m) {
    using py::arg;
    m.def("inspect", inspect, arg("data"), py::kw_only(), arg("channels") = 0);
    m.def("decode", decode, arg("data"), py::kw_only(), arg("channels") = 0);
}

}  // namespace deeplake
