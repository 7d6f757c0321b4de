#include "convert.h"
#include "objects.h"

namespace deeplake {
namespace {

struct VisualizerOwners {
    std::shared_ptr<ViewHandle> view;
    std::shared_ptr<DatasetHandle> dataset;
};

struct Visualizer {
    std::shared_ptr<Handle<dl_visualizer, VisualizerOwners>> handle;
};

Visualizer visualize(const View& view, const Dataset* dataset, const py::object& options) {
    const Core& c = view.handle->core();
    const std::string json = options_json(options);
    const dl_view h = view.handle->get();
    VisualizerOwners owners{view.handle, dataset == nullptr ? nullptr : dataset->handle};
    const dl_dataset d = owners.dataset ? owners.dataset->get() : dl_dataset{0};
    Visualizer v{std::make_shared<Handle<dl_visualizer, VisualizerOwners>>(c, std::move(owners))};
    dl_visualizer out{0};
    call([&](dl_error* err) { return c.visualizer_open(h, d, json.c_str(), &out, err); });
    v.handle->set(out);
    return v;
}

py::object link(const Visualizer& self, int key) {
    const Core& c = self.handle->core();
    const dl_visualizer h = self.handle->get();
    Buffer json;
    call([&](dl_error* err) { return c.visualizer_link(h, key, json.out(), err); });
    return json.json();
}

}  // namespace

void register_visualizer(py::module_& m) {
    using py::arg;
    m.def("visualize", visualize, arg("view"), arg("dataset") = py::none(),
          arg("options") = py::none());
    declare<Visualizer>(m, "Visualizer").def("link", link, arg("key"));
    m.attr("KEY_NONE") = static_cast<int>(DL_KEY_NONE);
    m.attr("KEY_ANY") = static_cast<int>(DL_KEY_ANY);
    m.attr("KEY_OWN") = static_cast<int>(DL_KEY_OWN);
}

}  // namespace deeplake
