#include <array>
#include <cstring>

#include "convert.h"
#include "functions.h"
#include "objects.h"

namespace deeplake {
namespace {

struct VideosOwners {
    VideosOwners() = default;
    explicit VideosOwners(std::shared_ptr<ViewHandle> of) : view(std::move(of)) {}
    std::shared_ptr<ViewHandle> view;
};
using VideosHandle = Handle<dl_videos, VideosOwners>;

struct Videos {
    std::shared_ptr<VideosHandle> handle;
};

using Seconds = py::array_t<double, py::array::c_style>;

Videos open(const View& self, const Text& name, const py::object& options) {
    const Core& c = self.handle->core();
    const std::string json = options_json(options);
    const dl_view h = self.handle->get();
    Videos videos{std::make_shared<VideosHandle>(self.handle)};
    dl_videos out{0};
    call([&](dl_error* err) { return c.videos_open(h, name.c_str(), json.c_str(), &out, err); });
    videos.handle->set(out);
    return videos;
}

// Calls f so that Ctrl-C is answered.
void call_videos(const VideosHandle& h, const std::function<dl_status(dl_context, dl_error*)>& f) {
    call_long(h.core(), f, [&h](std::uint64_t press) { interrupt_functions(*h.view, press); });
}

py::object info(const Videos& self, std::int64_t row) {
    const Core& c = self.handle->core();
    const dl_videos h = self.handle->get();
    Buffer json;
    call_videos(*self.handle, [&](dl_context ctx, dl_error* err) {
        return c.videos_info(ctx, h, row, json.out(), err);
    });
    return json.json();
}

Seconds times(const Videos& self, std::int64_t row, std::int64_t frames) {
    const Core& c = self.handle->core();
    const dl_videos h = self.handle->get();
    Seconds out(frames);
    double* to = out.mutable_data();
    call_videos(*self.handle, [&](dl_context ctx, dl_error* err) {
        return c.videos_times(ctx, h, row, to, frames, err);
    });
    return out;
}

Numbers at(const Videos& self, std::int64_t row, const Seconds& seconds) {
    const Core& c = self.handle->core();
    const dl_videos h = self.handle->get();
    // Copied: the core reads it without the GIL.
    const Seconds own(seconds.attr("copy")());
    const double* data = own.data();
    const std::int64_t n = own.size();
    Numbers out(n);
    std::int64_t* to = out.mutable_data();
    call_videos(*self.handle, [&](dl_context ctx, dl_error* err) {
        return c.videos_at(ctx, h, row, data, n, to, err);
    });
    return out;
}

py::array_t<std::uint8_t> frames(const Videos& self, std::int64_t row, const py::object& numbers,
                                 std::int64_t height, std::int64_t width) {
    const Core& c = self.handle->core();
    const Numbers wanted = to_rows(numbers);
    const std::int64_t* data = wanted.data();
    const std::int64_t n = wanted.size();
    const dl_videos h = self.handle->get();
    py::array_t<std::uint8_t> out({n, height, width, std::int64_t{3}});
    void* to = out.mutable_data();
    const std::int64_t size = out.nbytes();
    call_videos(*self.handle, [&](dl_context ctx, dl_error* err) {
        return c.videos_frames(ctx, h, row, data, n, to, size, err);
    });
    return out;
}

// Returns the lists of n numbers that follow each other in data.
template <std::size_t lists>
std::array<Numbers, lists> split(const py::bytes& data) {
    const auto bytes = static_cast<std::size_t>(PyBytes_GET_SIZE(data.ptr()));
    const std::size_t each = bytes / lists;
    std::array<Numbers, lists> out;
    for (std::size_t i = 0; i < lists; i++) {
        out[i] = Numbers(static_cast<std::int64_t>(each / 8));
        std::memcpy(out[i].mutable_data(), PyBytes_AS_STRING(data.ptr()) + i * each, each);
    }
    return out;
}

py::tuple place(const Videos& self, const py::object& options) {
    const Core& c = self.handle->core();
    const std::string json = options_json(options);
    const dl_videos h = self.handle->get();
    Buffer out;
    call_videos(*self.handle, [&](dl_context ctx, dl_error* err) {
        return c.videos_place(ctx, h, json.c_str(), out.out(), err);
    });
    const auto of = split<2>(out.bytes());
    return py::make_tuple(of[0], of[1]);
}

View clips(const View& self, const py::object& options, const py::object& rows,
           const py::object& starts) {
    const Core& c = self.handle->core();
    const std::string json = options_json(options);
    const Numbers at = to_rows(rows);
    const Numbers from = to_rows(starts);
    if (at.size() != from.size()) throw py::value_error("rows and starts differ in length");
    const dl_view h = self.handle->get();
    const std::int64_t* data = at.data();
    const std::int64_t* begins = from.data();
    const std::int64_t n = at.size();
    View v{std::make_shared<ViewHandle>(self.handle)};
    dl_view out{0};
    call([&](dl_error* err) { return c.view_clips(h, json.c_str(), data, begins, n, &out, err); });
    v.handle->set(out);
    return v;
}

// Calls one of the functions that take a view and the options of windows, and fill a buffer.
template <typename F>
void on_windows(const View& self, const py::object& options, F function, Buffer& out) {
    const Core& c = self.handle->core();
    const std::string json = options_json(options);
    const dl_view h = self.handle->get();
    call_long(
        c,
        [&](dl_context ctx, dl_error* err) {
            return (c.*function)(ctx, h, json.c_str(), out.out(), err);
        },
        [&self](std::uint64_t press) { interrupt_functions(*self.handle, press); });
}

py::tuple place_windows(const View& self, const py::object& options) {
    Buffer out;
    on_windows(self, options, &Core::view_place_windows, out);
    const auto of = split<3>(out.bytes());
    return py::make_tuple(of[0], of[1], of[2]);
}

py::object frame_tensors(const View& self, const py::object& options) {
    Buffer out;
    on_windows(self, options, &Core::view_frame_tensors, out);
    return out.json();
}

View windows(const View& self, const py::object& options, const py::object& rows,
             const py::object& frames, const py::object& lengths) {
    const Core& c = self.handle->core();
    const std::string json = options_json(options);
    const Numbers at = to_rows(rows), from = to_rows(frames), of = to_rows(lengths);
    if (at.size() != from.size() || at.size() != of.size())
        throw py::value_error("rows, frames and lengths differ in length");
    const dl_view h = self.handle->get();
    const std::int64_t *data = at.data(), *starts = from.data(), *ends = of.data();
    const std::int64_t n = at.size();
    View v{std::make_shared<ViewHandle>(self.handle)};
    dl_view out{0};
    call([&](dl_error* err) {
        return c.view_windows(h, json.c_str(), data, starts, ends, n, &out, err);
    });
    v.handle->set(out);
    return v;
}

}  // namespace

void register_video(py::module_& m) {
    using py::arg;
    declare<Videos>(m, "Videos")
        .def("info", info, arg("row"))
        .def("times", times, arg("row"), arg("frames"))
        .def("at", at, arg("row"), arg("seconds"))
        .def("frames", frames, arg("row"), arg("numbers"), arg("height"), arg("width"))
        .def("place", place, arg("options"));
    // Declared here, with the class of its result.
    py::object view = m.attr("View");
    view.attr("clips") = py::cpp_function(clips, py::name("clips"), py::is_method(view),
                                          arg("options"), arg("rows"), arg("starts"));
    view.attr("place_windows") = py::cpp_function(place_windows, py::name("place_windows"),
                                                  py::is_method(view), arg("options"));
    view.attr("frame_tensors") = py::cpp_function(frame_tensors, py::name("frame_tensors"),
                                                  py::is_method(view), arg("options"));
    view.attr("windows") =
        py::cpp_function(windows, py::name("windows"), py::is_method(view), arg("options"),
                         arg("rows"), arg("frames"), arg("lengths"));
    view.attr("videos") = py::cpp_function(open, py::name("videos"), py::is_method(view),
                                           arg("name"), arg("options"));
}

}  // namespace deeplake
