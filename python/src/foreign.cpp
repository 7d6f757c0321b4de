#include "foreign.h"

#include <cstdint>

#include "convert.h"
#include "literal.h"

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

[[noreturn]] void refuse(const std::string& reason, dl_status status = DL_TYPE) {
    throw Refused{status, reason, py::object()};
}

std::string str(const py::object& value) { return py::cast<std::string>(py::str(value)); }

// Runs code of another library. Its exceptions become Refused; KeyboardInterrupt and the like do
// not.
template <class F>
auto guarded(const py::object& value, F&& f) {
    try {
        return f();
    } catch (py::error_already_set& e) {
        if (!e.matches(PyExc_Exception) || e.matches(PyExc_MemoryError)) throw;
        std::string said = "an error without a message";
        try {
            said = str(e.value());
        } catch (py::error_already_set&) {
        }
        throw Refused{DL_TYPE, "is a " + type_name(value) + " that gives no array: " + said,
                      py::reinterpret_borrow<py::object>(e.value())};
    }
}

bool truth(const py::object& value, const char* name) {
    return py::hasattr(value, name) && py::cast<bool>(py::bool_(value.attr(name)));
}

// Returns a tensor of torch as one whose memory has its values in order; other objects as they are.
py::object strided(py::object value) {
    if (!py::hasattr(value, "detach")) return value;
    if (truth(value, "is_nested"))
        refuse("is a nested tensor; append its parts, or use .to_padded_tensor(0)");
    if (py::hasattr(value, "layout") && str(value.attr("layout")) != "torch.strided")
        refuse("has the layout " + str(value.attr("layout")) + "; call .to_dense() first");
    if (truth(value, "is_quantized"))
        refuse("is a quantized tensor; call .dequantize() or .int_repr() first");
    if (py::hasattr(value, "device") && str(value.attr("device")) == "meta")
        refuse("is a tensor on the device meta, which has no values");
    value = value.attr("detach")();
    for (const char* resolve : {"resolve_conj", "resolve_neg"}) {
        if (py::hasattr(value, resolve)) value = value.attr(resolve)();
    }
    return value;
}

// Describes a tensor by DLPack. Returns false for other forms, which NumPy may know.
bool describe_pack(py::object value, Memory& out) {
    if (py::hasattr(value, "__dlpack_device__")) {
        const int device = py::cast<int>(value.attr("__dlpack_device__")()[py::int_(0)]);
        if (device != 1 && device != 3)
            refuse("is an array on another device, want one in CPU memory; call .cpu() first");
    }
    if (py::hasattr(value, "contiguous")) value = value.attr("contiguous")();
    py::object capsule;
    try {
        capsule = value.attr("__dlpack__")();
    } catch (py::error_already_set& e) {
        // a dtype that DLPack or this library's version of it does not know
        if (!e.matches(PyExc_Exception)) throw;
        return false;
    }
    auto* t = static_cast<PackTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
    if (t == nullptr) {
        PyErr_Clear();
        return false;
    }
    out.dtype = pack_dtype(*t);
    if (out.dtype == 0 || !is_contiguous(*t)) return false;
    out.shape.assign(t->shape, t->shape + t->ndim);
    out.bytes = t->bits / 8;
    for (const std::int64_t axis : out.shape) out.bytes *= axis;
    out.data = static_cast<const char*>(t->data) + t->byte_offset;
    out.kept.push_back(capsule);  // dropping it unused gives the tensor back
    return true;
}

// The memory of a masked array has values below its mask.
void refuse_masked(const py::object& value) {
    if (Py_TYPE(value.ptr()) ==
        reinterpret_cast<PyTypeObject*>(py::detail::npy_api::get().PyArray_Type_))
        return;
    if (py::cast<bool>(py::module_::import("numpy").attr("ma").attr("is_masked")(value)))
        refuse(
            "is an array with masked values, want none; .filled(x) puts values in their place, "
            "and a list may have None for a missing sample");
}

// Returns the remedy for an array of a dtype that tensors do not have.
std::string way_out(const py::array& array) {
    const char kind = array.dtype().kind();
    const std::string name = str(array.dtype());
    if (array.dtype().attr("names").is_none() == false)
        return "store each field in a tensor of its own, as in {\"x\": array[\"x\"]}";
    switch (kind) {
        case 'U':
        case 'S':
        case 'T':
            return "texts suit htype class_label, tag or text";
        case 'O':
            return "give numbers of one type; float() and str() convert decimals and fractions";
        case 'f':
        case 'c':
            return std::string("cast it, as by .astype(\"") +
                   (kind == 'f' ? "float64" : "complex128") + "\")";
        default:
            return "cast it to one that they hold, or view it as uint8";
    }
}

void describe_numpy(py::array array, Memory& out) {
    if (array.dtype().byteorder() == '>') {
        array = py::array(
            array.attr("astype")(array.dtype().attr("newbyteorder")("="), py::arg("order") = "C"));
    } else if (!(array.flags() & py::array::c_style)) {
        array = py::array(array.attr("copy")("C"));
    }
    out.dtype = dtype_of(array.dtype());
    if (out.dtype == 0) {
        refuse("has dtype " + str(array.dtype()) + ", which tensors cannot hold; " +
               way_out(array));
    }
    // resize(refcheck=False) and an assignment to shape free memory that the core reads. NumPy
    // refuses to resize an array with a weak reference; the shape is copied.
    PyObject* pin = PyWeakref_NewRef(array.ptr(), nullptr);
    if (pin == nullptr) throw py::error_already_set();
    out.kept.push_back(py::reinterpret_steal<py::object>(pin));
    out.kept.push_back(array);
    out.shape.assign(array.shape(), array.shape() + array.ndim());
    out.data = array.data();
    out.bytes = static_cast<std::int64_t>(array.nbytes());
}

// Returns the dtype of a tensor of torch that NumPy does not have.
std::string foreign_dtype(const py::object& value) {
    const std::string name = py::hasattr(value, "dtype") ? str(value.attr("dtype")) : "";
    return name.rfind("torch.", 0) == 0 ? name.substr(6) : "";
}

// Returns whether all leaves of a list are integers or bools.
bool whole(const py::object& value) {
    if (is_list(value)) {
        for (const py::handle item : value) {
            if (!whole(py::reinterpret_borrow<py::object>(item))) return false;
        }
        return true;
    }
    if (PyLong_Check(value.ptr())) return true;
    const py::array array(py::module_::import("numpy").attr("asarray")(value));
    const char kind = array.dtype().kind();
    return kind == 'b' || kind == 'i' || kind == 'u';
}

}  // namespace

std::string type_name(py::handle value) {
    return py::cast<std::string>(py::type::handle_of(value).attr("__name__"));
}

bool is_list(py::handle v) { return PyList_Check(v.ptr()) || PyTuple_Check(v.ptr()); }

bool is_bytes(py::handle v) {
    return PyBytes_Check(v.ptr()) || PyByteArray_Check(v.ptr()) || PyMemoryView_Check(v.ptr());
}

bool is_array(py::handle v) {
    if (py::isinstance<py::array>(v)) return true;
    if (is_list(v) || PyUnicode_Check(v.ptr()) || is_bytes(v) || is_plain_number(v)) return false;
    return py::hasattr(v, "__dlpack__") || py::hasattr(v, "__array__") ||
           py::hasattr(v, "__array_interface__") || PyObject_CheckBuffer(v.ptr());
}

bool is_time(py::handle v) {
    if (is_plain_number(v) || PyUnicode_Check(v.ptr()) || is_list(v)) return false;
    if (py::isinstance<py::array>(v)) {
        const char kind = py::reinterpret_borrow<py::array>(v).dtype().kind();
        return kind == 'M' || kind == 'm';
    }
    const py::module_ numpy = py::module_::import("numpy");
    const py::module_ datetime = py::module_::import("datetime");
    return py::isinstance(v, numpy.attr("datetime64")) ||
           py::isinstance(v, numpy.attr("timedelta64")) ||
           py::isinstance(v, datetime.attr("date")) ||
           py::isinstance(v, datetime.attr("timedelta")) || type_name(v) == "NaTType";
}

Memory memory_of(const py::object& value) {
    Memory out;
    if (py::isinstance<py::array>(value)) {
        guarded(value, [&] {
            refuse_masked(value);
            describe_numpy(py::reinterpret_borrow<py::array>(value), out);
        });
        return out;
    }
    guarded(value, [&] {
        const py::object plain = strided(value);
        if (py::hasattr(plain, "__dlpack__") && describe_pack(plain, out)) return;
        out = Memory();
        py::object array;
        try {
            array = py::module_::import("numpy").attr("asarray")(plain);
        } catch (py::error_already_set& e) {
            const std::string dtype = foreign_dtype(plain);
            if (dtype.empty() || !e.matches(PyExc_Exception)) throw;
            throw Refused{DL_TYPE,
                          "has dtype " + dtype +
                              ", which tensors cannot hold; convert it, as by .float(), or view it "
                              "as uint8",
                          py::reinterpret_borrow<py::object>(e.value())};
        }
        describe_numpy(py::array(array), out);
    });
    return out;
}

py::object stacked(const py::object& list) {
    return guarded(list, [&]() -> py::object {
        py::module_ numpy = py::module_::import("numpy");
        py::object array;
        try {
            array = numpy.attr("asarray")(list);
        } catch (py::error_already_set& e) {
            if (!e.matches(PyExc_ValueError) && !e.matches(PyExc_TypeError) &&
                !e.matches(PyExc_OverflowError))
                throw;
            throw Refused{DL_INVALID, "is a list that is no array: " + str(e.value()),
                          py::reinterpret_borrow<py::object>(e.value())};
        }
        const char kind = py::array(array).dtype().kind();
        // NumPy's common type of int64 and uint64 is float64, which does not hold all of them.
        if (kind == 'f' && py::array(array).size() > 0 && whole(list))
            refuse(
                "is a list of integers of dtypes that only floats hold together; cast them to "
                "one dtype");
        return array;
    });
}

}  // namespace deeplake
