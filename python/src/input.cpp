#include "input.h"

#include <pybind11/numpy.h>

#include "convert.h"
#include "errors.h"

namespace deeplake {
namespace {

// The DLPack structures of an input tensor, as far as they are read; see capi/dlpack.h.
struct PackTensor {
    void* data;
    std::int32_t device_type, device_id, ndim;
    std::uint8_t code, bits;
    std::uint16_t lanes;
    std::int64_t* shape;
    std::int64_t* strides;
    std::uint64_t byte_offset;
};

std::string type_name(py::handle value) {
    return py::cast<std::string>(py::type::handle_of(value).attr("__name__"));
}

bool is_number(py::handle v) {
    return PyBool_Check(v.ptr()) || PyLong_Check(v.ptr()) || PyFloat_Check(v.ptr()) ||
           PyComplex_Check(v.ptr());
}

bool is_list(py::handle v) { return PyList_Check(v.ptr()) || PyTuple_Check(v.ptr()); }

bool is_bytes(py::handle v) {
    return PyBytes_Check(v.ptr()) || PyByteArray_Check(v.ptr()) || PyMemoryView_Check(v.ptr());
}

bool is_text(py::handle v) { return PyUnicode_Check(v.ptr()) || is_bytes(v); }

// Returns whether v gives an array: of NumPy, torch, PIL, or by the buffer protocol.
bool is_array(py::handle v) {
    if (py::isinstance<py::array>(v)) return true;
    if (is_list(v) || is_text(v) || is_number(v)) return false;
    return py::hasattr(v, "__dlpack__") || py::hasattr(v, "__array__") ||
           py::hasattr(v, "__array_interface__") || PyObject_CheckBuffer(v.ptr());
}

std::int32_t pack_dtype(const PackTensor& t) {
    static const struct {
        std::uint8_t code, bits;
        std::int32_t dtype;
    } types[] = {
        {6, 8, DL_BOOL},     {1, 8, DL_UINT8},      {1, 16, DL_UINT16},      {1, 32, DL_UINT32},
        {1, 64, DL_UINT64},  {0, 8, DL_INT8},       {0, 16, DL_INT16},       {0, 32, DL_INT32},
        {0, 64, DL_INT64},   {2, 16, DL_FLOAT16},   {4, 16, DL_BFLOAT16},    {2, 32, DL_FLOAT32},
        {2, 64, DL_FLOAT64}, {5, 64, DL_COMPLEX64}, {5, 128, DL_COMPLEX128},
    };
    for (const auto& x : types) {
        if (x.code == t.code && x.bits == t.bits && t.lanes == 1) return x.dtype;
    }
    return 0;
}

bool is_contiguous(const PackTensor& t) {
    if (t.strides == nullptr) return true;
    std::int64_t stride = 1;
    for (std::int32_t i = t.ndim - 1; i >= 0; i--) {
        if (t.shape[i] == 0) return true;
        if (t.shape[i] > 1 && t.strides[i] != stride) return false;
        stride *= t.shape[i];
    }
    return true;
}

}  // namespace

// The values of one tensor on their way in.
class Column {
  public:
    Column(Columns& all, const char* op, const std::string& name, const std::string& type)
        : all_(all), op_(op), name_(name) {
        const std::string sequence = "sequence[";
        sequence_ = type.compare(0, sequence.size(), sequence) == 0;
        type_ = sequence_ ? type.substr(sequence.size(), type.size() - sequence.size() - 1) : type;
        out_.tensor = name.c_str();
    }

    dl_rows take(const py::object& value) {
        if (sequence_) {
            take_sequences(value);
        } else if (type_ == "json") {
            take_samples(value);
        } else if (is_array(value) || PyMemoryView_Check(value.ptr())) {
            take_array(value);
        } else {
            take_samples(value);
        }
        return out_;
    }

  private:
    [[noreturn]] void fail(dl_status status, const std::string& what) const {
        const std::string row = row_ < 0 ? "" : "row " + std::to_string(row_) + " ";
        throw Failure(status, std::string(op_) + " tensor \"" + name_ + "\": " + row + what);
    }

    py::object keep(py::object o) {
        all_.kept_.push_back(o);
        return o;
    }

    // Returns the items of a list, or of another iterable but text and mappings, as a tuple. Python
    // code that a conversion runs, such as __array__, may change the list; `unchanged` then fails.
    py::object items_of(const py::object& value, const char* what) {
        if (is_text(value) || PyDict_Check(value.ptr()) || is_number(value) || value.is_none()) {
            fail(DL_TYPE, std::string(what) + " is a " + type_name(value) +
                              ", want an array, or a list with one sample for each");
        }
        py::object list = value;
        if (py::isinstance<py::array>(value)) {
            py::array a = py::reinterpret_borrow<py::array>(value);
            if (a.ndim() == 0)
                fail(DL_TYPE, std::string(what) + " is an array without axes, want one axis more");
            const char kind = a.dtype().kind();
            if (kind == 'U' || kind == 'S' || kind == 'O' || kind == 'T')
                list = value.attr("tolist")();
        }
        PyObject* items = PySequence_Tuple(list.ptr());
        if (items == nullptr) {
            if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw py::error_already_set();
            PyErr_Clear();
            fail(DL_TYPE, std::string(what) + " is a " + type_name(value) +
                              ", want an array, or a list with one sample for each");
        }
        return keep(py::reinterpret_steal<py::object>(items));
    }

    // Fails if a list no longer has the n items that were converted.
    void unchanged(const py::object& value, Py_ssize_t n, const char* what) const {
        if (!PyList_Check(value.ptr())) return;
        const Py_ssize_t now = PyList_GET_SIZE(value.ptr());
        if (now == n) return;
        fail(DL_INVALID, std::string(what) + " changed from " + std::to_string(n) + " to " +
                             std::to_string(now) +
                             " items while they were converted; pass a list that nothing changes "
                             "during the call");
    }

    // Takes all rows in one array.
    void take_array(const py::object& value) {
        dl_sample s{};
        if (is_object_array(value)) return take_samples(value);
        describe(value, &s);
        if (s.ndim < 1)
            fail(DL_TYPE, "the column is an array without axes, want rows along the first axis");
        out_.n = s.shape[0];
        out_.data = s.data;
        out_.bytes = s.bytes;
        out_.shape = s.shape + 1;
        out_.ndim = s.ndim - 1;
        out_.dtype = s.dtype;
        out_.samples = nullptr;
    }

    static bool is_object_array(const py::object& value) {
        if (!py::isinstance<py::array>(value)) return false;
        const char kind = py::reinterpret_borrow<py::array>(value).dtype().kind();
        return kind == 'U' || kind == 'S' || kind == 'O' || kind == 'T';
    }

    // Takes one value for each row.
    void take_samples(const py::object& value) {
        py::object list = items_of(value, "the column");
        const Py_ssize_t n = PySequence_Fast_GET_SIZE(list.ptr());
        PyObject** rows = PySequence_Fast_ITEMS(list.ptr());
        if (n > 0 && type_ != "json" && all_numbers(rows, n)) {
            const py::array column = literal(list);
            // An array that does not fit is taken row by row: the core can then name the row.
            if (type_.empty() || py::cast<std::string>(py::str(column.dtype())) == type_)
                return take_array(column);
        }
        std::vector<dl_sample>& samples = all_.samples_.emplace_back(static_cast<size_t>(n));
        for (row_ = 0; row_ < n; row_++) {
            describe_any(py::reinterpret_borrow<py::object>(rows[row_]),
                         &samples[static_cast<size_t>(row_)]);
        }
        row_ = -1;
        unchanged(value, n, "the column");
        finish(samples, n);
    }

    // Takes a list of samples for each row.
    void take_sequences(const py::object& value) {
        py::object list = items_of(value, "the column");
        const Py_ssize_t n = PySequence_Fast_GET_SIZE(list.ptr());
        std::vector<dl_sample>& samples = all_.samples_.emplace_back();
        std::vector<std::int64_t>& items = all_.items_.emplace_back();
        for (row_ = 0; row_ < n; row_++) {
            py::object row =
                py::reinterpret_borrow<py::object>(PySequence_Fast_GET_ITEM(list.ptr(), row_));
            const size_t before = samples.size();
            take_items(row, samples);
            items.push_back(static_cast<std::int64_t>(samples.size() - before));
        }
        row_ = -1;
        unchanged(value, n, "the column");
        finish(samples, n);
        out_.row_items = items.data();
    }

    void take_items(const py::object& row, std::vector<dl_sample>& samples) {
        if (row.is_none()) {
            dl_sample hole{};
            hole.form = DL_FORM_HOLE;
            samples.push_back(hole);
            return;
        }
        if (type_ != "json" && is_array(row) && !is_object_array(row)) {
            dl_sample all{};
            describe(row, &all);
            if (all.ndim < 1)
                fail(DL_TYPE, "is an array without axes, want items along the first axis");
            const std::int64_t n = all.shape[0], size = n > 0 ? all.bytes / n : 0;
            for (std::int64_t i = 0; i < n; i++) {
                dl_sample item = all;
                item.data = static_cast<const char*>(all.data) + i * size;
                item.bytes = size;
                item.shape++;
                item.ndim--;
                samples.push_back(item);
            }
            return;
        }
        py::object list = items_of(row, "the row");
        const Py_ssize_t n = PySequence_Fast_GET_SIZE(list.ptr());
        for (Py_ssize_t i = 0; i < n; i++) {
            dl_sample item{};
            py::object one =
                py::reinterpret_borrow<py::object>(PySequence_Fast_GET_ITEM(list.ptr(), i));
            if (one.is_none()) fail(DL_TYPE, "has None in its list, want it left out");
            describe_any(one, &item);
            samples.push_back(item);
        }
        unchanged(row, n, "the row");
    }

    void finish(const std::vector<dl_sample>& samples, Py_ssize_t n) {
        static const dl_sample none{};  // an empty column is a list too
        out_.n = n;
        out_.samples = samples.empty() ? &none : samples.data();
        out_.samples_n = static_cast<std::int64_t>(samples.size());
    }

    static bool all_numbers(PyObject** rows, Py_ssize_t n) {
        for (Py_ssize_t i = 0; i < n; i++) {
            if (!is_number(rows[i])) return false;
        }
        return true;
    }

    // Describes one sample of any kind.
    void describe_any(const py::object& value, dl_sample* out) {
        if (value.is_none()) {
            out->form = DL_FORM_HOLE;
        } else if (type_ == "json") {
            describe_text(py::bytes(json_of(value)), DL_JSON, out);
        } else if (PyUnicode_Check(value.ptr())) {
            describe_string(value, out);
        } else if (is_bytes(value)) {
            describe_text(value, DL_BYTES, out);
        } else if (py::isinstance<py::array>(value)) {
            describe(value, out);
        } else if (is_number(value) || is_list(value)) {
            describe(literal(value), out);
        } else if (py::hasattr(value, "__deeplake_encoded__")) {
            describe_text(value.attr("__deeplake_encoded__"), DL_BYTES, out);
            out->form = DL_FORM_ENCODED;
        } else if (py::hasattr(value, "__deeplake_link__")) {
            describe_text(value.attr("__deeplake_link__"), DL_BYTES, out);
            out->form = DL_FORM_LINK;
        } else if (is_array(value)) {
            describe(value, out);
        } else {
            fail(DL_TYPE, "is a " + type_name(value) +
                              ", want an array, a number, a list of numbers, str, bytes or None");
        }
    }

    std::string json_of(const py::object& value) const {
        try {
            return to_json(value);
        } catch (const Failure& e) {
            fail(e.status(), std::string("cannot be stored: ") + e.what());
        }
    }

    void describe_string(const py::object& value, dl_sample* out) {
        Py_ssize_t size = 0;
        const char* text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);  // lives as long as the str
        if (text == nullptr) {
            PyErr_Clear();
            fail(DL_INVALID, "is a str with a lone surrogate, which is no UTF-8");
        }
        keep(value);
        out->form = DL_FORM_TEXT;
        out->dtype = DL_STRING;
        set_data(out, text, size);
    }

    void describe_text(const py::object& value, std::int32_t dtype, dl_sample* out) {
        out->form = DL_FORM_TEXT;
        out->dtype = dtype;
        if (PyBytes_Check(value.ptr())) {
            keep(value);
            set_data(out, PyBytes_AS_STRING(value.ptr()), PyBytes_GET_SIZE(value.ptr()));
            return;
        }
        // The view keeps a bytearray from being resized while the core reads it.
        py::object view = py::reinterpret_steal<py::object>(
            PyMemoryView_GetContiguous(value.ptr(), PyBUF_READ, 'C'));
        if (!view) throw py::error_already_set();
        const Py_buffer* buffer = PyMemoryView_GET_BUFFER(view.ptr());
        set_data(out, buffer->buf, buffer->len);
        keep(view);
    }

    void set_data(dl_sample* out, const void* data, std::int64_t bytes) {
        out->data = data;
        out->bytes = bytes;
        all_.bytes_ += bytes;
    }

    // Describes an array of any library.
    void describe(const py::object& value, dl_sample* out) {
        if (py::isinstance<py::array>(value)) {
            refuse_masked(value);
            describe_numpy(py::reinterpret_borrow<py::array>(value), out);
        } else if (!py::hasattr(value, "__dlpack__") || !describe_pack(value, out)) {
            py::array array = py::array::ensure(value);
            if (!array) throw py::error_already_set();
            describe_numpy(array, out);
        }
    }

    // The memory of a masked array has values where it says that there are none.
    void refuse_masked(const py::object& value) {
        if (Py_TYPE(value.ptr()) ==
            reinterpret_cast<PyTypeObject*>(py::detail::npy_api::get().PyArray_Type_))
            return;
        if (py::cast<bool>(py::module_::import("numpy").attr("ma").attr("is_masked")(value)))
            fail(DL_TYPE,
                 "is an array with masked values, want none; .filled(x) puts values in their "
                 "place, and a list may have None for a missing sample");
    }

    void describe_numpy(py::array array, dl_sample* out) {
        const char order = array.dtype().byteorder();
        if (order == '>') {
            array = py::array(array.attr("astype")(array.dtype().attr("newbyteorder")("="),
                                                   py::arg("order") = "C"));
        } else if (!(array.flags() & py::array::c_style)) {
            array = py::array(array.attr("copy")("C"));
        }
        out->form = DL_FORM_ARRAY;
        out->dtype = dtype_of(array.dtype());
        if (out->dtype == 0) {
            const bool texts = array.dtype().kind() == 'U';
            fail(DL_TYPE,
                 "has dtype " + py::cast<std::string>(py::str(array.dtype())) +
                     ", which tensors cannot hold" +
                     (texts ? "; if they are class labels, give several of one row as numbers"
                            : ""));
        }
        // resize(refcheck=False) and an assignment to shape free memory that the core reads. NumPy
        // refuses to resize an array with a weak reference; the shape is copied.
        PyObject* pin = PyWeakref_NewRef(array.ptr(), nullptr);
        if (pin == nullptr) throw py::error_already_set();
        keep(py::reinterpret_steal<py::object>(pin));
        keep(array);
        const auto ndim = static_cast<size_t>(array.ndim());
        const auto& shape = all_.shapes_.emplace_back(array.shape(), array.shape() + ndim);
        out->ndim = static_cast<std::int32_t>(ndim);
        out->shape = shape.data();
        set_data(out, array.data(), array.nbytes());
    }

    // Describes a tensor by DLPack. Returns false for other forms, which NumPy may know.
    bool describe_pack(py::object value, dl_sample* out) {
        if (py::hasattr(value, "__dlpack_device__")) {
            const int device = py::cast<int>(value.attr("__dlpack_device__")()[py::int_(0)]);
            if (device != 1 && device != 3)
                fail(DL_TYPE,
                     "is an array on another device, want one in CPU memory; call .cpu() first");
        }
        if (py::hasattr(value, "detach")) value = value.attr("detach")();
        if (py::hasattr(value, "contiguous")) value = value.attr("contiguous")();
        py::object capsule = value.attr("__dlpack__")();
        auto* t = static_cast<PackTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
        if (t == nullptr) {
            PyErr_Clear();
            return false;
        }
        out->dtype = pack_dtype(*t);
        if (out->dtype == 0 || !is_contiguous(*t)) return false;
        out->form = DL_FORM_ARRAY;
        out->ndim = t->ndim;
        out->shape = t->shape;
        std::int64_t bytes = t->bits / 8;
        for (std::int32_t i = 0; i < t->ndim; i++) bytes *= t->shape[i];
        set_data(out, static_cast<const char*>(t->data) + t->byte_offset, bytes);
        keep(capsule);  // dropping it unused gives the tensor back
        return true;
    }

    // A number, or a list of them, as an array of the tensor's dtype if the values fit.
    py::array literal(const py::object& value) {
        py::module_ numpy = py::module_::import("numpy");
        py::object array;
        try {
            array = numpy.attr("asarray")(value);
        } catch (py::error_already_set& e) {
            if (!e.matches(PyExc_ValueError) && !e.matches(PyExc_TypeError) &&
                !e.matches(PyExc_OverflowError))
                throw;
            fail(DL_INVALID,
                 "is a list that is no array: " + py::cast<std::string>(py::str(e.value())));
        }
        py::array got(array);
        if (type_.empty() || type_ == "string" || type_ == "bytes") return got;
        const py::dtype want = type_ == "bfloat16" ? numpy_dtype(DL_BFLOAT16) : py::dtype(type_);
        if (type_ == "bfloat16" && want.kind() == 'u')
            fail(DL_TYPE, "needs the package ml_dtypes to become bfloat16");
        const std::string from(1, got.dtype().kind()), to(1, want.kind());
        if (got.size() == 0) return py::array(array.attr("astype")(want));
        const std::string order = "biufVc";  // each fits into later ones, if the values do
        const size_t i = order.find(from == "u" ? "i" : from), k = order.find(to == "u" ? "i" : to);
        // the core reports the expected type
        if (i == std::string::npos || k == std::string::npos || i > k) return got;
        if ((to == "i" || to == "u") && from != "b") check_bounds(got, want);
        if ((to == "f" || to == "V") && want.itemsize() < 8) return narrowed(got, want);
        return py::array(array.attr("astype")(want));
    }

    // Numbers as floats of few bytes. A finite number must not become infinite.
    py::array narrowed(const py::array& got, const py::dtype& want) {
        py::module_ numpy = py::module_::import("numpy");
        const py::object state = numpy.attr("seterr")(py::arg("over") = "ignore");
        py::object out;
        try {
            out = got.attr("astype")(want);
        } catch (py::error_already_set&) {
            numpy.attr("seterr")(**state);
            throw;
        }
        numpy.attr("seterr")(**state);
        const py::object lost =
            numpy.attr("logical_and")(numpy.attr("isinf")(out), numpy.attr("isfinite")(got));
        if (!py::cast<bool>(lost.attr("any")())) return py::array(out);
        const py::object at = lost.attr("argmax")();
        // For the numbers of a whole column: the index of the first one is its row.
        if (row_ < 0) row_ = py::cast<Py_ssize_t>(at);
        const py::object value = got.attr("flat").attr("__getitem__")(at);
        fail(DL_INVALID, "has the value " + py::cast<std::string>(py::str(value)) +
                             ", which does not fit " + type_);
    }

    void check_bounds(const py::array& got, const py::dtype& want) {
        py::object limits = py::module_::import("numpy").attr("iinfo")(want);
        for (const char* end : {"min", "max"}) {
            py::object v = py::int_(got.attr(end)());
            if (v < py::object(limits.attr("min")) || v > py::object(limits.attr("max"))) {
                // For the numbers of a whole column: the index of the worst one is its row.
                if (row_ < 0)
                    row_ = py::cast<Py_ssize_t>(got.attr((std::string("arg") + end).c_str())());
                fail(DL_INVALID, "has the value " + py::cast<std::string>(py::str(v)) +
                                     ", which does not fit " + type_);
            }
        }
    }

    Columns& all_;
    const char* op_;
    const std::string& name_;
    std::string type_;
    bool sequence_ = false;
    Py_ssize_t row_ = -1;  // for messages
    dl_rows out_{};
};

Columns::Columns(const char* op, const py::object& columns, const py::object& types) {
    py::object type_of = types.is_none() ? py::object(py::dict()) : types;
    const py::dict own =
        // a conversion may run Python code that changes the caller's
        py::dict(columns).attr("copy")();
    for (const auto& [key, value] : own) {
        if (!PyUnicode_Check(key.ptr())) {
            throw Failure(DL_INVALID, std::string(op) + ": a tensor's name is a " + type_name(key) +
                                          ", want str");
        }
        const std::string& name = names_.emplace_back(py::cast<std::string>(key));
        py::object type = type_of.attr("get")(key, "");
        rows_.push_back(Column(*this, op, name, py::cast<std::string>(type))
                            .take(py::reinterpret_borrow<py::object>(value)));
        if (rows_.back().n != rows_.front().n) {
            throw Failure(DL_INVALID, std::string(op) + ": tensor \"" + name + "\" has " +
                                          std::to_string(rows_.back().n) + " rows, but tensor \"" +
                                          names_.front() + "\" has " +
                                          std::to_string(rows_.front().n));
        }
    }
}

}  // namespace deeplake
