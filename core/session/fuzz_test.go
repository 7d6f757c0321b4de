package session

import "testing"

// FuzzParams reads any text as the parameters of a saved view. Parameters that are read are written
// in a form that reads as the same values.
func FuzzParams(f *testing.F) {
	for _, text := range []string{
		`[]`, `[null,true,5,-2.5,1e+16,"text"]`, `[{"number":"nan"},{"bytes":"YnkA"},{"json":{"a":[1]}}]`,
		`[{"timestamp":"2024-01-02T03:04:05.000060+02:30"},{"date":"2024-02-29"},{"interval":-5}]`,
		`[{"time":648,"dtype":"datetime64[M]"},{"array":"AD4AQA==","dtype":"<f2","shape":[2]}]`,
		`[{"each":{"array":"AAAAAQ==","dtype":">i4","shape":[1]}},{"commits":{"a@main":"c"}}]`,
		`[{"name":"a","value":{"each":{"array":"AAAAAQ==","dtype":">i4","shape":[1]}}},{"name":"b","value":null}]`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := parseParams(text)
		if err != nil {
			return
		}
		for _, p := range s.params {
			doc, err := p.document()
			if err != nil {
				continue // a year that no calendar text has
			}
			back, err := parseParams([]byte("[" + doc + "]"))
			if err != nil || len(back.params) != 1 {
				t.Fatalf("%s is written as %s, which gives %v", text, doc, err)
			}
			if a, b := p.appendFingerprint(nil), back.params[0].appendFingerprint(nil); string(a) != string(b) {
				t.Fatalf("%s is written as %s, which reads as %q, not %q", text, doc, b, a)
			}
		}
	})
}
