package tql

import (
	"fmt"
	"reflect"
	"strings"
)

// dump writes a tree, without places.
func dump(out *strings.Builder, v any) {
	value := reflect.ValueOf(v)
	dumpValue(out, value)
}

func dumpValue(out *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Invalid:
		out.WriteString("nil")
	case reflect.Pointer, reflect.Interface:
		dumpValue(out, v.Elem())
	case reflect.Slice:
		out.WriteString("[")
		for i := range v.Len() {
			dumpValue(out, v.Index(i))
			out.WriteString(" ")
		}
		out.WriteString("]")
	case reflect.Struct:
		out.WriteString(v.Type().Name() + "{")
		for i := range v.NumField() {
			if t := v.Type().Field(i).Type; t == reflect.TypeFor[Pos]() || t == reflect.TypeFor[Start]() {
				continue
			}
			dumpValue(out, v.Field(i))
			out.WriteString(" ")
		}
		out.WriteString("}")
	case reflect.String:
		fmt.Fprintf(out, "%q", v.String())
	default:
		fmt.Fprintf(out, "%v:%v", v.Kind(), v)
	}
}
