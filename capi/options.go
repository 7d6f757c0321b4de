package main

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"regexp"
	"strings"

	"deeplake/core/errs"
)

// unknownField matches the message in which encoding/json refuses a key.
var unknownField = regexp.MustCompile(`unknown field "(.*)"`)

// parse decodes the options of operation op. An unknown key, a wrong type and text behind the value
// are errs.Invalid. An empty text changes nothing.
func parse(op, text string, out any) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	d.UseNumber()
	err := d.Decode(out)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		return errs.Op(op, "").New(errs.Invalid, "something follows the JSON object of options")
	}
	if m := unknownField.FindStringSubmatch(err.Error()); m != nil {
		known := keys(reflect.TypeOf(out))
		return errs.Op(op, "").New(errs.Invalid, "unknown option %q (want one of %q)%s", m[1], known, errs.Suggest(m[1], known))
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		got, _, _ := strings.Cut(wrong.Value, " ") // "number 17" may be a secret
		return errs.Op(op, "").New(errs.Invalid, "option %q is a %s, want %s", strings.TrimPrefix(wrong.Field, "Options."), got, wanted(wrong.Type))
	}
	if errs.KindOf(err) != errs.Internal {
		return errs.Wrap(errs.Invalid, op, "", err)
	}
	return errs.Op(op, "").New(errs.Invalid, "options are no JSON object: %w", err)
}

// keys lists the JSON names of a pointer to struct.
func keys(t reflect.Type) []string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var names []string
	if t.Kind() != reflect.Struct {
		return names
	}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// wanted returns the name of a type in JSON.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	default:
		return "a number"
	}
}
