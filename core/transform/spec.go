package transform

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"deeplake/core/errs"
)

// Spec is a list of steps as users write them: a JSON list of objects with the name of the step
// under "op" and its parameters, named as in torchvision.transforms.v2.
type Spec []Op

// Op is one step of a Spec, checked when it is read from JSON.
type Op struct {
	name string
	do   op
}

// op is the parameters of a step.
type op interface {
	// check refuses impossible parameters and fills in defaults.
	check() error
}

const (
	maxOps  = 32
	maxSide = 1 << 20 // of a picture
)

// newOp makes an op with its defaults.
func newOp(name string) op {
	switch name {
	case "RandomResizedCrop":
		return &randomResizedCrop{Scale: []float64{0.08, 1}, Ratio: []float64{3. / 4, 4. / 3}, Interpolation: "bilinear"}
	case "Resize":
		return &resize{Interpolation: "bilinear"}
	case "CenterCrop":
		return &centerCrop{}
	case "RandomCrop":
		return &randomCrop{PaddingMode: "constant"}
	case "Pad":
		return &pad{PaddingMode: "constant"}
	case "HorizontalFlip":
		return &flip{P: 0.5}
	case "VerticalFlip":
		return &flip{P: 0.5, vertical: true}
	case "ColorJitter":
		return &colorJitter{}
	case "Normalize":
		return &normalize{}
	case "ToFloat":
		return &toFloat{Bits: "32", Scale: true}
	case "CHW":
		return &chw{}
	}
	return nil
}

var names = []string{"RandomResizedCrop", "Resize", "CenterCrop", "RandomCrop", "Pad", "HorizontalFlip", "VerticalFlip",
	"ColorJitter", "Normalize", "ToFloat", "CHW"}

var unknownField = regexp.MustCompile(`unknown field "(.*)"`)

// UnmarshalJSON reads and checks one step. A fault is errs.Invalid and names step and parameter.
func (o *Op) UnmarshalJSON(data []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return errs.New(errs.Invalid, "a transform is %s, want an object with the key \"op\"", kindOf(data))
	}
	if err := json.Unmarshal(all["op"], &o.name); err != nil {
		return errs.New(errs.Invalid, "a transform has no name under \"op\" (want one of %q)", names)
	}
	if o.do = newOp(o.name); o.do == nil {
		return errs.New(errs.Invalid, "unknown transform %q (want one of %q)%s", o.name, names, errs.Suggest(o.name, names))
	}
	delete(all, "op")
	if err := o.nulls(all); err != nil {
		return err
	}
	rest, err := json.Marshal(all)
	if err != nil {
		return errs.Wrap(errs.Invalid, "read transform", o.name, err)
	}
	d := json.NewDecoder(bytes.NewReader(rest))
	d.DisallowUnknownFields()
	if err := d.Decode(o.do); err != nil && !errors.Is(err, io.EOF) {
		return o.wrong(err)
	}
	if err := o.do.check(); err != nil {
		return errs.New(errs.Invalid, "%s: %w", o.name, err)
	}
	return nil
}

// nulls refuses null for a parameter that cannot be left out: encoding/json would take it for the
// default.
func (o *Op) nulls(given map[string]json.RawMessage) error {
	t := reflect.TypeOf(o.do).Elem()
	for name, value := range given {
		if kindOf(value) != "null" {
			continue
		}
		for i := range t.NumField() {
			f := t.Field(i)
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if k := f.Type.Kind(); strings.EqualFold(key, name) && (k == reflect.Float64 || k == reflect.Bool || k == reflect.String) {
				return errs.New(errs.Invalid, "%s: %s is null, want %s", o.name, key, wanted(f.Type))
			}
		}
	}
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (o Op) MarshalJSON() ([]byte, error) {
	params, err := json.Marshal(o.do)
	if err != nil {
		return nil, err
	}
	var all map[string]any
	if err := json.Unmarshal(params, &all); err != nil {
		return nil, err
	}
	all["op"] = o.name
	return json.Marshal(all)
}

// wrong turns an error of encoding/json into one that names the parameter.
func (o *Op) wrong(err error) error {
	if m := unknownField.FindStringSubmatch(err.Error()); m != nil {
		known := parameters(o.do)
		return errs.New(errs.Invalid, "%s: unknown parameter %q (want one of %q)%s", o.name, m[1], known, errs.Suggest(m[1], known))
	}
	var t *json.UnmarshalTypeError
	if errors.As(err, &t) && t.Field != "" {
		return errs.New(errs.Invalid, "%s: %s is a %s, want %s", o.name, t.Field, t.Value, wanted(t.Type))
	}
	if errs.KindOf(err) == errs.Invalid {
		return errs.New(errs.Invalid, "%s: %w", o.name, err)
	}
	return errs.New(errs.Invalid, "%s: parameters are no JSON object: %w", o.name, err)
}

func parameters(o op) (out []string) {
	t := reflect.TypeOf(o).Elem()
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" {
			out = append(out, name)
		}
	}
	return out
}

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "a list of numbers"
	case reflect.Int:
		return "an integer"
	}
	return "a number"
}

func kindOf(data []byte) string {
	switch b := bytes.TrimSpace(data); {
	case len(b) == 0:
		return "nothing"
	case b[0] == '[':
		return "a list"
	case b[0] == '"':
		return "a string"
	case b[0] == 'n':
		return "null"
	case b[0] == '{':
		return "an object"
	case b[0] == 't' || b[0] == 'f':
		return "true or false"
	}
	return "a number"
}

// numbers is one number or a list of them.
type numbers []float64

func (n *numbers) UnmarshalJSON(data []byte) error {
	var one float64
	if json.Unmarshal(data, &one) == nil && kindOf(data) == "a number" {
		*n = numbers{one}
		return nil
	}
	var all []float64
	if err := json.Unmarshal(data, &all); err != nil {
		return errs.New(errs.Invalid, "got %s, want a number or a list of numbers", clip(data))
	}
	*n = all
	if all == nil && kindOf(data) != "null" {
		*n = numbers{}
	}
	return nil
}

func clip(data []byte) string {
	if len(data) > 60 {
		data = data[:60]
	}
	return string(data)
}

// whole reports whether all are integers in [least, most].
func (n numbers) whole(least, most float64) bool {
	return !slices.ContainsFunc(n, func(v float64) bool { return v != math.Trunc(v) || v < least || v > most })
}

func (n numbers) size(name string) error {
	if len(n) < 1 || len(n) > 2 || !n.whole(1, maxSide) {
		return errs.New(errs.Invalid, "%s is %v, want an int or (height, width), each 1 to %d", name, []float64(n), maxSide)
	}
	return nil
}

// pair gives both sides of a size.
func (n numbers) pair() (h, w int) { return int(n[0]), int(n[len(n)-1]) }

// border gives left, top, right and bottom of a padding.
func (n numbers) border() (l, t, r, b int) {
	switch len(n) {
	case 0:
		return 0, 0, 0, 0
	case 1:
		v := int(n[0])
		return v, v, v, v
	case 2:
		return int(n[0]), int(n[1]), int(n[0]), int(n[1])
	}
	return int(n[0]), int(n[1]), int(n[2]), int(n[3])
}

type randomResizedCrop struct {
	Size          numbers   `json:"size"`
	Scale         []float64 `json:"scale"`
	Ratio         []float64 `json:"ratio"`
	Interpolation string    `json:"interpolation"`
	Fast          bool      `json:"fast"`
}

func (o *randomResizedCrop) check() error {
	if err := o.Size.size("size"); err != nil {
		return err
	}
	if len(o.Scale) != 2 || !(0 < o.Scale[0] && o.Scale[0] <= o.Scale[1] && o.Scale[1] <= 1e6) {
		return errs.New(errs.Invalid, "scale is %v, want (least, most) with 0 < least <= most", o.Scale)
	}
	if len(o.Ratio) != 2 || !(0 < o.Ratio[0] && o.Ratio[0] <= o.Ratio[1] && o.Ratio[1] <= 1e6) {
		return errs.New(errs.Invalid, "ratio is %v, want (least, most) with 0 < least <= most", o.Ratio)
	}
	return checkFilter(o.Interpolation)
}

type resize struct {
	Size          numbers `json:"size"`
	MaxSize       int     `json:"max_size,omitempty"`
	Interpolation string  `json:"interpolation"`
	Fast          bool    `json:"fast"`
}

func (o *resize) check() error {
	if err := o.Size.size("size"); err != nil {
		return err
	}
	if o.MaxSize < 0 || o.MaxSize > maxSide || o.MaxSize > 0 && (len(o.Size) != 1 || float64(o.MaxSize) <= o.Size[0]) {
		return errs.New(errs.Invalid, "max_size is %d, want more than size, which must be one int then (it is %v)", o.MaxSize, []float64(o.Size))
	}
	return checkFilter(o.Interpolation)
}

func checkFilter(name string) error {
	if _, ok := filterOf(name); !ok {
		return errs.New(errs.Invalid, "interpolation is %q (want one of %q)%s", name, filterNames, errs.Suggest(name, filterNames))
	}
	return nil
}

type centerCrop struct {
	Size numbers `json:"size"`
}

func (o *centerCrop) check() error { return o.Size.size("size") }

type randomCrop struct {
	Size        numbers `json:"size"`
	Padding     numbers `json:"padding,omitempty"`
	PadIfNeeded bool    `json:"pad_if_needed"`
	Fill        numbers `json:"fill,omitempty"`
	PaddingMode string  `json:"padding_mode"`
}

func (o *randomCrop) check() error {
	if err := o.Size.size("size"); err != nil {
		return err
	}
	return checkPadding(o.Padding, o.Fill, o.PaddingMode)
}

type pad struct {
	Padding     numbers `json:"padding"`
	Fill        numbers `json:"fill,omitempty"`
	PaddingMode string  `json:"padding_mode"`
}

func (o *pad) check() error {
	if len(o.Padding) == 0 {
		return errs.New(errs.Invalid, "padding is missing, want an int, (left/right, top/bottom) or (left, top, right, bottom)")
	}
	return checkPadding(o.Padding, o.Fill, o.PaddingMode)
}

var padModes = []string{"constant", "edge", "reflect", "symmetric"}

func checkPadding(padding, fill numbers, mode string) error {
	if n := len(padding); n == 3 || n > 4 || !padding.whole(0, maxSide) {
		return errs.New(errs.Invalid, "padding is %v, want an int, (left/right, top/bottom) or (left, top, right, bottom), each 0 to %d", []float64(padding), maxSide)
	}
	if len(fill) > maxFill || !fill.whole(0, 255) {
		return errs.New(errs.Invalid, "fill is %v, want 0 to 255, or one such number for each channel, of at most %d", []float64(fill), maxFill)
	}
	if !slices.Contains(padModes, mode) {
		return errs.New(errs.Invalid, "padding_mode is %q (want one of %q)%s", mode, padModes, errs.Suggest(mode, padModes))
	}
	return nil
}

type flip struct {
	P        float64 `json:"p"`
	vertical bool
}

func (o *flip) check() error {
	if !(0 <= o.P && o.P <= 1) {
		return errs.New(errs.Invalid, "p is %v, want a probability, 0 to 1", o.P)
	}
	return nil
}

type colorJitter struct {
	Brightness numbers `json:"brightness,omitempty"`
	Contrast   numbers `json:"contrast,omitempty"`
	Saturation numbers `json:"saturation,omitempty"`
}

func (o *colorJitter) check() error {
	for _, v := range []struct {
		name  string
		given *numbers
	}{{"brightness", &o.Brightness}, {"contrast", &o.Contrast}, {"saturation", &o.Saturation}} {
		n := *v.given
		if len(n) == 1 && n[0] >= 0 {
			n = numbers{max(0, 1-n[0]), 1 + n[0]}
		}
		if len(n) != 0 && (len(n) != 2 || !(0 <= n[0] && n[0] <= n[1] && n[1] < 1e6)) {
			return errs.New(errs.Invalid, "%s is %v, want a number >= 0, or (least, most) with 0 <= least <= most", v.name, []float64(*v.given))
		}
		if len(n) == 2 && n[0] == 1 && n[1] == 1 {
			n = nil
		}
		*v.given = n
	}
	return nil
}

type normalize struct {
	Mean numbers `json:"mean"`
	Std  numbers `json:"std"`
}

func (o *normalize) check() error {
	if len(o.Mean) == 0 || len(o.Mean) != len(o.Std) {
		return errs.New(errs.Invalid, "mean is %v and std is %v, want one number each, or one for each channel", []float64(o.Mean), []float64(o.Std))
	}
	for i := range o.Std {
		if !(o.Std[i] > 0) || math.IsInf(o.Std[i], 0) || math.IsInf(o.Mean[i], 0) || float32(o.Std[i]) == 0 {
			return errs.New(errs.Invalid, "std is %v, want numbers above 0", []float64(o.Std))
		}
	}
	return nil
}

type toFloat struct {
	Bits  string `json:"bits"`
	Scale bool   `json:"scale"`
}

func (o *toFloat) check() error {
	if want := []string{"32", "16", "bf16"}; !slices.Contains(want, o.Bits) {
		return errs.New(errs.Invalid, "bits is %q (want one of %q)", o.Bits, want)
	}
	return nil
}

type chw struct{}

func (*chw) check() error { return nil }
